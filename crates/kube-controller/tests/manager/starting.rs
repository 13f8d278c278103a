//! What starts when.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_controller::manager::{AddError, Group, ManagerError, Task};
use kube_informer::{Cache, SharedInformerFactory};
use kube_testserver::{Fault, Rule};

use crate::{Log, Part, Run, failing, manager, plain, server, settle};

#[tokio::test(start_paused = true)]
async fn groups_start_in_order_each_when_the_one_before_is_ready_and_end_the_other_way_round() {
    let (manager, log) = (plain().await, Log::default());
    let second = Duration::from_secs(1);
    manager.add(Part::new("leader", Group::LeaderOnly, &log)).unwrap();
    manager.add(Part::new("other", Group::Others, &log).ready_after(second)).unwrap();
    manager.add(Part::new("cache", Group::Caches, &log).ready_after(second)).unwrap();
    manager.add(Part::new("server", Group::Servers, &log).ready_after(second)).unwrap();
    let run = Run::of(manager);
    settle().await;
    assert_eq!(log.all(), ["server starts"]);
    tokio::time::sleep(second).await;
    assert_eq!(log.all(), ["server starts", "cache starts"]);
    tokio::time::sleep(second * 2).await;
    let started = ["server starts", "cache starts", "other starts", "leader warms up", "leader starts"];
    assert_eq!(log.all(), started);
    run.end().await.unwrap();
    assert_eq!(log.all()[started.len()..], ["other ends", "leader ends", "cache ends", "server ends"]);
}

#[tokio::test(start_paused = true)]
async fn caches_have_synced_before_others_start() {
    let server = server().await;
    server.seed("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: []}}").unwrap();
    server.inject(Fault::delay(Duration::from_secs(5)).resource("pods").times(1));
    let (manager, log) = (plain().await, Log::default());
    let factory = SharedInformerFactory::new(server.in_process_client());
    let pods = factory.of::<Pod>().unwrap();
    let cache = Cache::new(server.in_process_client());
    manager.add(factory).unwrap();
    manager.add(cache).unwrap();
    let seen = log.clone();
    let look = Task::new("look", move |_| async move {
        seen.add(format!("{} pods", pods.store().list().len()));
        Ok(())
    });
    manager.add(look.group(Group::Others)).unwrap();
    let run = Run::of(manager);
    settle().await;
    assert!(log.all().is_empty(), "the list is not there yet");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(log.all(), ["1 pods"]);
    run.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_cannot_sync_is_an_error_at_once_that_says_why() {
    let server = server().await;
    server.access().add_user("nobody", "nobody", Vec::<String>::new());
    server.access().add_rule(Rule::deny().user("nobody").resources(["pods"]));
    let (manager, log) = (plain().await, Log::default());
    let factory = SharedInformerFactory::new(server.in_process_client_with_token("nobody"));
    let _pods = factory.of::<Pod>().unwrap();
    manager.add(factory).unwrap();
    manager.add(Part::new("other", Group::Others, &log)).unwrap();
    let error = Run::of(manager).ended().await.unwrap_err().to_string();
    assert!(error.contains("pods") && error.contains("nobody"), "{error}");
    assert!(log.all().is_empty(), "nothing starts without its caches");
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_is_too_slow_is_named() {
    let (manager, log) =
        (manager(|settings| settings.cache_sync_timeout(Duration::from_secs(3))).await, Log::default());
    manager.add(Part::new("quick", Group::Caches, &log)).unwrap();
    manager.add(Part::new("slow", Group::Caches, &log).ready_after(Duration::from_secs(9))).unwrap();
    let error = Run::of(manager).ended().await.unwrap_err();
    assert!(matches!(&error, ManagerError::NotReady { names, .. } if names == &["slow"]), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_while_caches_sync_ends_at_once_and_without_an_error() {
    let server = server().await;
    server.inject(Fault::reply(503).resource("pods"));
    let (manager, log) = (plain().await, Log::default());
    let factory = SharedInformerFactory::new(server.in_process_client());
    let _pods = factory.of::<Pod>().unwrap();
    manager.add(factory).unwrap();
    manager.add(Part::new("leader", Group::LeaderOnly, &log)).unwrap();
    let run = Run::of(manager);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let begun = tokio::time::Instant::now();
    run.end().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(log.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_added_later_starts_at_once_and_is_refused_when_the_manager_stops() {
    let (manager, log) = (plain().await, Log::default());
    let handle = manager.handle();
    manager.add(Part::new("first", Group::Others, &log).ends_after(Duration::from_secs(5))).unwrap();
    let run = Run::of(manager);
    settle().await;
    for (name, group) in [("cache", Group::Caches), ("late", Group::Others), ("leader", Group::LeaderOnly)] {
        handle.add(Part::new(name, group, &log)).unwrap();
    }
    settle().await;
    let all = ["cache starts", "late starts", "leader starts"];
    assert!(all.iter().all(|what| log.has(what)), "{:?}", log.all());
    assert_eq!(handle.running(), ["first", "cache", "late", "leader"]);
    run.stop.cancel();
    settle().await;
    let refused = handle.add(Part::new("too late", Group::Others, &log)).unwrap_err();
    assert_eq!(refused, AddError::Stopping { name: "too late".to_owned() });
    run.ended().await.unwrap();
    assert!(log.has("cache ends") && !log.has("too late starts"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_at_the_start_ends_the_manager_before_anything_else_starts() {
    let (manager, log) = (plain().await, Log::default());
    manager.add(failing("webhooks", Group::Servers)).unwrap();
    let slow = Part::new("server", Group::Servers, &log).ready_after(Duration::from_secs(1));
    manager.add(slow).unwrap();
    manager.add(Part::new("other", Group::Others, &log)).unwrap();
    let error = Run::of(manager).ended().await.unwrap_err();
    assert_eq!(error.to_string(), "webhooks: the tea is cold");
    assert_eq!(log.all(), ["server starts", "server ends"]);
}
