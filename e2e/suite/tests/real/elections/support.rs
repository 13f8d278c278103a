//! Candidates that can be frozen and killed, and a log of who acted.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use kube_client::Client;
use kube_controller::leader::{LeaderElector, LeaderElectorBuilder, LeaderStatus, Leading, Outcome};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::PATIENCE;

/// How often a leader acts.
pub(super) const ACT: Duration = Duration::from_millis(5);

/// A lease of 4 seconds.
pub(super) const LEASE: Duration = Duration::from_secs(4);

/// What was done, one after the other.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<Act>>>);

/// Who acted, in which of their terms, and when.
type Act = (&'static str, u32, Instant);

impl Log {
    fn act(&self, who: &'static str, term: u32) {
        let mut log = self.0.lock();
        log.push((who, term, Instant::now()));
    }

    /// The terms, one after the other: who, which of theirs, and from when until when.
    pub(super) fn terms(&self) -> Vec<(&'static str, u32, Instant, Instant)> {
        let acts = self.0.lock();
        let terms = acts.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        terms.map(|acts| (acts[0].0, acts[0].1, acts[0].2, acts[acts.len() - 1].2)).collect()
    }

    /// Nobody acts in a term after another has begun to act.
    pub(super) fn assert_never_two(&self) {
        let terms: Vec<(&str, u32)> = self.terms().into_iter().map(|(who, term, ..)| (who, term)).collect();
        for (at, term) in terms.iter().enumerate() {
            assert!(!terms[..at].contains(term), "{term:?} acts again after another has: {terms:?}");
        }
    }
}

/// Stops the futures in it in the middle of whatever they do, as if the process were frozen.
#[derive(Clone, Default)]
pub(super) struct Freezer(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Freezer {
    pub(super) fn freeze(&self) {
        self.0.lock().0 = true;
    }

    pub(super) fn thaw(&self) {
        let mut state = self.0.lock();
        state.0 = false;
        state.1.drain(..).for_each(Waker::wake);
    }

    fn put<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let state = Arc::clone(&self.0);
        let mut future = Box::pin(future);
        std::future::poll_fn(move |context: &mut Context<'_>| {
            let mut frozen = state.lock();
            if frozen.0 {
                frozen.1.push(context.waker().clone());
                return Poll::Pending;
            }
            drop(frozen);
            future.as_mut().poll(context)
        })
    }
}

pub(super) struct Candidate {
    pub(super) status: watch::Receiver<LeaderStatus>,
    pub(super) freezer: Freezer,
    pub(super) stop: CancellationToken,
    pub(super) run: JoinHandle<Outcome>,
}

/// Short times: a lease of 4 seconds.
pub(super) fn settings(client: Client, namespace: &str, name: &str) -> LeaderElectorBuilder {
    LeaderElector::builder(client, namespace, "lock")
        .identity(name)
        .lease_duration(LEASE)
        .renew_deadline(LEASE / 2)
        .retry_period(Duration::from_millis(300))
        .release_on_cancel(true)
}

/// A candidate whose work acts all the time until it is told to stop, and asks before each act.
pub(super) fn candidate(client: Client, namespace: &str, name: &'static str, log: &Log) -> Candidate {
    run(settings(client, namespace, name), name, log)
}

/// The same with settings of its own.
pub(super) fn run(settings: LeaderElectorBuilder, name: &'static str, log: &Log) -> Candidate {
    let mut elector = settings.build().unwrap();
    let (status, stop, freezer) = (elector.watch_status(), CancellationToken::new(), Freezer::default());
    let (log, stopped, within) = (log.clone(), stop.clone(), freezer.clone());
    let run = tokio::spawn(freezer.put(async move {
        let mut term = 0;
        let work = |leading: Leading| {
            term += 1;
            within.put(act(leading, log.clone(), name, term))
        };
        elector.run_again(&stopped, work).await
    }));
    Candidate { status, freezer, stop, run }
}

async fn act(leading: Leading, log: Log, name: &'static str, term: u32) {
    while !leading.is_stopped() {
        if leading.is_leading() {
            log.act(name, term);
        }
        tokio::time::sleep(ACT).await;
    }
}

pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

/// Waits until one acts, another than the one who did, and says which.
pub(super) async fn acting(log: &Log, but: Option<usize>) -> usize {
    let found = async {
        loop {
            let last = log.terms().last().map(|term| term.0);
            let at = NAMES.iter().position(|name| Some(*name) == last);
            if let Some(at) = at.filter(|at| Some(*at) != but) {
                return at;
            }
            tokio::time::sleep(ACT).await;
        }
    };
    tokio::time::timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("nobody acts: {:?}", log.terms()))
}
