//! Several namespaces in one informer, and what the status says about following.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::fanout::Event;
use kube_informer::informer::{InformerError, InformerStatus, SharedInformer};
use kube_informer::reflector::Reason;
use kube_informer::source::KubeSource;
use kube_testserver::{Fault, Rule, TestServer, Verb};
use tokio::time::{Duration, Instant};

use crate::support::Strict;
use crate::{Log, PATIENCE, heard_all, informer, server, write};

fn write_in(server: &TestServer, namespace: &str, name: &str, value: usize) {
    let metadata = format!("{{name: '{name}', namespace: {namespace}}}");
    let data = format!("{{value: '{value}'}}");
    server.seed(&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}, data: {data}}}")).unwrap();
}

fn across(server: &TestServer, namespaces: &[&str]) -> SharedInformer<ConfigMap> {
    let client = server.in_process_client();
    SharedInformer::across(KubeSource::namespaces(&client, namespaces, &())).unwrap().build()
}

fn keys(informer: &SharedInformer<ConfigMap>) -> Vec<String> {
    let mut keys: Vec<String> =
        informer.store().list().iter().map(|object| object.key().to_owned()).collect();
    keys.sort();
    keys
}

async fn until(
    informer: &SharedInformer<impl kube_core::Resource + Send + Sync + 'static>,
    condition: impl FnMut(&InformerStatus) -> bool,
) {
    let mut status = informer.watch_status();
    tokio::time::timeout(PATIENCE, status.wait_for(condition)).await.expect("it comes to that").unwrap();
}

#[tokio::test(start_paused = true)]
async fn several_namespaces_are_one_copy_with_one_set_of_listeners() {
    let server = server().await;
    for namespace in ["a", "b", "c"] {
        write_in(&server, namespace, "x", 1);
    }
    let informer = across(&server, &["a", "b"]);
    assert_eq!(informer.name(), "configmaps");
    let log = Log::default();
    let registration = informer.add_event_handler(log.handler()).unwrap();
    informer.start();
    assert!(informer.synced().await && registration.synced().await);
    assert_eq!(keys(&informer), ["a/x", "b/x"]);
    for namespace in ["a", "b", "c"] {
        write_in(&server, namespace, "y", 1);
        server.delete("v1/ConfigMap", namespace, "x").unwrap();
    }
    until(&informer, |_| keys(&informer) == ["a/y", "b/y"]).await;
    heard_all(&log, &informer).await;
    let mut first = log.lines();
    first.truncate(2);
    first.sort();
    assert_eq!(first, ["there a/x", "there b/x"]);
    assert_eq!(log.lines().len(), 6, "{:?}", log.lines());
}

#[tokio::test(start_paused = true)]
async fn a_new_list_of_one_namespace_leaves_the_others_alone() {
    let server = server().await;
    for namespace in ["a", "b"] {
        write_in(&server, namespace, "x", 1);
        write_in(&server, namespace, "y", 1);
    }
    let informer = across(&server, &["a", "b"]);
    let log = Log::default();
    informer.add_event_handler(log.handler()).unwrap();
    informer.start();
    assert!(informer.synced().await);
    // The watch of one namespace is lost for good, and an object goes meanwhile.
    server.inject(Fault::expired().on(Verb::Watch).namespace("a").times(1));
    server.stop_watches();
    server.delete("v1/ConfigMap", "a", "x").unwrap();
    until(&informer, |status| status.lists == 3).await;
    assert_eq!(keys(&informer), ["a/y", "b/x", "b/y"]);
    heard_all(&log, &informer).await;
    assert_eq!(log.lines().last().unwrap(), "deleted a/x");
    assert_eq!(log.lines().len(), 5, "what has not changed is not told again: {:?}", log.lines());
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_refused_is_named_and_the_others_go_on() {
    let server = server().await;
    write_in(&server, "a", "x", 1);
    write_in(&server, "b", "x", 1);
    server.access().add_user("t", "alice", ["devs"]);
    server.access().set_rules([Rule::deny().namespace("b"), Rule::allow()]);
    let client = server.in_process_client_with_token("t");
    let sources = KubeSource::<ConfigMap>::namespaces(&client, ["a", "b"], &());
    let informer = SharedInformer::across(sources).unwrap().build();
    informer.start();
    until(&informer, |status| {
        status.scopes[0].synced && status.scopes[1].trouble.as_ref().is_some_and(|trouble| trouble.times > 2)
    })
    .await;
    write_in(&server, "a", "y", 1);
    until(&informer, |_| keys(&informer) == ["a/x", "a/y"]).await;
    let status = informer.status();
    assert!(!status.synced, "one is missing");
    assert_eq!(status.trouble.unwrap().error.code, 403, "what works elsewhere does not hide it");
    assert_eq!(status.scopes[1].namespace.as_deref(), Some("b"));
    server.access().set_rules([]);
    assert!(tokio::time::timeout(PATIENCE, informer.synced()).await.unwrap());
    assert_eq!(informer.status().trouble, None);
}

#[tokio::test(start_paused = true)]
async fn the_copy_is_as_current_as_the_oldest_of_its_namespaces() {
    let server = server().await;
    write_in(&server, "a", "x", 1);
    write_in(&server, "b", "x", 1);
    let informer = across(&server, &["a", "b"]);
    informer.start();
    assert!(informer.synced().await);
    let before = informer.store().resource_version().unwrap();
    let hung = server.inject(Fault::no_reply().on(Verb::Watch).namespace("b"));
    server.stop_watches();
    write_in(&server, "a", "y", 1);
    until(&informer, |_| informer.store().get("a", "y").is_some()).await;
    let written = informer.store().get("a", "y").unwrap().resource_version().parse().unwrap();
    assert!(before < written);
    assert_eq!(informer.store().resource_version(), Some(before), "nobody knows what has happened in b");
    hung.remove();
    write_in(&server, "b", "y", 1);
    tokio::time::timeout(PATIENCE, informer.store().wait_until(&written)).await.unwrap().unwrap();
    assert!(informer.store().get("b", "y").is_some());
}

#[tokio::test(start_paused = true)]
async fn quarantine_in_one_namespace_outlives_a_list_of_another() {
    let server = server().await;
    write_in(&server, "a", "x", 1);
    write_in(&server, "b", "x", 1);
    let break_it = |namespace: &str| {
        server
            .mutate("v1/ConfigMap", namespace, "x", |object| object["data"]["value"] = "none".into())
            .unwrap();
    };
    break_it("a");
    let client = server.in_process_client();
    let sources = KubeSource::<Strict>::namespaces(&client, ["a", "b"], &());
    let informer = SharedInformer::across(sources).unwrap().build();
    informer.start();
    until(&informer, |status| status.synced).await;
    server.inject(Fault::expired().on(Verb::Watch).namespace("b").times(1));
    server.stop_watches();
    break_it("b");
    until(&informer, |status| status.quarantined.len() == 2).await;
    assert!(informer.status().quarantined.keys().eq(["a/x", "b/x"]));
}

#[tokio::test(start_paused = true)]
async fn namespaces_that_overlap_are_refused() {
    let server = server().await;
    let client = server.in_process_client();
    let refused = |namespaces: &[&str]| {
        SharedInformer::across(KubeSource::<ConfigMap>::namespaces(&client, namespaces, &())).unwrap_err()
    };
    assert_eq!(refused(&[]), InformerError::NoSource);
    assert_eq!(refused(&["a", "a"]), InformerError::SameNamespace { namespace: "a".to_owned() });
    let all = KubeSource::<ConfigMap>::all(client.clone(), &());
    let one = KubeSource::<ConfigMap>::namespaced(client.clone(), "a", &());
    assert_eq!(SharedInformer::across([one, all]).unwrap_err(), InformerError::Overlap);
    let all = KubeSource::<ConfigMap>::all(client.clone(), &());
    assert!(SharedInformer::across([all]).is_ok(), "one source of everything is not several");
}

#[tokio::test(start_paused = true)]
async fn the_status_says_why_watches_were_reopened_and_lists_repeated() {
    let server = server().await;
    let informer = informer(&server);
    informer.start();
    assert!(informer.synced().await);
    let restarts = |reason: Reason, times: u64| until_counted(&informer, reason, times, false);
    let relists = |reason: Reason, times: u64| until_counted(&informer, reason, times, true);
    let end_watch = async || {
        // Long enough for a watch that is worth something.
        tokio::time::sleep(Duration::from_secs(5)).await;
        server.stop_watches();
    };
    end_watch().await;
    restarts(Reason::Closed, 1).await;
    server.inject(Fault::too_many_requests(Duration::from_secs(3)).on(Verb::Watch).times(2));
    end_watch().await;
    restarts(Reason::TooManyRequests, 1).await;
    server.inject(Fault::expired().on(Verb::Watch).times(1));
    end_watch().await;
    relists(Reason::Expired, 1).await;
    // Nothing happens for longer than a watch may be silent.
    tokio::time::sleep(Duration::from_secs(200)).await;
    restarts(Reason::Silent, 1).await;
    let status = informer.status();
    assert_eq!(status.lists, 2, "{status:?}");
    assert_eq!(status.relists.len(), 1, "{status:?}");
}

async fn until_counted(informer: &SharedInformer<ConfigMap>, reason: Reason, times: u64, relists: bool) {
    until(informer, |status| {
        let counts = if relists { &status.relists } else { &status.restarts };
        counts.get(&reason) == Some(&times)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_status_says_since_when_and_when_last() {
    let server = TestServer::builder().bookmark_interval(Duration::from_secs(60)).start().await.unwrap();
    write(&server, "a", 1);
    let informer = informer(&server);
    let began = Instant::now();
    informer.start();
    assert!(informer.synced().await);
    let status = informer.status();
    assert!(status.received_bytes > 100 && status.last_heard.is_some(), "{status:?}");
    assert_eq!((status.last_bookmark, status.last_error), (None, None));
    tokio::time::sleep(Duration::from_secs(10)).await;
    write(&server, "b", 1);
    until(&informer, |status| status.changes == 1).await;
    assert_eq!(informer.status().last_event, Some((began + Duration::from_secs(10)).into_std()));
    // The server has moved on, elsewhere: it says so.
    server.seed("{apiVersion: v1, kind: Secret, metadata: {name: s}}").unwrap();
    until(&informer, |status| status.last_bookmark.is_some()).await;
    let fault = server.inject(Fault::reply(503));
    server.stop_watches();
    until(&informer, |status| status.trouble.is_some()).await;
    let cut = Instant::now().into_std();
    until(&informer, |status| status.trouble.as_ref().is_some_and(|trouble| trouble.times == 3)).await;
    assert_eq!(informer.status().trouble.unwrap().since, cut, "since it began, not since the latest error");
    fault.remove();
    until(&informer, |status| status.trouble.is_none()).await;
    assert_eq!(informer.status().last_error.unwrap().1.code, 503, "what was wrong can still be read");
}

#[tokio::test(start_paused = true)]
async fn the_status_says_what_waits_and_for_how_long() {
    let server = server().await;
    write(&server, "a", 1);
    let informer = informer(&server);
    let unread = informer.subscribe().unwrap();
    informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap();
    informer.start();
    assert!(informer.synced().await);
    tokio::time::sleep(Duration::from_secs(7)).await;
    write(&server, "b", 1);
    until(&informer, |status| status.changes == 1).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let listeners = informer.status().listeners;
    assert_eq!((listeners[0].pending, listeners[0].oldest_pending), (2, Some(Duration::from_secs(9))));
    assert_eq!((listeners[1].pending, listeners[1].oldest_pending), (0, None));
    drop(unread);
}
