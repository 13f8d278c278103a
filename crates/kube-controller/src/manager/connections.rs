//! The connections of a server: how many there are, how long each may take, and which one makes room for another.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The limit of open connections. One more closes the oldest that has not sent its request yet, or else the oldest.
const MAX_CONNECTIONS: usize = 128;

/// The limit of requests that are answered at once, as each may hold a page in memory. One more closes the connection of
/// the oldest.
pub(super) const MAX_ANSWERS: usize = 32;

/// The time in which a client has to send its request, the handshake of TLS included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The time in which a request has to be answered, and its client to have read the answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The same, from when the server is to stop.
const LAST_ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// The open connections of a server. Each serves one request.
pub(super) struct Connections {
    places: Arc<Semaphore>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    accepted: u64,
    /// In the order in which they were accepted.
    all: BTreeMap<u64, Signals>,
}

#[derive(Clone, Default)]
struct Signals {
    /// The head of the request has been read.
    request_read: CancellationToken,
    /// The connection has to make room.
    close: CancellationToken,
}

/// One connection among the others, until it is dropped.
pub(super) struct Place {
    number: u64,
    signals: Signals,
    connections: Arc<Connections>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connections {
    pub(super) fn new() -> Arc<Self> {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        Arc::new(Self { places, open: Mutex::default() })
    }

    /// Returns the place of a new connection, after another one has made room for it if there are too many.
    pub(super) async fn admit(self: &Arc<Self>) -> Place {
        if self.places.available_permits() == 0 {
            self.open.lock().close_oldest();
        }
        // The semaphore is never closed, so there is a permit.
        let permit = Arc::clone(&self.places).acquire_owned().await.ok();
        let signals = Signals::default();
        let mut open = self.open.lock();
        open.accepted += 1;
        let number = open.accepted;
        open.all.insert(number, signals.clone());
        drop(open);
        Place { number, signals, connections: Arc::clone(self), _permit: permit }
    }
}

impl Open {
    /// Closes the oldest connection that has not sent its request, or else the oldest.
    fn close_oldest(&mut self) {
        let silent = self.all.iter().find(|(_, signals)| !signals.request_read.is_cancelled());
        let oldest = silent.or_else(|| self.all.iter().next()).map(|(number, _)| *number);
        oldest.inspect(|number| self.close(*number));
    }

    /// Closes the oldest connection that is answered, if there are too many of them.
    fn close_oldest_answer(&mut self) {
        let mut answered = self.all.iter().filter(|(_, signals)| signals.request_read.is_cancelled());
        let oldest = answered.next().map(|(number, _)| *number);
        if answered.count() >= MAX_ANSWERS {
            oldest.inspect(|number| self.close(*number));
        }
    }

    fn close(&mut self, number: u64) {
        if let Some(signals) = self.all.remove(&number) {
            signals.close.cancel();
        }
    }
}

impl Place {
    /// Returns the callback for when the head of the request has been read.
    pub(super) fn on_request(&self) -> impl Fn() + Send + Sync + 'static {
        let (connections, request_read) = (Arc::clone(&self.connections), self.signals.request_read.clone());
        move || {
            request_read.cancel();
            connections.open.lock().close_oldest_answer();
        }
    }

    /// Runs the work of the connection until it is done, out of time, or closed to make room.
    pub(super) async fn serve(self, stop: &CancellationToken, work: impl Future<Output = ()>) {
        let Signals { request_read, close } = &self.signals;
        let mut work = pin!(work);
        // The work comes first: a request that has arrived is read before its connection is closed.
        tokio::select! {
            biased;
            () = &mut work => return,
            () = request_read.cancelled() => {}
            () = close.cancelled() => return,
            () = stop.cancelled() => return,
            () = tokio::time::sleep(REQUEST_TIMEOUT) => return,
        }
        let stopped = async {
            stop.cancelled().await;
            tokio::time::sleep(LAST_ANSWER_TIMEOUT).await;
        };
        tokio::select! {
            biased;
            () = work => {}
            () = close.cancelled() => {}
            () = stopped => {}
            () = tokio::time::sleep(ANSWER_TIMEOUT) => {}
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.open.lock().all.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(places: &[Place]) -> Vec<usize> {
        (0..places.len()).filter(|number| places[*number].signals.close.is_cancelled()).collect()
    }

    async fn admit(connections: &Arc<Connections>, count: usize) -> Vec<Place> {
        let mut places = Vec::new();
        for _ in 0..count {
            places.push(connections.admit().await);
        }
        places
    }

    #[tokio::test]
    async fn the_oldest_that_has_sent_no_request_makes_room_and_then_the_oldest() {
        let connections = Connections::new();
        let mut places = admit(&connections, MAX_CONNECTIONS).await;
        places[0].on_request()();
        for (closed_next, answered) in [(1, 0), (2, 0), (0, usize::MAX)] {
            // The limit of answers does not matter here.
            places.iter().take(answered).for_each(|place| place.signals.request_read.cancel());
            let next = tokio::spawn({
                let connections = Arc::clone(&connections);
                async move { connections.admit().await }
            });
            // It runs as far as it gets.
            tokio::task::yield_now().await;
            assert!(places[closed_next].signals.close.is_cancelled(), "{closed_next}");
            assert!(!next.is_finished(), "there are never more connections than the limit");
            drop(std::mem::replace(&mut places[closed_next], unlisted(&connections)));
            let next = next.await.unwrap();
            assert_eq!(connections.open.lock().all.len(), MAX_CONNECTIONS);
            places.push(next);
        }
    }

    /// Takes the place of one that was closed, in a list.
    fn unlisted(connections: &Arc<Connections>) -> Place {
        Place { number: 0, signals: Signals::default(), connections: Arc::clone(connections), _permit: None }
    }

    #[tokio::test]
    async fn the_oldest_answer_makes_room_for_another() {
        let connections = Connections::new();
        let places = admit(&connections, MAX_ANSWERS + 3).await;
        for place in places.iter().skip(1).rev().take(MAX_ANSWERS) {
            place.on_request()();
        }
        assert!(closed(&places).is_empty());
        places[0].on_request()();
        places[1].on_request()();
        assert_eq!(closed(&places), [0, 1], "the oldest, and then the next");
    }

    #[tokio::test]
    async fn a_request_that_has_arrived_is_answered_though_its_connection_has_to_make_room() {
        let (connections, mut is_answered) = (Connections::new(), false);
        let place = connections.admit().await;
        connections.open.lock().close_oldest();
        place.serve(&CancellationToken::new(), async { is_answered = true }).await;
        assert!(is_answered);
    }

    #[tokio::test(start_paused = true)]
    async fn each_part_of_a_connection_has_its_time() {
        let connections = Connections::new();
        let stop = CancellationToken::new();
        let elapsed = async |sends_after: Option<u64>, stops_after: Option<u64>| {
            let (place, begun) = (connections.admit().await, tokio::time::Instant::now());
            let on_request = place.on_request();
            let stop = stop.child_token();
            let stops = async {
                match stops_after {
                    Some(after) => tokio::time::sleep(Duration::from_secs(after)).await,
                    None => std::future::pending().await,
                }
                stop.cancel();
                std::future::pending::<()>().await;
            };
            let work = async {
                if let Some(after) = sends_after {
                    tokio::time::sleep(Duration::from_secs(after)).await;
                    on_request();
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = place.serve(&stop, work) => {}
                () = stops => {}
            }
            begun.elapsed().as_secs()
        };
        assert_eq!(elapsed(None, None).await, REQUEST_TIMEOUT.as_secs());
        assert_eq!(elapsed(Some(9), None).await, 9 + ANSWER_TIMEOUT.as_secs());
        assert_eq!(elapsed(None, Some(2)).await, 2, "a request that was not sent is not waited for");
        assert_eq!(elapsed(Some(1), Some(2)).await, 2 + LAST_ANSWER_TIMEOUT.as_secs());
        assert!(connections.open.lock().all.is_empty());
        assert_eq!(connections.places.available_permits(), MAX_CONNECTIONS);
    }
}
