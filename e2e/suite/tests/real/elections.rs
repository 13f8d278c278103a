//! Elections on a real server: whatever happens to a leader, two never act.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube_client::Client;
use kube_client::api::{Api, PostParams};
use kube_controller::leader::{LeaderElector, LeaderElectorBuilder, LeaderStatus, Leading, Outcome};
use kube_informer_e2e::{Proxy, skip};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::servers::{Which, client, on_both_servers};
use crate::{PATIENCE, namespace, shared};

on_both_servers! {
    of_three_candidates_one_acts_at_a_time_whatever_happens_to_the_leader,
}

/// How often a leader acts.
const ACT: Duration = Duration::from_millis(5);

/// A lease of 4 seconds.
const LEASE: Duration = Duration::from_secs(4);

/// What was done, one after the other.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Act>>>);

/// Who acted, in which of their terms, and when.
type Act = (&'static str, u32, Instant);

impl Log {
    fn act(&self, who: &'static str, term: u32) {
        let mut log = self.0.lock();
        log.push((who, term, Instant::now()));
    }

    /// The terms, one after the other: who, which of theirs, and from when until when.
    fn terms(&self) -> Vec<(&'static str, u32, Instant, Instant)> {
        let acts = self.0.lock();
        let terms = acts.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        terms.map(|acts| (acts[0].0, acts[0].1, acts[0].2, acts[acts.len() - 1].2)).collect()
    }

    /// Nobody acts in a term after another has begun to act.
    fn assert_never_two(&self) {
        let terms: Vec<(&str, u32)> = self.terms().into_iter().map(|(who, term, ..)| (who, term)).collect();
        for (at, term) in terms.iter().enumerate() {
            assert!(!terms[..at].contains(term), "{term:?} acts again after another has: {terms:?}");
        }
    }
}

/// Stops the futures in it in the middle of whatever they do, as if the process were frozen.
#[derive(Clone, Default)]
struct Freezer(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Freezer {
    fn freeze(&self) {
        self.0.lock().0 = true;
    }

    fn thaw(&self) {
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

struct Candidate {
    status: watch::Receiver<LeaderStatus>,
    freezer: Freezer,
    stop: CancellationToken,
    run: JoinHandle<Outcome>,
}

/// Short times: a lease of 4 seconds.
fn settings(client: Client, namespace: &str, name: &str) -> LeaderElectorBuilder {
    LeaderElector::builder(client, namespace, "lock")
        .identity(name)
        .lease_duration(LEASE)
        .renew_deadline(LEASE / 2)
        .retry_period(Duration::from_millis(300))
        .release_on_cancel(true)
}

/// A candidate whose work acts all the time until it is told to stop, and asks before each act.
fn candidate(client: Client, namespace: &str, name: &'static str, log: &Log) -> Candidate {
    let mut elector = settings(client, namespace, name).build().unwrap();
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

/// What happens to a leader.
#[derive(Clone, Copy, Debug)]
enum Day {
    /// Its connections are cut, and it gets no new ones.
    Cut,
    /// Nothing is answered.
    Silent,
    /// The process stands still, and goes on later.
    Frozen,
    /// The process is gone from one moment to the next.
    Killed,
}

async fn of_three_candidates_one_acts_at_a_time_whatever_happens_to_the_leader(which: Which) {
    let server = which.shared().await;
    let admin = server.client().await;
    namespace(&admin, "three").await;
    let log = Log::default();
    let (mut proxies, mut candidates) = (Vec::new(), Vec::new());
    for name in ["a", "b", "c"] {
        let (proxy, config) = server.proxy().await;
        candidates.push(candidate(client(config), "three", name, &log));
        proxies.push(proxy);
    }
    for day in [Day::Cut, Day::Silent, Day::Frozen, Day::Killed] {
        let leader = acting(&log, None).await;
        // In the middle of a term.
        tokio::time::sleep(LEASE / 4).await;
        let happened = Instant::now();
        match day {
            Day::Cut => {
                // Nobody listens there.
                proxies[leader].retarget("127.0.0.1:1");
                proxies[leader].cut();
            }
            Day::Silent => proxies[leader].freeze(),
            Day::Frozen => candidates[leader].freezer.freeze(),
            Day::Killed => candidates[leader].run.abort(),
        }
        let next = acting(&log, Some(leader)).await;
        match day {
            Day::Cut => proxies[leader].retarget(server.address()),
            Day::Silent => proxies[leader].thaw(),
            Day::Frozen => candidates[leader].freezer.thaw(),
            Day::Killed => {}
        }
        let terms = log.terms();
        let (old, new) = (&terms[terms.len() - 2], &terms[terms.len() - 1]);
        assert_eq!((old.0, new.0), (NAMES[leader], NAMES[next]), "{terms:?}");
        #[allow(clippy::print_stdout, reason = "figures for docs/robustness.md")]
        {
            println!(
                "{which:?}, {day:?}: the old one acts for {:.1?}, another acts after {:.1?}",
                old.3.saturating_duration_since(happened),
                new.2 - happened
            );
        }
        // It comes back, and must find that it leads no more.
        tokio::time::sleep(LEASE / 4).await;
        log.assert_never_two();
    }
    for candidate in candidates {
        candidate.stop.cancel();
        match tokio::time::timeout(PATIENCE, candidate.run).await.expect("it ends when it is told to") {
            Ok(outcome) => assert_eq!(outcome, Outcome::Cancelled),
            Err(error) => assert!(error.is_cancelled(), "{error}"),
        }
    }
    log.assert_never_two();
    assert!(log.terms().len() >= 5, "{:?}", log.terms());
    let leases: Api<Lease> = Api::namespaced(admin, "three");
    let spec = leases.get("lock").await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(""), "who stopped gave it away");
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Waits until one acts, another than the one who did, and says which.
async fn acting(log: &Log, but: Option<usize>) -> usize {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_frozen_out_or_stops_is_followed_by_another_and_two_never_act() {
    if skip() {
        return;
    }
    let server = shared().await;
    let admin = server.client().await.unwrap();
    namespace(&admin, "election").await;
    let leases: Api<Lease> = Api::namespaced(admin.clone(), "election");
    let log = Log::default();

    let proxy = Proxy::start(server.address()).await.unwrap();
    let far = server.client_at(&proxy.url()).await.unwrap();
    let a = candidate(far, "election", "a", &log);
    acting(&log, None).await;
    let b = candidate(admin, "election", "b", &log);
    proxy.freeze();
    acting(&log, Some(0)).await;
    proxy.thaw();
    b.stop.cancel();
    assert_eq!(b.run.await.unwrap(), Outcome::Cancelled);
    acting(&log, Some(1)).await;
    a.stop.cancel();
    assert_eq!(a.run.await.unwrap(), Outcome::Cancelled);

    let terms: Vec<(&str, u32)> = log.terms().into_iter().map(|(who, term, ..)| (who, term)).collect();
    assert_eq!(terms, [("a", 1), ("b", 1), ("a", 2)], "each has stopped when the next begins");
    let spec = leases.get("lock").await.unwrap().spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some(""), Some(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_in_a_missing_namespace_is_a_clear_error_until_the_namespace_is_there() {
    if skip() {
        return;
    }
    let admin = shared().await.client().await.unwrap();
    let log = Log::default();
    let mut candidate = candidate(admin.clone(), "nowhere", "a", &log);
    let failed = candidate.status.wait_for(|status| status.last_error.is_some());
    let status = tokio::time::timeout(PATIENCE, failed).await.unwrap().unwrap().clone();
    let error = status.last_error.unwrap();
    assert!(error.starts_with("cannot create lease nowhere/lock: "), "{error}");
    assert!(error.contains(r#"namespaces "nowhere" not found"#) && !status.leading, "{error}");
    let nowhere: Namespace = serde_json::from_value(json!({"metadata": {"name": "nowhere"}})).unwrap();
    Api::all(admin).create(&PostParams::default(), &nowhere).await.unwrap();
    acting(&log, None).await;
    candidate.stop.cancel();
    assert_eq!(candidate.run.await.unwrap(), Outcome::Cancelled);
}
