//! What is asked of the server, and what is written.

use kube_controller::leader::Outcome;
use kube_testserver::{Fault, TestServer, Verb};
use tokio_util::sync::CancellationToken;

use super::support::*;

fn verbs(server: &TestServer) -> Vec<Verb> {
    server.requests().iter().filter_map(|request| request.verb).collect()
}

#[tokio::test(start_paused = true)]
async fn a_leader_renews_without_reading_and_reads_when_that_fails() {
    let (server, log) = (server().await, Log::default());
    let a = Process::start(&server, "a", &log, Manner::Careful);
    tokio::time::sleep(7 * S).await;
    assert_eq!(verbs(&server), [Verb::Get, Verb::Create, Verb::Update, Verb::Update, Verb::Update]);
    server.clear_requests();
    // Somebody touches the lease: the version that is known is not the latest.
    server
        .mutate("coordination.k8s.io/v1/Lease", "default", "lock", |lease| {
            lease["metadata"]["annotations"] = serde_json::json!({ "seen": "yes" });
        })
        .unwrap();
    tokio::time::sleep(4 * S).await;
    assert_eq!(verbs(&server), [Verb::Update, Verb::Get, Verb::Update, Verb::Update]);
    assert_eq!(lease(&server).metadata.annotations.unwrap()["seen"], "yes");
    assert_eq!(log.leaders(), ["a"]);
    server.clear_requests();
    server.inject(Fault::reply(500).on(Verb::Update).times(1));
    tokio::time::sleep(2 * S).await;
    assert_eq!(verbs(&server), [Verb::Update, Verb::Get, Verb::Update]);
    a.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_says_who_and_since_when_and_how_long() {
    let server = server().await;
    let log = Log::default();
    let a = Process::start_with(&server, "a", &log, Manner::Careful, |builder| {
        builder.label("app", "web").lease_duration(20 * S + 500 * MS).renew_deadline(15 * S)
    });
    tokio::time::sleep(S).await;
    let first = lease(&server);
    tokio::time::sleep(10 * S).await;
    let later = lease(&server);
    assert_eq!(first.metadata.labels.unwrap()["app"], "web");
    let (first, later) = (first.spec.unwrap(), later.spec.unwrap());
    assert_eq!((first.holder_identity.as_deref(), first.lease_duration_seconds), (Some("a"), Some(21)));
    assert_eq!(first.acquire_time, later.acquire_time);
    let renewed = later.renew_time.unwrap().0 - first.renew_time.unwrap().0;
    assert_eq!(renewed.get_seconds(), 10);
    a.stop().await;
}

#[tokio::test(start_paused = true)]
async fn giving_away_reads_first_and_tries_again_after_a_conflict() {
    let server = server().await;
    let mut elector = builder(server.in_process_client(), "a").release_on_cancel(true).build().unwrap();
    let stop = CancellationToken::new();
    server.inject(Fault::reply(409).on(Verb::Update).times(2));
    assert_eq!(elector.run(&stop, |_| async {}).await, Outcome::Ended);
    let expected =
        [Verb::Get, Verb::Create, Verb::Get, Verb::Update, Verb::Get, Verb::Update, Verb::Get, Verb::Update];
    assert_eq!(verbs(&server), expected);
    let spec = lease(&server).spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_duration_seconds), (Some(""), Some(1)));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_another_has_taken_is_not_given_away() {
    let server = server().await;
    let mut elector = builder(server.in_process_client(), "a").release_on_cancel(true).build().unwrap();
    let stop = CancellationToken::new();
    let outcome = elector
        .run(&stop, |_| {
            steal(&server, "b");
            async {}
        })
        .await;
    assert_eq!(outcome, Outcome::Ended);
    assert_eq!(holder(&server), "b");
    assert_eq!(verbs(&server), [Verb::Get, Verb::Create, Verb::Get]);
}

#[tokio::test(start_paused = true)]
async fn a_release_that_cannot_reach_the_server_gives_up_in_time() {
    for fault in [Fault::no_reply(), Fault::reply(503)] {
        let server = server().await;
        let mut elector = builder(server.in_process_client(), "a").release_on_cancel(true).build().unwrap();
        let stop = CancellationToken::new();
        let started = tokio::time::Instant::now();
        let outcome = elector
            .run(&stop, |_| {
                server.inject(fault.clone());
                async {}
            })
            .await;
        assert_eq!(outcome, Outcome::Ended);
        assert!(started.elapsed() <= 10 * S, "{:?}", started.elapsed());
        assert_eq!(holder(&server), "a");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle_of_a_request_leaves_no_lease_behind() {
    for verb in [Verb::Get, Verb::Create] {
        let server = server().await;
        server.inject(Fault::delay(S).on(verb).times(1));
        let mut elector = builder(server.in_process_client(), "a").release_on_cancel(true).build().unwrap();
        let stop = CancellationToken::new();
        let late = async {
            tokio::time::sleep(500 * MS).await;
            stop.cancel();
        };
        let (outcome, ()) = tokio::join!(elector.run(&stop, |_| std::future::pending()), late);
        assert_eq!(outcome, Outcome::Cancelled);
        assert_eq!(holder(&server), "", "{verb:?}");
    }
}
