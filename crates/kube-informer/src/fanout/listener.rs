//! One listener: its queue, its task, and what can be asked of it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures::Stream;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::Event;
use super::pending::Pending;
use super::resync::{Due, Zone};

/// When a listener's queue starts to keep one entry per object, unless it is said otherwise.
const DEFAULT_HIGH_WATER: usize = 65_536;

/// How many events are handed to a listener at once, at most.
pub(super) const TURN: usize = 16;

/// How a listener wants to be told.
#[derive(Clone, Debug)]
#[must_use]
pub struct ListenerOptions {
    name: String,
    high_water: Option<usize>,
    resync: Option<Duration>,
}

impl ListenerOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self { name: String::new(), high_water: Some(DEFAULT_HIGH_WATER), resync: None }
    }

    /// A name for logs and status.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// From so many waiting events on, or once they hold 256 MiB of objects, only the latest state of each object waits.
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

    /// Every event is told, however many wait and however much memory they need.
    pub fn lossless(mut self) -> Self {
        self.high_water = None;
        self
    }
}

impl ListenerOptions {
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
    /// Events that were taken out and wait for their turn.
    in_hand: AtomicUsize,
    /// Events that were told.
    told: AtomicU64,
    /// Nothing is told any more, not even what was taken out.
    over: AtomicBool,
    progress: watch::Sender<Progress>,
}

struct Inner<K> {
    pending: Pending<K>,
    open: Open,
    /// Initial objects that wait or are being told.
    initial_left: usize,
    initial_known: bool,
    panics: u64,
    last_panic: Option<String>,
    waker: Option<Waker>,
    /// Since when the events that were taken out wait.
    in_hand_since: Option<Instant>,
    /// The period that it asks for; none for those of the zones.
    period: Option<Duration>,
    /// For each zone.
    due: Vec<Due>,
    /// For each zone: its objects are to be told again.
    again: Vec<bool>,
    /// What those who wait have been told.
    progress: Progress,
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
        let due: Vec<Due> = zones.iter_mut().map(|zone| zone.clock.join(period)).collect();
        let inner = Inner {
            pending: Pending::new(options.high_water),
            open: Open::Yes,
            initial_left: 0,
            initial_known: false,
            panics: 0,
            last_panic: None,
            waker: None,
            in_hand_since: None,
            period,
            again: vec![false; due.len()],
            due,
            progress: Progress::default(),
        };
        let name = if options.name.is_empty() { format!("listener-{id}") } else { options.name };
        Self {
            id,
            name,
            inner: Mutex::new(inner),
            in_hand: AtomicUsize::new(0),
            told: AtomicU64::new(0),
            over: AtomicBool::new(false),
            progress: watch::Sender::new(Progress::default()),
        }
    }

    /// Puts events in, in pieces; false if nobody will hear anything any more.
    pub(super) fn push(&self, runs: &[Arc<[Event<K>]>], now: Instant) -> bool {
        let mut inner = self.inner.lock();
        if inner.open != Open::Yes {
            // One that is being drained has to be found if everything is to end at once.
            return inner.open == Open::Draining;
        }
        for events in runs {
            inner.initial_left += events.iter().filter(|event| event.is_initial()).count();
            let put = inner.pending.push(events, now);
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

    /// Whether the objects of a zone are to be told again, from now on.
    pub(super) fn note_due(&self, zone: usize, now: Instant, started: Option<Instant>) -> bool {
        let mut inner = self.inner.lock();
        let due = inner.due.get_mut(zone).is_some_and(|due| due.take(now, started));
        if let Some(again) = inner.again.get_mut(zone) {
            *again |= due;
        }
        due
    }

    /// Whether the objects of a zone are to be told again; they count as told then.
    pub(super) fn take_due(&self, zone: usize) -> bool {
        self.inner.lock().again.get_mut(zone).is_some_and(std::mem::take)
    }

    /// There are other zones; for each it is known which one it was before.
    pub(super) fn join_again(&self, zones: &mut [Zone], before: &[Option<usize>]) {
        let mut inner = self.inner.lock();
        let (period, known) = (inner.period, std::mem::take(&mut inner.due));
        let again = std::mem::take(&mut inner.again);
        let join = |(zone, before): (&mut Zone, &Option<usize>)| {
            let known = before.and_then(|at| known.get(at)).copied();
            known.unwrap_or_else(|| zone.clock.join(period))
        };
        inner.due = zones.iter_mut().zip(before).map(join).collect();
        let was = |before: &Option<usize>| before.and_then(|at| again.get(at)).is_some_and(|again| *again);
        inner.again = before.iter().map(was).collect();
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
                self.drop_all(&mut inner);
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
        let in_hand = self.in_hand.load(Ordering::Relaxed);
        let oldest = inner.in_hand_since.filter(|_| in_hand > 0).or_else(|| inner.pending.oldest());
        ListenerStatus {
            name: self.name.clone(),
            pending: inner.pending.len() + in_hand,
            oldest_pending: oldest.map(|since| now.saturating_duration_since(since)),
            coalescing: inner.pending.is_coalescing(),
            coalesced: inner.pending.coalesced(),
            told: self.told.load(Ordering::Relaxed),
            panics: inner.panics,
            last_panic: inner.last_panic.clone(),
            synced: inner.initial_known && inner.initial_left == 0,
        }
    }

    /// Takes out the next events; none at the end. `initial` is how many initial events have been handled since the last call.
    pub(super) fn poll_run(
        &self,
        context: &mut Context<'_>,
        initial: &mut usize,
    ) -> Poll<Option<Arc<[Event<K>]>>> {
        let mut inner = self.inner.lock();
        match self.take_from(&mut inner, initial) {
            Some(events) => Poll::Ready(Some(events)),
            None if inner.open != Open::Yes => Poll::Ready(None),
            None => {
                inner.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// The same without waiting: none also if there are no events yet.
    pub(super) fn take_run(&self, initial: &mut usize) -> Option<Arc<[Event<K>]>> {
        self.take_from(&mut self.inner.lock(), initial)
    }

    fn take_from(&self, inner: &mut Inner<K>, initial: &mut usize) -> Option<Arc<[Event<K>]>> {
        self.note_initial(inner, std::mem::take(initial));
        if inner.open == Open::No {
            return None;
        }
        let run = inner.pending.pop()?;
        inner.in_hand_since = Some(run.since);
        self.in_hand.store(run.events.len(), Ordering::Relaxed);
        Some(run.events)
    }

    /// The turn has come of one of the events that were taken out; false if it is not to be told any more.
    pub(super) fn begin_one(&self) -> bool {
        if self.over.load(Ordering::Acquire) {
            return false;
        }
        // Nobody else takes events out; whoever drops all has said so before.
        let left = self.in_hand.load(Ordering::Relaxed).saturating_sub(1);
        self.in_hand.store(left, Ordering::Relaxed);
        true
    }

    /// An event has been told, well or not.
    pub(super) fn end_one(&self, panic: Option<String>) {
        // Nobody else tells.
        self.told.store(self.told.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if panic.is_some() {
            let mut inner = self.inner.lock();
            inner.panics += 1;
            inner.last_panic = panic;
        }
    }

    fn note_initial(&self, inner: &mut Inner<K>, told: usize) {
        if told > 0 {
            inner.initial_left = inner.initial_left.saturating_sub(told);
            self.note_progress(inner, false);
        }
    }

    pub(super) fn ended(&self) {
        let mut inner = self.inner.lock();
        inner.open = Open::No;
        self.drop_all(&mut inner);
        self.note_progress(&mut inner, true);
    }

    /// Nothing is told any more.
    fn drop_all(&self, inner: &mut Inner<K>) {
        inner.pending.clear();
        self.over.store(true, Ordering::Release);
        self.in_hand.store(0, Ordering::Relaxed);
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
    /// What was taken out, and the next of it.
    run: Option<(Arc<[Event<K>]>, usize)>,
}

impl<K> Subscription<K> {
    pub(super) fn new(listener: Arc<Listener<K>>) -> Self {
        Self { listener, run: None }
    }

    /// The next of what was taken out.
    fn next_in_hand(&mut self) -> Option<Event<K>> {
        let (events, next) = self.run.as_mut()?;
        let event = events.get(*next).cloned();
        *next += 1;
        if event.is_none() || *next == events.len() {
            self.run = None;
        }
        event.filter(|_| self.listener.begin_one())
    }

    /// How the subscription is doing.
    pub fn status(&self) -> ListenerStatus {
        self.listener.status()
    }
}

impl<K> Stream for Subscription<K> {
    type Item = Event<K>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        loop {
            if let Some(event) = self.next_in_hand() {
                // What the reader does with it, and when, is not for the listener to know.
                self.listener.end_one(None);
                self.listener.note_initial(&mut self.listener.inner.lock(), usize::from(event.is_initial()));
                return Poll::Ready(Some(event));
            }
            match self.listener.poll_run(context, &mut 0) {
                Poll::Ready(Some(events)) => self.run = Some((events, 0)),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
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
