//! Connections that are cut and frozen at random, while objects come, change and go.
//!
//! `KUBE_INFORMER_E2E_SEED` says from which seed on, and `KUBE_INFORMER_E2E_SEEDS` how many.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Resource;
use kube_client::api::{Api, DeleteParams, DynamicObject, PostParams};
use kube_informer::SharedInformer;
use kube_informer::fanout::{Event, ListenerOptions};
use kube_informer::informer::InformerStatus;
use kube_informer::reflector::Config;
use kube_informer::source::KubeSource;
use kube_informer_e2e::{Chance, Proxy};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::complete::{Change, Noted, Notes, amiss};
use crate::definitions::{self, install, widget};
use crate::heard::Heard;
use crate::servers::{Server, Which, client, on_both_servers};
use crate::{PATIENCE, caught_up, config_map, namespace, quick, until};

on_both_servers! {
    connections_that_are_cut_and_frozen_at_random_lose_and_repeat_nothing,
}

/// How many seeds are tried if nobody says otherwise, from which one on, and how many at the same time.
const SEEDS: u64 = 3;
const FIRST: u64 = 1;
const AT_ONCE: usize = 3;

/// At least so many changes are made of each kind, to objects of so many names.
const CHANGES: usize = 300;
const NAMES: u64 = 24;

/// At least so many connections are cut.
const CUTS: u64 = 36;

/// From so many waiting events on the slow handler hears of latest states only.
const HIGH_WATER: usize = 16;

const GROUP: &str = "luck.example.com";

/// What was written: every change of each object, and the text of each version.
#[derive(Default)]
struct Written {
    changes: BTreeMap<String, Vec<Change>>,
    texts: BTreeMap<u64, String>,
}

/// Objects of one kind, and who follows them.
struct Side<K> {
    api: Api<K>,
    make: fn(&str, &str) -> K,
    text: fn(&K) -> &str,
    informer: SharedInformer<K>,
    notes: Arc<Mutex<Notes>>,
    /// The first is quick, the second slow, the third late.
    handlers: Vec<(Heard, Log<K>)>,
}

/// Everything that a handler was told.
type Log<K> = Arc<Mutex<Vec<Event<K>>>>;

/// Which object, and what became of it.
fn change<K>(event: &Event<K>) -> (&str, Change) {
    let version = event.object().resource_version().parse().unwrap();
    (event.object().name(), (!matches!(event, Event::Deleted(_))).then_some(version))
}

impl<K> Side<K>
where
    K: Resource + Clone + Serialize + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// Follows with two handlers: one that is quick, one that is slow.
    fn follow(api: Api<K>, source: KubeSource<K>, make: fn(&str, &str) -> K, text: fn(&K) -> &str) -> Self {
        let notes = Arc::default();
        let source = Noted(source, Arc::clone(&notes));
        let informer = SharedInformer::builder(source).config(impatient()).build();
        let mut side = Self { api, make, text, informer, notes, handlers: Vec::new() };
        side.listen(ListenerOptions::new(), Duration::ZERO);
        let slow = ListenerOptions::new().high_water(HIGH_WATER);
        side.listen(slow, Duration::from_millis(40));
        side.informer.start();
        side
    }

    fn listen(&mut self, options: ListenerOptions, pause: Duration) {
        let (heard, log) = (Heard::default(), Log::default());
        let (known, told) = (heard.clone(), Arc::clone(&log));
        let handler = move |event: Event<K>| {
            known.hear(&event);
            told.lock().push(event);
            if !pause.is_zero() {
                std::thread::park_timeout(pause);
            }
        };
        self.informer.add_event_handler_with(handler, options).unwrap();
        self.handlers.push((heard, log));
    }

    /// Creates, changes and deletes, until enough has happened; a third handler comes in the middle of it.
    async fn churn(&mut self, mut chance: Chance, mut enough: impl FnMut() -> bool) -> Written {
        let (mut written, mut there) = (Written::default(), BTreeMap::<String, Option<String>>::new());
        let mut changes = 0;
        while changes < CHANGES || !enough() {
            let name = format!("c{}", chance.below(NAMES));
            // Most are longer than what is sent in one piece.
            let text = format!("{changes} {}", "x".repeat(1 << chance.below(17)));
            let mut object = (self.make)(&name, &text);
            let before = there.remove(&name);
            if before.is_some() && chance.below(4) == 0 {
                self.api.delete(&name, &DeleteParams::default()).await.unwrap();
                written.changes.entry(name).or_default().push(None);
            } else {
                let now = match before {
                    Some(version) => {
                        object.meta_mut().resource_version = version;
                        self.api.replace(&name, &PostParams::default(), &object).await.unwrap()
                    }
                    None => self.api.create(&PostParams::default(), &object).await.unwrap(),
                };
                let version = now.meta().resource_version.clone();
                let number = version.as_ref().unwrap().parse().unwrap();
                written.texts.insert(number, text);
                written.changes.entry(name.clone()).or_default().push(Some(number));
                there.insert(name, version);
            }
            changes += 1;
            if changes == CHANGES / 2 {
                self.listen(ListenerOptions::new(), Duration::ZERO);
            }
        }
        written
    }

    /// Waits until the copy and what every handler knows equal a fresh list; and all that handlers were told fits.
    async fn agrees(self, written: &Written) -> InformerStatus {
        caught_up(&self.informer, &self.api).await;
        for (number, (heard, log)) in self.handlers.iter().enumerate() {
            assert_eq!(heard.all_of(&self.informer).await, Vec::<String>::new(), "handler {number}");
            for event in log.lock().iter() {
                if let (name, Some(version)) = change(event) {
                    let text = written.texts.get(&version).map(String::as_str);
                    assert_eq!(
                        text,
                        Some((self.text)(event.object())),
                        "handler {number}: {name} at {version}"
                    );
                }
            }
        }
        self.told_everything(written);
        until(&self.informer, "the trouble is over", |status| status.trouble.is_none()).await;
        let status = self.informer.status();
        self.informer.shutdown().await;
        status
    }

    /// The first handler missed nothing but what lists passed over, and the late one nothing that the first was told
    /// after it came.
    fn told_everything(&self, written: &Written) {
        let logs: Vec<_> = self.handlers.iter().map(|(_, log)| log.lock()).collect();
        let [quick, _, late] = logs.as_slice() else { panic!("there are three") };
        let mut heard = BTreeMap::<&str, Vec<Change>>::new();
        for (name, change) in quick.iter().map(change) {
            heard.entry(name).or_default().push(change);
        }
        let lists = self.notes.lock();
        for (name, changes) in &written.changes {
            let heard = heard.get(name.as_str()).map_or(&[][..], Vec::as_slice);
            let amiss = amiss(changes, heard, &lists.lists);
            assert!(amiss.is_empty(), "{name}: {amiss:?}\nlists {:?}", lists.lists);
        }
        let is_initial = |event: &&Event<K>| matches!(event, Event::Added { initial: true, .. });
        let late: Vec<_> = late.iter().skip_while(is_initial).map(change).collect();
        assert!(!late.is_empty(), "it came in the middle");
        let same: Vec<_> = quick.iter().skip(quick.len().saturating_sub(late.len())).map(change).collect();
        assert_eq!(late, same, "the late handler is told what the first is told");
    }
}

/// Notices silence soon, and tries everything again soon.
fn impatient() -> Config {
    let mut config = quick();
    config.backoff_initial = Duration::from_millis(20);
    config.backoff_max = Duration::from_millis(100);
    config.silence = Duration::from_secs(1);
    config.initial_silence = Duration::from_secs(1);
    config.list_silence = Duration::from_secs(1);
    config.fallback_for = Duration::from_secs(2);
    config.short_watch = Duration::from_millis(150);
    config
}

/// Freezes and cuts at random moments, for ever.
async fn weather(proxy: &Proxy, mut chance: Chance) {
    loop {
        tokio::time::sleep(chance.time(20, 300)).await;
        match chance.below(8) {
            0..4 => proxy.cut(),
            4..7 => {
                proxy.freeze();
                tokio::time::sleep(chance.time(5, 200)).await;
                if chance.below(3) == 0 {
                    proxy.cut();
                }
                proxy.thaw();
            }
            _ => proxy.forget_open(),
        }
    }
}

/// One seed; returns what happened, in a line.
async fn trial(server: Arc<Server>, seed: u64) -> String {
    let name = format!("luck-{seed}");
    let admin = server.client().await;
    let (proxy, config) = server.proxy().await;
    let client = client(config);
    let configs = namespace(&admin, &name).await;
    let kind = widget(GROUP, "v1");
    let widgets: Api<DynamicObject> = Api::namespaced_with(admin, &name, &kind);

    proxy.tempt(seed);
    // As a type, in protobuf.
    let mut typed = Side::<ConfigMap>::follow(
        configs,
        KubeSource::namespaced(client.clone(), &name, &()),
        |name, text| config_map(name, text, &[]),
        |config| config.data.as_ref().unwrap()["value"].as_str(),
    );
    // Without a type, in JSON.
    let mut untyped = Side::<DynamicObject>::follow(
        widgets,
        KubeSource::namespaced(client, &name, &kind),
        |name, text| DynamicObject::new(name, &widget(GROUP, "v1")).data(json!({ "spec": { "text": text } })),
        |widget| widget.data["spec"]["text"].as_str().unwrap(),
    );
    let enough = || proxy.struck().ended() >= CUTS;
    let churn = async {
        tokio::join!(
            typed.churn(Chance::new(seed), enough),
            untyped.churn(Chance::new(seed + 1_000_000), enough)
        )
    };
    let (configs, widgets) = tokio::select! {
        biased;
        () = weather(&proxy, Chance::new(seed + 2_000_000)) => unreachable!("it has no end"),
        written = tokio::time::timeout(PATIENCE, churn) => written.expect("enough happens"),
    };
    proxy.calm();
    proxy.thaw();
    let (typed, untyped) = (typed.agrees(&configs).await, untyped.agrees(&widgets).await);
    for status in [typed, untyped] {
        let resumed: u64 = status.relists.values().chain(status.restarts.values()).sum();
        assert!(resumed > 2 && status.errors > 2, "it felt little of it: {status:?}");
    }
    let states = configs.texts.len() + widgets.texts.len();
    format!("seed {seed}: {states} states, {} connections, {:?}", proxy.connections(), proxy.struck())
}

/// A number from the environment.
fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable)
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

#[expect(clippy::print_stdout, reason = "for those who count")]
async fn connections_that_are_cut_and_frozen_at_random_lose_and_repeat_nothing(which: Which) {
    let server = Arc::new(which.shared().await);
    let admin = server.client().await;
    install(&admin, GROUP, &["v1"]).await;
    let kind = widget(GROUP, "v1");
    let probe = DynamicObject::new("probe", &kind);
    definitions::create(&Api::default_namespaced_with(admin, &kind), &probe).await;
    let first = number("KUBE_INFORMER_E2E_SEED", FIRST);
    let seeds = first..first + number("KUBE_INFORMER_E2E_SEEDS", SEEDS);
    let trials = stream::iter(seeds).map(|seed| {
        let trial = tokio::spawn(trial(Arc::clone(&server), seed));
        async move { (seed, trial.await) }
    });
    let mut trials = trials.buffer_unordered(AT_ONCE);
    let mut failed = Vec::new();
    while let Some((seed, end)) = trials.next().await {
        match end {
            Ok(line) => println!("{which:?} server, {line}"),
            Err(_) => failed.push(seed),
        }
    }
    assert!(
        failed.is_empty(),
        "failed with the seeds {failed:?}, see above; KUBE_INFORMER_E2E_SEED={} KUBE_INFORMER_E2E_SEEDS=1 repeats it",
        failed[0]
    );
}
