//! Connections that wait for the rest of a request.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// The connections that wait for a request or the rest of one, in the order in which they began to.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<Line>);

#[derive(Debug, Default)]
struct Line {
    next: u64,
    connections: BTreeMap<u64, CancellationToken>,
}

impl Waiting {
    /// Adds a connection until the ticket is dropped; `cut` closes it.
    pub(super) fn enter(self: &Arc<Self>, cut: CancellationToken) -> Ticket {
        let mut line = self.0.lock();
        let number = line.next;
        line.next += 1;
        line.connections.insert(number, cut);
        Ticket { waiting: Arc::clone(self), number }
    }

    /// Closes the connection that has waited longest. Returns false if none waits.
    pub(super) fn cut_oldest(&self) -> bool {
        let oldest = self.0.lock().connections.pop_first();
        oldest.map(|(_, cut)| cut.cancel()).is_some()
    }
}

/// A place in the line, which is left on drop.
#[derive(Debug)]
pub(super) struct Ticket {
    waiting: Arc<Waiting>,
    number: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.waiting.0.lock().connections.remove(&self.number);
    }
}
