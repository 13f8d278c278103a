//! Measurements of kube-runtime: a reflector as its users have it, with what is stable in it.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use kube_client::{Api, Client, Config};
use kube_core::{Selector, SelectorExt};
use kube_runtime::reflector::store::Writer;
use kube_runtime::reflector::{ObjectRef, Store};
use kube_runtime::{WatchStreamExt, reflector, watcher};
use tokio::sync::mpsc;

use super::kind::Measured;
use super::process::{cpu, forget_peak, tell_memory};
use super::reads::{self, Names, Read};
use super::{Settings, Step, Way, expect, figure};
use crate::Error;
use crate::replay::{Control, unix_nanos};
use crate::report::now;

/// What kube-runtime asks of a kind.
pub(super) trait Kind: Measured<DynamicType: Clone + Eq + Hash + Send + Sync + Unpin> {}

impl<K: Measured<DynamicType: Clone + Eq + Hash + Send + Sync + Unpin>> Kind for K {}

pub(super) async fn run<K: Kind>(settings: Settings) -> Result<(), Error> {
    match settings.step {
        Step::Sync => sync::<K>(&settings).await,
        Step::Relist => relist::<K>(&settings).await,
        Step::Events => events::<K>(&settings).await,
        Step::Reads => reads::<K>(settings).await,
        step => Err(format!("kube-runtime is not measured for {step:?}").into()),
    }
}

/// Starts to follow; the function is called with every event, after the store has it.
fn follow<K: Kind>(
    settings: &Settings,
    mut call: impl FnMut(&watcher::Event<K>) + Send + 'static,
) -> Result<Store<K>, Error> {
    let mut config = Config::new(settings.url.parse()?);
    config.default_retry = false;
    let api = Api::<K>::all_with(Client::try_from(config)?, &K::dynamic_type());
    let config = match settings.way {
        Way::List => watcher::Config::default(),
        Way::WatchList => watcher::Config::default().streaming_lists(),
    };
    let writer = Writer::new(K::dynamic_type());
    let store = writer.as_reader();
    let stream = reflector(writer, watcher(api, config).default_backoff());
    tokio::spawn(stream.for_each(move |event| {
        if let Ok(event) = event {
            call(&event);
        }
        std::future::ready(())
    }));
    Ok(store)
}

async fn start<K: Kind>(settings: &Settings, store: &Store<K>) -> Result<(), Error> {
    store.wait_until_ready().await?;
    expect(store.len(), settings.count)
}

async fn sync<K: Kind>(settings: &Settings) -> Result<(), Error> {
    let (worked, begun) = (cpu(), now());
    let store = follow::<K>(settings, |_| ())?;
    start(settings, &store).await?;
    figure("seconds", begun.elapsed().as_secs_f64());
    figure("cpu", cpu() - worked);
    settings.settle().await;
    tell_memory();
    expect(store.len(), settings.count)
}

async fn relist<K: Kind>(settings: &Settings) -> Result<(), Error> {
    let (done, mut lists) = mpsc::unbounded_channel();
    let store = follow::<K>(settings, move |event| {
        if matches!(event, watcher::Event::InitDone) {
            let _ = done.send(unix_nanos().unwrap_or(0));
        }
    })?;
    start(settings, &store).await?;
    lists.recv().await.ok_or("the reflector is gone")?;
    settings.settle().await;
    forget_peak();
    let (before, worked) = (crate::memory::own().0, cpu());
    let control = Control::new(&settings.url)?;
    control.tell("/bench/expire").await?;
    let ended = lists.recv().await.ok_or("the reflector is gone")?;
    figure("cpu", cpu() - worked);
    let (_, asked) = control.times().await?;
    figure("seconds", ended.saturating_sub(asked) as f64 / 1e9);
    settings.settle().await;
    figure("resident_before", before as f64);
    tell_memory();
    expect(store.len(), settings.count)
}

async fn events<K: Kind>(settings: &Settings) -> Result<(), Error> {
    if settings.handlers != 1 {
        return Err("kube-runtime has one consumer, unless unstable features are used".into());
    }
    let (done, mut all) = mpsc::unbounded_channel();
    let (events, mut seen, mut length) = (settings.events, 0, 0);
    let store = follow::<K>(settings, move |event| {
        if let watcher::Event::Apply(object) = event {
            seen += 1;
            length += object.node().map_or(0, str::len);
            if seen == events {
                let _ = done.send(length);
            }
        }
    })?;
    start(settings, &store).await?;
    // With pages the watch begins after the list, which is when the store is ready.
    settings.settle().await;
    let (worked, begun) = (cpu(), now());
    let control = Control::new(&settings.url)?;
    control.tell(&format!("/bench/events?count={events}&rate={}", settings.rate)).await?;
    all.recv().await.ok_or("the reflector is gone")?;
    figure("per_second", events as f64 / begun.elapsed().as_secs_f64());
    figure("cpu", cpu() - worked);
    Ok(())
}

async fn reads<K: Kind>(settings: Settings) -> Result<(), Error> {
    let written = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&written);
    let store = follow::<K>(&settings, move |event| {
        if matches!(event, watcher::Event::Apply(_)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    })?;
    start(&settings, &store).await?;
    settings.settle().await;
    let names = Arc::new(Names::new::<K>(settings.count));
    let some: Selector = [("team", "payments"), ("shard", "s03")].into_iter().collect();
    let get = |store: Store<K>, names: Arc<Names>| {
        move |at: usize| {
            let (namespace, name) = names.object(at);
            store.get(&ObjectRef::new_with(name, K::dynamic_type()).within(namespace))
        }
    };
    let (getter, looker) = (get(store.clone(), Arc::clone(&names)), get(store.clone(), Arc::clone(&names)));
    let (all, namespaced, labelled, indexed) = (store.clone(), store.clone(), store.clone(), store);
    let (two, no_labels) = (Arc::clone(&names), Default::default());
    // There are no indexes: whoever wants some objects looks at all.
    let ways: Vec<Read> = vec![
        ("get", Box::new(move |at| usize::from(getter(at).is_some()))),
        ("look", Box::new(move |at| usize::from(looker(at).is_some_and(|object| object.node().is_some())))),
        (
            "namespace",
            Box::new(move |at| {
                let namespace = two.object(at).0;
                let mut objects = namespaced.state();
                objects.retain(|object| object.meta().namespace.as_deref() == Some(namespace));
                objects.len()
            }),
        ),
        (
            "index",
            Box::new(move |at| {
                let node = names.node(at);
                let mut objects = indexed.state();
                objects.retain(|object| object.node() == Some(node));
                objects.len()
            }),
        ),
        ("all", Box::new(move |_| all.state().len())),
        (
            "label",
            Box::new(move |_| {
                let mut objects = labelled.state();
                objects.retain(|object| some.matches(object.meta().labels.as_ref().unwrap_or(&no_labels)));
                objects.len()
            }),
        ),
    ];
    reads::measure(settings, ways, written).await
}
