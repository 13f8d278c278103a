//! Calling a handler with one event after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::Handle;
use super::listener::{Listener, TURN};
use crate::panics;

/// Calls a handler with every event, until the end. A panic is caught, and the handler goes on. Whoever drops this ends
/// it.
pub(super) async fn run<K, H: Handle<K>>(listener: Arc<Listener<K>>, handler: H) {
    // Whoever waits for the end waits for what the handler holds, too.
    let listener = Ends(listener);
    let mut handler = handler;
    let (mut initial, mut turn) = (0, 0);
    while let Some(events) = std::future::poll_fn(|context| listener.0.poll_run(context, &mut initial)).await
    {
        for event in events.iter().take_while(|_| listener.0.begin_one()) {
            let outcome = catch_unwind(AssertUnwindSafe(|| handler.handle_shared(event)));
            initial += usize::from(event.is_initial());
            listener.0.end_one(outcome.err().map(panics::message));
            turn += 1;
        }
        drop(events);
        if turn >= TURN {
            // Handlers are not asynchronous: others get their turn.
            turn = 0;
            tokio::task::yield_now().await;
        }
    }
}

/// Says when it is over.
struct Ends<K>(Arc<Listener<K>>);

impl<K> Drop for Ends<K> {
    fn drop(&mut self) {
        self.0.ended();
    }
}
