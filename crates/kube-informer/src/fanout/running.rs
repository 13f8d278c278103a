//! Calling a handler with one event after the other, on the threads that the runtime has for work that blocks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::listener::Listener;
use super::{Event, Handle};
use crate::panics;

/// How long to wait before a thread is requested again, where the system has none to give.
const RETRY: Duration = Duration::from_millis(100);

/// How many runs of events a handler takes on a thread before others get their turn.
const RUNS: usize = 64;

/// Calls a handler with every event, until the end. A panic is caught, and the handler goes on. Dropping the future closes the
/// listener, also before it is polled; a call that is under way is finished.
///
/// A thread is held only while there are events, so that paused time waits for handlers.
pub(super) fn run<K, H>(listener: Arc<Listener<K>>, handler: H) -> impl Future<Output = ()> + Send
where
    K: Send + Sync + 'static,
    H: Handle<K>,
{
    let closes = Closes(Arc::clone(&listener));
    let mut caller = Caller { handler: Some(handler), initial: 0, ends: Ends(listener) };
    async move {
        let Closes(listener) = &closes;
        loop {
            let next = std::future::poll_fn(|context| listener.poll_run(context, &mut caller.initial)).await;
            let Some(events) = next else { break };
            let called = on_thread(move || {
                caller.call(events);
                caller
            });
            // Without it the runtime ends, and this future with it.
            let Some(back) = called.await else { return };
            caller = back;
        }
        // What the handler holds may block when it is dropped.
        on_thread(move || drop(caller)).await;
    }
}

/// Runs a function on one of the runtime's threads for blocking work, or on one of its own where the system gives the runtime none.
/// Returns what the function returned; none if the runtime ends.
async fn on_thread<T: Send + 'static>(function: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, is_done) = oneshot::channel();
    let call = Once::new(move || drop(done.send(function())));
    let spawned = {
        let call = call.clone();
        catch_unwind(AssertUnwindSafe(|| drop(tokio::task::spawn_blocking(move || call.call()))))
    };
    if let Err(panic) = spawned {
        panics::drop_quietly(panic);
        // Tokio keeps the call, and may make it later.
        while !spawn_thread(&call) {
            tokio::time::sleep(RETRY).await;
        }
    }
    // Where the runtime ends, it drops the call.
    drop(call);
    is_done.await.ok()
}

/// Makes the call on a thread of its own; false if the system has none to give.
fn spawn_thread<F: FnOnce() + Send + 'static>(call: &Once<F>) -> bool {
    let (call, runtime) = (call.clone(), tokio::runtime::Handle::current());
    let work = move || {
        let _entered = runtime.enter();
        call.call();
    };
    std::thread::Builder::new().name("informer-handler".to_owned()).spawn(work).is_ok()
}

/// A call that is made once, by the first of those that hold it.
struct Once<F>(Arc<Mutex<Option<F>>>);

impl<F: FnOnce()> Once<F> {
    fn new(function: F) -> Self {
        Self(Arc::new(Mutex::new(Some(function))))
    }

    fn call(self) {
        let function = self.0.lock().take();
        if let Some(function) = function {
            function();
        }
    }
}

impl<F> Clone for Once<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Closes the listener when it is dropped.
struct Closes<K>(Arc<Listener<K>>);

impl<K> Drop for Closes<K> {
    fn drop(&mut self) {
        self.0.close(false);
    }
}

/// A handler, and then its end: [`Registration::ended`](super::Registration::ended) returns after the handler has been dropped.
struct Caller<K, H> {
    handler: Option<H>,
    /// How many initial events have been handled since the listener took note of it.
    initial: usize,
    ends: Ends<K>,
}

impl<K: Send + Sync + 'static, H: Handle<K>> Caller<K, H> {
    /// Calls the handler with events, and with those that arrive meanwhile, up to a number.
    fn call(&mut self, events: Arc<[Event<K>]>) {
        let Self { handler: Some(handler), initial, ends: Ends(listener) } = self else { return };
        let (mut next, mut runs) = (Some(events), 0);
        while let Some(events) = next.take() {
            for event in events.iter().take_while(|_| listener.begin_one()) {
                let outcome = catch_unwind(AssertUnwindSafe(|| handler.handle_shared(event)));
                *initial += usize::from(event.is_initial());
                listener.end_one(outcome.err().map(panics::message));
            }
            drop(events);
            runs += 1;
            next = if runs < RUNS { listener.take_run(initial) } else { None };
        }
    }
}

impl<K, H> Drop for Caller<K, H> {
    fn drop(&mut self) {
        panics::drop_quietly(self.handler.take());
    }
}

/// Says when it is over.
struct Ends<K>(Arc<Listener<K>>);

impl<K> Drop for Ends<K> {
    fn drop(&mut self) {
        self.0.ended();
    }
}
