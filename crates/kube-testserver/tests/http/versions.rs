//! Resource versions: one counter for the cluster, and reads at, after and before a version.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use kube_client::api::{Api, DeleteParams, GetParams, ListParams, PostParams, VersionMatch};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    config_map, config_maps, create_all, get, names, object, pod, pods, refusal, refused, start,
    start_with_client, version,
};

#[tokio::test]
async fn all_kinds_share_one_version_that_grows_with_every_write() {
    let (server, client) = start_with_client().await;
    let before = server.resource_version();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "default");
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    let nodes: Api<Node> = Api::all(client.clone());
    let new = PostParams::default();
    let named = || json!({"metadata": {"name": "x"}});
    let versions = [
        version(&config_maps(&client).create(&new, &object(named())).await.unwrap()),
        version(&secrets.create(&new, &object(named())).await.unwrap()),
        version(&pods(&client).create(&new, &pod("x")).await.unwrap()),
        version(&leases.create(&new, &object(named())).await.unwrap()),
        version(&nodes.create(&new, &object(named())).await.unwrap()),
        version(&config_maps(&client).replace("x", &new, &config_map("x", "2")).await.unwrap()),
    ];
    let expected: Vec<u64> = (before + 1..=before + 6).collect();
    assert_eq!(versions.to_vec(), expected);
    nodes.delete("x", &DeleteParams::default()).await.unwrap();
    assert_eq!(server.resource_version(), before + 7, "a deletion is a write");
    // Reads do not count, and a list has the version of the cluster, not of its kind.
    let list = secrets.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.metadata.resource_version.unwrap(), (before + 7).to_string());
    assert_eq!(version(&list.items[0]), before + 2);
}

#[tokio::test]
async fn a_write_that_changes_nothing_has_no_version() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    let first = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let same = api.replace("a", &PostParams::default(), &config_map("a", "1")).await.unwrap();
    assert_eq!(version(&same), version(&first));
    assert_eq!(server.resource_version(), version(&first));
}

#[tokio::test]
async fn a_list_can_be_at_any_version_not_older_or_exact() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    create_all(&api, &["a", "b"]).await;
    let old = server.resource_version().to_string();
    api.replace("a", &PostParams::default(), &config_map("a", "2")).await.unwrap();
    api.delete("b", &DeleteParams::default()).await.unwrap();
    create_all(&api, &["c"]).await;
    let now = server.resource_version().to_string();

    let exact = api.list(&ListParams::default().at(&old).matching(VersionMatch::Exact)).await.unwrap();
    assert_eq!(exact.metadata.resource_version.as_deref(), Some(old.as_str()));
    assert_eq!(names(&exact.items), ["a", "b"]);
    assert_eq!(exact.items[0].data.as_ref().unwrap()["value"], "1", "as it was then");

    let fresh = [
        ListParams::default(),
        ListParams::default().match_any(),
        ListParams::default().at("0"),
        ListParams::default().at(&old),
        ListParams::default().at(&old).matching(VersionMatch::NotOlderThan),
        ListParams::default().at(&now).matching(VersionMatch::Exact),
    ];
    for params in fresh {
        let list = api.list(&params).await.unwrap();
        assert_eq!(names(&list.items), ["a", "c"], "{params:?}");
        assert_eq!(list.metadata.resource_version.as_deref(), Some(now.as_str()), "{params:?}");
    }
    // A limit without a match rule makes the version exact.
    let limited = api.list(&ListParams::default().at(&old).limit(10)).await.unwrap();
    assert_eq!(names(&limited.items), ["a", "b"]);
}

#[tokio::test]
async fn an_exact_version_that_is_forgotten_is_gone() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    create_all(&api, &["a"]).await;
    let old = server.resource_version().to_string();
    create_all(&api, &["b"]).await;
    server.compact();
    let exact = ListParams::default().at(&old).matching(VersionMatch::Exact);
    assert_eq!(refusal(api.list(&exact).await), (410, "Expired".to_owned()));
    let not_older = ListParams::default().at(&old).matching(VersionMatch::NotOlderThan);
    assert_eq!(api.list(&not_older).await.unwrap().items.len(), 2);
}

#[tokio::test]
async fn a_get_is_never_older_than_the_version_it_names() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let first = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    api.replace("a", &PostParams::default(), &config_map("a", "2")).await.unwrap();
    for params in [GetParams::default(), GetParams::any(), GetParams::at(&version(&first).to_string())] {
        let found = api.get_with("a", &params).await.unwrap();
        assert_eq!(found.data.unwrap()["value"], "2", "{params:?}");
    }
}

#[tokio::test]
async fn versions_and_rules_that_mean_nothing_are_refused() {
    let (_server, client) = start_with_client().await;
    for (query, code, field) in [
        ("resourceVersion=abc", 400, ""),
        ("resourceVersionMatch=Exact", 422, "resourceVersionMatch"),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422, "resourceVersionMatch"),
        ("resourceVersion=1&resourceVersionMatch=Newer", 422, "resourceVersionMatch"),
        ("limit=many", 400, ""),
    ] {
        let found = get(&client, &format!("/api/v1/configmaps?{query}")).await;
        assert_eq!(found.code.as_u16(), code, "{query}: {}", found.text());
        let cause = found.json()["details"]["causes"][0]["field"].as_str().unwrap_or("").to_owned();
        assert_eq!(cause, field, "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_never_comes_is_waited_for_and_then_refused() {
    let server = start().await;
    let api = config_maps(&server.in_process_client());
    create_all(&api, &["a"]).await;
    let now = server.resource_version();
    let wanted = (now + 10).to_string();
    for exact in [VersionMatch::NotOlderThan, VersionMatch::Exact] {
        let start = Instant::now();
        let params = ListParams::default().at(&wanted).matching(exact);
        let status = refused(api.list(&params).await);
        assert_eq!(start.elapsed(), Duration::from_secs(3));
        assert_eq!((status.code, status.reason.as_str()), (504, "Timeout"));
        assert_eq!(status.message, format!("Timeout: Too large resource version: {wanted}, current: {now}"));
        let details = status.details.unwrap();
        assert_eq!(details.causes[0].reason, "ResourceVersionTooLarge");
        assert_eq!(details.causes[0].message, "Too large resource version");
        assert_eq!(details.retry_after_seconds, 1);
    }
    let start = Instant::now();
    assert_eq!(refusal(api.get_with("a", &GetParams::at(&wanted)).await), (504, "Timeout".to_owned()));
    assert_eq!(start.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_version_that_comes_in_time_is_worth_the_wait() {
    let server = start().await;
    let api = config_maps(&server.in_process_client());
    let wanted = (server.resource_version() + 2).to_string();
    let start = Instant::now();
    let params = ListParams::default().at(&wanted).matching(VersionMatch::NotOlderThan);
    let (list, ()) = tokio::join!(api.list(&params), async {
        for name in ["a", "b"] {
            tokio::time::sleep(Duration::from_secs(1)).await;
            create_all(&api, &[name]).await;
        }
    });
    let list = list.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(names(&list.items), ["a", "b"]);
    assert_eq!(list.metadata.resource_version.unwrap(), wanted);
}

#[tokio::test(start_paused = true)]
async fn the_time_to_wait_for_a_version_can_be_set() {
    let patient = kube_testserver::TestServer::builder().freshness_timeout(Duration::from_millis(250));
    let server = patient.start().await.unwrap();
    let api: Api<ConfigMap> = config_maps(&server.in_process_client());
    let start = Instant::now();
    let params = ListParams::default().at("1000000").matching(VersionMatch::NotOlderThan);
    assert_eq!(refused(api.list(&params).await).code, 504);
    assert_eq!(start.elapsed(), Duration::from_millis(250));
}
