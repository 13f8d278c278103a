//! The order in which steps are taken, and told.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::fanout::{Event, Registration};
use crate::informer::{InformerBuilder, SharedInformer};
use crate::object::Object;
use crate::reflector::{ListRequest, WatchRequest};
use crate::source::{ListStream, ListWatch, WatchStream};

fn object(version: &str) -> Object<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some("a".to_owned());
    object.metadata.namespace = Some("default".to_owned());
    object.metadata.resource_version = Some(version.to_owned());
    Object::new(object)
}

const PERIOD: Duration = Duration::from_secs(10);

/// An informer whose queue nobody takes from, so that changes wait in it when the time has come.
struct Held {
    informer: SharedInformer<ConfigMap>,
    registration: Registration<ConfigMap>,
    log: Arc<Mutex<Vec<String>>>,
    resyncing: AbortOnDropHandle<()>,
    producer: Producer<ConfigMap>,
    consumer: Consumer<ConfigMap>,
}

impl Held {
    fn new() -> Self {
        let source: Arc<dyn ListWatch<ConfigMap>> = Arc::new(Silent(None));
        let informer = InformerBuilder::of(vec![source]).resync(PERIOD).build();
        let shared = &informer.shared;
        let log = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&log);
        let handler = move |event: Event<ConfigMap>| {
            let again = if matches!(event, Event::Updated { resync: true, .. }) { "again " } else { "" };
            let version = event.object().meta().resource_version.clone().unwrap();
            heard.lock().push(format!("{again}{version}"));
        };
        let registration = informer.add_event_handler(handler).unwrap();
        let (producer, consumer) = queue(10);
        shared.traffic.lock().add(producer.depth());
        shared.stage.lock().fanout.start_resync(Instant::now().into_std());
        let resyncing = resync(Arc::downgrade(shared), Arc::clone(&shared.resync_changed));
        let resyncing = AbortOnDropHandle::new(tokio::spawn(resyncing));
        Self { informer, registration, log, resyncing, producer, consumer }
    }

    /// Takes everything out of the queue.
    async fn process(self) -> (SharedInformer<ConfigMap>, Registration<ConfigMap>, Arc<Mutex<Vec<String>>>) {
        drop((self.producer, self.resyncing));
        process_first(&self.informer, self.consumer).await;
        (self.informer, self.registration, self.log)
    }
}

/// Takes everything out of the queue of the first source.
async fn process_first(informer: &SharedInformer<ConfigMap>, consumer: Consumer<ConfigMap>) {
    let shared = &informer.shared;
    let (source, _) = shared.sources.lock().as_ref().unwrap().scopes().next().unwrap();
    Processor { shared: Arc::downgrade(shared), source, consumer, spent: Arc::default() }.run().await;
}

#[tokio::test(start_paused = true)]
async fn a_resync_waits_in_the_queue_behind_what_came_before_it() {
    let held = Held::new();
    held.producer.push(Delta::Added(object("1"))).await.unwrap();
    tokio::time::sleep(PERIOD + Duration::from_secs(1)).await;
    held.producer.push(Delta::Updated(object("2"))).await.unwrap();
    assert_eq!(held.log.lock().len(), 0, "nobody has taken anything out");
    let (_informer, registration, log) = held.process().await;
    registration.drain();
    registration.ended().await;
    assert_eq!(*log.lock(), ["1", "again 1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn a_resync_that_waits_is_not_lost_with_its_source() {
    let held = Held::new();
    let write = vec![Write::Put(object("1"))];
    held.informer.shared.stage.lock().write(&held.informer.shared.store, write);
    tokio::time::sleep(PERIOD + Duration::from_secs(1)).await;
    assert_eq!((held.consumer.len(), held.log.lock().len()), (1, 1), "it waits");
    let other: Arc<dyn ListWatch<ConfigMap>> = Arc::new(Silent(None));
    held.informer.follow([other]).unwrap();
    held.registration.drain();
    held.registration.ended().await;
    assert_eq!(*held.log.lock(), ["1", "again 1"]);
}

/// Who has synced first, of an informer and a handler of it, when something is done to it. Those who wait are woken in the
/// order in which they are told.
async fn order_of_sync(
    informer: &SharedInformer<ConfigMap>,
    then: impl Future<Output = ()>,
) -> Vec<&'static str> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let registration = informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap();
    let (informer, heard, noted) = (informer.clone(), Arc::clone(&log), Arc::clone(&log));
    let handler = tokio::spawn(async move {
        assert!(registration.synced().await);
        heard.lock().push("handler");
    });
    let whole = tokio::spawn(async move {
        assert!(informer.synced().await);
        noted.lock().push("informer");
    });
    tokio::task::yield_now().await;
    then.await;
    handler.await.unwrap();
    whole.await.unwrap();
    log.lock().clone()
}

fn empty_list() -> Delta<ConfigMap> {
    Delta::Replaced {
        objects: Vec::new(),
        resource_version: "1".to_owned(),
        undecodable: Vec::new(),
        new_epoch: false,
        distrust: None,
    }
}

#[tokio::test]
async fn an_informer_has_synced_before_its_handlers_have() {
    let held = Held::new();
    let informer = held.informer.clone();
    held.producer.push(empty_list()).await.unwrap();
    let listed = async {
        held.process().await;
    };
    assert_eq!(order_of_sync(&informer, listed).await, ["informer", "handler"]);
}

#[tokio::test]
async fn an_informer_that_is_to_wait_for_nothing_more_has_synced_before_its_handlers_have() {
    let [one, other] =
        ["one", "other"].map(|namespace| -> Arc<dyn ListWatch<_>> { Arc::new(Silent(Some(namespace))) });
    let informer = InformerBuilder::of(vec![Arc::clone(&one), other]).build();
    let (producer, consumer) = queue(10);
    producer.push(empty_list()).await.unwrap();
    drop(producer);
    process_first(&informer, consumer).await;
    let other_is_gone = async { informer.follow([one]).unwrap() };
    assert_eq!(order_of_sync(&informer, other_is_gone).await, ["informer", "handler"]);
}

#[tokio::test]
async fn what_an_update_has_replaced_is_left_to_those_who_decode() {
    let mut stage = Stage::new(Fanout::new());
    let (store, spent) = (Store::new(), Spent::default());
    stage.cover(&[(1, Scope::default())], &store);
    let mut take = |delta| {
        for step in steps(vec![delta], true) {
            assert!(stage.take(1, step, &store, &spent).is_some());
        }
    };
    let [first, second, third] = ["1", "2", "3"].map(object);
    let held = |object: &Object<ConfigMap>| object.stored().count() > 1;
    take(Delta::Added(first.clone()));
    take(Delta::Updated(second.clone()));
    assert!(!held(&first), "nothing arrives");
    spent.want(true);
    take(Delta::Updated(third));
    assert!(held(&second));
    spent.want(false);
    assert!(!held(&second));
}

/// A source that is never asked, of a namespace or of everything.
struct Silent(Option<&'static str>);

impl ListWatch<ConfigMap> for Silent {
    fn scope(&self) -> Scope {
        Scope { namespace: self.0.map(str::to_owned), ..Scope::default() }
    }

    fn list<'a>(
        &'a self,
        _: &'a ListRequest,
        _: &'a Arc<Want<ConfigMap>>,
    ) -> BoxFuture<'a, Result<ListStream<ConfigMap>, SourceError>> {
        std::future::pending().boxed()
    }

    fn watch<'a>(
        &'a self,
        _: &'a WatchRequest,
        _: &'a Arc<Want<ConfigMap>>,
    ) -> BoxFuture<'a, Result<WatchStream<ConfigMap>, SourceError>> {
        std::future::pending().boxed()
    }
}
