//! How often listeners are told everything again: by cache, by kind and by namespace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, Service, ServiceAccount};
use kube_core::Resource;
use kube_informer::cache::{Cache, CacheOptions, KindOptions, ObjectOptions};
use kube_informer::fanout::{Event, ListenerOptions};
use kube_testserver::TestServer;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::{cache, server, write};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// When an object was told again, in seconds since the beginning, by key.
#[derive(Clone)]
struct Told {
    began: Instant,
    times: Arc<Mutex<BTreeMap<String, Vec<f64>>>>,
}

impl Told {
    async fn listen<K>(cache: &Cache, options: ListenerOptions) -> Self
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        let told = Self { began: Instant::now(), times: Arc::default() };
        let log = told.clone();
        let handler = move |event: Event<K>| {
            if let Event::Updated { new, resync: true, .. } = event {
                let seconds = log.began.elapsed().as_secs_f64();
                log.times.lock().entry(new.key().to_owned()).or_default().push(seconds);
            }
        };
        let informer = cache.kind::<K>().informer_now().await.unwrap();
        informer.add_event_handler_with(handler, options).unwrap();
        told
    }

    /// How often an object was told again so far.
    fn times(&self, key: &str) -> usize {
        self.times.lock().get(key).map_or(0, Vec::len)
    }

    /// The time between two tellings of an object, which is always the same.
    #[track_caller]
    fn period(&self, key: &str) -> f64 {
        let times = self.times.lock();
        let times = times.get(key).unwrap_or_else(|| panic!("{key} was never told again: {times:?}"));
        let steps: Vec<f64> = times.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(steps.iter().all(|step| (step - steps[0]).abs() < 0.1), "{key}: {times:?}");
        steps[0]
    }

    /// An object is told again about so often.
    #[track_caller]
    fn is_told_every(&self, key: &str, wanted: Duration) {
        let (period, wanted) = (self.period(key), wanted.as_secs_f64());
        assert!((0.9 * wanted..1.1 * wanted).contains(&period), "{key}: {period} s is not about {wanted} s");
    }
}

fn four(server: &TestServer) {
    for namespace in ["bank", "post", "quiet", "shop"] {
        write(server, namespace, "a", "web");
    }
}

fn every(period: Duration) -> ObjectOptions {
    ObjectOptions::new().resync(period)
}

#[tokio::test(start_paused = true)]
async fn each_namespace_is_told_again_at_its_own_period() {
    let server = server().await;
    four(&server);
    let options = CacheOptions::new()
        .resync(HOUR)
        .namespace("shop", every(10 * MINUTE))
        .namespace("bank", ObjectOptions::new())
        .namespace("quiet", every(Duration::ZERO))
        .namespace("", every(3 * HOUR));
    let cache = cache(&server, options);
    let told = Told::listen::<ConfigMap>(&cache, ListenerOptions::new()).await;
    let none = Told::listen::<ConfigMap>(&cache, ListenerOptions::new().resync(Duration::ZERO)).await;
    tokio::time::sleep(10 * HOUR).await;
    told.is_told_every("shop/a", 10 * MINUTE);
    told.is_told_every("bank/a", HOUR);
    told.is_told_every("post/a", 3 * HOUR);
    assert_eq!(told.times("quiet/a"), 0);
    assert!(none.times.lock().is_empty(), "a listener may want none");
    let ratio = told.period("bank/a") / told.period("shop/a");
    assert!((5.9..6.1).contains(&ratio), "one kind, one factor: {ratio}");
}

#[tokio::test(start_paused = true)]
async fn a_listener_may_ask_for_another_period_for_all_namespaces() {
    let server = server().await;
    four(&server);
    let options = CacheOptions::new()
        .namespace("shop", every(10 * MINUTE))
        .namespace("bank", every(HOUR))
        .namespace("quiet", every(Duration::ZERO));
    let cache = Cache::with(server.in_process_client(), options).unwrap();
    let told = Told::listen::<ConfigMap>(&cache, ListenerOptions::new().resync(5 * MINUTE)).await;
    cache.start().unwrap();
    tokio::time::sleep(10 * HOUR).await;
    assert_eq!((told.period("shop/a").round(), told.period("bank/a").round()), (300., 300.), "as asked");
    assert_eq!(told.times("quiet/a"), 0, "where nothing is told again, nobody is");
}

#[tokio::test(start_paused = true)]
async fn a_period_that_no_clock_can_count_is_never() {
    let server = server().await;
    four(&server);
    let cache = cache(&server, CacheOptions::new().resync(Duration::MAX));
    let told = Told::listen::<ConfigMap>(&cache, ListenerOptions::new().resync(Duration::MAX)).await;
    tokio::time::sleep(24 * HOUR).await;
    assert!(told.times.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_set_is_inherited() {
    let server = server().await;
    four(&server);
    let kind = KindOptions::new;
    let rows = [
        (CacheOptions::new(), 10 * HOUR),
        (CacheOptions::new().resync(HOUR), HOUR),
        (CacheOptions::new().resync(HOUR).objects(every(2 * HOUR)), 2 * HOUR),
        (CacheOptions::new().resync(HOUR).namespace("shop", every(3 * HOUR)), 3 * HOUR),
        (CacheOptions::new().resync(HOUR).kind::<ConfigMap>(kind().resync(4 * HOUR)), 4 * HOUR),
        (
            CacheOptions::new().namespace("shop", every(3 * HOUR)).kind::<ConfigMap>(kind().resync(4 * HOUR)),
            4 * HOUR,
        ),
        (CacheOptions::new().kind::<ConfigMap>(kind().resync(HOUR).objects(every(4 * HOUR))), 4 * HOUR),
        (
            CacheOptions::new()
                .namespace("shop", every(3 * HOUR))
                .kind::<ConfigMap>(kind().resync(4 * HOUR).namespace("shop", every(5 * HOUR))),
            5 * HOUR,
        ),
    ];
    for (number, (options, wanted)) in rows.into_iter().enumerate() {
        let cache = cache(&server, options);
        let told = Told::listen::<ConfigMap>(&cache, ListenerOptions::new()).await;
        tokio::time::sleep(3 * wanted).await;
        let (period, wanted) = (told.period("shop/a"), wanted.as_secs_f64());
        assert!((0.9 * wanted..1.1 * wanted).contains(&period), "row {number}: {period} s");
        cache.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn periods_can_be_changed() {
    let server = server().await;
    four(&server);
    let cache = cache(&server, CacheOptions::new().resync(Duration::ZERO).namespaces(["shop", "bank"]));
    let told = Told::listen::<ConfigMap>(&cache, ListenerOptions::new()).await;
    tokio::time::sleep(20 * HOUR).await;
    assert!(told.times.lock().is_empty(), "never");

    cache
        .change(|options| options.namespace("shop", every(HOUR)).namespace("post", every(2 * HOUR)))
        .unwrap();
    tokio::time::sleep(20 * HOUR).await;
    told.is_told_every("shop/a", HOUR);
    told.is_told_every("post/a", 2 * HOUR);
    assert_eq!(told.times("bank/a"), 0);

    let before = told.times("shop/a");
    let lists = || cache.status()[0].1.lists;
    let listed = lists();
    cache
        .change(|options| options.namespace("shop", every(5 * HOUR)).namespace("bank", every(HOUR)))
        .unwrap();
    tokio::time::sleep(20 * HOUR).await;
    let after = told.times("shop/a") - before;
    assert!((3..=5).contains(&after), "{after} times in 20 hours");
    told.is_told_every("bank/a", HOUR);
    told.is_told_every("post/a", 2 * HOUR);
    assert_eq!(lists(), listed, "nothing is asked for anew");
}

#[tokio::test(start_paused = true)]
async fn kinds_are_not_all_told_again_at_the_same_time() {
    let server = server().await;
    server
        .seed(
            "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: Secret, metadata: {name: a}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}
---
{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}",
        )
        .unwrap();
    let periods = async || {
        let cache = cache(&server, CacheOptions::new().resync(HOUR).seed(7));
        let told = [
            Told::listen::<Pod>(&cache, ListenerOptions::new()).await,
            Told::listen::<ConfigMap>(&cache, ListenerOptions::new()).await,
            Told::listen::<Secret>(&cache, ListenerOptions::new()).await,
            Told::listen::<ServiceAccount>(&cache, ListenerOptions::new()).await,
            Told::listen::<Service>(&cache, ListenerOptions::new()).await,
        ];
        let names = Told::listen::<Namespace>(&cache, ListenerOptions::new()).await;
        tokio::time::sleep(10 * HOUR).await;
        names.is_told_every("default", HOUR);
        told.each_ref().map(|told| {
            told.is_told_every("default/a", HOUR);
            told.period("default/a").round() as u64
        })
    };
    let first = periods().await;
    let different: std::collections::BTreeSet<u64> = first.into();
    assert_eq!(different.len(), first.len(), "{first:?}");
    assert_eq!(periods().await, first, "the seed makes it repeatable");
}
