//! Calling a handler with one event after the other, on the threads that the runtime has for work that blocks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::listener::Listener;
use super::{Event, Handle};
use crate::panics;

/// How long to wait before a thread is asked for again, where the system has none to give.
const RETRY: Duration = Duration::from_millis(100);

/// Calls a handler with every event, until the end. A panic is caught, and the handler goes on. Dropping the future ends the handler,
/// also before it is polled.
///
/// A thread is held only while there are events, so that paused time waits for handlers.
pub(super) fn run<K, H>(listener: Arc<Listener<K>>, handler: H) -> impl Future<Output = ()> + Send
where
    K: Send + Sync + 'static,
    H: Handle<K>,
{
    let caller = Caller { handler: Some(handler), initial: 0, ends: Ends(Arc::clone(&listener)) };
    let caller = Arc::new(Mutex::new(caller));
    async move {
        loop {
            let mut initial = std::mem::take(&mut caller.lock().initial);
            let next = std::future::poll_fn(|context| listener.poll_run(context, &mut initial)).await;
            let Some(events) = next else { return };
            while let Err(panic) = call(&caller, &events).await {
                // The runtime has no thread, and the system gives it none.
                panics::drop_quietly(panic);
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Calls the handler on a thread of the runtime. Returns the panic of a runtime that cannot begin one.
async fn call<K, H>(caller: &Arc<Mutex<Caller<K, H>>>, events: &Arc<[Event<K>]>) -> std::thread::Result<()>
where
    K: Send + Sync + 'static,
    H: Handle<K>,
{
    let (caller, events) = (Arc::clone(caller), Arc::clone(events));
    let call = move || caller.lock().call(events);
    let called = catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(call)))?;
    // It fails where the runtime ends, and this future with it.
    let _ = called.await;
    Ok(())
}

/// A handler, and then its end: who waits for the end waits for what the handler holds, too.
struct Caller<K, H> {
    handler: Option<H>,
    /// How many initial events have been handled since the listener was told.
    initial: usize,
    ends: Ends<K>,
}

impl<K: Send + Sync + 'static, H: Handle<K>> Caller<K, H> {
    /// Calls the handler with events, and with those that come meanwhile.
    fn call(&mut self, events: Arc<[Event<K>]>) {
        let Self { handler: Some(handler), initial, ends: Ends(listener) } = self else { return };
        let mut next = Some(events);
        while let Some(events) = next.take() {
            for event in events.iter().take_while(|_| listener.begin_one()) {
                let outcome = catch_unwind(AssertUnwindSafe(|| handler.handle_shared(event)));
                *initial += usize::from(event.is_initial());
                listener.end_one(outcome.err().map(panics::message));
            }
            drop(events);
            next = listener.take_run(initial);
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
