//! Elections on a real server: whatever happens to a leader, two never act.

mod replies;
mod support;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube_client::api::{Api, PostParams};
use kube_controller::leader::Outcome;
use kube_informer_e2e::{Proxy, skip};
use serde_json::json;
use support::{LEASE, Log, NAMES, acting, candidate};
use tokio::time::Instant;

use crate::servers::{Which, client, on_both_servers};
use crate::{PATIENCE, namespace, shared};

on_both_servers! {
    of_three_candidates_one_acts_at_a_time_whatever_happens_to_the_leader,
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
