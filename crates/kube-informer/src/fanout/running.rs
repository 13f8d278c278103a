//! Calling a handler, beside others or in a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::RuntimeFlavor;
use tokio_util::task::TaskTracker;

use super::listener::{Listener, TURN, Told, panic_message};
use super::{Event, Handle};

/// A handler that holds its thread for longer than this gets one of its own.
const SLOW: Duration = Duration::from_millis(5);

/// So many handlers have threads of their own at most, unless they ask for one: the runtime has more, but others need
/// them too.
const MAX_OWN_THREADS: usize = 256;

/// How many handlers have got threads of their own.
static OWN_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Runs a handler beside others. One that turns out to be slow goes on in a thread of its own, so that it delays nobody.
pub(super) async fn run_beside_others<K, H>(listener: Arc<Listener<K>>, handler: H, tasks: TaskTracker)
where
    K: Send + Sync + 'static,
    H: Handle<K>,
{
    let runtime = tokio::runtime::Handle::current();
    // With one thread for everything there is no other to give.
    let may_move = runtime.runtime_flavor() != RuntimeFlavor::CurrentThread;
    let Some((handler, in_hand)) = run(&listener, handler, None, may_move).await else { return };
    tasks.spawn_blocking(move || {
        runtime.block_on(run(&listener, handler, Some(in_hand), false));
        OWN_THREADS.fetch_sub(1, Ordering::Relaxed);
    });
}

/// Runs a handler in a thread of its own.
pub(super) async fn run_alone<K, H: Handle<K>>(listener: Arc<Listener<K>>, handler: H) {
    run(&listener, handler, None, false).await;
}

/// Takes one of the threads that there are for slow handlers.
fn take_thread() -> bool {
    let more = |taken| (taken < MAX_OWN_THREADS).then_some(taken + 1);
    OWN_THREADS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

/// How long the calls take, of a handler that may be moved.
#[expect(clippy::disallowed_methods, reason = "a thread is held for as long as the clock on the wall says")]
fn clock(may_move: bool) -> Option<Instant> {
    may_move.then(Instant::now)
}

/// Events that were taken out together, and the next of them.
type InHand<K> = (Arc<[Event<K>]>, usize);

/// Calls a handler with every event, until the end. A panic is caught, and the handler goes on. Returns the handler before
/// the end if it is to be moved to another thread, with what was taken out for it.
async fn run<K, H: Handle<K>>(
    listener: &Listener<K>,
    mut handler: H,
    mut in_hand: Option<InHand<K>>,
    may_move: bool,
) -> Option<(H, InHand<K>)> {
    let (mut told, mut turn) = (Told::default(), 0);
    loop {
        let (events, mut next) = match in_hand.take() {
            Some(in_hand) => in_hand,
            None => match std::future::poll_fn(|context| listener.poll_run(context, &mut told)).await {
                Some(events) => (events, 0),
                None => break,
            },
        };
        let mut began = clock(may_move);
        while let Some(event) = events.get(next).filter(|_| listener.begin_one()) {
            let outcome = catch_unwind(AssertUnwindSafe(|| handler.handle_shared(event)));
            told.add(event.is_initial(), outcome.err().map(|panic| panic_message(&*panic)));
            (next, turn) = (next + 1, turn + 1);
            let ended = clock(may_move);
            let slow = ended.zip(began).is_some_and(|(ended, began)| ended - began > SLOW);
            if slow && take_thread() {
                listener.moves(told);
                return Some((handler, (events, next)));
            }
            began = ended;
        }
        drop(events);
        if turn >= TURN {
            // Handlers are not asynchronous: others get their turn.
            turn = 0;
            tokio::task::yield_now().await;
        }
    }
    // Whoever waits for the end waits for what the handler holds, too.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(handler)));
    listener.ended(told);
    None
}
