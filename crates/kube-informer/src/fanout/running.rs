//! Calling a handler with one event after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::Handle;
use super::listener::{Listener, TURN, Told, panic_message};

/// Calls a handler with every event, until the end. A panic is caught, and the handler goes on.
pub(super) async fn run<K, H: Handle<K>>(listener: Arc<Listener<K>>, mut handler: H) {
    let (mut told, mut turn) = (Told::default(), 0);
    while let Some(events) = std::future::poll_fn(|context| listener.poll_run(context, &mut told)).await {
        for event in events.iter().take_while(|_| listener.begin_one()) {
            let outcome = catch_unwind(AssertUnwindSafe(|| handler.handle_shared(event)));
            told.add(event.is_initial(), outcome.err().map(|panic| panic_message(&*panic)));
            turn += 1;
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
}
