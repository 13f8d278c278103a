//! Shared informers: one watch and one copy of a kind, for any number of listeners.

mod builder;
mod controller;
mod generic;
mod process;
mod sources;
mod status;
mod step;
mod unnamed;
mod view;

pub use builder::InformerBuilder;
pub use controller::Controller;
pub use generic::GenericInformer;
pub(crate) use generic::Inform;
pub use status::{InformerStatus, Phase, ScopeStatus, Trouble};
pub(crate) use unnamed::UnnamedInformer;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube_core::Resource;
use parking_lot::Mutex;
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::fanout::{Handle, ListenerOptions, Registration, Subscription, Zone};
use crate::metrics::{Observation, Observed};
use crate::object::Object;
use crate::source::{ListWatch, Scope, SourceError};
use crate::store::{Index, IndexError, IndexValues, Snapshot, Store, Version, Write};
use process::{Stage, Traffic};
use sources::Sources;

/// What is said where nothing can run.
const NO_RUNTIME: &str = "the informer was started outside of a tokio runtime, and follows nothing until it is started inside of one";

/// A local, current copy of all objects of a kind, and listeners that hear every change.
///
/// # The contract
///
/// Each clause names the test in `tests/informer` that pins it.
///
/// 1. The copy comes to equal the server, whatever happens on the way
///    (`the_copy_and_every_log_explain_the_server_after_every_fault`, `every_fault_strikes_while_handlers_come_and_go`).
/// 2. A listener is called with one event after the other, in the order in which they happened
///    (`a_late_handler_hears_what_is_there_and_then_everything`); the store is changed before
///    (`the_store_is_never_behind_what_a_handler_is_told`).
/// 3. A handler added before the start hears of every object and every change; one added later hears first of what is
///    there, then of every change, without gap or repetition (`a_late_handler_hears_what_is_there_and_then_everything`).
///    One that is so slow that its queue reaches the high-water mark hears of the latest state of each object
///    (`a_slow_listener_is_told_as_old_what_it_saw_last`).
/// 4. A slow, panicking or removed handler does not delay the store or other handlers
///    (`a_handler_that_blocks_or_panics_delays_nobody`): while there are events for it, it has one of the threads that tokio keeps for
///    blocking work (512 by default). Only while all of them are held do other handlers wait
///    (`handlers_take_turns_on_the_only_thread_of_a_runtime`).
/// 5. An object that cannot be decoded is named in the status, keeps its last good state, and returns when it can be
///    decoded again (`an_undecodable_object_is_quarantined_and_comes_back`). One for which a transform panicked is asked for
///    again, by listing its scope again: first after 10–20 s, then ever more rarely, at last every 30–60 min. The status counts
///    these lists (`an_object_for_which_the_transform_panicked_is_tried_again_while_the_watch_is_open`). No value
///    of an object is in the status (`a_quarantined_object_is_told_with_its_place_and_type_and_without_its_values`).
/// 6. What goes wrong is in the status while it lasts (`trouble_is_in_the_status_while_it_lasts`).
/// 7. After [`shutdown`](Self::shutdown) has returned no task of the informer runs, and no handler is called; its objects
///    go with the last handle to it (`a_shut_down_informer_leaves_no_task_and_no_object_behind`).
/// 8. An informer is used once: created, started, stopped (the same test). The end of the runtime that it was started on
///    stops it too (`an_informer_whose_runtime_has_ended_has_stopped_and_says_why`).
/// 9. An index function that panics leaves its object out of the index until the object changes, and is named in the status
///    (`an_index_function_that_panics_leaves_the_object_out_and_stops_nothing`).
pub struct SharedInformer<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    name: String,
    /// The resource; the namespaces are in the status.
    scope: Scope,
    store: Store<K>,
    /// Held while a change goes to the store and to the listeners, and while a listener is added: so that it hears
    /// of each change either as something that is there or as something that follows.
    stage: Mutex<Stage<K>>,
    /// The next time when listeners are told everything again may be another one.
    resync_changed: Arc<Notify>,
    status: watch::Sender<InformerStatus>,
    traffic: Mutex<Traffic<K>>,
    /// None when it has been stopped.
    sources: Mutex<Option<Sources<K>>>,
    tasks: TaskTracker,
    /// Where the tasks run; none before the start.
    runtime: OnceLock<tokio::runtime::Handle>,
    stop: CancellationToken,
    /// Only if somebody looks at it.
    latency: Option<Histogram>,
}

/// Why something cannot be done with an informer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InformerError {
    /// It has been stopped, and is of no use any more.
    #[error("the informer {name:?} has been stopped; make a new one")]
    Stopped {
        /// The informer's name.
        name: String,
    },
    /// Handlers and kinds need tasks.
    #[error("there is no tokio runtime here; call it inside one, or enter one first")]
    NoRuntime,
    /// There is nothing to follow.
    #[error("there is no namespace to follow; name at least one, or follow all")]
    NoSource,
    /// There can be no such namespace.
    #[error("{namespace:?} cannot be the name of a namespace")]
    BadNamespace {
        /// What was named.
        namespace: String,
    },
    /// The same objects would come twice.
    #[error("the namespace {namespace:?} is named twice; name each once")]
    SameNamespace {
        /// The namespace.
        namespace: String,
    },
    /// The same objects would come twice.
    #[error("one source covers all namespaces, so there cannot be others; leave one or the other out")]
    Overlap,
    /// There is an index of that name.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl<K: Resource + Send + Sync + 'static> SharedInformer<K> {
    /// An informer of what a source has, with default settings.
    pub fn new(source: impl ListWatch<K>) -> Self {
        Self::builder(source).build()
    }

    /// Settings for an informer of what a source has.
    pub fn builder(source: impl ListWatch<K>) -> InformerBuilder<K> {
        InformerBuilder::new(source)
    }

    /// Settings for an informer of what several sources have, each in a namespace of its own: one copy, one set of
    /// listeners.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_informer::{SharedInformer, source::KubeSource};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kube_testserver::TestServer::start().await?;
    /// # let client = server.client()?;
    /// let pods = SharedInformer::across(KubeSource::<Pod>::namespaces(&client, ["web", "shop"], &()))?.build();
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn across(
        sources: impl IntoIterator<Item: ListWatch<K>>,
    ) -> Result<InformerBuilder<K>, InformerError> {
        InformerBuilder::across(sources)
    }

    /// Starts to follow. Calls after the first do nothing. Needs a tokio runtime: outside of one nothing is started, and
    /// the status says so.
    pub fn start(&self) {
        if tokio::runtime::Handle::try_current().is_err() {
            let error = SourceError::trouble(NO_RUNTIME.to_owned());
            let now = tokio::time::Instant::now().into_std();
            self.shared.status.send_modify(|status| status.failed(None, &error, false, now));
            return;
        }
        // Held until it has started: whoever stops it meanwhile waits, and then finds all tasks.
        if let Some(sources) = &mut *self.shared.sources.lock()
            && !self.shared.stop.is_cancelled()
        {
            sources.start(&self.shared);
        }
    }

    /// Follows these sources from now on, and none else: other namespaces, or other selectors. A source that is followed
    /// already (the same `Arc`) goes on undisturbed. Objects of namespaces that are covered no more are gone at once;
    /// what else has changed shows when a new source has been listed. Without any source nothing is followed, and
    /// nothing is there.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_informer::source::{KubeSource, ListWatch};
    /// use kube_informer::SharedInformer;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kube_testserver::TestServer::start().await?;
    /// # let client = server.client()?;
    /// let web: Arc<dyn ListWatch<Pod>> = Arc::new(KubeSource::namespaced(client.clone(), "web", &()));
    /// let pods = SharedInformer::new(Arc::clone(&web));
    /// pods.start();
    /// let shop = Arc::new(KubeSource::namespaced(client, "shop", &()));
    /// pods.follow([shop, web])?;
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn follow(
        &self,
        sources: impl IntoIterator<Item = Arc<dyn ListWatch<K>>>,
    ) -> Result<(), InformerError> {
        self.change_sources(sources.into_iter().collect(), false)
    }

    /// The same, but what is there is asked for anew, though its version be the same.
    pub(crate) fn follow_anew(&self, sources: Vec<Arc<dyn ListWatch<K>>>) -> Result<(), InformerError> {
        self.change_sources(sources, true)
    }

    /// Takes everything out of some scopes of the copy, and tells it: nobody saw it go.
    pub(crate) fn forget(&self, scopes: impl Fn(&ScopeStatus) -> bool) {
        let mut stage = self.shared.stage.lock();
        // The status is told of what arrives under the same lock: what has come back meanwhile stays.
        let gone: Vec<Scope> = self
            .shared
            .status
            .borrow()
            .scopes
            .iter()
            .filter(|one| scopes(one))
            .map(ScopeStatus::scope)
            .collect();
        let there = self.shared.store.list();
        let covered = there.iter().filter(|object| gone.iter().any(|one| one.covers(object.namespace())));
        let writes: Vec<_> = covered.map(|object| Write::RemoveKey(object.key().to_owned())).collect();
        if !writes.is_empty() {
            stage.write(&self.shared.store, writes);
            let objects = self.shared.store.snapshot().len();
            self.shared.status.send_modify(|status| status.objects = objects);
        }
    }

    /// Takes in that `epoch` is proven to have ended for the objects of a namespace: its scope is listed again, and the next epoch
    /// begins with that list.
    pub(crate) fn epoch_ended(&self, namespace: &str, epoch: u64) {
        let stage = self.shared.stage.lock();
        if let Some(source) = stage.epoch_ended(namespace, epoch) {
            // Under the lock under which steps are taken, and told to the status.
            self.shared.status.send_modify(|status| status.epoch_is_due(source, true));
        }
    }

    /// Asks the server no more, if the status is so that it is of no use, until it is [woken](Self::wake) or told what to
    /// follow. Listeners, indexes and what is known of each scope stay. Says whether it rests.
    pub(crate) fn rest(&self, is_of_no_use: impl FnOnce(&InformerStatus) -> bool) -> bool {
        let mut sources = self.shared.sources.lock();
        match &mut *sources {
            Some(sources) if !self.is_stopped() && is_of_no_use(&self.shared.status.borrow()) => {
                sources.rest(&self.shared);
                true
            }
            _ => false,
        }
    }

    /// Asks again, if it rests.
    pub(crate) fn wake(&self) -> Result<(), InformerError> {
        match &mut *self.shared.sources.lock() {
            Some(sources) if !self.is_stopped() => sources.wake(&self.shared),
            _ => Err(self.stopped_error()),
        }
    }

    /// Tells listeners the objects of each zone again at its own period, from now on.
    pub(crate) fn resync_zones(&self, zones: Vec<Zone>) {
        let now = tokio::time::Instant::now().into_std();
        self.shared.stage.lock().fanout.resync_zones(zones, now);
        self.shared.resync_changed.notify_one();
        process::keep_telling(&self.shared);
    }

    fn change_sources(&self, new: Vec<Arc<dyn ListWatch<K>>>, anew: bool) -> Result<(), InformerError> {
        match &mut *self.shared.sources.lock() {
            Some(sources) if !self.is_stopped() => sources.change(&self.shared, new, anew),
            _ => Err(self.stopped_error()),
        }
    }

    /// Adds a handler. It may be added at any time before the informer is stopped. It gets a task of its own, so this
    /// needs a tokio runtime.
    pub fn add_event_handler(&self, handler: impl Handle<K>) -> Result<Registration<K>, InformerError> {
        self.add_event_handler_with(handler, ListenerOptions::new())
    }

    /// Adds a handler that wants to be told in a certain way.
    pub fn add_event_handler_with(
        &self,
        handler: impl Handle<K>,
        options: ListenerOptions,
    ) -> Result<Registration<K>, InformerError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(InformerError::NoRuntime);
        }
        let mut stage = self.open_stage()?;
        let there = self.shared.store.list();
        Ok(stage.fanout.add_handler(handler, options, there))
    }

    /// The same events, as a stream.
    pub fn subscribe(&self) -> Result<Subscription<K>, InformerError> {
        self.subscribe_with(ListenerOptions::new())
    }

    /// The same events, as a stream that is told in a certain way.
    pub fn subscribe_with(&self, options: ListenerOptions) -> Result<Subscription<K>, InformerError> {
        let mut stage = self.open_stage()?;
        let there = self.shared.store.list();
        Ok(stage.fanout.subscribe(options, there))
    }

    /// What is there, and the changes from then on.
    fn changes_from_now(&self) -> Result<(Arc<Snapshot<K>>, Subscription<K>), InformerError> {
        let mut stage = self.open_stage()?;
        let options = ListenerOptions::new().name("view").resync(Duration::ZERO);
        Ok((self.shared.store.snapshot(), stage.fanout.subscribe(options, [])))
    }

    /// The version of the copy, if a listener has taken everything that led up to it.
    fn version_told(&self, listener: &Subscription<K>) -> Option<Version> {
        // What is in the store and not yet told is so under this lock.
        let _stage = self.shared.stage.lock();
        self.shared.store.resource_version().filter(|_| listener.status().pending == 0)
    }

    /// Its resource, in all namespaces.
    pub(crate) fn scope(&self) -> &Scope {
        &self.shared.scope
    }

    /// Adds an index to the store, at any time before the informer is stopped. See [`Store::add_index`]. The function must
    /// not call the informer: it runs while a change is being made.
    pub fn add_index<V: IndexValues>(
        &self,
        name: &str,
        function: impl Fn(&K) -> V + Send + Sync + 'static,
    ) -> Result<Index<K>, InformerError> {
        if self.is_stopped() {
            return Err(self.stopped_error());
        }
        Ok(self.shared.store.add_index(name, function)?)
    }

    /// The same with a function that is given the handle, which need not be decoded. See [`Store::add_index_of_handles`]. It
    /// must not call the informer either.
    pub fn add_index_of_handles<V: IndexValues>(
        &self,
        name: &str,
        function: impl Fn(&Object<K>) -> V + Send + Sync + 'static,
    ) -> Result<Index<K>, InformerError> {
        if self.is_stopped() {
            return Err(self.stopped_error());
        }
        Ok(self.shared.store.add_index_of_handles(name, function)?)
    }

    /// The copy.
    pub fn store(&self) -> &Store<K> {
        &self.shared.store
    }

    /// The name, for logs and metrics.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// What it is an informer of: `deployments.apps`; empty if its source does not say.
    pub fn resource(&self) -> String {
        self.shared.scope.resource()
    }

    /// The copy has held everything that the server had at some moment after the start.
    pub fn has_synced(&self) -> bool {
        self.shared.status.borrow().synced
    }

    /// Waits until the informer [has synced](Self::has_synced); false if it was stopped before.
    pub async fn synced(&self) -> bool {
        let mut status = self.shared.status.subscribe();
        let reached = status.wait_for(|status| status.synced || status.phase == Phase::Stopped).await;
        reached.is_ok_and(|status| status.synced)
    }

    /// How the informer is doing.
    pub fn status(&self) -> InformerStatus {
        self.shared.status()
    }

    /// Changes of the status; the listeners, and what is counted by the byte, aside.
    pub fn watch_status(&self) -> watch::Receiver<InformerStatus> {
        self.shared.status.subscribe()
    }

    /// The informer has been told to stop.
    pub fn is_stopped(&self) -> bool {
        self.shared.stop.is_cancelled()
    }

    /// Looks at the status, as it is watched.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&InformerStatus) -> R) -> R {
        look(&self.shared.status.borrow())
    }

    /// Is cancelled when the informer is told to stop.
    pub(crate) fn ends(&self) -> CancellationToken {
        self.shared.stop.clone()
    }

    /// Starts if another informer has been started, where that was.
    fn start_like<O>(&self, other: &SharedInformer<O>) {
        if let Some(runtime) = other.shared.runtime.get() {
            let _entered = runtime.enter();
            self.start();
        }
    }

    /// Stops the informer. Handlers finish the call they are in, and no other follows.
    pub fn stop(&self) {
        self.shared.stop.cancel();
        process::ended(&self.shared);
    }

    /// Stops the informer, and returns when every task of it has ended. May be called by many, at any time, but not by
    /// a handler.
    pub async fn shutdown(&self) {
        self.stop();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    /// It has been stopped, and no task of it runs any more.
    pub fn has_ended(&self) -> bool {
        self.is_stopped() && self.shared.tasks.is_closed() && self.shared.tasks.is_empty()
    }

    fn open_stage(&self) -> Result<parking_lot::MutexGuard<'_, Stage<K>>, InformerError> {
        let stage = self.shared.stage.lock();
        // Checked with the lock held: whoever stops the informer closes the listeners under it.
        if self.is_stopped() { Err(self.stopped_error()) } else { Ok(stage) }
    }

    fn stopped_error(&self) -> InformerError {
        InformerError::Stopped { name: self.shared.name.clone() }
    }
}

impl<K> Shared<K> {
    fn status(&self) -> InformerStatus {
        let mut status = self.status.borrow().clone();
        let traffic = self.traffic.lock();
        (status.received_bytes, status.last_heard) = (traffic.received_bytes, traffic.last_heard);
        status.queued = traffic.queued();
        drop(traffic);
        status.listeners = self.stage.lock().fanout.status();
        status.indexes = self.store.index_status();
        status
    }
}

impl<K: Resource + Send + Sync + 'static> Observed for Shared<K> {
    fn is_shown(&self) -> bool {
        // One that has stopped by itself is not forgotten as one that was stopped: readiness depends on it.
        !self.stop.is_cancelled() || self.status.borrow().end_cause().is_some()
    }

    fn observe(&self) -> Option<Observation> {
        let latency = self.latency.clone().filter(|_| !self.stop.is_cancelled())?;
        let packed_bytes = self.store.snapshot().packed_bytes();
        Some(Observation { scope: self.scope.clone(), status: self.status(), packed_bytes, latency })
    }

    fn shown(&self) -> Option<(String, InformerStatus)> {
        self.is_shown().then(|| (self.scope.resource(), self.status()))
    }
}

impl<K> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("name", &self.shared.name)
            .field("status", &*self.shared.status.borrow())
            .finish_non_exhaustive()
    }
}

/// An informer that nobody holds any more stops.
impl<K> Drop for Shared<K> {
    fn drop(&mut self) {
        self.stop.cancel();
        self.stage.get_mut().fanout.close(false);
    }
}
