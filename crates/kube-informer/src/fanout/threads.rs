//! Where handlers are called: on threads that nothing else needs.
//!
//! A handler is a plain function, and may hold its thread for as long as it likes. So handlers are never called on the
//! threads that read, decode and store, but on those that the runtime keeps for work that blocks: as many at a time as
//! there are cores, shared by all handlers. A call that lasts longer than [`SLOW`] keeps its thread, and if somebody waits
//! another takes its place. That works on a runtime with a single thread, too.
//!
//! A thread is held only while there is something to tell, so that paused time stands still until everybody has heard
//! it, and goes on when all have.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime;
use tokio::sync::oneshot;

use super::watchman;

/// A call that lasts longer does not count among those that share the cores any more.
pub(super) const SLOW: Duration = Duration::from_millis(5);

/// So many threads call handlers at most; the runtime has more by default, but others need them too. Where so many calls
/// are slow, the rest waits.
const MAX_THREADS: usize = 256;

/// The threads of each runtime.
static KNOWN: Mutex<Vec<(runtime::Id, Weak<Threads>)>> = Mutex::new(Vec::new());

/// The threads of one runtime on which handlers are called.
pub(super) struct Threads {
    runtime: runtime::Handle,
    /// So many calls share the cores.
    side_by_side: usize,
    rota: Mutex<Rota>,
}

/// Who is to be called, and by how many.
#[derive(Default)]
struct Rota {
    ready: VecDeque<Arc<Seat>>,
    /// Threads, besides those that are held by slow calls.
    free: usize,
    /// All threads.
    all: usize,
    /// What is under way.
    calls: Vec<Call>,
    last_call: u64,
    /// Somebody looks for slow calls.
    watched: bool,
}

struct Call {
    id: u64,
    since: Instant,
    slow: bool,
}

impl Threads {
    /// Those of the runtime that this is called in.
    pub(super) fn here() -> Arc<Self> {
        let runtime = runtime::Handle::current();
        let id = runtime.id();
        let mut known = KNOWN.lock();
        known.retain(|(_, threads)| threads.strong_count() > 0);
        let mine = known.iter().find(|(of, _)| *of == id).and_then(|(_, threads)| threads.upgrade());
        mine.unwrap_or_else(|| {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let threads = Arc::new(Self { runtime, side_by_side: cores.max(2), rota: Mutex::default() });
            known.retain(|(of, _)| *of != id);
            known.push((id, Arc::downgrade(&threads)));
            threads
        })
    }

    /// Runs something that calls a handler, until its end. What is returned is to be run on the runtime: it ends when the
    /// other does, and takes the other with it when it is dropped.
    pub(super) fn run(self: &Arc<Self>, calls: BoxFuture<'static, ()>) -> impl Future<Output = ()> + use<> {
        let (over, is_over) = oneshot::channel();
        let place = Place { calls: Some(calls), standing: Standing::Waiting, over: Some(over) };
        let seat = Arc::new(Seat { threads: Arc::clone(self), place: Mutex::new(place) });
        seat.wake_by_ref();
        let ends_with_it = EndsWithIt(seat);
        async move {
            let _ends_with_it = ends_with_it;
            // An error says that it is over, too.
            let _ = is_over.await;
        }
    }

    /// Puts somebody in who is to be called.
    fn put(self: &Arc<Self>, seat: Arc<Seat>) {
        let mut rota = self.rota.lock();
        rota.ready.push_back(seat);
        let more = rota.enlist(self.side_by_side);
        let watch = more == 0 && !std::mem::replace(&mut rota.watched, true);
        drop(rota);
        self.begin(more);
        if watch {
            watchman::watch(self);
        }
    }

    /// Lets so many more threads work, which have been counted.
    fn begin(self: &Arc<Self>, threads: usize) {
        for _ in 0..threads {
            let shift = Shift { threads: Arc::clone(self), worked: false };
            self.runtime.spawn_blocking(move || shift.work());
        }
    }

    /// Looks for slow calls, and puts others in their place; false if nobody waits.
    pub(super) fn relieve(self: &Arc<Self>) -> bool {
        let now = now();
        let mut guard = self.rota.lock();
        let rota = &mut *guard;
        for call in rota.calls.iter_mut().filter(|call| !call.slow && now - call.since > SLOW) {
            call.slow = true;
            rota.free -= 1;
        }
        let mut more = 0;
        while more < rota.ready.len() && rota.enlist(self.side_by_side) > 0 {
            more += 1;
        }
        rota.watched = !rota.ready.is_empty();
        let watched = rota.watched;
        drop(guard);
        self.begin(more);
        watched
    }
}

impl Rota {
    /// How many more threads are to work, none or one.
    fn enlist(&mut self, side_by_side: usize) -> usize {
        let more = usize::from(self.free < side_by_side && self.all < MAX_THREADS);
        self.free += more;
        self.all += more;
        more
    }

    /// The next to be called by a thread that has ended the call before; none if the thread is not needed any more.
    fn next(&mut self, before: u64, side_by_side: usize) -> Option<(u64, Arc<Seat>)> {
        if let Some(at) = self.calls.iter().position(|call| call.id == before)
            && self.calls.swap_remove(at).slow
        {
            // Another has taken its place.
            if self.free >= side_by_side {
                self.all -= 1;
                return None;
            }
            self.free += 1;
        }
        let Some(seat) = self.ready.pop_front() else {
            self.free -= 1;
            self.all -= 1;
            return None;
        };
        self.last_call += 1;
        self.calls.push(Call { id: self.last_call, since: now(), slow: false });
        Some((self.last_call, seat))
    }
}

#[expect(clippy::disallowed_methods, reason = "a thread is held for as long as the clock on the wall says")]
fn now() -> Instant {
    Instant::now()
}

/// The work of one thread.
struct Shift {
    threads: Arc<Threads>,
    worked: bool,
}

impl Shift {
    fn work(mut self) {
        self.worked = true;
        let threads = &self.threads;
        let mut before = 0;
        while let Some((call, seat)) = { threads.rota.lock().next(before, threads.side_by_side) } {
            seat.call();
            before = call;
        }
    }
}

impl Drop for Shift {
    fn drop(&mut self) {
        if self.worked {
            return;
        }
        // The runtime has ended: nobody is called any more.
        let mut rota = self.threads.rota.lock();
        rota.free -= 1;
        rota.all -= 1;
        let ready = std::mem::take(&mut rota.ready);
        drop(rota);
        drop(ready);
    }
}

/// Something that calls a handler when it is woken.
struct Seat {
    threads: Arc<Threads>,
    place: Mutex<Place>,
}

struct Place {
    /// Not here while it is called.
    calls: Option<BoxFuture<'static, ()>>,
    standing: Standing,
    over: Option<oneshot::Sender<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It has nothing to tell.
    Waiting,
    Ready,
    Called,
    /// There was more to tell before the call had ended.
    CalledAndReady,
    Over,
}

impl Seat {
    fn call(self: Arc<Self>) {
        let calls = {
            let mut place = self.place.lock();
            if place.standing == Standing::Ready {
                place.standing = Standing::Called;
            }
            place.calls.take()
        };
        let Some(mut calls) = calls else { return };
        let waker = Waker::from(Arc::clone(&self));
        let poll = AssertUnwindSafe(|| calls.as_mut().poll(&mut Context::from_waker(&waker)));
        // Panics of handlers are caught elsewhere; whatever else panics is over.
        let goes_on = matches!(catch_unwind(poll), Ok(Poll::Pending));
        let mut place = self.place.lock();
        let again = place.standing == Standing::CalledAndReady;
        if !goes_on || place.standing == Standing::Over {
            drop(place);
            drop(calls);
            return self.end();
        }
        place.calls = Some(calls);
        place.standing = if again { Standing::Ready } else { Standing::Waiting };
        drop(place);
        if again {
            let threads = Arc::clone(&self.threads);
            threads.put(self);
        }
    }

    /// It is not called any more.
    fn end(&self) {
        let mut place = self.place.lock();
        place.standing = Standing::Over;
        let (calls, over) = (place.calls.take(), place.over.take());
        drop(place);
        drop(calls);
        if let Some(over) = over {
            // Nobody may wait for it.
            let _ = over.send(());
        }
    }
}

impl Wake for Seat {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut place = self.place.lock();
        match place.standing {
            Standing::Waiting => place.standing = Standing::Ready,
            Standing::Called => {
                place.standing = Standing::CalledAndReady;
                return;
            }
            Standing::Ready | Standing::CalledAndReady | Standing::Over => return,
        }
        drop(place);
        self.threads.put(Arc::clone(self));
    }
}

/// Whoever drops it ends what is called.
struct EndsWithIt(Arc<Seat>);

impl Drop for EndsWithIt {
    fn drop(&mut self) {
        self.0.end();
    }
}
