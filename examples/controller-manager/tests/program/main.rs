//! The program, as people start and end it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(unix)]

mod process;

use std::time::Duration;

use kube_testserver::{Fault, TestServer, Verb};
use process::Process;
use serde_json::json;
use tokio::time::Instant;

fn start(server: &TestServer, arguments: &[&str]) -> Process {
    Process::start(env!("CARGO_BIN_EXE_controller-manager"), server, arguments)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_is_not_there_is_a_clear_error() {
    let server = TestServer::start().await.unwrap();
    let mut program = start(&server, &["--controllers", "*,-foo"]);
    let said = program.says("there is no controller \"foo\"").await;
    assert!(said.contains("there are deployment-controller, replicaset-controller, "), "{said}");
    assert_eq!(program.code().await, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_a_clear_error() {
    let server = TestServer::start().await.unwrap();
    let taken = server.address().to_string();
    let mut program = start(&server, &["--metrics-address", &taken]);
    let said = program.says("cannot serve metrics on").await;
    assert!(said.contains(&taken) && said.contains("choose another address"), "{said}");
    assert_eq!(program.code().await, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_in_a_missing_namespace_is_a_clear_error_and_it_leads_when_the_namespace_is_there() {
    let server = TestServer::builder().create_namespaces(false).start().await.unwrap();
    let arguments = ["--leader-elect", "--leader-elect-namespace", "nowhere", "--identity", "one"];
    let mut program = start(&server, &arguments);
    let said = program.says("leader election: cannot create lease nowhere/controller-manager: ").await;
    assert!(said.contains("namespaces \"nowhere\" not found"), "{said}");
    server.seed("{apiVersion: v1, kind: Namespace, metadata: {name: nowhere}}").unwrap();
    program.says("one leads").await;
    program.signal("-TERM");
    assert_eq!(program.code().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_not_there_is_a_clear_error() {
    let server = TestServer::start().await.unwrap();
    let files = ["--tls-cert-file", "no/tls.crt", "--tls-private-key-file", "no/tls.key"];
    let mut program = start(&server, &[&["--metrics-address", "127.0.0.1:0"], &files[..]].concat());
    program.says("cannot serve health over TLS: cannot read no/tls.crt: ").await;
    assert_eq!(program.code().await, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_it_in_good_order_and_the_lease_is_free() {
    let server = TestServer::start().await.unwrap();
    let arguments = ["--leader-elect", "--leader-elect-namespace", "default", "--identity", "one"];
    let mut program = start(&server, &arguments);
    program.says("one leads").await;
    program.signal("-TERM");
    program.says("stopping").await;
    assert_eq!(program.code().await, Some(0));
    let lease =
        server.object("coordination.k8s.io/v1/Lease", "default", "controller-manager").unwrap().unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() {
    let server = TestServer::start().await.unwrap();
    let arguments = ["--leader-elect", "--leader-elect-namespace", "default", "--identity", "one"];
    let mut program = start(&server, &arguments);
    program.says("one leads").await;
    // It wants to give the lease away, and nobody answers.
    server.inject(Fault::no_reply().resource("leases"));
    program.signal("-TERM");
    program.says("stopping").await;
    program.signal("-INT");
    assert_eq!(program.code().await, Some(1), "0 if it had waited for the lease");
}

#[tokio::test(flavor = "multi_thread")]
async fn times_of_an_election_that_make_no_sense_are_a_clear_error() {
    let server = TestServer::start().await.unwrap();
    let mut program = start(&server, &["--leader-elect", "--leader-elect-lease-duration", "5"]);
    program.says("the lease duration (5s) must be longer than the renew deadline (10s)").await;
    assert_eq!(program.code().await, Some(1));
}

/// How many deployments are worked on at a time.
const WORKERS: u64 = 5;

/// One that leads with a lease of 3 seconds, or waits for it.
fn candidate(server: &TestServer, name: &str) -> Process {
    let election = ["--leader-elect", "--leader-elect-namespace", "default", "--identity", name];
    let times =
        ["lease-duration", "renew-deadline", "retry-period"].map(|time| format!("--leader-elect-{time}"));
    let times = [&times[0], "3", &times[1], "2", &times[2], "1"];
    start(server, &[&election[..], &times[..]].concat())
}

fn deployment(name: &str) -> serde_json::Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "v1"}]},
            },
        },
    })
}

/// Waits until there are replica sets of deployments of these names, and no others.
async fn sets(server: &TestServer, names: &[&str]) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let sets = server.objects("apps/v1/ReplicaSet").unwrap();
        let mut owners: Vec<&str> =
            sets.iter().filter_map(|set| set["metadata"]["ownerReferences"][0]["name"].as_str()).collect();
        owners.sort_unstable();
        if owners == names {
            return;
        }
        assert!(Instant::now() < until, "{owners:?}, and not {names:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_process_is_followed_by_another_and_does_nothing_when_it_goes_on() {
    let server = TestServer::start().await.unwrap();
    let mut one = candidate(&server, "one");
    one.says("one leads").await;
    server.put(&deployment("first")).unwrap();
    sets(&server, &["first"]).await;
    let mut two = candidate(&server, "two");
    two.says("one leads").await;

    // All its workers are in the middle of their work: they wait for an answer, which comes while it is stopped.
    let held = Fault::delay(Duration::from_secs(1)).on(Verb::Create).resource("replicasets").times(WORKERS);
    let held = server.inject(held);
    let middle: Vec<String> = (0..WORKERS).map(|number| format!("middle-{number}")).collect();
    for name in &middle {
        server.put(&deployment(name)).unwrap();
    }
    while held.hits() < WORKERS {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    one.signal("-STOP");
    two.says("two leads").await;
    server.put(&deployment("second")).unwrap();
    let middle = middle.iter().map(String::as_str);
    let there: Vec<&str> = ["first"].into_iter().chain(middle).chain(["second"]).collect();
    sets(&server, &there).await;

    // Now nobody is there who could do the work that waits.
    two.signal("-KILL");
    two.code().await;
    server.put(&deployment("late")).unwrap();
    let before = server.requests().last().map(|request| request.number);
    one.signal("-CONT");
    one.says("leadership").await;
    assert_eq!(one.code().await, Some(1));
    let late = server.requests().into_iter().filter(|request| Some(request.number) > before);
    let writes: Vec<String> = late
        .filter(|request| !matches!(request.method.as_str(), "GET"))
        .map(|request| format!("{} {} {:?}", request.method, request.path, request.code))
        .collect();
    assert_eq!(writes, [] as [&str; 0], "nothing was done, nor the lease given away");
    sets(&server, &there).await;
    let lease =
        server.object("coordination.k8s.io/v1/Lease", "default", "controller-manager").unwrap().unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], "two");
}
