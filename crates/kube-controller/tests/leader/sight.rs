//! What can be seen of an election: status, hooks, health, metrics, errors.

use std::sync::Arc;
use std::time::Duration;

use kube_controller::Metrics;
use kube_controller::events::EventRecorder;
use kube_controller::leader::{ConfigError, LeaderElector};
use kube_testserver::{Fault, TestServer};
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use super::support::*;

#[tokio::test(start_paused = true)]
async fn every_new_leader_is_told_of_once() {
    let (server, log) = (server().await, Log::default());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let start = |name: &str| {
        let (seen, me) = (Arc::clone(&seen), name.to_owned());
        Process::start_with(&server, name, &log, Manner::Careful, |builder| {
            builder
                .release_on_cancel(true)
                .on_new_leader(move |leader| seen.lock().push(format!("{me} sees {leader}")))
        })
    };
    let a = start("a");
    tokio::time::sleep(S).await;
    let b = start("b");
    tokio::time::sleep(60 * S).await;
    assert_eq!(*seen.lock(), ["a sees a", "b sees a"]);
    a.stop().await;
    tokio::time::sleep(60 * S).await;
    assert_eq!(*seen.lock(), ["a sees a", "b sees a", "b sees b"]);
    b.stop().await;
}

#[tokio::test(start_paused = true)]
async fn people_can_read_who_leads_in_events_about_the_lease() {
    let (server, log) = (server().await, Log::default());
    let (recorder, writer) = EventRecorder::new(server.in_process_client(), "example.com/foos", "pod-1");
    let writing = tokio::spawn(writer.run(CancellationToken::new()));
    let a = Process::start_with(&server, "a", &log, Manner::Careful, |builder| builder.events(&recorder));
    tokio::time::sleep(S).await;
    let notes = || -> Vec<String> {
        let events = server.objects("events.k8s.io/v1/Event").unwrap();
        assert!(events.iter().all(|event| event["regarding"]["kind"] == "Lease"), "{events:?}");
        events.iter().map(|event| event["note"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(notes(), ["a became leader"]);
    a.stop().await;
    drop(recorder);
    writing.await.unwrap();
    assert_eq!(notes(), ["a became leader", "a stopped leading"]);
}

#[tokio::test(start_paused = true)]
async fn trouble_is_in_the_status_while_it_lasts_and_the_hook_hears_of_each() {
    let server = server().await;
    let errors = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&errors);
    let mut elector = builder(server.in_process_client(), "a")
        .on_error(move |error| heard.lock().push(error.to_string()))
        .build()
        .unwrap();
    let status = elector.watch_status();
    let stop = CancellationToken::new();
    let story = async {
        tokio::time::sleep(S).await;
        assert!(status.borrow().leading);
        assert_eq!((status.borrow().holder.as_deref(), &status.borrow().last_error), (Some("a"), &None));
        let fault = server.inject(Fault::reply(503));
        tokio::time::sleep(4 * S).await;
        let error = status.borrow().last_error.clone().unwrap();
        assert!(error.starts_with("cannot read lease default/lock: "), "{error}");
        fault.remove();
        tokio::time::sleep(2 * S).await;
        assert_eq!(status.borrow().last_error, None);
        server.inject(Fault::no_reply().times(1));
        tokio::time::sleep(8 * S).await;
        assert_eq!((status.borrow().leading, &status.borrow().last_error), (true, &None));
        stop.cancel();
    };
    tokio::join!(elector.run(&stop, |leading| async move { leading.stopped().await }), story);
    let errors = errors.lock();
    let before = "cannot update lease default/lock: ";
    assert!(errors.iter().any(|error| *error == format!("{before}no answer within 5s")), "{errors:?}");
    assert_eq!(errors.len(), 5, "two tries of two requests, and the one without an answer: {errors:?}");
    assert!(!elector.status().leading);
}

#[tokio::test(start_paused = true)]
async fn a_lease_in_a_missing_namespace_is_a_clear_error_and_is_tried_again() {
    let server = TestServer::builder().create_namespaces(false).start().await.unwrap();
    let client = server.in_process_client();
    let mut elector = LeaderElector::builder(client, "nowhere", "lock").identity("a").build().unwrap();
    let status = elector.watch_status();
    let stop = CancellationToken::new();
    let story = async {
        tokio::time::sleep(S).await;
        let error = status.borrow().last_error.clone().unwrap();
        assert_eq!(error, r#"cannot create lease nowhere/lock: namespaces "nowhere" not found (NotFound)"#);
        server.seed("{apiVersion: v1, kind: Namespace, metadata: {name: nowhere}}").unwrap();
        tokio::time::sleep(5 * S).await;
        assert!(status.borrow().leading);
        stop.cancel();
    };
    tokio::join!(elector.run(&stop, |leading| async move { leading.stopped().await }), story);
}

#[tokio::test(start_paused = true)]
async fn settings_that_make_no_sense_are_refused_with_words() {
    let server = server().await;
    let client = || server.in_process_client();
    let refused = |builder: kube_controller::leader::LeaderElectorBuilder| builder.build().unwrap_err();
    assert_eq!(refused(builder(client(), "")), ConfigError::Empty("identity"));
    assert_eq!(
        refused(LeaderElector::builder(client(), "", "x").identity("a")),
        ConfigError::Empty("namespace")
    );
    assert_eq!(refused(LeaderElector::builder(client(), "x", "").identity("a")), ConfigError::Empty("name"));
    let error = refused(builder(client(), "a").lease_duration(10 * S));
    assert!(error.to_string().contains("must be longer than the renew deadline (10s)"), "{error}");
    let error = refused(builder(client(), "a").retry_period(9 * S));
    assert!(error.to_string().contains("1.2 times the retry period (9s)"), "{error}");
    let error = refused(builder(client(), "a").retry_period(Duration::ZERO));
    assert!(error.to_string().contains("retry period must be more than zero"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn health_fails_only_for_a_leader_whose_lease_is_long_over() {
    let server = server().await;
    let (a, b) = (Freezer::default(), Freezer::default());
    let mut electors = ["a", "b"].map(|name| builder(server.in_process_client(), name).build().unwrap());
    let checks = [electors[0].health_check(20 * S), electors[1].health_check(20 * S)];
    assert!(checks[0].check().is_ok(), "before it has begun");
    let [one, two] = &mut electors;
    let stop = CancellationToken::new();
    let story = async {
        tokio::time::sleep(30 * S).await;
        assert!(checks.iter().all(|check| check.check().is_ok()));
        a.freeze();
        b.freeze();
        tokio::time::sleep(33 * S).await;
        assert!(checks[0].check().is_ok(), "it is tolerated for a while");
        tokio::time::sleep(3 * S).await;
        let error = checks[0].check().unwrap_err();
        assert_eq!(error.lease, "default/lock");
        assert!(error.ago > 35 * S, "{error}");
        assert!(checks[1].check().is_ok(), "the lease of another is not its business");
        a.thaw();
        b.thaw();
        tokio::time::sleep(MS).await;
        assert!(checks[0].check().is_ok(), "its work has ended");
    };
    let runs = async {
        let one = a.put(one.run_again(&stop, |leading| async move { leading.stopped().await }));
        let two = b.put(async {
            tokio::time::sleep(S).await;
            two.run_again(&stop, |leading| async move { leading.stopped().await }).await
        });
        tokio::join!(one, two)
    };
    tokio::select! { _ = runs => unreachable!(), () = story => {} }
}

#[tokio::test(start_paused = true)]
async fn prometheus_sees_who_leads_under_the_names_of_client_go() {
    let server = server().await;
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let page = |registry: &Registry| {
        let mut page = String::new();
        prometheus_client::encoding::text::encode(&mut page, registry).unwrap();
        page
    };
    let mut elector = builder(server.in_process_client(), "a").metrics(&metrics).build().unwrap();
    assert!(page(&registry).contains(r#"leader_election_master_status{name="lock"} 0"#));
    let stop = CancellationToken::new();
    let story = async {
        tokio::time::sleep(S).await;
        assert!(page(&registry).contains(r#"leader_election_master_status{name="lock"} 1"#));
        assert!(page(&registry).contains(r#"leader_election_slowpath_total{name="lock"} 0"#));
        server.inject(Fault::reply(500).on(kube_testserver::Verb::Update).times(1));
        tokio::time::sleep(3 * S).await;
        assert!(page(&registry).contains(r#"leader_election_slowpath_total{name="lock"} 1"#));
        stop.cancel();
    };
    tokio::join!(elector.run(&stop, |leading| async move { leading.stopped().await }), story);
    assert!(page(&registry).contains(r#"leader_election_master_status{name="lock"} 0"#));
    drop(elector);
    assert!(!page(&registry).contains("lock"));
}
