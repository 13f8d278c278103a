//! One listener: its queue, its task, and what can be asked of it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures::Stream;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::pending::Pending;
use super::resync::{Due, Zone};
use super::{Event, Handle};

/// When a listener's queue starts to keep one entry per object, unless it is said otherwise.
const DEFAULT_HIGH_WATER: usize = 65_536;

/// So many events are told before others get their turn.
const TURN: u32 = 16;

/// How a listener wants to be told.
#[derive(Clone, Debug)]
#[must_use]
pub struct ListenerOptions {
    name: String,
    high_water: Option<usize>,
    resync: Option<Duration>,
    blocking: bool,
}

impl ListenerOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self { name: String::new(), high_water: Some(DEFAULT_HIGH_WATER), resync: None, blocking: false }
    }

    /// A name for logs and status.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// From so many waiting events on, only the latest state of each object waits.
    pub fn high_water(mut self, events: usize) -> Self {
        self.high_water = Some(events);
        self
    }

    /// Tells everything again so often, instead of as often as the informer says; zero for never. No shorter than a
    /// second, and after the start no shorter than the informer looks. An informer without a period tells nobody.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// The handler may block: it gets a thread of its own. Without this it shares the runtime's threads with everything
    /// else, and must not hold one for long. Streams have no use for it.
    pub fn blocking(mut self) -> Self {
        self.blocking = true;
        self
    }

    /// Every event is told, however many wait and however much memory they need.
    pub fn lossless(mut self) -> Self {
        self.high_water = None;
        self
    }
}

impl ListenerOptions {
    pub(super) fn is_blocking(&self) -> bool {
        self.blocking
    }

    pub(super) fn resync_period(&self) -> Option<Duration> {
        self.resync
    }
}

impl Default for ListenerOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// How a listener is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListenerStatus {
    /// The name it was given.
    pub name: String,
    /// Events that wait.
    pub pending: usize,
    /// How long the first of them has been waiting.
    pub oldest_pending: Option<Duration>,
    /// The queue has grown too long, and only the latest state of each object waits.
    pub coalescing: bool,
    /// Events that were merged into others so far.
    pub coalesced: u64,
    /// Events that were told so far.
    pub told: u64,
    /// How often the handler panicked.
    pub panics: u64,
    /// What the last panic said.
    pub last_panic: Option<String>,
    /// All initial objects have been told.
    pub synced: bool,
}

pub(super) struct Listener<K> {
    id: u64,
    name: String,
    inner: Mutex<Inner<K>>,
    progress: watch::Sender<Progress>,
}

struct Inner<K> {
    pending: Pending<K>,
    open: Open,
    /// Initial objects that wait or are being told.
    initial_left: usize,
    initial_known: bool,
    told: u64,
    panics: u64,
    last_panic: Option<String>,
    waker: Option<Waker>,
    /// The period that it asks for; none for those of the zones.
    period: Option<Duration>,
    /// For each zone.
    due: Vec<Due>,
    /// What those who wait have been told.
    progress: Progress,
}

/// What came of an event.
struct Told {
    initial: bool,
    panic: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Yes,
    /// What waits is still told.
    Draining,
    No,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Progress {
    synced: bool,
    ended: bool,
}

impl<K> Listener<K> {
    pub(super) fn new(id: u64, options: ListenerOptions, zones: &mut [Zone]) -> Self {
        let period = options.resync_period();
        let due = zones.iter_mut().map(|zone| zone.clock.join(period)).collect();
        let inner = Inner {
            pending: Pending::new(options.high_water),
            open: Open::Yes,
            initial_left: 0,
            initial_known: false,
            told: 0,
            panics: 0,
            last_panic: None,
            waker: None,
            period,
            due,
            progress: Progress::default(),
        };
        let name = if options.name.is_empty() { format!("listener-{id}") } else { options.name };
        Self { id, name, inner: Mutex::new(inner), progress: watch::Sender::new(Progress::default()) }
    }

    /// Puts events in; false if nobody will hear anything any more.
    pub(super) fn push(&self, events: impl Iterator<Item = Event<K>>, now: Instant) -> bool {
        let mut inner = self.inner.lock();
        if inner.open != Open::Yes {
            // One that is being drained has to be found if everything is to end at once.
            return inner.open == Open::Draining;
        }
        for event in events {
            inner.initial_left += usize::from(event.is_initial());
            let put = inner.pending.push(event, now);
            inner.initial_left = inner.initial_left.saturating_sub(put.initial_cancelled);
        }
        let waker = inner.waker.take();
        self.note_progress(&mut inner, false);
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Whether it still hears something, if only what waits.
    pub(super) fn is_open(&self) -> bool {
        self.inner.lock().open != Open::No
    }

    /// Whether everything is to be told again now.
    pub(super) fn is_due(&self, zone: usize, now: Instant, started: Option<Instant>) -> bool {
        self.inner.lock().due.get_mut(zone).is_some_and(|due| due.take(now, started))
    }

    /// There are other zones; for each it is known which one it was before.
    pub(super) fn join_again(&self, zones: &mut [Zone], before: &[Option<usize>]) {
        let mut inner = self.inner.lock();
        let (period, known) = (inner.period, std::mem::take(&mut inner.due));
        let join = |(zone, before): (&mut Zone, &Option<usize>)| {
            let known = before.and_then(|at| known.get(at)).copied();
            known.unwrap_or_else(|| zone.clock.join(period))
        };
        inner.due = zones.iter_mut().zip(before).map(join).collect();
    }

    pub(super) fn initial_complete(&self) {
        let mut inner = self.inner.lock();
        inner.initial_known = true;
        self.note_progress(&mut inner, false);
    }

    pub(super) fn close(&self, drain: bool) {
        let mut inner = self.inner.lock();
        match (drain, inner.open) {
            (true, Open::Yes) => inner.open = Open::Draining,
            (true, _) => {}
            (false, _) => {
                inner.open = Open::No;
                inner.pending.clear();
            }
        }
        let waker = inner.waker.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn status(&self) -> ListenerStatus {
        let now = tokio::time::Instant::now().into_std();
        let inner = self.inner.lock();
        ListenerStatus {
            name: self.name.clone(),
            pending: inner.pending.len(),
            oldest_pending: inner.pending.oldest().map(|since| now.saturating_duration_since(since)),
            coalescing: inner.pending.is_coalescing(),
            coalesced: inner.pending.coalesced(),
            told: inner.told,
            panics: inner.panics,
            last_panic: inner.last_panic.clone(),
            synced: inner.initial_known && inner.initial_left == 0,
        }
    }

    /// The next event; none at the end. What came of the one before, if there was one, is told with the question.
    fn poll_next(&self, context: &mut Context<'_>, before: &mut Option<Told>) -> Poll<Option<Event<K>>> {
        let mut inner = self.inner.lock();
        if let Some(told) = before.take() {
            self.note_told(&mut inner, told);
        }
        if inner.open == Open::No {
            return Poll::Ready(None);
        }
        match inner.pending.pop() {
            Some(event) => Poll::Ready(Some(event)),
            None if inner.open == Open::Draining => Poll::Ready(None),
            None => {
                inner.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// An event has been told, well or not.
    fn note_told(&self, inner: &mut Inner<K>, told: Told) {
        inner.told += 1;
        if let Some(message) = told.panic {
            inner.panics += 1;
            inner.last_panic = Some(message);
        }
        if told.initial {
            inner.initial_left = inner.initial_left.saturating_sub(1);
            self.note_progress(inner, false);
        }
    }

    fn ended(&self) {
        let mut inner = self.inner.lock();
        inner.open = Open::No;
        inner.pending.clear();
        self.note_progress(&mut inner, true);
    }

    /// Tells those who wait, if there is something to tell.
    fn note_progress(&self, inner: &mut Inner<K>, ended: bool) {
        let synced = inner.initial_known && inner.initial_left == 0;
        let next = Progress { synced: inner.progress.synced || synced, ended: inner.progress.ended || ended };
        if next != inner.progress {
            inner.progress = next;
            self.progress.send_replace(next);
        }
    }
}

impl<K> fmt::Debug for Listener<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("id", &self.id).field("status", &self.status()).finish()
    }
}

/// Calls a handler with every event, until the end. A panic is caught, and the handler goes on.
pub(super) async fn run<K>(listener: Arc<Listener<K>>, mut handler: impl Handle<K>) {
    let (mut told, mut turn) = (None, 0);
    while let Some(event) = std::future::poll_fn(|context| listener.poll_next(context, &mut told)).await {
        let initial = event.is_initial();
        let outcome = catch_unwind(AssertUnwindSafe(|| handler.handle(event)));
        told = Some(Told { initial, panic: outcome.err().map(|panic| panic_message(&*panic)) });
        turn += 1;
        if turn == TURN {
            // Handlers are not asynchronous: others get their turn.
            turn = 0;
            tokio::task::yield_now().await;
        }
    }
    listener.ended();
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

/// A handler that was added.
pub struct Registration<K> {
    listener: Arc<Listener<K>>,
}

impl<K> Registration<K> {
    pub(super) fn new(listener: Arc<Listener<K>>) -> Self {
        Self { listener }
    }

    /// The handler has been called with every object that was there when it or the informer started.
    pub fn has_synced(&self) -> bool {
        self.listener.progress.borrow().synced
    }

    /// Waits until the handler [has synced](Self::has_synced); false if it ended before.
    pub async fn synced(&self) -> bool {
        let mut progress = self.listener.progress.subscribe();
        let reached = progress.wait_for(|progress| progress.synced || progress.ended).await;
        reached.is_ok_and(|progress| progress.synced)
    }

    /// Removes the handler at once: what waits is dropped. A call that is under way is finished.
    pub fn remove(&self) {
        self.listener.close(false);
    }

    /// Removes the handler after what waits has been told.
    pub fn drain(&self) {
        self.listener.close(true);
    }

    /// Waits until the handler's task has ended, after it was removed or drained. Not to be awaited by the handler.
    pub async fn ended(&self) {
        let mut progress = self.listener.progress.subscribe();
        // The sender lives in the listener, which is held here.
        let _ = progress.wait_for(|progress| progress.ended).await;
    }

    /// How the handler is doing.
    pub fn status(&self) -> ListenerStatus {
        self.listener.status()
    }
}

impl<K> fmt::Debug for Registration<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.listener.fmt(f)
    }
}

/// Events, as a stream. Dropping it ends it.
#[must_use = "a stream does nothing unless it is polled"]
pub struct Subscription<K> {
    listener: Arc<Listener<K>>,
}

impl<K> Subscription<K> {
    pub(super) fn new(listener: Arc<Listener<K>>) -> Self {
        Self { listener }
    }

    /// How the subscription is doing.
    pub fn status(&self) -> ListenerStatus {
        self.listener.status()
    }
}

impl<K> Stream for Subscription<K> {
    type Item = Event<K>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        let next = self.listener.poll_next(context, &mut None);
        if let Poll::Ready(Some(event)) = &next {
            // What the reader does with it, and when, is not for the listener to know.
            let told = Told { initial: event.is_initial(), panic: None };
            self.listener.note_told(&mut self.listener.inner.lock(), told);
        }
        next
    }
}

impl<K> Drop for Subscription<K> {
    fn drop(&mut self) {
        self.listener.ended();
    }
}

impl<K> fmt::Debug for Subscription<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.listener.fmt(f)
    }
}
