//! Elections in which a coordinator decides: here the tests do.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube_controller::leader::{CANDIDATE_RENEWAL, ConfigError, LeaseCandidate, Loss, Outcome};
use kube_testserver::{Fault, TestServer, Verb};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::support::*;

const LEASE: &str = "coordination.k8s.io/v1/Lease";
const CANDIDATE: &str = "coordination.k8s.io/v1beta1/LeaseCandidate";

fn start(server: &TestServer, name: &str, log: &Log, manner: Manner) -> Process {
    Process::start_with(server, name, log, manner, |builder| builder.coordinated(true))
}

/// The coordinator gives the lease to somebody.
fn give(server: &TestServer, holder: &str) {
    let spec =
        json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "strategy": "OldestEmulationVersion"});
    let metadata = json!({"name": "lock", "namespace": "default"});
    let lease =
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec});
    server.put(&lease).unwrap();
}

#[tokio::test(start_paused = true)]
async fn nobody_takes_a_lease_that_was_not_given_to_him() {
    let (server, log) = (server().await, Log::default());
    let a = start(&server, "a", &log, Manner::Careful);
    tokio::time::sleep(60 * S).await;
    assert!(server.object(LEASE, "default", "lock").unwrap().is_none(), "none is made");
    give(&server, "");
    tokio::time::sleep(60 * S).await;
    give(&server, "b");
    tokio::time::sleep(60 * S).await;
    assert_eq!((holder(&server), log.acts()), ("b".to_owned(), Vec::new()), "not even one that is over");
    a.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_one_that_the_lease_is_given_to_leads_and_renews_it() {
    let (server, log) = (server().await, Log::default());
    let (a, b) = (start(&server, "a", &log, Manner::Careful), start(&server, "b", &log, Manner::Careful));
    give(&server, "b");
    tokio::time::sleep(60 * S).await;
    assert_eq!(log.leaders(), ["b"]);
    let spec = lease(&server).spec.unwrap();
    assert!(spec.renew_time.is_some());
    assert_eq!(
        spec.strategy.as_deref(),
        Some("OldestEmulationVersion"),
        "what the coordinator wrote is kept"
    );
    // The coordinator decides otherwise.
    steal(&server, "a");
    tokio::time::sleep(60 * S).await;
    assert_eq!(log.leaders(), ["b", "a"]);
    log.assert_never_two();
    a.stop().await;
    b.stop().await;
}

#[tokio::test(start_paused = true)]
async fn at_the_end_of_a_term_the_work_ends_before_the_lease_is_over_and_it_is_not_renewed() {
    let (server, log) = (server().await, Log::default());
    let gate = Gate::default();
    let mut elector = builder(gate.client(&server), "a").coordinated(true).build().unwrap();
    give(&server, "a");
    let stop = CancellationToken::new();
    let (acts, acting) = (Arc::new(Mutex::new(Instant::now())), log.clone());
    let last_act = Arc::clone(&acts);
    let run = tokio::spawn(async move {
        let work = |leading: kube_controller::leader::Leading| async move {
            // Does not listen: only an abort ends it.
            loop {
                if leading.is_leading() {
                    acting.act("a", 1);
                }
                *last_act.lock() = Instant::now();
                tokio::time::sleep(50 * MS).await;
            }
        };
        elector.run(&stop, work).await
    });
    tokio::time::sleep(30 * S).await;
    assert_eq!(log.leaders(), ["a"]);
    server.mutate(LEASE, "default", "lock", |lease| lease["spec"]["preferredHolder"] = "b".into()).unwrap();
    let (marked, renewed) = (Instant::now(), lease(&server).spec.unwrap().renew_time);
    let outcome = tokio::time::timeout(60 * S, run).await.unwrap().unwrap();
    assert_eq!(outcome, Outcome::Lost(Loss::EndOfTerm("b".to_owned())));
    assert_eq!(lease(&server).spec.unwrap().renew_time, renewed, "it runs out");
    assert!(*acts.lock() - marked < 15 * S && marked.elapsed() < 15 * S, "nobody else can have it yet");
}

#[tokio::test(start_paused = true)]
async fn who_gives_leases_away_does_so_at_the_end_of_a_term_when_the_work_has_ended() {
    let (server, log) = (server().await, Log::default());
    let a = Process::start_with(&server, "a", &log, Manner::Careful, |builder| {
        builder.coordinated(true).release_on_cancel(true)
    });
    give(&server, "a");
    tokio::time::sleep(30 * S).await;
    server.mutate(LEASE, "default", "lock", |lease| lease["spec"]["preferredHolder"] = "b".into()).unwrap();
    tokio::time::sleep(3 * S).await;
    let spec = lease(&server).spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.preferred_holder.as_deref()), (Some(""), Some("b")));
    let acts = log.acts().len();
    tokio::time::sleep(60 * S).await;
    assert_eq!(log.acts().len(), acts, "and does nothing more");
    a.stop().await;
}

/// A candidate that runs.
struct Candidate {
    stop: CancellationToken,
    run: JoinHandle<()>,
    errors: Arc<Mutex<Vec<String>>>,
}

fn candidate(server: &TestServer) -> Candidate {
    let errors = Arc::new(Mutex::new(Vec::new()));
    let (heard, begun) = (Arc::clone(&errors), Instant::now());
    let now = move || Timestamp::new(1_767_225_600, 0).unwrap() + begun.elapsed();
    let candidate = LeaseCandidate::builder(server.in_process_client(), "default", "a", "lock")
        .binary_version("1.37.0")
        .emulation_version("1.36.0")
        .clock(now)
        .on_error(move |error| heard.lock().push(error.to_string()))
        .build()
        .unwrap();
    let stop = CancellationToken::new();
    let until = stop.clone();
    let run = tokio::spawn(async move { candidate.run(until).await.unwrap() });
    Candidate { stop, run, errors }
}

impl Candidate {
    async fn end(self) -> Vec<String> {
        self.stop.cancel();
        self.run.await.unwrap();
        std::mem::take(&mut self.errors.lock())
    }
}

fn spec(server: &TestServer) -> Value {
    server.object(CANDIDATE, "default", "a").unwrap().expect("there is a candidate")["spec"].clone()
}

fn writes(server: &TestServer) -> usize {
    let is_write = |verb| matches!(verb, Some(Verb::Create | Verb::Update | Verb::Patch));
    server.requests().iter().filter(|one| one.resource == "leasecandidates" && is_write(one.verb)).count()
}

fn ping(server: &TestServer, time: &str) {
    server
        .mutate(CANDIDATE, "default", "a", |candidate| candidate["spec"]["pingTime"] = time.into())
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_candidate_says_that_it_is_there_and_says_so_again_every_five_minutes() {
    let server = server().await;
    let candidate = candidate(&server);
    tokio::time::sleep(S).await;
    let made = spec(&server);
    assert_eq!(made["leaseName"], "lock");
    assert_eq!((&made["binaryVersion"], &made["emulationVersion"]), (&"1.37.0".into(), &"1.36.0".into()));
    assert_eq!(made["strategy"], "OldestEmulationVersion");
    assert_eq!(made["renewTime"], "2026-01-01T00:00:00.000000Z");
    tokio::time::sleep(CANDIDATE_RENEWAL - 2 * S).await;
    assert_eq!(writes(&server), 1);
    tokio::time::sleep(2 * S).await;
    assert_eq!(writes(&server), 2);
    assert_eq!(spec(&server)["renewTime"], "2026-01-01T00:05:00.000000Z");
    assert!(candidate.end().await.is_empty());
    assert_eq!(spec(&server)["leaseName"], "lock", "it stays");
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_is_asked_answers_once() {
    let server = server().await;
    let candidate = candidate(&server);
    tokio::time::sleep(10 * S).await;
    ping(&server, "2026-01-01T00:00:09.000000Z");
    tokio::time::sleep(S).await;
    assert_eq!(spec(&server)["renewTime"], "2026-01-01T00:00:10.000000Z");
    // By a clock that is an hour ahead.
    ping(&server, "2026-01-01T01:00:00.000000Z");
    tokio::time::sleep(S).await;
    assert_eq!(spec(&server)["renewTime"], "2026-01-01T01:00:00.000000Z", "not before it was asked");
    assert_eq!(writes(&server), 3);
    // What was answered already is no question.
    ping(&server, "2026-01-01T00:30:00.000000Z");
    tokio::time::sleep(S).await;
    assert_eq!(writes(&server), 3);
    candidate.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_was_deleted_or_refused_is_made_again() {
    let server = server().await;
    let refused = server.inject(Fault::reply(503).on(Verb::Create).resource("leasecandidates"));
    let candidate = candidate(&server);
    tokio::time::sleep(S).await;
    assert!(server.object(CANDIDATE, "default", "a").unwrap().is_none());
    refused.remove();
    tokio::time::sleep(10 * S).await;
    assert_eq!(spec(&server)["leaseName"], "lock");
    server.delete(CANDIDATE, "default", "a").unwrap();
    tokio::time::sleep(S).await;
    assert_eq!(spec(&server)["leaseName"], "lock");
    let errors = candidate.end().await;
    assert!(
        !errors.is_empty()
            && errors.iter().all(|error| error.contains("unable to handle the request (ServiceUnavailable)")),
        "{errors:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_candidate_without_a_version_is_refused() {
    let server = server().await;
    let error =
        LeaseCandidate::builder(server.in_process_client(), "default", "a", "lock").build().unwrap_err();
    assert_eq!(error, ConfigError::Empty("binary version"));
    let error =
        LeaseCandidate::builder(server.in_process_client(), "default", "", "lock").build().unwrap_err();
    assert_eq!(error.to_string(), "the name of a candidate of an election must not be empty");
}
