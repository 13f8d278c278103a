//! Where handlers are called: on threads that nothing else needs.
//!
//! A handler is a plain function, and may hold its thread for as long as it likes. So handlers are never called on the
//! threads that read, decode and store, but on those that the runtime keeps for work that blocks: as many at a time as
//! there are cores, shared by all handlers. A call that lasts longer than [`SLOW`] keeps its thread, and if somebody waits
//! another takes its place. That works on a runtime with a single thread, too, and on one that has no more threads to
//! give.
//!
//! A thread is held only while there is something to tell, so that paused time stands still until everybody has heard
//! it, and goes on when all have.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime;
use tokio::sync::oneshot;

use super::watchman;
use crate::panics;

/// A call that lasts longer does not count among those that share the cores any more.
pub(super) const SLOW: Duration = Duration::from_millis(5);

/// A runtime that does not begin within this time has no thread to give.
const BEGINS: Duration = Duration::from_secs(1);

/// So many threads of the runtime call handlers at most: it has more by default, but others need them too. Where so many
/// are held, or the runtime has no more to give, handlers are called on threads of their own.
const MAX_BORROWED: usize = 256;

/// So many threads call handlers at most. Where so many are held, the rest waits.
const MAX_THREADS: usize = 4096;

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
    /// Threads, besides those that are held.
    free: usize,
    /// What each thread does, of all there are.
    busy: Vec<Busy>,
    last: u64,
    /// Somebody looks for threads that are held.
    watched: bool,
}

/// A thread that begins to work, or calls somebody.
struct Busy {
    id: u64,
    begins: bool,
    since: Instant,
    /// It takes too long, and another has taken its place.
    held: bool,
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
        let watch = !std::mem::replace(&mut rota.watched, true);
        drop(rota);
        if let Some(more) = more {
            self.begin(more);
        }
        if watch && !watchman::watch(self) {
            self.rota.lock().watched = false;
        }
    }

    /// Lets one more thread work.
    fn begin(self: &Arc<Self>, recruit: Recruit) {
        let shift =
            Shift { threads: Arc::clone(self), id: recruit.id, borrowed: recruit.borrowed, begun: false };
        if recruit.borrowed {
            // Where the system has no thread to give to a runtime that has none, this panics; the runtime keeps the work until it has.
            // Meanwhile it counts as a thread that does not begin, and others take its place.
            let spawned =
                catch_unwind(AssertUnwindSafe(|| drop(self.runtime.spawn_blocking(move || shift.work()))));
            if let Err(panic) = spawned {
                panics::drop_quietly(panic);
            }
            return;
        }
        let runtime = self.runtime.clone();
        let work = move || {
            let _entered = runtime.enter();
            shift.work();
        };
        // Where the system has no thread to give, those who wait are looked at again soon.
        let _ = std::thread::Builder::new().name("informer-handler".to_owned()).spawn(work);
    }

    /// Looks for threads that are held, and puts others in their place; false if nobody waits.
    pub(super) fn relieve(self: &Arc<Self>, now: Instant) -> bool {
        let mut rota = self.rota.lock();
        rota.give_up(now);
        let mut recruits = Vec::new();
        while recruits.len() < rota.ready.len()
            && let Some(recruit) = rota.enlist(self.side_by_side)
        {
            recruits.push(recruit);
        }
        rota.watched = !rota.ready.is_empty();
        let watched = rota.watched;
        drop(rota);
        for recruit in recruits {
            self.begin(recruit);
        }
        watched
    }
}

/// A thread that is to work.
#[derive(Clone, Copy)]
struct Recruit {
    id: u64,
    /// It is the runtime's.
    borrowed: bool,
}

impl Rota {
    /// One more thread is to work, if there are too few.
    fn enlist(&mut self, side_by_side: usize) -> Option<Recruit> {
        if self.free >= side_by_side || self.busy.len() >= MAX_THREADS {
            return None;
        }
        let has_none = self.busy.iter().any(|busy| busy.begins && busy.held);
        let borrowed = self.busy.len() < MAX_BORROWED && !has_none;
        self.free += 1;
        Some(Recruit { id: self.note(true), borrowed })
    }

    /// A thread begins something.
    fn note(&mut self, begins: bool) -> u64 {
        self.last += 1;
        self.busy.push(Busy { id: self.last, begins, since: now(), held: false });
        self.last
    }

    /// Those that take too long are not counted any more.
    fn give_up(&mut self, now: Instant) {
        for busy in self.busy.iter_mut().filter(|busy| !busy.held) {
            busy.held = now - busy.since > if busy.begins { BEGINS } else { SLOW };
            self.free -= usize::from(busy.held);
        }
    }

    /// The next to be called by a thread that is done with what it did before; none if the thread is not needed any more.
    fn next(&mut self, before: u64, side_by_side: usize) -> Option<(u64, Arc<Seat>)> {
        self.leave(before);
        // If it was held, another may have taken its place.
        let seat = if self.free < side_by_side { self.ready.pop_front() } else { None };
        seat.map(|seat| {
            self.free += 1;
            (self.note(false), seat)
        })
    }

    /// A thread is done.
    fn leave(&mut self, before: u64) {
        if let Some(at) = self.busy.iter().position(|busy| busy.id == before)
            && !self.busy.swap_remove(at).held
        {
            self.free -= 1;
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a thread is held for as long as the clock on the wall says")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// The work of one thread.
struct Shift {
    threads: Arc<Threads>,
    id: u64,
    borrowed: bool,
    begun: bool,
}

impl Shift {
    fn work(mut self) {
        self.begun = true;
        while let Some((id, seat)) = { self.threads.rota.lock().next(self.id, self.threads.side_by_side) } {
            self.id = id;
            seat.call();
        }
    }
}

impl Drop for Shift {
    fn drop(&mut self) {
        let mut rota = self.threads.rota.lock();
        // One that has worked to the end has left before.
        rota.leave(self.id);
        // One that the runtime was to begin, and did not, says that there is no runtime any more, and nobody is called.
        let gone = self.borrowed && !self.begun;
        let ready = if gone { std::mem::take(&mut rota.ready) } else { VecDeque::new() };
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
        let goes_on = match catch_unwind(poll) {
            Ok(poll) => poll.is_pending(),
            Err(panic) => {
                panics::drop_quietly(panic);
                false
            }
        };
        let mut place = self.place.lock();
        let again = place.standing == Standing::CalledAndReady;
        if !goes_on || place.standing == Standing::Over {
            drop(place);
            panics::drop_quietly(calls);
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
        panics::drop_quietly(calls);
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

#[cfg(test)]
mod tests {
    use super::*;

    const SIDE_BY_SIDE: usize = 2;

    /// One who has nothing to say.
    fn silent(threads: &Arc<Threads>) -> Arc<Seat> {
        let place = Place { calls: None, standing: Standing::Over, over: None };
        Arc::new(Seat { threads: Arc::clone(threads), place: Mutex::new(place) })
    }

    /// Threads come, call, are held and go at random; they are counted right at every step, and nobody is left waiting.
    #[tokio::test(start_paused = true)]
    async fn threads_are_counted_right_whatever_comes_first() {
        for seed in 1..100_u64 {
            let threads = Threads::here();
            let (mut rota, mut random) = (Rota::default(), seed);
            // What each does.
            let mut shifts: Vec<u64> = Vec::new();
            for step in 0..2_000 {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (what, which) =
                    if step > 1_500 { (4, 0) } else { ((random >> 33) % 5, (random >> 40) as usize) };
                match what {
                    0 | 1 => {
                        rota.ready.push_back(silent(&threads));
                        shifts.extend(rota.enlist(SIDE_BY_SIDE).map(|recruit| recruit.id));
                    }
                    2 => {
                        let all = rota.busy.len().max(1);
                        if let Some(busy) = rota.busy.get_mut(which % all).filter(|busy| !busy.held) {
                            busy.held = true;
                            rota.free -= 1;
                        }
                        for _ in 0..rota.ready.len() {
                            shifts.extend(rota.enlist(SIDE_BY_SIDE).map(|recruit| recruit.id));
                        }
                    }
                    _ if shifts.is_empty() => {}
                    _ => {
                        let at = which % shifts.len();
                        match rota.next(shifts[at], SIDE_BY_SIDE) {
                            Some((id, _)) => shifts[at] = id,
                            None => drop(shifts.swap_remove(at)),
                        }
                    }
                }
                let held = rota.busy.iter().filter(|busy| busy.held).count();
                let counted = (rota.busy.len(), rota.free);
                assert_eq!(counted, (shifts.len(), shifts.len() - held), "seed {seed}, step {step}");
                assert!(rota.free <= SIDE_BY_SIDE && shifts.len() <= MAX_THREADS, "seed {seed}, step {step}");
                assert!(
                    rota.ready.is_empty() || !shifts.is_empty(),
                    "somebody waits: seed {seed}, step {step}"
                );
            }
            while let Some(mut id) = shifts.pop() {
                while let Some((next, _)) = rota.next(id, SIDE_BY_SIDE) {
                    id = next;
                }
            }
            assert_eq!((rota.ready.len(), rota.busy.len(), rota.free), (0, 0, 0), "seed {seed}");
        }
    }

    #[test]
    fn where_the_runtime_has_no_thread_to_give_handlers_get_their_own() {
        let mut builder = runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).max_blocking_threads(1).build().unwrap();
        let (hold, until) = std::sync::mpsc::channel::<()>();
        let (began, begins) = std::sync::mpsc::channel();
        runtime.spawn_blocking(move || {
            began.send(()).unwrap();
            let _ = until.recv();
        });
        begins.recv().unwrap();
        let threads = {
            let _entered = runtime.enter();
            Threads::here()
        };
        let (called, calls) = std::sync::mpsc::channel();
        let ends = runtime.spawn(threads.run(Box::pin(async move { called.send(()).unwrap() })));
        // As if it had waited for so long.
        threads.relieve(now() + 2 * BEGINS);
        calls.recv_timeout(Duration::from_secs(60)).expect("it is called");
        drop(hold);
        runtime.block_on(ends).unwrap();
    }

    /// A runtime to which the system has no thread to give: no stack is as large.
    fn starved() -> runtime::Runtime {
        runtime::Builder::new_current_thread().thread_stack_size(1 << 50).build().unwrap()
    }

    #[test]
    fn where_the_system_has_no_thread_for_the_runtime_handlers_get_their_own() {
        let runtime = starved();
        let threads = {
            let _entered = runtime.enter();
            Threads::here()
        };
        let (called, calls) = std::sync::mpsc::channel();
        let ends = runtime.spawn(threads.run(Box::pin(async move { called.send(()).unwrap() })));
        // As if it had waited for so long.
        threads.relieve(now() + 2 * BEGINS);
        calls.recv_timeout(Duration::from_secs(60)).expect("it is called");
        runtime.block_on(ends).unwrap();
    }

    #[test]
    fn handlers_of_other_runtimes_are_looked_at_when_the_system_has_no_thread_for_one() {
        let (starved, healthy) = (starved(), runtime::Builder::new_current_thread().build().unwrap());
        let (called, calls) = std::sync::mpsc::channel();
        // Nobody looks at what nobody holds.
        let mut watched = Vec::new();
        for runtime in [&starved, &healthy] {
            let threads = {
                let _entered = runtime.enter();
                Threads::here()
            };
            let called = called.clone();
            let call: BoxFuture<'static, ()> = Box::pin(async move {
                // The other one may be called later, when nobody listens any more.
                let _ = called.send(std::thread::current().name().map(str::to_owned));
            });
            let place = Place { calls: Some(call), standing: Standing::Ready, over: None };
            let seat = Arc::new(Seat { threads: Arc::clone(&threads), place: Mutex::new(place) });
            threads.rota.lock().ready.push_back(seat);
            assert!(watchman::watch(&threads));
            watched.push(threads);
        }
        let name = calls.recv_timeout(Duration::from_secs(20)).expect("one is called");
        assert_ne!(name.as_deref(), Some("informer-handler"), "by a thread of the healthy runtime");
        drop(watched);
    }
}
