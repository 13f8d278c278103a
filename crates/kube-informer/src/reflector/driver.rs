//! Does what the machine says: asks the source, feeds the queue, waits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube_core::Resource;
use kube_wire::{DecodeError, Event};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::retry::Retry;
use super::rewound::Rewound;
use super::{
    BookmarkVerdict, Config, EventVerdict, ListRequest, Machine, PageVerdict, ProbeAnswer, Reason, Step,
    WatchEnd, WatchRequest, after,
};
use crate::object::{Object, key};
use crate::queue::{Closed, Delta, Producer};
use crate::source::{Distrust, ListPart, ListWatch, SourceError, Want, WatchPart};

/// Follows one kind and puts what happens into a queue, until it is told to stop or nobody takes it out.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_informer::queue::{Delta, queue};
/// use kube_informer::reflector::{Config, Reflector};
/// use kube_informer::source::KubeSource;
/// use tokio_util::sync::CancellationToken;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: hello}}")?;
/// # let client = server.client()?;
/// let source = KubeSource::<ConfigMap>::all(client, &());
/// let (producer, mut consumer) = queue(100);
/// let stop = CancellationToken::new();
/// tokio::spawn(Reflector::new(source, Config::default(), 0).run(producer, stop.clone()));
///
/// let batch = consumer.pop_batch(1).await.expect("the list");
/// let Delta::Replaced { objects, .. } = &batch[0] else { panic!("a list comes first") };
/// assert_eq!(objects[0].metadata.name.as_deref(), Some("hello"));
/// stop.cancel();
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub struct Reflector<K, S> {
    source: S,
    want: Arc<Want<K>>,
    machine: Machine,
    on_note: Option<OnNote>,
    /// Everything has been asked for, and a watch follows, or is to.
    following: bool,
    /// Everything has been asked for at least once.
    listed: bool,
    /// How the last watch ended, until it is made good for.
    why: Option<Reason>,
    retry: Retry,
    /// Held until the next list is complete, if objects of the copy may have other content at the same version.
    distrust: Option<Distrust>,
    rewound: Arc<Rewound>,
}

type OnNote = Box<dyn Fn(Note<'_>) + Send + Sync>;

/// What happens while following, beside the deltas.
#[derive(Debug)]
#[non_exhaustive]
pub enum Note<'a> {
    /// Something went wrong: a request was refused, a watch broke, or said that something is wrong.
    Failed {
        /// What went wrong.
        error: &'a SourceError,
        /// It was a watch that was to begin with everything: a list, which comes next, may do better.
        list_is_next: bool,
    },
    /// All objects have come.
    Listed {
        /// Why they were asked for again; none for the first time.
        reason: Option<Reason>,
    },
    /// A watch has been opened: what was wrong before is over.
    Watching {
        /// Why it was opened anew; none for the first one after a list.
        reason: Option<Reason>,
    },
    /// So many bytes have arrived.
    Heard {
        /// How many.
        bytes: usize,
    },
}

impl<K, S> Reflector<K, S>
where
    K: Resource + Send + Sync + 'static,
    S: ListWatch<K>,
{
    /// Follows what a source has. The seed makes waits and time-outs repeatable.
    pub fn new(source: S, config: Config, seed: u64) -> Self {
        let (machine, want) = (Machine::new(config, seed), Arc::new(Want::new()));
        let retry = Retry::new(seed);
        Self {
            source,
            want,
            machine,
            on_note: None,
            following: false,
            listed: false,
            why: None,
            retry,
            distrust: None,
            rewound: Arc::default(),
        }
    }

    /// Starts with a copy that is current up to a version, or of no version if that is empty.
    #[must_use]
    pub(crate) fn starting_at(mut self, version: &str) -> Self {
        self.machine = self.machine.starting_at(version);
        self
    }

    /// Reuses nothing for the first list: other content is wanted than the copy has. Call this after [`want`](Self::want).
    #[must_use]
    pub(crate) fn distrusting(mut self) -> Self {
        self.distrust = Some(self.want.distrust_known());
        self
    }

    /// Lists everything again, with nothing reused, when it is told that the server's versions went back.
    #[must_use]
    pub(crate) fn rewound_by(mut self, rewound: Arc<Rewound>) -> Self {
        self.rewound = rewound;
        self
    }

    /// How objects are wanted.
    #[must_use]
    pub fn want(mut self, want: Want<K>) -> Self {
        self.want = Arc::new(want);
        self
    }

    /// Calls a function with everything that happens beside the deltas. It is called on the task that follows, so it
    /// must be quick.
    #[must_use]
    pub fn on_note(mut self, hook: impl Fn(Note<'_>) + Send + Sync + 'static) -> Self {
        self.on_note = Some(Box::new(hook));
        self
    }

    /// Follows until told to stop, or until the queue is closed.
    pub async fn run(mut self, queue: Producer<K>, stop: CancellationToken) {
        // Whatever it is doing then, it stops: all of it may be dropped half-way.
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            Closed = self.follow(&queue) => {}
        }
    }

    async fn follow(&mut self, queue: &Producer<K>) -> Closed {
        let mut collected = Collected::default();
        let rewound = Arc::clone(&self.rewound);
        loop {
            tokio::select! {
                biased;
                // What the step has taken in and not handed on is listed again.
                () = rewound.notified() => {
                    if rewound.is_epoch_due() {
                        self.machine.epoch_ended();
                    } else {
                        self.machine.rewound();
                    }
                    self.why = Some(Reason::VersionWentBack);
                }
                done = self.step(&mut collected, queue) => {
                    if let Err(closed) = done {
                        return closed;
                    }
                }
            }
        }
    }

    /// Does what the machine says, once.
    async fn step(&mut self, collected: &mut Collected<K>, queue: &Producer<K>) -> Result<(), Closed> {
        let step = self.machine.next(now());
        self.distrust_if_rewound();
        match step {
            Step::Wait(until) => {
                tokio::time::sleep_until(until.into()).await;
                Ok(())
            }
            Step::List(request) => {
                if request.continue_token.is_empty() {
                    *collected = Collected::default();
                }
                self.following = false;
                self.list(&request, collected, queue).await
            }
            Step::Probe(request) => {
                self.probe(&request).await;
                Ok(())
            }
            Step::Watch(request) => {
                *collected = Collected::default();
                self.following &= !request.initial_events;
                self.watch(&request, collected, queue).await
            }
        }
    }

    fn distrust_if_rewound(&mut self) {
        if self.machine.distrusts_copy() && self.distrust.is_none() {
            self.distrust = Some(self.want.distrust_known());
        }
    }

    async fn list(
        &mut self,
        request: &ListRequest,
        collected: &mut Collected<K>,
        queue: &Producer<K>,
    ) -> Result<(), Closed> {
        let before = collected.received.objects;
        let meta = match self.collect(request, &self.want, collected).await {
            Ok(meta) => meta,
            Err(error) => {
                self.failed(&error, false);
                self.machine.list_failed(&error.failure, now());
                return Ok(());
            }
        };
        let items = collected.received.objects - before;
        if let Some((epoch, generation)) = collected.epoch {
            self.machine.epoch(epoch, generation);
            self.distrust_if_rewound();
        }
        match self.machine.page(&meta.resource_version, &meta.continue_token, items, now()) {
            PageVerdict::More => {}
            PageVerdict::Complete { resource_version, new_epoch } => {
                self.replace(collected, resource_version, new_epoch, queue).await?;
            }
            PageVerdict::WentBack => self.went_back(&meta.resource_version),
            PageVerdict::Endless(why) => self.failed(&SourceError::endless(why), false),
        }
        Ok(())
    }

    /// Finds out whether the server has come as far as the copy.
    async fn probe(&mut self, request: &ListRequest) {
        // What is listed is dropped, so nothing is done to it first.
        let plain = Arc::new(Want::new());
        match self
            .collect_within(self.machine.probe_silence(), request, &plain, &mut Collected::default())
            .await
        {
            Ok(meta) => {
                if self.machine.probed(ProbeAnswer::Version(&meta.resource_version), now()) {
                    self.went_back(&meta.resource_version);
                }
            }
            Err(error) => {
                self.failed(&error, true);
                if error.failure.is_about_version() {
                    self.why = Some((&error.failure).into());
                }
                let denied = matches!(error.code, 401 | 403 | 404 | 405);
                let answer = if denied { ProbeAnswer::Denied } else { ProbeAnswer::Failed(&error.failure) };
                self.machine.probed(answer, now());
            }
        }
    }

    /// An answer was older than the copy. No version that is in the copy means what it did.
    fn went_back(&mut self, to: &str) {
        self.why = Some(Reason::VersionWentBack);
        self.failed(&SourceError::went_back(self.machine.resource_version(), to), true);
    }

    /// Reads a page into the collection.
    async fn collect(
        &self,
        request: &ListRequest,
        want: &Arc<Want<K>>,
        collected: &mut Collected<K>,
    ) -> Result<kube_wire::ListMeta, SourceError> {
        self.collect_within(self.machine.list_silence(), request, want, collected).await
    }

    /// The same, and fails if nothing arrives for `silence`.
    async fn collect_within(
        &self,
        silence: Duration,
        request: &ListRequest,
        want: &Arc<Want<K>>,
        collected: &mut Collected<K>,
    ) -> Result<kube_wire::ListMeta, SourceError> {
        let timeout = self.machine.list_timeout();
        let deadline = after(now(), timeout);
        // Bytes put off the end of the silence, and never the deadline.
        let next_look = || after(now(), silence).min(deadline).into();
        let late = |_| match now() < deadline {
            true => SourceError::silent("the list"),
            false => SourceError::slow_list(timeout),
        };
        let opened = tokio::time::timeout_at(next_look(), self.source.list(request, want)).await;
        let mut parts = opened.map_err(late)??;
        while let Some(part) = tokio::time::timeout_at(next_look(), parts.next()).await.map_err(late)? {
            match part? {
                ListPart::Item(object) => collected.put(object),
                ListPart::Undecodable(error) => collected.quarantine("ADDED", error),
                ListPart::Bytes(bytes) => {
                    collected.received.bytes += bytes as u64;
                    self.note(Note::Heard { bytes });
                }
                ListPart::Trouble { error, passing } => self.failed(&error, passing),
                ListPart::Epoch { epoch, generation } => collected.epoch = Some((epoch, generation)),
                ListPart::End(meta) => return Ok(meta),
            }
            self.check_size(collected)?;
        }
        Err(SourceError::garbled("the list ended before its end"))
    }

    /// Fails if more has been collected than is taken.
    fn check_size(&self, collected: &Collected<K>) -> Result<(), SourceError> {
        let (config, received) = (self.machine.config(), collected.received);
        if received.objects > config.max_list_objects {
            return Err(SourceError::too_much("objects", config.max_list_objects, "max_list_objects"));
        }
        if received.bytes > config.max_list_bytes {
            return Err(SourceError::too_much("bytes", config.max_list_bytes, "max_list_bytes"));
        }
        Ok(())
    }

    async fn watch(
        &mut self,
        request: &WatchRequest,
        collected: &mut Collected<K>,
        queue: &Producer<K>,
    ) -> Result<(), Closed> {
        let end = self.follow_watch(request, collected, queue).await?;
        if self.following || end == WatchEnd::WentBack {
            self.why = Some((&end).into());
        }
        self.machine.watch_ended(&end, now());
        Ok(())
    }

    /// Follows one watch to its end.
    async fn follow_watch(
        &mut self,
        request: &WatchRequest,
        collected: &mut Collected<K>,
        queue: &Producer<K>,
    ) -> Result<WatchEnd, Closed> {
        let opened = tokio::time::timeout_at(self.deadline(), self.source.watch(request, &self.want)).await;
        let mut parts = match opened {
            Ok(Ok(parts)) => parts,
            Ok(Err(error)) => {
                self.failed(&error, request.initial_events);
                return Ok(WatchEnd::Refused(error.failure));
            }
            Err(_) => {
                self.failed(&SourceError::silent("the watch's answer"), request.initial_events);
                return Ok(WatchEnd::Overdue);
            }
        };
        self.machine.watch_opened(now());
        if !request.initial_events {
            let reason = self.why.take();
            self.note(Note::Watching { reason });
        }
        loop {
            let Ok(part) = tokio::time::timeout_at(self.next_look(), parts.next()).await else {
                if self.following && self.retry.is_due(now()) {
                    return Ok(WatchEnd::Retried);
                }
                // A watch may be quiet; initial events that stop are wrong.
                if !self.following {
                    self.failed(&SourceError::silent("the end of the initial events"), true);
                }
                return Ok(WatchEnd::Overdue);
            };
            match part {
                None => {
                    if self.machine.is_short(now()) {
                        self.failed(&SourceError::trouble(SHORT.to_owned()), !self.following);
                    } else if !self.following {
                        self.failed(&SourceError::trouble(UNFINISHED.to_owned()), true);
                    }
                    return Ok(WatchEnd::Closed);
                }
                Some(Err(error)) => {
                    self.failed(&error, !self.following);
                    return Ok(if error.garbled { WatchEnd::Garbled } else { WatchEnd::Broken });
                }
                Some(Ok(WatchPart::Undecodable { event, error })) => {
                    let version = error.key.as_ref().map_or("", |key| key.resource_version.as_str());
                    match self.machine.event(event == "ADDED", version, now()) {
                        EventVerdict::Collect => collected.quarantine(&event, error),
                        EventVerdict::WentBack => {
                            self.went_back(version);
                            return Ok(WatchEnd::WentBack);
                        }
                        EventVerdict::Apply => {
                            if error.panicked {
                                self.retry.lost(now());
                            }
                            queue.push(Delta::Undecodable { event, error }).await?;
                        }
                    }
                }
                Some(Ok(WatchPart::Bytes(bytes))) => {
                    if !self.following {
                        collected.received.bytes += bytes as u64;
                    }
                    self.machine.heard(now());
                    self.note(Note::Heard { bytes });
                }
                Some(Ok(WatchPart::Trouble { error, passing })) => self.failed(&error, passing),
                Some(Ok(WatchPart::Event(event))) => {
                    if let Some(end) = self.take(event, collected, queue).await? {
                        return Ok(end);
                    }
                }
            }
            if let Err(error) = self.check_size(collected) {
                self.failed(&error, true);
                return Ok(WatchEnd::Garbled);
            }
        }
    }

    /// Takes one event; returns how the watch ends, if it ends with it.
    async fn take(
        &mut self,
        event: Event<Object<K>>,
        collected: &mut Collected<K>,
        queue: &Producer<K>,
    ) -> Result<Option<WatchEnd>, Closed> {
        let (kind, object) = match event {
            Event::Added(object) => (Kind::Added, object),
            Event::Modified(object) => (Kind::Updated, object),
            Event::Deleted(object) => (Kind::Deleted, object),
            Event::Bookmark { resource_version, initial_events_end } => {
                match self.machine.bookmark(&resource_version, initial_events_end, now()) {
                    BookmarkVerdict::Ignore => {}
                    BookmarkVerdict::WentBack => {
                        self.went_back(&resource_version);
                        return Ok(Some(WatchEnd::WentBack));
                    }
                    BookmarkVerdict::Progress { resource_version } => {
                        queue.push(Delta::Bookmark { resource_version }).await?;
                    }
                    BookmarkVerdict::Complete { resource_version, new_epoch } => {
                        self.replace(collected, resource_version, new_epoch, queue).await?;
                    }
                }
                return Ok(None);
            }
            Event::Error(status) => {
                let error = SourceError::in_watch(&status);
                self.failed(&error, !self.following);
                return Ok(Some(WatchEnd::Error(error.failure)));
            }
            // A type of event from the future: nothing is known about it, so nothing is done.
            _ => return Ok(None),
        };
        let version = object.resource_version();
        match self.machine.event(kind == Kind::Added, version, now()) {
            EventVerdict::WentBack => {
                self.went_back(object.resource_version());
                return Ok(Some(WatchEnd::WentBack));
            }
            EventVerdict::Collect if kind == Kind::Deleted => collected.remove(object.key()),
            EventVerdict::Collect => collected.put(object),
            EventVerdict::Apply => {
                let delta = match kind {
                    Kind::Added => Delta::Added(object),
                    Kind::Updated => Delta::Updated(object),
                    Kind::Deleted => Delta::Deleted(object),
                };
                queue.push(delta).await?;
            }
        }
        Ok(None)
    }

    fn deadline(&self) -> Instant {
        // A watch is open or being opened, so there is one.
        self.machine.deadline().map_or_else(Instant::now, Instant::from)
    }

    /// When a watch is to be looked at though nothing has arrived.
    fn next_look(&self) -> Instant {
        let retry = self.retry.at().filter(|_| self.following).map(Instant::from);
        retry.map_or_else(|| self.deadline(), |retry| retry.min(self.deadline()))
    }

    /// Hands on what was collected: it is everything.
    async fn replace(
        &mut self,
        collected: &mut Collected<K>,
        resource_version: String,
        new_epoch: bool,
        queue: &Producer<K>,
    ) -> Result<(), Closed> {
        self.retry.listed(collected.any_lost(), now());
        let why = if new_epoch { Some(Reason::VersionWentBack) } else { self.why };
        self.why = None;
        let reason = why.filter(|_| self.listed);
        (self.following, self.listed) = (true, true);
        self.note(Note::Listed { reason });
        let distrust = self.distrust.take();
        queue.push(std::mem::take(collected).replaced(resource_version, new_epoch, distrust)).await
    }

    fn failed(&self, error: &SourceError, list_is_next: bool) {
        self.note(Note::Failed { error, list_is_next });
    }

    fn note(&self, note: Note<'_>) {
        if let Some(hook) = &self.on_note {
            hook(note);
        }
    }
}

impl<K, S: fmt::Debug> fmt::Debug for Reflector<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflector")
            .field("source", &self.source)
            .field("machine", &self.machine)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Added,
    Updated,
    Deleted,
}

/// Objects that are to become the whole, each once, in the order in which they first came.
struct Collected<K> {
    objects: Vec<Option<Object<K>>>,
    places: HashMap<Box<str>, usize>,
    undecodable: HashMap<Box<str>, DecodeError>,
    /// The last one that does not say its name: all of them are one entry of the quarantine.
    nameless: Option<DecodeError>,
    received: Received,
    /// The epoch and the generation that the source names.
    epoch: Option<(u64, u64)>,
}

/// What has arrived for a list, repetitions included.
#[derive(Clone, Copy, Default)]
struct Received {
    objects: u64,
    bytes: u64,
}

impl<K> Default for Collected<K> {
    fn default() -> Self {
        Self {
            objects: Vec::new(),
            places: HashMap::new(),
            undecodable: HashMap::new(),
            nameless: None,
            received: Received::default(),
            epoch: None,
        }
    }
}

impl<K> Collected<K> {
    fn put(&mut self, object: Object<K>) {
        self.received.objects += 1;
        self.undecodable.remove(object.key());
        match self.places.entry(object.key().into()) {
            Entry::Occupied(place) => self.objects[*place.get()] = Some(object.resting()),
            Entry::Vacant(place) => {
                place.insert(self.objects.len());
                self.objects.push(Some(object.resting()));
            }
        }
    }

    fn remove(&mut self, key: &str) {
        self.undecodable.remove(key);
        if let Some(place) = self.places.remove(key) {
            self.objects[place] = None;
            self.forget_empty_slots();
        }
    }

    /// Takes out the slots of objects that are gone, once there are more of them than others: objects that come and go
    /// before everything is there must not pile up.
    fn forget_empty_slots(&mut self) {
        /// Below this it is not worth the effort.
        const FEW: usize = 64;
        if self.objects.len() < FEW + 2 * self.places.len() {
            return;
        }
        self.objects.retain(Option::is_some);
        for (place, object) in self.objects.iter().flatten().enumerate() {
            if let Some(known) = self.places.get_mut(object.key()) {
                *known = place;
            }
        }
    }

    /// Something happened to an object that could not be decoded. What was seen of it before stays.
    fn quarantine(&mut self, event: &str, error: DecodeError) {
        self.received.objects += 1;
        let key = error.key.as_deref().map(|of| key(&of.namespace, &of.name));
        match key {
            Some(key) if event == "DELETED" => self.remove(&key),
            Some(key) => drop(self.undecodable.insert(key.into(), error)),
            None => self.nameless = Some(error),
        }
    }

    /// Whether objects were lost to panics.
    fn any_lost(&self) -> bool {
        self.undecodable.values().chain(&self.nameless).any(|error| error.panicked)
    }

    fn replaced(self, resource_version: String, new_epoch: bool, distrust: Option<Distrust>) -> Delta<K> {
        drop(self.places);
        let objects = self.objects.into_iter().flatten().collect();
        let undecodable = self.undecodable.into_values().chain(self.nameless).collect();
        Delta::Replaced { objects, resource_version, undecodable, new_epoch, distrust }
    }
}

/// What is said of a watch that ended at once.
const SHORT: &str = "the watch ended as soon as it had begun, without an event";

/// What is said of initial events whose end never came.
const UNFINISHED: &str = "the initial events ended without saying that they are complete";

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn object(name: &str) -> Object<ConfigMap> {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.to_owned());
        Object::new(object)
    }

    #[test]
    fn objects_that_come_and_go_among_the_initial_events_leave_nothing_behind() {
        let mut collected = Collected::default();
        collected.put(object("first"));
        for number in 0..10_000 {
            collected.put(object(&format!("passing-{number}")));
            collected.remove(&format!("passing-{number}"));
            collected.quarantine("ADDED", DecodeError::new(None, number.to_string()));
        }
        collected.put(object("last"));
        collected.put(object("first"));
        let slots = collected.objects.len();
        assert!(slots < 200, "{slots} slots for two objects");
        let Delta::Replaced { objects, undecodable, .. } = collected.replaced("1".to_owned(), false, None)
        else {
            panic!()
        };
        assert_eq!(objects.iter().map(Object::key).collect::<Vec<_>>(), ["first", "last"]);
        assert_eq!(undecodable.iter().map(|error| &*error.why).collect::<Vec<_>>(), ["9999"]);
    }
}
