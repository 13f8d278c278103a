//! What ties the rooms together: deltas go to the store, and from there to the listeners.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};

use futures::FutureExt;
use futures::future::BoxFuture;
use kube_core::Resource;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::builder::{OnError, Settings};
use super::sources::Followed;
use super::status::{Took, oldest};
use super::step::{Applied, List, Step, StepKind, steps, written};
use super::{Phase, Shared};
use crate::fanout::{Event, Fanout};
use crate::object::{Residency, Spent};
use crate::panics;
use crate::queue::{Closed, Consumer, Delta, Depth, Producer, queue};
use crate::reflector::{Note, Reflector};
use crate::source::{Scope, SourceError, Transform, Want};
use crate::store::{Store, Write};

/// How many changes go to the store in one step.
pub(super) const BATCH: usize = 1_000;

/// An informer begins to follow, on the runtime that this is called on.
pub(super) fn started<K: Resource + Send + Sync + 'static>(shared: &Arc<Shared<K>>) {
    shared.runtime.get_or_init(tokio::runtime::Handle::current);
    shared.stage.lock().fanout.start_resync(Instant::now().into_std());
    shared.status.send_modify(|status| status.phase = Phase::Running);
    keep_telling(shared);
}

/// Sees to it that listeners are told everything again when it is time.
pub(super) fn keep_telling<K: Resource + Send + Sync + 'static>(shared: &Arc<Shared<K>>) {
    let mut stage = shared.stage.lock();
    if !stage.resyncing && !shared.stop.is_cancelled() && stage.fanout.next_resync().is_some() {
        stage.resyncing = true;
        drop(stage);
        let task = resync(Arc::downgrade(shared), Arc::clone(&shared.resync_changed));
        spawn(shared, shared.stop.clone(), task.boxed());
    }
}

/// Follows one source.
pub(super) fn run<K: Resource + Send + Sync + 'static>(
    shared: &Arc<Shared<K>>,
    settings: &Settings<K>,
    followed: &Followed<K>,
) {
    let (producer, consumer) = queue(settings.queue);
    shared.traffic.lock().add(producer.depth());
    let seed = settings.seed.wrapping_add(followed.id - 1);
    let mut want = want(&shared.store, settings.residency, settings.transform.clone());
    if followed.anew {
        want = want.knowing_nothing();
    }
    let want = want.making(settings.make.clone()).tasks(shared.tasks.clone());
    let spent = Arc::clone(want.spent());
    let reflector = Reflector::new(Arc::clone(&followed.source), settings.config.clone(), seed)
        .want(want)
        .on_note(note(shared, followed.id, settings.on_error.clone()));
    spawn(shared, followed.stop.clone(), reflector.run(producer, followed.stop.clone()).boxed());
    let processor = Processor { shared: Arc::downgrade(shared), source: followed.id, consumer, spent };
    spawn(shared, followed.stop.clone(), processor.run().boxed());
}

/// How objects are wanted: what is in the store already is not decoded again.
pub(super) fn want<K: Resource + Send + Sync + 'static>(
    store: &Store<K>,
    residency: Residency,
    transform: Option<Transform<K>>,
) -> Want<K> {
    let want = Want::new().residency(residency).knowing(store.clone());
    match transform {
        Some(transform) => want.transform(move |object| transform(object)),
        None => want,
    }
}

/// Runs a task of the informer, until the informer is stopped, or what the task is for is gone. Tasks hold the informer
/// weakly: one that nobody else holds any more is dropped, and that stops them. They are boxed, so that what runs tasks is
/// not compiled anew for each of each type.
fn spawn<K: Resource + Send + Sync + 'static>(
    shared: &Arc<Shared<K>>,
    gone: CancellationToken,
    task: BoxFuture<'static, ()>,
) {
    let (stop, weak) = (shared.stop.clone(), Arc::downgrade(shared));
    let task = async move {
        let outcome = tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            () = gone.cancelled() => Ok(()),
            outcome = AssertUnwindSafe(task).catch_unwind() => outcome,
        };
        let Some(shared) = weak.upgrade() else { return };
        if let Err(panic) = outcome {
            // An index function, a hook or a source: nobody knows what the copy is worth now.
            let error = SourceError::panicked(&panics::message(panic));
            shared.status.send_modify(|status| status.failed(None, &error, false, Instant::now().into_std()));
            shared.stop.cancel();
        }
        if shared.stop.is_cancelled() {
            ended(&shared);
        }
    };
    match shared.runtime.get() {
        // What is changed later may be changed from anywhere.
        Some(runtime) => shared.tasks.spawn_on(task.boxed(), runtime),
        None => shared.tasks.spawn(task.boxed()),
    };
}

/// Closes the listeners of an informer that has been stopped.
pub(super) fn ended<K: Resource + Send + Sync + 'static>(shared: &Shared<K>) {
    drop(shared.sources.lock().take());
    shared.tasks.close();
    shared.stage.lock().fanout.close(false);
    shared.status.send_modify(|status| status.phase = Phase::Stopped);
}

/// Writes into the status what happens while following.
fn note<K: Resource + Send + Sync + 'static>(
    shared: &Arc<Shared<K>>,
    source: u64,
    on_error: Option<OnError>,
) -> impl Fn(Note<'_>) + Send + Sync + 'static {
    let shared = Arc::downgrade(shared);
    move |note| {
        let Some(shared) = shared.upgrade() else { return };
        let now = Instant::now().into_std();
        if let Note::Heard { bytes } = note {
            shared.traffic.lock().heard(bytes, now);
            return;
        }
        shared.status.send_modify(|status| status.note(source, &note, now));
        if let (Note::Failed { error, .. }, Some(hook)) = (note, &on_error) {
            hook(error);
        }
    }
}

/// Tells listeners everything again, when it is time; ends if that will never be.
async fn resync<K: Resource + Send + Sync + 'static>(shared: Weak<Shared<K>>, changed: Arc<Notify>) {
    let turn = || {
        let shared = shared.upgrade()?;
        let mut stage = shared.stage.lock();
        let due = stage.fanout.note_due(Instant::now().into_std());
        let next = stage.fanout.next_resync();
        stage.resyncing = next.is_some();
        // In order with what the source says; where there are several, they have no order among them.
        Some((due.then(|| shared.traffic.lock().any_queue()), next))
    };
    while let Some((due, next)) = turn() {
        if let Some(queue) = due {
            let queued = match queue {
                Some(queue) => queue.push(Delta::Resync).await,
                None => Err(Closed),
            };
            if let (Err(Closed), Some(shared)) = (queued, shared.upgrade()) {
                tell_again(&shared);
            }
        }
        let Some(next) = next else { return };
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(next.into()) => {}
            () = changed.notified() => {}
        }
    }
}

/// Tells listeners that are due everything again.
fn tell_again<K: Resource + Send + Sync + 'static>(shared: &Shared<K>) {
    let mut stage = shared.stage.lock();
    stage.fanout.tell_again(Instant::now().into_std(), &shared.store.snapshot());
}

/// Takes what one reflector says.
struct Processor<K> {
    shared: Weak<Shared<K>>,
    source: u64,
    consumer: Consumer<K>,
    /// Where those who decode find what they may make new ones of.
    spent: Arc<Spent<K>>,
}

impl<K: Resource + Send + Sync + 'static> Processor<K> {
    async fn run(mut self) {
        while let Some(batch) = self.consumer.pop_batch(BATCH).await {
            let Some(shared) = self.shared.upgrade() else { return };
            for step in steps(batch) {
                let measured = shared.latency.as_ref().map(|latency| (latency, Instant::now()));
                self.take(&shared, step);
                if let Some((latency, began)) = measured {
                    latency.observe(began.elapsed().as_secs_f64());
                }
            }
        }
    }

    /// Takes one step: the store is written and the listeners are told, undisturbed by those who join.
    fn take(&self, shared: &Shared<K>, step: Step<K>) {
        if step.kind() == StepKind::Again {
            return tell_again(shared);
        }
        let (kind, version) = (step.kind(), step.version().to_owned());
        let mut stage = shared.stage.lock();
        // What comes from a source that is followed no more is not wanted.
        let Some(applied) = stage.take(self.source, step, &shared.store, &self.spent) else { return };
        let (events, objects) = (applied.told, shared.store.snapshot().len());
        let took = Took { kind, version, events, objects, quarantine: applied.quarantine };
        // The status is told of steps in their order.
        shared.status.send_modify(|status| status.took(self.source, took, Instant::now().into_std()));
        stage.complete_if_listed();
    }
}

/// What is written to, step by step.
pub(super) struct Stage<K> {
    pub(super) fanout: Fanout<K>,
    scopes: Vec<Reached>,
    /// Everything has been listed once.
    complete: bool,
    /// There is a task that tells everything again.
    resyncing: bool,
}

/// How far one scope has come.
#[derive(Default)]
struct Reached {
    source: u64,
    scope: Scope,
    version: String,
    listed: bool,
    /// The next list is of other things than those that are there.
    anew: bool,
}

impl<K: Resource + Send + Sync + 'static> Stage<K> {
    pub(super) fn new(fanout: Fanout<K>) -> Self {
        Self { fanout, scopes: Vec::new(), complete: false, resyncing: false }
    }

    /// Has these scopes from now on; what is known of those that stay is kept. Whoever calls this tells the status, and then
    /// [completes](Self::complete_if_listed).
    pub(super) fn cover(&mut self, scopes: &[(u64, Scope)], anew: bool) {
        let mut before = std::mem::take(&mut self.scopes);
        let reached = scopes.iter().map(|(source, scope)| {
            let known = before.iter().position(|reached| reached.source == *source);
            match known {
                Some(at) => before.swap_remove(at),
                None => Reached { source: *source, scope: scope.clone(), anew, ..Reached::default() },
            }
        });
        self.scopes = reached.collect();
    }

    /// Says that everything has been listed, if that is so for the first time. For handlers to have synced, the informer
    /// must have: its status comes first.
    pub(super) fn complete_if_listed(&mut self) {
        if !self.complete && !self.scopes.is_empty() && self.scopes.iter().all(|scope| scope.listed) {
            self.complete = true;
            self.fanout.initial_complete();
        }
    }

    /// Writes to the store what no source says, and tells it.
    pub(super) fn write(&mut self, store: &Store<K>, writes: Vec<Write<K>>) {
        self.fanout.tell_all(written(store.write(writes, None)));
    }

    /// Takes one step of a source; none if the source is followed no more.
    fn take(&mut self, source: u64, step: Step<K>, store: &Store<K>, spent: &Spent<K>) -> Option<Applied<K>> {
        let at = self.scopes.iter().position(|reached| reached.source == source)?;
        let current = self.reach(at, step.version());
        let everything = step.kind() == StepKind::Everything;
        let Reached { scope, listed, anew, .. } = &self.scopes[at];
        let list = List { scope, initial: !listed && !self.complete, anew: *anew };
        let mut applied = step.apply(store, list, current.as_deref());
        let events = std::mem::take(&mut applied.events);
        applied.told = events.len() as u64;
        spent.put(events.iter().filter_map(Event::used), store.snapshot().len() / self.scopes.len());
        self.fanout.tell_all(events);
        if everything {
            (self.scopes[at].listed, self.scopes[at].anew) = (true, false);
        }
        Some(applied)
    }

    /// Notes the version that a scope has reached; returns the one that all have.
    fn reach(&mut self, scope: usize, version: &str) -> Option<String> {
        if !version.is_empty() {
            version.clone_into(&mut self.scopes[scope].version);
        }
        let oldest = oldest(self.scopes.iter().map(|scope| scope.version.as_str()));
        (!oldest.is_empty()).then_some(oldest)
    }
}

/// What is counted too often for the status to be told each time.
pub(super) struct Traffic<K> {
    pub(super) received_bytes: u64,
    pub(super) last_heard: Option<std::time::Instant>,
    queues: Vec<Depth<K>>,
}

impl<K> Traffic<K> {
    fn add(&mut self, queue: Depth<K>) {
        self.queues.retain(Depth::is_open);
        self.queues.push(queue);
    }

    fn heard(&mut self, bytes: usize, now: std::time::Instant) {
        self.received_bytes += bytes as u64;
        self.last_heard = Some(now);
    }

    /// A queue that somebody takes from.
    fn any_queue(&self) -> Option<Producer<K>> {
        self.queues.iter().find_map(Depth::producer)
    }

    /// Changes that wait for the store.
    pub(super) fn queued(&self) -> usize {
        self.queues.iter().map(Depth::get).sum()
    }
}

impl<K> Default for Traffic<K> {
    fn default() -> Self {
        Self { received_bytes: 0, last_heard: None, queues: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
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
        async fn process(
            self,
        ) -> (SharedInformer<ConfigMap>, Registration<ConfigMap>, Arc<Mutex<Vec<String>>>) {
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
        let order = log.lock().clone();
        order
    }

    fn empty_list() -> Delta<ConfigMap> {
        Delta::Replaced { objects: Vec::new(), resource_version: "1".to_owned(), undecodable: Vec::new() }
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
        stage.cover(&[(1, Scope::default())], false);
        let (store, spent) = (Store::new(), Spent::default());
        let mut take = |delta| {
            for step in steps(vec![delta]) {
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
}
