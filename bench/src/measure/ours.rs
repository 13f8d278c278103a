//! Measurements of kube-informer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube_client::{Client, Config};
use kube_core::Selector;
use kube_informer::lister::{Lister, NamespacedLister};
use kube_informer::object::{Object, Residency};
use kube_informer::source::KubeSource;
use kube_informer::store::{Index, Selected};
use kube_informer::{EventHandler, SharedInformer, reflector};
use tokio::sync::mpsc;

use super::kind::Measured;
use super::process::{cpu, forget_peak, tell_memory};
use super::reads::{self, Names, Read};
use super::{Library, Settings, Step, Way, delays, expect, figure};
use crate::Error;
use crate::replay::{CHANGED_EACH, Control, EVENT_VERSION, unix_nanos};
use crate::report::now;

/// So many events pass before latency is noted.
const WARM_UP: usize = 1_000;

pub(super) async fn run<K: Measured>(settings: Settings) -> Result<(), Error> {
    match settings.step {
        Step::Sync => sync::<K>(&settings).await,
        Step::Relist => relist::<K>(&settings).await,
        Step::Events => events::<K>(&settings).await,
        Step::Latency => latency::<K>(&settings).await,
        Step::Reads => reads::<K>(settings).await,
        Step::Decode | Step::Repeat | Step::Queue => Err("it needs no copy".into()),
    }
}

/// The informer that a controller would have.
fn informer<K: Measured>(settings: &Settings) -> Result<SharedInformer<K>, Error> {
    let mut config = Config::new(settings.url.parse()?);
    config.default_retry = false;
    let source = KubeSource::<K>::all(Client::try_from(config)?, &K::dynamic_type());
    let mut follow = reflector::Config::default();
    follow.initial_events = settings.way == Way::WatchList;
    let residency = match settings.library {
        Library::Packed => Residency::Packed,
        Library::Decoded => Residency::Decoded,
        Library::Adaptive | Library::KubeRuntime => Residency::default(),
    };
    Ok(SharedInformer::builder(source).config(follow).residency(residency).build())
}

async fn start<K: Measured>(settings: &Settings, informer: &SharedInformer<K>) -> Result<(), Error> {
    informer.start();
    informer.synced().await;
    expect(informer.store().snapshot().len(), settings.count)
}

async fn sync<K: Measured>(settings: &Settings) -> Result<(), Error> {
    let informer = informer::<K>(settings)?;
    let (worked, begun) = (cpu(), now());
    start(settings, &informer).await?;
    figure("seconds", begun.elapsed().as_secs_f64());
    figure("cpu", cpu() - worked);
    settings.settle().await;
    tell_memory();
    expect(informer.store().snapshot().len(), settings.count)
}

async fn relist<K: Measured>(settings: &Settings) -> Result<(), Error> {
    let informer = informer::<K>(settings)?;
    let (done, mut all) = mpsc::unbounded_channel();
    let (mut changed, wanted) = (0, settings.count / CHANGED_EACH as usize);
    informer.add_event_handler(EventHandler::<K>::new().on_update(move |old, new| {
        if old.resource_version() != new.resource_version() {
            changed += 1;
            if changed == wanted {
                let _ = done.send(unix_nanos().unwrap_or(0));
            }
        }
    }))?;
    start(settings, &informer).await?;
    settings.settle().await;
    forget_peak();
    let (before, worked) = (crate::memory::own().0, cpu());
    let control = Control::new(&settings.url)?;
    control.tell("/bench/expire").await?;
    let ended = all.recv().await.ok_or("the handler is gone")?;
    figure("cpu", cpu() - worked);
    let (_, asked) = control.times().await?;
    figure("seconds", ended.saturating_sub(asked) as f64 / 1e9);
    settings.settle().await;
    figure("resident_before", before as f64);
    tell_memory();
    expect(informer.store().snapshot().len(), settings.count)
}

/// Adds handlers of updates, and returns when they have heard of what is there.
async fn add_handlers<K, H>(
    informer: &SharedInformer<K>,
    count: usize,
    mut handler: impl FnMut() -> H,
) -> Result<(), Error>
where
    K: Measured,
    H: FnMut(&Object<K>) + Send + 'static,
{
    for _ in 0..count {
        let mut handle = handler();
        let handler = EventHandler::<K>::new().on_update(move |_, new| handle(new));
        informer.add_event_handler(handler)?.synced().await;
    }
    Ok(())
}

async fn events<K: Measured>(settings: &Settings) -> Result<(), Error> {
    let informer = informer::<K>(settings)?;
    start(settings, &informer).await?;
    let (done, mut all) = mpsc::unbounded_channel();
    let events = settings.events;
    add_handlers(&informer, settings.handlers, || {
        let (done, mut seen, mut length) = (done.clone(), 0, 0);
        move |object: &Object<K>| {
            seen += 1;
            length += object.node().map_or(0, str::len);
            if seen == events {
                let _ = done.send(length);
            }
        }
    })
    .await?;
    let (worked, begun) = (cpu(), now());
    let control = Control::new(&settings.url)?;
    control.tell(&format!("/bench/events?count={events}&rate={}", settings.rate)).await?;
    for _ in 0..settings.handlers {
        all.recv().await.ok_or("the handlers are gone")?;
    }
    figure("per_second", events as f64 / begun.elapsed().as_secs_f64());
    figure("cpu", cpu() - worked);
    Ok(())
}

async fn latency<K: Measured>(settings: &Settings) -> Result<(), Error> {
    let informer = informer::<K>(settings)?;
    start(settings, &informer).await?;
    let control = Control::new(&settings.url)?;
    let (started, _) = control.times().await?;
    let (done, mut all) = mpsc::unbounded_channel();
    let events = settings.events;
    add_handlers(&informer, settings.handlers, || {
        let (done, mut seen, mut own) = (done.clone(), 0, Vec::with_capacity(events));
        move |object: &Object<K>| {
            seen += 1;
            if seen > WARM_UP {
                let version: u64 = object.resource_version().parse().unwrap_or(0);
                let sent = started + version.saturating_sub(EVENT_VERSION) * 1_000;
                own.push(unix_nanos().unwrap_or(0).saturating_sub(sent) as f64 / 1e9);
            }
            if seen == events {
                let _ = done.send(std::mem::take(&mut own));
            }
        }
    })
    .await?;
    let worked = cpu();
    control.tell(&format!("/bench/events?count={events}&rate={}", settings.rate)).await?;
    let mut seen = Vec::new();
    for _ in 0..settings.handlers {
        seen.extend(all.recv().await.ok_or("the handlers are gone")?);
    }
    figure("cpu", cpu() - worked);
    delays(seen);
    Ok(())
}

async fn reads<K: Measured>(settings: Settings) -> Result<(), Error> {
    let informer = informer::<K>(&settings)?;
    let by_node = informer.add_index("node", |object: &K| object.node().map(str::to_owned))?;
    let written = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&written);
    informer.add_event_handler(EventHandler::<K>::new().on_update(move |_, _| {
        counter.fetch_add(1, Ordering::Relaxed);
    }))?;
    start(&settings, &informer).await?;
    let lister = Lister::new(informer.store().clone(), &K::dynamic_type());
    let names = Arc::new(Names::new::<K>(settings.count));
    let some: Selector = [("team", "payments"), ("shard", "s03")].into_iter().collect();
    let by_node = Arc::new(by_node);
    let one = Reader { lister, by_node, names, some, all: Selector::default() };
    let way = |name, call: fn(&Reader<K>, usize) -> usize| -> Read {
        let reader = one.clone();
        (name, Box::new(move |at| call(&reader, at)))
    };
    let ways = vec![
        way("get", |read, at| usize::from(read.object(at).is_some())),
        way("look", |read, at| usize::from(read.object(at).is_some_and(|object| object.node().is_some()))),
        way("namespace", |read, at| seen(&read.namespace(at).select(&read.all))),
        way("index", |read, at| seen(&read.by_node.select(read.names.node(at)))),
        way("all", |read, _| seen(&read.lister.select(&read.all))),
        way("label", |read, _| seen(&read.lister.select(&read.some))),
        way("namespace_taken", |read, at| read.namespace(at).list(&read.all).len()),
        way("index_taken", |read, at| read.by_node.get(read.names.node(at)).len()),
        way("all_taken", |read, _| read.lister.list(&read.all).len()),
        way("label_taken", |read, _| read.lister.list(&read.some).len()),
    ];
    reads::measure(settings, ways, written).await
}

/// What reads the copy.
struct Reader<K> {
    lister: Lister<K>,
    by_node: Arc<Index<K>>,
    names: Arc<Names>,
    some: Selector,
    all: Selector,
}

impl<K: Measured> Reader<K> {
    fn object(&self, at: usize) -> Option<Object<K>> {
        let (namespace, name) = self.names.object(at);
        self.lister.namespaced(namespace).get(name).ok()
    }

    fn namespace(&self, at: usize) -> NamespacedLister<'_, K> {
        self.lister.namespaced(self.names.object(at).0)
    }
}

impl<K> Clone for Reader<K> {
    fn clone(&self) -> Self {
        let Self { lister, by_node, names, some, all } = self;
        Self {
            lister: lister.clone(),
            by_node: Arc::clone(by_node),
            names: Arc::clone(names),
            some: some.clone(),
            all: all.clone(),
        }
    }
}

/// Goes through what was selected: each object is pointed to, as in the lists that client-go makes.
fn seen<K: Measured>(selected: &Selected<K>) -> usize {
    selected.iter().map(std::hint::black_box).count()
}
