//! What went wrong once.

use std::io::Read;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{Api, Patch, PatchParams, PostParams, WatchParams};
use kube_testserver::{Fault, SeedError, TestServer};
use serde_json::{Value, json};

use crate::support::{
    Follower, answer, config_map, config_maps, create_all, definition, get, get_json, get_with, send_json,
    start, start_with_client,
};

/// A continue token as the server makes them.
fn token(version: i64, start: &str) -> String {
    URL_SAFE_NO_PAD.encode(json!({"v": "meta.k8s.io/v1", "rv": version, "start": start}).to_string())
}

#[tokio::test]
async fn many_changes_that_a_watch_does_not_want_do_not_hide_one_that_it_wants() {
    let server = TestServer::builder().create_namespaces(true).start().await.unwrap();
    let client = server.client().unwrap();
    let elsewhere: Api<ConfigMap> = Api::namespaced(client.clone(), "elsewhere");
    let here: Api<ConfigMap> = Api::namespaced(client, "here");
    let before = server.resource_version().to_string();
    for number in 0..600 {
        elsewhere.create(&PostParams::default(), &config_map(&format!("c{number}"), "x")).await.unwrap();
    }
    create_all(&here, &["wanted"]).await;
    let mut watch = Follower::open(&here, &WatchParams::default(), &before).await;
    watch.expect("ADDED wanted").await;
}

#[tokio::test]
async fn a_continue_token_of_another_list_is_refused_and_does_no_harm() {
    let (server, client) = start_with_client().await;
    create_all(&config_maps(&client), &["a", "b"]).await;
    let now = i64::try_from(server.resource_version()).unwrap();
    for (version, start) in
        [(now, "zzz/a\0"), (now, "default0\0"), (now, "abc/x\0"), (now + 100, "default/a\0")]
    {
        let path =
            format!("/api/v1/namespaces/default/configmaps?limit=5&continue={}", token(version, start));
        assert_eq!(get(&client, &path).await.code, 400, "{start:?} at {version}");
    }
    let path =
        format!("/api/v1/namespaces/default/configmaps?limit=5&continue={}", token(now, "default/a\0"));
    assert_eq!(get_json(&client, &path).await["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn bodies_of_the_wrong_shape_are_refused_everywhere() {
    let (server, client) = start_with_client().await;
    server.seed("{apiVersion: v1, kind: ServiceAccount, metadata: {name: s}}").unwrap();
    server.seed("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}").unwrap();
    server.seed("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {}}").unwrap();
    let home = "/api/v1/namespaces/default";
    for path in [
        format!("{home}/serviceaccounts/s/token"),
        format!("{home}/pods/p/binding"),
        format!("{home}/pods/p/eviction"),
        format!("{home}/configmaps"),
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".to_owned(),
    ] {
        for body in [
            json!([]),
            json!("x"),
            json!(7),
            json!({"spec": "x", "metadata": 5, "target": [], "deleteOptions": 1}),
        ] {
            // A server that panics answers nothing, and that fails.
            send_json(&client, Method::POST, &path, &body).await;
        }
    }
    let scale = "/apis/apps/v1/namespaces/default/deployments/d/scale";
    for body in [json!([]), json!({"spec": "x"}), json!({"spec": {"replicas": "x"}, "metadata": []})] {
        send_json(&client, Method::PUT, scale, &body).await;
    }
    assert_eq!(get(&client, "/healthz").await.text(), "ok");
}

#[tokio::test]
async fn seeds_of_the_wrong_shape_are_refused() {
    let server = start().await;
    let error = server.seed("{kind: PodList, apiVersion: v1, items: [foo]}").unwrap_err();
    assert!(matches!(error, SeedError::Untyped { document: 1 }), "{error}");
}

#[tokio::test]
async fn a_seed_may_have_thousands_of_documents() {
    let server = start().await;
    let yaml: String = (0..3_000)
        .map(|number| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{number}\n"))
        .collect();
    assert_eq!(server.seed(&yaml).unwrap(), 3_000);
}

#[tokio::test]
async fn an_object_that_is_nested_too_deep_is_refused_and_not_stored_as_nothing() {
    let (server, client) = start_with_client().await;
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    server.put(&definition("widgets", "Widget", &schema, &json!({}))).unwrap();
    let path = "/apis/example.com/v1/namespaces/default/widgets";
    for depth in [50, 90, 105, 120, 126] {
        let mut spec = json!("bottom");
        for _ in 0..depth {
            spec = json!({"d": spec});
        }
        let name = format!("w{depth}");
        let body = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec});
        let code = send_json(&client, Method::POST, path, &body).await.code.as_u16();
        let found: Value = get(&client, &format!("{path}/{name}")).await.json();
        if depth < 100 {
            assert_eq!((code, &found["spec"]), (201, &body["spec"]), "{depth} levels");
        } else {
            assert_eq!((code, &found["reason"]), (400, &json!("NotFound")), "{depth} levels");
        }
    }
}

#[tokio::test]
async fn a_label_that_looks_like_a_deletion_is_none() {
    let server = start().await;
    let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {"deletionTimestamp": "x"}}});
    server.put(&home).unwrap();
    let api: Api<ConfigMap> = Api::namespaced(server.client().unwrap(), "n");
    create_all(&api, &["a"]).await;
}

#[tokio::test]
async fn versions_of_a_custom_group_are_in_the_order_of_preference_whoever_came_first() {
    let (server, client) = start_with_client().await;
    for (plural, kind, version) in [("olds", "Old", "v1alpha1"), ("news", "New", "v2")] {
        let mut crd = definition(plural, kind, &json!({"type": "object"}), &json!({}));
        crd["spec"]["versions"][0]["name"] = json!(version);
        server.put(&crd).unwrap();
    }
    let group = get_json(&client, "/apis/example.com").await;
    assert_eq!(group["preferredVersion"]["version"], "v2");
}

#[tokio::test]
async fn a_definition_that_is_made_anew_as_soon_as_it_is_gone_is_served() {
    let (server, client) = start_with_client().await;
    let crd = definition("widgets", "Widget", &json!({"type": "object"}), &json!({}));
    for _ in 0..50 {
        server.put(&crd).unwrap();
        assert_eq!(get(&client, "/apis/example.com/v1/widgets").await.code, 200);
        let (again, gone) = (server.client().unwrap(), "apiextensions.k8s.io/v1/CustomResourceDefinition");
        server.delete(gone, "", "widgets.example.com").unwrap();
        assert_eq!(get(&again, "/apis/example.com/v1/widgets").await.code, 404);
    }
}

#[tokio::test]
async fn numbers_that_go_would_not_read_are_not_versions() {
    let (_server, client) = start_with_client().await;
    for (version, why) in [("%2B5", "invalid syntax"), ("99999999999999999999", "value out of range")] {
        let found = get(&client, &format!("/api/v1/configmaps?resourceVersion={version}")).await;
        assert_eq!(found.code, 400);
        let message = found.json()["message"].as_str().unwrap().to_owned();
        assert!(message.ends_with(why), "{message}");
    }
}

#[tokio::test]
async fn large_answers_of_every_kind_are_compressed_when_asked() {
    let (_server, client) = start_with_client().await;
    for path in ["/openapi/v2", "/openapi/v3/api/v1"] {
        let plain = get(&client, path).await;
        let packed = answer(&client, get_with(path, &[("accept-encoding", "gzip")])).await;
        assert_eq!(
            (plain.header("content-encoding"), packed.header("content-encoding")),
            ("", "gzip"),
            "{path}"
        );
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut text).unwrap();
        assert_eq!(text, plain.body);
    }
}

#[tokio::test]
async fn a_fault_finds_its_resource_by_any_of_its_names() {
    let (server, client) = start_with_client().await;
    for name in ["configmaps", "configmap", "cm", "ConfigMap"] {
        let fault = server.inject(Fault::reply(503).resource(name).times(1));
        assert_eq!(get(&client, "/api/v1/configmaps").await.code, 503, "{name}");
        assert_eq!((fault.hits(), get(&client, "/api/v1/configmaps").await.code.as_u16()), (1, 200));
    }
    server.inject(Fault::too_many_requests(Duration::MAX).resource("deploy.apps").times(1));
    assert_eq!(get(&client, "/apis/apps/v1/deployments").await.code, 429);
}

#[tokio::test]
async fn a_strategic_patch_with_a_value_of_another_type_says_what_it_is_not() {
    let (_server, client) = start_with_client().await;
    let configs = config_maps(&client);
    configs.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    for (patch, why) in [
        (json!({"data": 5}), "cannot restore map from int64"),
        (json!({"data": "x"}), "cannot restore map from string"),
        (json!({"metadata": {"finalizers": 5}}), "cannot restore slice from int64"),
    ] {
        let refused = configs.patch("a", &PatchParams::default(), &Patch::Strategic(patch)).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[tokio::test]
async fn deleting_a_page_says_where_the_next_one_begins() {
    let (server, client) = start_with_client().await;
    for name in ["a", "b", "c"] {
        server.put(&config_map(name, "1")).unwrap();
    }
    let path = "/api/v1/namespaces/default/configmaps";
    let options = json!({});
    let first = send_json(&client, Method::DELETE, &format!("{path}?limit=1"), &options).await.json();
    assert_eq!(first["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let rest = send_json(&client, Method::DELETE, &format!("{path}?continue={token}"), &options).await.json();
    assert_eq!(rest["items"].as_array().map(Vec::len), Some(2));
    assert!(server.objects("v1/ConfigMap").unwrap().is_empty());
}

#[tokio::test]
async fn a_server_without_a_cache_says_of_forgotten_versions_what_etcd_says() {
    for (cache, said) in [
        (true, "too old resource version: 1 ("),
        (false, "The resourceVersion for the provided watch is too old."),
    ] {
        let server = TestServer::builder().watch_cache(cache).start().await.unwrap();
        let configs = config_maps(&server.client().unwrap());
        create_all(&configs, &["a", "b"]).await;
        server.compact();
        let mut watch = Follower::open(&configs, &WatchParams::default(), "1").await;
        let error = watch.error().await;
        assert!(error.message.starts_with(said), "{}", error.message);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_has_only_caught_up_gets_no_bookmark_before_its_end() {
    let server = TestServer::builder().start().await.unwrap();
    let api = config_maps(&server.in_process_client());
    create_all(&api, &["a", "b"]).await;
    let mut watch = Follower::open(&api, &WatchParams::default().timeout(60), "1").await.patient();
    watch.expect("ADDED a").await;
    watch.expect("ADDED b").await;
    watch.ended().await;

    // What happens while it is open is news.
    let mut watch = Follower::open(&api, &WatchParams::default().timeout(60), "1").await.patient();
    watch.expect("ADDED a").await;
    watch.expect("ADDED b").await;
    create_all(&api, &["c"]).await;
    watch.expect("ADDED c").await;
    assert_eq!(watch.bookmark().await, (server.resource_version(), false));
    watch.ended().await;
}
