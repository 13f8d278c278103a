//! Writes of which nobody knows what came of them.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Client;
use kube_client::client::Body;
use kube_core::params::{DeleteParams, Patch, PatchParams};
use kube_informer::cache::{Cache, CacheOptions, Query};
use kube_testserver::{Fault, InjectedFault, TestServer, Verb};
use serde_json::json;

use super::{cache, server, three, write};

/// The cache hears of nothing for a while, so that what is read is not what was written unless it is waited for.
fn deafen(server: &TestServer) {
    server.inject(Fault::delay(Duration::from_secs(5)).on(Verb::Watch));
    server.stop_watches();
}

fn config(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "shop"}, "data": {"value": value},
    }))
    .unwrap()
}

fn value(object: &ConfigMap) -> &str {
    &object.data.as_ref().unwrap()["value"]
}

/// Gives up a call after the server has done what it asks for.
async fn give_up<T>(call: impl Future<Output = T>) {
    let answer = tokio::time::timeout(Duration::from_secs(1), call).await;
    assert!(answer.is_err(), "the answer hangs");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_was_given_up_after_the_server_had_done_it_is_read() {
    for delete in [false, true] {
        let server = server().await;
        three(&server);
        let cache = cache(&server, CacheOptions::new());
        let configs = cache.client().kind::<ConfigMap>();
        configs.get("shop", "a").await.unwrap();
        deafen(&server);
        let hang = Fault::hang_after(0);
        if delete {
            server.inject(hang.on(Verb::Delete));
            give_up(configs.delete("shop", "a", &DeleteParams::default())).await;
            assert!(!configs.has_seen_writes());
            assert!(configs.get("shop", "a").await.unwrap_err().is_not_found());
        } else {
            server.inject(hang.on(Verb::Patch));
            let patch = Patch::Merge(json!({"data": {"value": "2"}}));
            give_up(configs.patch("shop", "a", &PatchParams::default(), &patch)).await;
            assert!(!configs.has_seen_writes());
            assert_eq!(value(&configs.get("shop", "a").await.unwrap()), "2");
        }
        assert!(configs.has_seen_writes());
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_was_lost_is_read() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    deafen(&server);
    server.inject(Fault::lost_reply().on(Verb::Create).times(1));
    configs.create(&config("n", "1")).await.unwrap_err();
    let listed = configs.list(&Query::new().namespace("shop")).await.unwrap();
    assert!(listed.iter().any(|object| object.name() == "n"), "{listed:?}");
    assert!(configs.has_seen_writes());
}

#[tokio::test(start_paused = true)]
async fn a_write_with_a_name_of_the_servers_that_was_given_up_is_read() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    deafen(&server);
    server.inject(Fault::hang_after(0).on(Verb::Create));
    let mut object = config("", "1");
    (object.metadata.name, object.metadata.generate_name) = (None, Some("made-".to_owned()));
    give_up(configs.create(&object)).await;
    let listed = configs.list(&Query::new().namespace("shop")).await.unwrap();
    assert!(listed.iter().any(|object| object.name().starts_with("made-")), "{listed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_was_refused_is_not_waited_for() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    configs.create(&config("a", "1")).await.unwrap_err();
    configs.delete("shop", "none", &DeleteParams::default()).await.unwrap_err();
    server.clear_requests();
    assert!(configs.has_seen_writes());
    configs.get("shop", "a").await.unwrap();
    assert_eq!(server.requests().len(), 0, "nobody is asked");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_was_given_up_before_the_server_did_anything_is_no_obstacle() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    server.inject(Fault::no_reply().on(Verb::Create).times(1));
    give_up(configs.create(&config("n", "1"))).await;
    assert!(configs.get("shop", "n").await.unwrap_err().is_not_found());
    assert!(configs.get("shop", "a").await.is_ok() && configs.has_seen_writes());
}

#[tokio::test(start_paused = true)]
async fn more_uncertain_writes_than_are_noted_one_by_one_are_still_waited_for() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    configs.get("bank", "c").await.unwrap();
    deafen(&server);
    let lost = [Verb::Patch, Verb::Delete].map(|verb| server.inject(Fault::lost_reply().on(verb)));
    let patch = Patch::Merge(json!({"data": {"value": "2"}}));
    configs.patch("shop", "a", &PatchParams::default(), &patch).await.unwrap_err();
    for number in 0..10_000 {
        configs.delete("shop", &format!("none-{number}"), &DeleteParams::default()).await.unwrap_err();
    }
    lost.iter().for_each(InjectedFault::remove);
    server.clear_requests();
    let asked = || server.requests().iter().filter(|one| one.parameter("watch").is_none()).count();
    configs.get("bank", "c").await.unwrap();
    assert_eq!(asked(), 0, "of another namespace nothing is uncertain");
    write(&server, "shop", "later", "web");
    assert_eq!(value(&configs.get("shop", "a").await.unwrap()), "2");
    assert_eq!(asked(), 1, "one list stands for all of them");
    assert!(configs.has_seen_writes());
}

#[tokio::test(start_paused = true)]
async fn uncertain_writes_are_asked_about_beside_each_other() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    let lost = server.inject(Fault::lost_reply().on(Verb::Delete));
    for number in 0..16 {
        configs.delete("shop", &format!("none-{number}"), &DeleteParams::default()).await.unwrap_err();
    }
    lost.remove();
    server.inject(Fault::delay(Duration::from_secs(1)).on(Verb::Get));
    configs.list(&Query::new()).await.expect("16 answers of a second each, in less than ten seconds");
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_connection_was_refused_is_not_uncertain() {
    let server = server().await;
    three(&server);
    let inner = server.in_process_client();
    let refusing = tower::service_fn(move |request: http::Request<Body>| {
        let inner = inner.clone();
        async move {
            if request.method() == http::Method::PATCH {
                let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
                return Err(tower::BoxError::from(refused));
            }
            Ok(inner.send(request).await?)
        }
    });
    let cache = Cache::with(Client::new(refusing, "default"), CacheOptions::new()).unwrap();
    cache.start().unwrap();
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    let patch = Patch::Merge(json!({"data": {"value": "2"}}));
    configs.patch("shop", "a", &PatchParams::default(), &patch).await.unwrap_err();
    server.clear_requests();
    assert!(configs.has_seen_writes());
    configs.get("shop", "a").await.unwrap();
    assert_eq!(server.requests().len(), 0, "the server is asked nothing");
}
