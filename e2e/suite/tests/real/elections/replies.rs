//! Clocks that disagree, and replies that are lost on their way: the lease is written, and who wrote it does not know.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{Request, Response};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube_client::Client;
use kube_client::client::Body;
use kube_controller::leader::Outcome;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::support::{Candidate, LEASE, Log, NAMES, acting, candidate, run, settings};
use crate::namespace;
use crate::servers::{Which, on_both_servers};

on_both_servers! {
    clocks_that_disagree_by_a_day_change_nothing,
    replies_that_are_lost_never_make_two_act,
}

/// What becomes of the replies to one candidate. Its requests always arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Replies {
    #[default]
    Come,
    /// Of eight, about one is an error instead and one never comes.
    Some,
    /// None ever comes.
    None,
}

/// Loses replies.
#[derive(Clone, Default)]
struct Wire {
    replies: Arc<Mutex<Replies>>,
    requests: Arc<AtomicU64>,
    lost: Arc<AtomicU64>,
}

type Broken = Box<dyn std::error::Error + Send + Sync>;

impl Wire {
    fn set(&self, replies: Replies) {
        *self.replies.lock() = replies;
    }

    fn lost(&self) -> u64 {
        self.lost.load(Ordering::SeqCst)
    }

    /// A client whose replies may be lost.
    fn client(&self, inner: Client) -> Client {
        let wire = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (wire, inner) = (wire.clone(), inner.clone());
            let answer: Pin<Box<dyn Future<Output = Result<Response<Body>, Broken>> + Send>> =
                Box::pin(async move {
                    let number = wire.requests.fetch_add(1, Ordering::SeqCst);
                    let reply = inner.send(request).await?;
                    let replies = *wire.replies.lock();
                    match (replies, lot(number)) {
                        (Replies::Some, 0) => {
                            wire.lost.fetch_add(1, Ordering::SeqCst);
                            Err("the connection was reset".into())
                        }
                        (Replies::None, _) | (Replies::Some, 1) => {
                            wire.lost.fetch_add(1, Ordering::SeqCst);
                            std::future::pending().await
                        }
                        _ => Ok(reply),
                    }
                });
            answer
        });
        Client::new(service, "default")
    }
}

/// A number below 8, drawn for a request. In no order: an elector that asks in the same order again and again would lose
/// the same reply each time.
fn lot(request: u64) -> u64 {
    (request + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0x94D0_49BB_1331_11EB)
        >> 61
}

async fn replies_that_are_lost_never_make_two_act(which: Which) {
    let server = which.shared().await;
    let admin = server.client().await;
    namespace(&admin, "replies").await;
    let (log, wires) = (Log::default(), [Wire::default(), Wire::default(), Wire::default()]);
    let mut candidates = Vec::new();
    for (name, wire) in NAMES.into_iter().zip(&wires) {
        wire.set(Replies::Some);
        candidates.push(candidate(wire.client(server.client().await), "replies", name, &log));
    }
    // Some are lost all the time, of all of them.
    let leader = acting(&log, None).await;
    tokio::time::sleep(LEASE * 3 / 2).await;
    log.assert_never_two();
    assert!(wires[leader].lost() > 2, "{}", wires[leader].lost());
    let (acted, ..) = *log.terms().last().unwrap();
    let leader = NAMES.iter().position(|name| *name == acted).unwrap();
    // Now it never hears again that its lease is renewed.
    wires[leader].set(Replies::None);
    let cut = Instant::now();
    let next = acting(&log, Some(leader)).await;
    let terms = log.terms();
    let (old, new) = (&terms[terms.len() - 2], &terms[terms.len() - 1]);
    assert_eq!((old.0, new.0), (NAMES[leader], NAMES[next]), "{terms:?}");
    // Half-way between the renew deadline and the lease, by what it heard last before.
    assert!(old.3.saturating_duration_since(cut) <= LEASE * 3 / 4, "{terms:?}");
    wires[leader].set(Replies::Some);
    candidates.swap_remove(next).run.abort();
    let third = acting(&log, Some(next)).await;
    assert_ne!(third, next);
    end(candidates, &log).await;
}

async fn clocks_that_disagree_by_a_day_change_nothing(which: Which) {
    let server = which.shared().await;
    let admin = server.client().await;
    namespace(&admin, "clocks").await;
    let log = Log::default();
    let mut candidates = Vec::new();
    for (name, hours) in NAMES.into_iter().zip([0, 24, -24]) {
        #[expect(clippy::disallowed_methods, reason = "the server has a real clock too")]
        let clock = move || Timestamp::now() + SignedDuration::from_hours(hours);
        let settings = settings(server.client().await, "clocks", name).clock(clock);
        candidates.push((name, run(settings, name, &log)));
    }
    let (mut leaders, mut before) = (Vec::new(), None);
    while !candidates.is_empty() {
        let leader = acting(&log, before).await;
        // However long ago it was renewed by their time, nobody thinks that the lease is over.
        tokio::time::sleep(LEASE * 3 / 2).await;
        assert_eq!(log.terms().last().map(|term| term.0), Some(NAMES[leader]), "{:?}", log.terms());
        leaders.push(NAMES[leader]);
        assert_eq!(log.terms().len(), leaders.len(), "{:?}", log.terms());
        let at = candidates.iter().position(|(name, _)| *name == NAMES[leader]).unwrap();
        candidates.remove(at).1.run.abort();
        before = Some(leader);
    }
    log.assert_never_two();
    // Nobody is early either: it was renewed no longer than the pause between renewals before the last act.
    for pair in log.terms().windows(2) {
        assert!(pair[1].2 - pair[0].3 >= LEASE / 2, "{pair:?}");
    }
    leaders.sort_unstable();
    assert_eq!(leaders, NAMES);
}

async fn end(candidates: Vec<Candidate>, log: &Log) {
    for candidate in candidates {
        candidate.stop.cancel();
        let ended = tokio::time::timeout(crate::PATIENCE, candidate.run).await.expect("it ends").unwrap();
        assert_eq!(ended, Outcome::Cancelled);
    }
    log.assert_never_two();
}
