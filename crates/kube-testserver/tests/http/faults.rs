//! Faults on whole requests: each kind of them, which requests they strike, and how often.

use std::time::Duration;

use kube_client::api::{ListParams, PostParams, WatchParams};
use kube_testserver::{Fault, TestServer, Verb};
use tokio::time::Instant;

use crate::support::{
    Follower, Lines, config_map, config_maps, create_all, get, names, pods, refusal, refused, start,
    start_with_client, within,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The request failed, and not because the server said so.
#[track_caller]
fn broken<T: std::fmt::Debug>(result: Result<T, kube_client::Error>) {
    match result.expect_err("the connection should have broken") {
        kube_client::Error::Api(status) => panic!("an answer of the server: {status:?}"),
        _broken => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_delayed_answer_comes_late_but_whole() {
    let server = start().await;
    let api = config_maps(&server.in_process_client());
    create_all(&api, &["a"]).await;
    let slow = server.inject(Fault::delay(Duration::from_secs(5)).on(Verb::List));
    server.inject(Fault::delay(Duration::from_secs(2)).on(Verb::List));
    let before = Instant::now();
    assert_eq!(names(&api.list(&ListParams::default()).await.unwrap().items), ["a"]);
    assert_eq!(before.elapsed(), Duration::from_secs(7), "delays add up");
    let before = Instant::now();
    api.get("a").await.unwrap();
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(slow.hits(), 1);
}

#[tokio::test]
async fn a_reply_is_any_code_with_the_status_that_goes_with_it() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    create_all(&api, &["a"]).await;
    for (code, reason) in [
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (409, "Conflict"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ] {
        let fault = server.inject(Fault::reply(code));
        assert_eq!(refusal(api.get("a").await), (code, reason.to_owned()));
        let raw = get(&client, MAPS).await;
        assert_eq!((raw.code.as_u16(), raw.json()["kind"].as_str().unwrap()), (code, "Status"));
        assert_eq!(fault.hits(), 2);
        fault.remove();
    }
    server.inject(Fault::reply(502).times(1));
    assert_eq!(refused(api.get("a").await).code, 502);
    api.get("a").await.unwrap();
}

#[tokio::test]
async fn a_refused_write_does_not_happen() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    let before = server.resource_version();
    server.inject(Fault::reply(500).on(Verb::Create).times(1));
    assert_eq!(refused(api.create(&PostParams::default(), &config_map("a", "1")).await).code, 500);
    assert_eq!(server.resource_version(), before);
    create_all(&api, &["a"]).await;
}

#[tokio::test]
async fn too_many_requests_says_when_to_come_again() {
    let (server, client) = start_with_client().await;
    server.inject(Fault::too_many_requests(Duration::from_millis(1500)).times(1));
    let found = get(&client, MAPS).await;
    assert_eq!(found.code, 429);
    assert_eq!(found.header("retry-after"), "2", "whole seconds, rounded up");
    assert_eq!(found.json()["details"]["retryAfterSeconds"], 2);
    assert_eq!(found.json()["reason"], "TooManyRequests");
    assert_eq!(get(&client, MAPS).await.code, 200);
}

#[tokio::test]
async fn expired_is_an_http_answer_to_lists_and_watches() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    server.inject(Fault::expired().on(Verb::List).on(Verb::Watch));
    assert_eq!(refusal(api.list(&ListParams::default()).await), (410, "Expired".to_owned()));
    let watch = api.watch(&WatchParams::default(), "0").await.map(|_| ());
    assert_eq!(refusal(watch), (410, "Expired".to_owned()));
    create_all(&api, &["a"]).await;
}

#[tokio::test(start_paused = true)]
async fn no_reply_never_comes() {
    let server = start().await;
    let api = config_maps(&server.in_process_client());
    create_all(&api, &["a"]).await;
    let fault = server.inject(Fault::no_reply().on(Verb::Get));
    let waited = tokio::time::timeout(Duration::from_secs(3600), api.get("a")).await;
    assert!(waited.is_err(), "an hour is not long enough: {waited:?}");
    assert_eq!(fault.hits(), 1);
    assert_eq!(server.requests().last().unwrap().code, None);
    fault.remove();
    api.get("a").await.unwrap();
}

#[tokio::test]
async fn a_request_without_a_reply_ends_with_the_server() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    let fault = server.inject(Fault::no_reply());
    let request = tokio::spawn(async move { api.list(&ListParams::default()).await });
    within(async {
        while fault.hits() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    within(server.shutdown()).await;
    broken(within(request).await.unwrap());
}

#[tokio::test]
async fn a_lost_reply_leaves_a_write_that_happened() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    let before = server.resource_version();
    let fault = server.inject(Fault::lost_reply().on(Verb::Create).on(Verb::Update).on(Verb::Delete));
    broken(within(api.create(&PostParams::default(), &config_map("a", "1"))).await);
    assert_eq!(server.resource_version(), before + 1);
    assert_eq!(api.get("a").await.unwrap().data.unwrap()["value"], "1");
    broken(within(api.replace("a", &PostParams::default(), &config_map("a", "2"))).await);
    assert_eq!(api.get("a").await.unwrap().data.unwrap()["value"], "2");
    broken(within(api.delete("a", &Default::default())).await);
    assert_eq!(refused(api.get("a").await).code, 404);
    assert_eq!((fault.hits(), server.requests().len()), (3, 6), "no request was sent twice");
    assert_eq!(server.requests()[0].code, None, "nobody was answered");
    // The name is taken only if the first try is still there: the classic surprise of a retry.
    fault.remove();
    create_all(&api, &["a"]).await;
}

#[tokio::test]
async fn a_list_breaks_in_the_middle_of_its_body() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    create_all(&api, &["a", "b", "c"]).await;
    let whole = get(&client, MAPS).await.body;
    for bytes in [0, 1, 500] {
        let fault = server.inject(Fault::cut_after(bytes).on(Verb::List));
        broken(within(api.list(&ListParams::default())).await);
        let (received, broke) = within(Lines::open(&client, MAPS).await.rest()).await;
        assert!(broke);
        assert_eq!(received, whole[..bytes]);
        assert_eq!(fault.hits(), 2);
        fault.remove();
    }
    // A body that is shorter is not affected.
    server.inject(Fault::cut_after(1 << 20).on(Verb::List));
    assert_eq!(get(&client, MAPS).await.body, whole);
}

#[tokio::test(start_paused = true)]
async fn a_list_falls_silent_in_the_middle_of_its_body() {
    let server = start().await;
    let client = server.in_process_client();
    let api = config_maps(&client);
    create_all(&api, &["a", "b", "c"]).await;
    let fault = server.inject(Fault::hang_after(300).on(Verb::List).times(2));
    let waited = tokio::time::timeout(Duration::from_secs(3600), api.list(&ListParams::default())).await;
    assert!(waited.is_err());
    let mut received = 0;
    let mut body = client.send(crate::support::get_with(MAPS, &[])).await.unwrap().into_body();
    while let Ok(frame) =
        tokio::time::timeout(Duration::from_secs(3600), http_body_util::BodyExt::frame(&mut body)).await
    {
        received += frame.expect("silence, not the end").unwrap().into_data().unwrap().len();
    }
    assert_eq!(received, 300);
    assert_eq!(fault.hits(), 2);
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 3);
}

#[tokio::test]
async fn stale_reads_show_the_past() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    create_all(&api, &["a"]).await;
    api.replace("a", &PostParams::default(), &config_map("a", "2")).await.unwrap();
    api.replace("a", &PostParams::default(), &config_map("a", "3")).await.unwrap();
    create_all(&api, &["b"]).await;
    let now = server.resource_version();
    for (writes, value, wanted) in [(1, "3", &["a"][..]), (2, "2", &["a"]), (3, "1", &["a"])] {
        let fault = server.inject(Fault::stale_read(writes));
        assert_eq!(api.get("a").await.unwrap().data.unwrap()["value"], value, "{writes} writes ago");
        let list = api.list(&ListParams::default()).await.unwrap();
        assert_eq!(names(&list.items), wanted, "{writes} writes ago");
        assert_eq!(list.items[0].data.as_ref().unwrap()["value"], value);
        assert_eq!(list.metadata.resource_version.unwrap(), (now - writes).to_string());
        fault.remove();
    }
    server.inject(Fault::stale_read(4));
    assert_eq!(refused(api.get("a").await).code, 404, "it was not there yet");
    assert!(api.list(&ListParams::default()).await.unwrap().items.is_empty());
    server.clear_faults();
    assert_eq!(names(&api.list(&ListParams::default()).await.unwrap().items), ["a", "b"]);
}

#[tokio::test]
async fn a_stale_watch_begins_in_the_past_and_catches_up() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    create_all(&api, &["a", "b"]).await;
    api.replace("a", &PostParams::default(), &config_map("a", "2")).await.unwrap();
    api.delete("b", &Default::default()).await.unwrap();
    let now = server.resource_version();
    server.inject(Fault::stale_read(2));
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    assert_eq!(watch.expect("ADDED a").await.data.unwrap()["value"], "1");
    watch.expect("ADDED b").await;
    assert_eq!(watch.expect("MODIFIED a").await.data.unwrap()["value"], "2");
    watch.expect("DELETED b").await;

    let mut watch = Follower::open(&api, &WatchParams::default().initial_events(), "0").await;
    watch.expect("ADDED a").await;
    watch.expect("ADDED b").await;
    assert_eq!(watch.bookmark().await, (now - 2, true));
    watch.expect("MODIFIED a").await;
    watch.expect("DELETED b").await;
}

#[tokio::test]
async fn faults_strike_only_the_requests_they_are_for() {
    let (server, client) = start_with_client().await;
    server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}").unwrap();
    let api = config_maps(&client);
    let other: kube_client::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube_client::Api::namespaced(client.clone(), "other");
    create_all(&api, &["a", "b"]).await;

    let by_verb = server.inject(Fault::reply(500).on(Verb::Get).on(Verb::Delete));
    assert_eq!(refused(api.get("a").await).code, 500);
    assert_eq!(refused(api.delete("a", &Default::default()).await).code, 500);
    api.list(&ListParams::default()).await.unwrap();
    by_verb.remove();

    let by_resource = server.inject(Fault::reply(500).resource("configmaps"));
    assert_eq!(refused(api.list(&ListParams::default()).await).code, 500);
    pods(&client).list(&ListParams::default()).await.unwrap();
    by_resource.remove();
    let by_group = server.inject(Fault::reply(500).resource("deployments.apps"));
    assert_eq!(get(&client, "/apis/apps/v1/deployments").await.code, 500);
    assert_eq!(get(&client, "/apis/apps/v1/replicasets").await.code, 200);
    by_group.remove();
    let elsewhere = server.inject(Fault::reply(500).resource("deployments.example.com"));
    assert_eq!(get(&client, "/apis/apps/v1/deployments").await.code, 200);
    elsewhere.remove();

    let by_namespace = server.inject(Fault::reply(500).namespace("other"));
    assert_eq!(refused(other.get("a").await).code, 500);
    api.get("a").await.unwrap();
    by_namespace.remove();

    let by_name = server.inject(Fault::reply(500).name("a").resource("configmaps"));
    assert_eq!(refused(api.get("a").await).code, 500);
    api.get("b").await.unwrap();
    api.list(&ListParams::default()).await.unwrap();
    assert_eq!(by_name.hits(), 1);
    // What is no resource is never struck.
    server.inject(Fault::reply(500));
    assert_eq!(get(&client, "/version").await.code, 200);
    assert_eq!(get(&client, "/apis").await.code, 200);
}

#[tokio::test]
async fn skip_and_times_place_a_fault_exactly() {
    let (server, client) = start_with_client().await;
    let fault = server.inject(Fault::reply(503).on(Verb::List).resource("configmaps").skip(2).times(3));
    let mut codes = Vec::new();
    for _ in 0..7 {
        codes.push(get(&client, MAPS).await.code.as_u16());
        get(&client, "/api/v1/pods").await;
    }
    assert_eq!(codes, [200, 200, 503, 503, 503, 200, 200]);
    assert_eq!(fault.hits(), 3);
}

#[tokio::test]
async fn the_seed_decides_which_requests_a_fault_with_a_probability_strikes() {
    async fn codes(seed: u64, busy: bool) -> (Vec<u16>, u64) {
        let server = TestServer::builder().seed(seed).start().await.unwrap();
        let client = server.client().unwrap();
        let fault = server.inject(Fault::reply(500).on(Verb::List).with_probability(0.3));
        let mut codes = Vec::new();
        for number in 0..200 {
            if busy {
                create_all(&config_maps(&client), &[&format!("n{number}")]).await;
            }
            codes.push(get(&client, "/api/v1/secrets").await.code.as_u16());
        }
        (codes, fault.hits())
    }
    let (first, hits) = codes(7, false).await;
    assert_eq!((first.clone(), hits), codes(7, true).await, "whatever else happens in between");
    assert_ne!(first, codes(8, false).await.0);
    assert_eq!(first.iter().filter(|code| **code == 500).count() as u64, hits);
    assert!((30..90).contains(&hits), "{hits} of 200 at 0.3");
}

#[tokio::test(start_paused = true)]
async fn several_faults_may_strike_one_request() {
    let server = start().await;
    let api = config_maps(&server.in_process_client());
    server.inject(Fault::delay(Duration::from_secs(4)));
    server.inject(Fault::reply(503));
    server.inject(Fault::reply(500));
    let before = Instant::now();
    assert_eq!(refused(api.list(&ListParams::default()).await).code, 503, "the first answer counts");
    assert_eq!(before.elapsed(), Duration::from_secs(4));
    server.clear_faults();
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    create_all(&api, &["a"]).await;
    watch.expect("ADDED a").await;
    assert_eq!(before.elapsed(), Duration::from_secs(4));
}
