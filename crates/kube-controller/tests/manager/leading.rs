//! What only a leader may do.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube_client::api::Api;
use kube_controller::controller::{Action, Context, ControllerBuilder, ReconcileError, Source};
use kube_controller::leader::{LeaderElector, LeaderElectorBuilder, Loss};
use kube_controller::manager::{Group, Manager, ManagerError, Task};
use kube_controller::registry::{
    ClientBuilder, ControllerDescriptor, ControllerRegistry, Controllers, NewController,
};
use kube_testserver::{Fault, TestServer};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{Log, Part, Run, failing, manager, server, settle};

fn election(server: &TestServer, name: &str) -> LeaderElectorBuilder {
    LeaderElector::builder(server.in_process_client(), "default", "lock")
        .identity(name)
        .release_on_cancel(true)
}

async fn holder(server: &TestServer) -> String {
    let leases: Api<Lease> = Api::namespaced(server.in_process_client(), "default");
    let lease = leases.get("lock").await.unwrap();
    lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_standby_warms_up_and_starts_when_the_leader_has_given_the_lease_away() {
    let (server, log) = (server().await, Log::default());
    let one = manager(|settings| settings.leader_election(election(&server, "one"))).await;
    one.add(Part::new("one", Group::LeaderOnly, &log).ends_after(Duration::from_secs(3))).unwrap();
    let one = Run::of(one);
    settle().await;
    let two = manager(|settings| settings.leader_election(election(&server, "two"))).await;
    two.add(Part::new("two", Group::LeaderOnly, &log)).unwrap();
    two.add(Part::new("second", Group::Others, &log)).unwrap();
    let handle = two.handle();
    let two = Run::of(two);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(log.all(), ["one warms up", "one starts", "second starts", "two warms up"]);
    assert!(!handle.is_elected());

    let (stop, begun) = (one.stop.clone(), tokio::time::Instant::now());
    stop.cancel();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(holder(&server).await, "one", "the lease is kept until the work has ended");
    one.ended().await.unwrap();
    handle.elected().await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}: the lease was given away", begun.elapsed());
    settle().await;
    assert_eq!(log.all()[4..], ["one ends", "two starts"]);
    two.end().await.unwrap();
    assert_eq!(holder(&server).await, "");
}

#[tokio::test(start_paused = true)]
async fn lost_leadership_ends_what_only_a_leader_may_do_before_the_error_and_skips_the_grace() {
    let (server, log) = (server().await, Log::default());
    let manager = manager(|settings| settings.leader_election(election(&server, "one"))).await;
    manager.add(Part::new("leader", Group::LeaderOnly, &log).ends_after(Duration::from_secs(1))).unwrap();
    manager.add(Part::new("lazy", Group::Others, &log).ends_after(Duration::from_secs(3600))).unwrap();
    let run = Run::of(manager);
    settle().await;
    assert!(log.has("leader starts"));
    server.inject(Fault::reply(503).resource("leases"));
    let begun = tokio::time::Instant::now();
    let error = run.ended().await.unwrap_err();
    assert!(matches!(error, ManagerError::LostLeadership(Loss::NotRenewed)), "{error}");
    assert!(log.has("leader ends") && !log.has("lazy ends"), "{:?}", log.all());
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}: before another can lead", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_does_not_end_is_aborted_before_another_can_lead() {
    let (server, log) = (server().await, Log::default());
    let manager = manager(|settings| settings.leader_election(election(&server, "one"))).await;
    manager.add(Part::new("deaf", Group::LeaderOnly, &log).ends_after(Duration::from_secs(3600))).unwrap();
    let handle = manager.handle();
    let run = Run::of(manager);
    settle().await;
    assert_eq!(handle.running(), ["deaf"]);
    server.inject(Fault::reply(503).resource("leases"));
    let begun = tokio::time::Instant::now();
    run.ended().await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert!(handle.running().is_empty() && !log.has("deaf ends"));
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_stops_never_begins_to_lead() {
    let (server, log) = (server().await, Log::default());
    let one = manager(|settings| settings.leader_election(election(&server, "one"))).await;
    let one = Run::of(one);
    settle().await;
    let two = manager(|settings| settings.leader_election(election(&server, "two"))).await;
    two.add(Part::new("two", Group::LeaderOnly, &log)).unwrap();
    two.add(Part::new("lazy", Group::Others, &log).ends_after(Duration::from_secs(25))).unwrap();
    let two = Run::of(two);
    settle().await;
    two.stop.cancel();
    settle().await;
    // The lease is free, and the second would take it if it still wanted to.
    one.end().await.unwrap();
    two.ended().await.unwrap();
    assert_eq!(log.all(), ["lazy starts", "two warms up", "lazy ends"]);
    assert_eq!(holder(&server).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_a_leader_gives_the_lease_away() {
    let server = server().await;
    let manager = manager(|settings| settings.leader_election(election(&server, "one"))).await;
    manager.add(failing("reconciler", Group::LeaderOnly)).unwrap();
    let error = Run::of(manager).ended().await.unwrap_err();
    assert_eq!(error.to_string(), "reconciler: the tea is cold");
    assert_eq!(holder(&server).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_lease_in_a_namespace_that_is_not_there_is_told_and_nothing_leads() {
    let (server, log) = (server().await, Log::default());
    let said = Log::default();
    let heard = said.clone();
    let election = LeaderElector::builder(server.in_process_client(), "nowhere", "lock")
        .identity("one")
        .on_error(move |error| heard.add(error.to_string()));
    let manager = manager(|settings| settings.leader_election(election)).await;
    manager.add(Part::new("leader", Group::LeaderOnly, &log)).unwrap();
    let run = Run::of(manager);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(said.all()[0].contains("\"nowhere\" not found"), "{:?}", said.all());
    assert!(!log.has("leader starts"));
    run.end().await.unwrap();
}

#[tokio::test]
async fn settings_of_an_election_that_make_no_sense_are_an_error() {
    let server = server().await;
    let election = LeaderElector::builder(server.in_process_client(), "default", "lock");
    let builder = kube_controller::Manager::builder().leader_election(election);
    let error = builder.build().await.unwrap_err().to_string();
    assert!(error.starts_with("leader election: ") && error.contains("identity"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_only_a_leader_may_do_does_nothing_when_a_frozen_process_wakes_up_after_the_lease() {
    let server = server().await;
    let manager = manager(|settings| settings.leader_election(election(&server, "one"))).await;
    let acts = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&acts);
    manager
        .add(Task::new("acts", move |stop| async move {
            while !stop.is_cancelled() {
                log.lock().push(Instant::now());
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Ok(())
        }))
        .unwrap();
    does_nothing_late(manager, &acts).await;
}

#[tokio::test(start_paused = true)]
async fn reconciles_do_nothing_when_a_frozen_process_wakes_up_after_the_lease() {
    let server = server().await;
    let manager = manager(|settings| settings.leader_election(election(&server, "one"))).await;
    let acts = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&acts);
    let requests =
        Source::stream("requests", futures::stream::iter((0..50).map(|number| number.to_string())));
    let controller = ControllerBuilder::<String>::new("acts").source(requests).concurrency(8);
    let controller = controller.build(move |request: String, _: Context| {
        let log = Arc::clone(&log);
        async move {
            // Some are in the middle of their work, and others wait for their turn.
            for _ in 0..request.len() {
                log.lock().push(Instant::now());
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            log.lock().push(Instant::now());
            Ok::<_, ReconcileError>(Action::requeue_after(Duration::from_millis(20)))
        }
    });
    let controller = controller.unwrap();
    let handle = controller.handle();
    manager.add(controller).unwrap();
    does_nothing_late(manager, &acts).await;
    assert!(!handle.unfinished().unwrap().dropped.is_empty());
}

#[tokio::test(start_paused = true)]
async fn controllers_of_a_registry_do_nothing_when_a_frozen_process_wakes_up_after_the_lease() {
    let server = server().await;
    let manager = manager(|settings| settings.leader_election(election(&server, "one"))).await;
    let acts = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&acts);
    let descriptor = ControllerDescriptor::new("acts", move |context| async move {
        let leader = context.manager.unwrap();
        Ok(NewController::new(move |stop| async move {
            let act = |log: Arc<Mutex<Vec<Instant>>>, every| async move {
                loop {
                    log.lock().push(Instant::now());
                    tokio::time::sleep(Duration::from_millis(every)).await;
                }
            };
            // A task of its own has to ask.
            let spawned = act(Arc::clone(&log), 3);
            let spawned = tokio::spawn(async move { leader.while_leading(spawned).await });
            stop.run_until_cancelled(act(log, 5)).await;
            spawned.abort();
            Ok(())
        }))
    });
    let mut registry = ControllerRegistry::new();
    registry.register(descriptor).unwrap();
    let chosen = registry.select("*").unwrap();
    let clients = ClientBuilder::shared(server.in_process_client());
    manager.add(Controllers::builder(clients, registry, chosen).managed_by(&manager).build()).unwrap();
    does_nothing_late(manager, &acts).await;
}

/// Freezes a process that leads for longer than its lease, and looks at when there were acts.
async fn does_nothing_late(manager: Manager, acts: &Mutex<Vec<Instant>>) {
    let handle = manager.handle();
    assert!(!handle.may_act());
    let run = Run::of(manager);
    // Between two renewals.
    tokio::time::sleep(Duration::from_millis(30_502)).await;
    assert!(handle.may_act());
    let frozen = Instant::now();
    assert!(acts.lock().iter().any(|act| frozen - *act < Duration::from_millis(20)));
    // Nothing of the process runs meanwhile, as with SIGSTOP.
    tokio::time::advance(Duration::from_secs(60)).await;
    let ended = tokio::time::timeout(Duration::from_secs(1), run.ended()).await;
    assert!(!handle.may_act());
    let late: Vec<Duration> = acts
        .lock()
        .iter()
        .map(|act| act.saturating_duration_since(frozen))
        .filter(|after| *after > Duration::from_secs(15))
        .collect();
    assert!(late.is_empty(), "{} acts when another may lead: {:?}; {ended:?}", late.len(), late[0]);
    assert!(matches!(ended.unwrap(), Err(ManagerError::LostLeadership(_))));
}
