//! The lock, the wake-ups and the clock of the queue, on loom.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::sync::{Condvar, MutexGuard};
use tokio::sync::futures;
use tokio::time::Instant;

/// loom's lock, with the interface of `parking_lot`.
#[derive(Debug)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    #[expect(clippy::unwrap_used, reason = "loom's lock is never poisoned")]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }
}

/// A scheduling point: loom may run other threads before it returns. What follows it, up to the next point, is atomic.
#[derive(Debug)]
struct Point(AtomicUsize);

impl Point {
    fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    fn pass(&self) {
        if !std::thread::panicking() {
            self.0.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// tokio's `Notify`, with a scheduling point before each call.
#[derive(Debug)]
pub(crate) struct Notify {
    inner: tokio::sync::Notify,
    point: Point,
}

impl Notify {
    pub(crate) fn new() -> Self {
        Self { inner: tokio::sync::Notify::new(), point: Point::new() }
    }

    pub(crate) fn notify_one(&self) {
        self.point.pass();
        self.inner.notify_one();
    }

    pub(crate) fn notify_waiters(&self) {
        self.point.pass();
        self.inner.notify_waiters();
    }

    pub(crate) fn notified(&self) -> Notified<'_> {
        self.point.pass();
        Notified { inner: Box::pin(self.inner.notified()), point: &self.point }
    }
}

/// tokio's `Notified`, with a scheduling point before it is polled or dropped.
#[derive(Debug)]
pub(crate) struct Notified<'a> {
    inner: Pin<Box<futures::Notified<'a>>>,
    point: &'a Point,
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.point.pass();
        self.inner.as_mut().poll(context)
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        self.point.pass();
    }
}

struct Clock {
    /// The time in milliseconds.
    time: AtomicU64,
    sleepers: parking_lot::Mutex<Vec<Sleeper>>,
}

struct Sleeper {
    number: usize,
    deadline: Instant,
    waker: Waker,
}

loom::lazy_static! {
    static ref CLOCK: Clock = Clock { time: AtomicU64::new(0), sleepers: parking_lot::Mutex::new(Vec::new()) };
    static ref SLEEPS: AtomicUsize = AtomicUsize::new(0);
}

fn at(millis: u64) -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now) + Duration::from_millis(millis)
}

/// Returns the time of the model.
pub(crate) fn now() -> Instant {
    // An addition reads the latest value.
    at(CLOCK.time.fetch_add(0, Ordering::AcqRel))
}

/// Advances the clock and wakes the sleeps that end.
pub fn advance(millis: u64) {
    let now = at(CLOCK.time.fetch_add(millis, Ordering::AcqRel) + millis);
    let wakers: Vec<Waker> = CLOCK
        .sleepers
        .lock()
        .extract_if(.., |sleeper| sleeper.deadline <= now)
        .map(|sleeper| sleeper.waker)
        .collect();
    wakers.into_iter().for_each(Waker::wake);
}

/// Waits until the clock has reached a deadline.
pub(crate) fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { number: SLEEPS.fetch_add(1, Ordering::AcqRel), deadline }
}

/// See [`sleep_until`].
#[derive(Debug)]
pub(crate) struct Sleep {
    number: usize,
    deadline: Instant,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        if now() >= self.deadline {
            return Poll::Ready(());
        }
        let mut sleepers = CLOCK.sleepers.lock();
        sleepers.retain(|sleeper| sleeper.number != self.number);
        sleepers.push(Sleeper { number: self.number, deadline: self.deadline, waker });
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            now();
            CLOCK.sleepers.lock().retain(|sleeper| sleeper.number != self.number);
        }
    }
}

/// Runs a future on this thread of the model. loom reports a deadlock if nothing wakes it.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let thread = Arc::new(Thread { woken: Mutex::new(false), condition: Condvar::new() });
    let waker = Waker::from(Arc::clone(&thread));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread.park();
    }
}

struct Thread {
    woken: Mutex<bool>,
    condition: Condvar,
}

impl Thread {
    #[expect(clippy::unwrap_used, reason = "loom's lock is never poisoned")]
    fn park(&self) {
        let mut woken = self.woken.lock();
        while !*woken {
            woken = self.condition.wait(woken).unwrap();
        }
        *woken = false;
    }
}

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        *self.woken.lock() = true;
        self.condition.notify_one();
    }
}
