//! Watches that do not keep up: the server forgets, and cuts them off, but never grows.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube_testserver::TestServer;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Follower, Lines, config_maps, create_all, object, refusal, version, within};

const HISTORY: usize = 100;

/// Opens a watch on a socket of its own and reads no more than the head of the answer.
async fn open_and_do_not_read(server: &TestServer, path: &str) -> TcpStream {
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\n\r\n", server.address());
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(within(socket.read_u8()).await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", String::from_utf8_lossy(&head));
    socket
}

#[tokio::test]
async fn a_watcher_that_does_not_read_is_cut_off_and_costs_no_memory() {
    let server = TestServer::builder().history(HISTORY).start().await.unwrap();
    let client = server.client().unwrap();
    let api = config_maps(&client);
    let before = server.stats().history_changes;
    let text = "x".repeat(900 << 10);
    let big: ConfigMap = object(json!({"metadata": {"name": "big"}, "data": {"text": text}}));
    let created = api.create(&PostParams::default(), &big).await.unwrap();
    let path = format!("/api/v1/configmaps?watch=true&resourceVersion={}", version(&created));
    let mut socket = open_and_do_not_read(&server, &path).await;
    assert_eq!(server.stats().watches, 1);

    // Far more than the buffers of a socket hold, each event with all of the text in it.
    for count in 0..HISTORY + 40 {
        server
            .mutate("v1/ConfigMap", "default", "big", |object| {
                object["data"]["count"] = json!(count.to_string());
            })
            .unwrap();
        tokio::task::yield_now().await;
    }

    let stats = server.stats();
    assert_eq!(stats.watches_cut_off, 1);
    assert_eq!(stats.watches, 0);
    assert_eq!(stats.history_changes, before + HISTORY);
    // The connection is gone: what was in the buffers comes, then the end, and not in good order.
    let mut rest = Vec::new();
    let _ = within(socket.read_to_end(&mut rest)).await;
    assert!(!rest.ends_with(b"0\r\n\r\n"), "a cut-off stream must not look complete");
    // Others are served as before.
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn a_watcher_without_a_socket_is_cut_off_as_well() {
    let server = TestServer::builder().history(HISTORY).start().await.unwrap();
    let client = server.in_process_client();
    create_all(&config_maps(&client), &["a"]).await;
    let path = format!("/api/v1/configmaps?watch=true&resourceVersion={}", server.resource_version());
    let lines = Lines::open(&client, &path).await;
    for count in 0..=HISTORY {
        server
            .mutate("v1/ConfigMap", "default", "a", |object| {
                object["data"]["count"] = json!(count.to_string());
            })
            .unwrap();
    }
    assert_eq!(server.stats().watches_cut_off, 1);
    let (received, broke) = within(lines.rest()).await;
    assert!(broke && received.is_empty());
}

#[tokio::test]
async fn history_is_bounded_by_bytes_too() {
    let server = TestServer::builder().history_bytes(64 << 10).start().await.unwrap();
    let client = server.client().unwrap();
    let api = config_maps(&client);
    let text = "x".repeat(10 << 10);
    let large: ConfigMap = object(json!({"metadata": {"name": "large"}, "data": {"text": text}}));
    let first = api.create(&PostParams::default(), &large).await.unwrap();
    for count in 0..20 {
        let patch = Patch::Merge(json!({"data": {"count": count.to_string()}}));
        api.patch("large", &PatchParams::default(), &patch).await.unwrap();
    }
    assert!(server.stats().history_bytes <= 64 << 10, "{:?}", server.stats());
    let mut watch = Follower::open(&api, &WatchParams::default(), &version(&first).to_string()).await;
    assert_eq!(watch.error().await.code, 410);
}

#[tokio::test]
async fn a_version_outside_of_the_history_can_neither_be_listed_nor_watched_from() {
    let server = TestServer::builder().history(HISTORY).start().await.unwrap();
    let client = server.client().unwrap();
    let api = config_maps(&client);
    create_all(&api, &["a"]).await;
    let old = server.resource_version().to_string();
    for count in 0..=HISTORY {
        server
            .mutate("v1/ConfigMap", "default", "a", |object| {
                object["data"]["count"] = json!(count.to_string());
            })
            .unwrap();
    }
    let exact = ListParams::default().at(&old).matching(kube_client::api::VersionMatch::Exact);
    assert_eq!(refusal(api.list(&exact).await), (410, "Expired".to_owned()));
    let mut watch = Follower::open(&api, &WatchParams::default(), &old).await;
    assert_eq!(watch.error().await.code, 410);

    // One version later is still there.
    let next = server.resource_version() - HISTORY as u64;
    let exact = ListParams::default().at(&next.to_string()).matching(kube_client::api::VersionMatch::Exact);
    let list = api.list(&exact).await.unwrap();
    assert_eq!(list.items[0].data.as_ref().unwrap()["count"], "0");
    let mut watch = Follower::open(&api, &WatchParams::default(), &next.to_string()).await;
    let change = watch.expect("MODIFIED a").await;
    assert_eq!(change.data.unwrap()["count"], "1");
}

#[tokio::test]
async fn each_kind_has_a_history_of_its_own() {
    let server = TestServer::builder().history(HISTORY).start().await.unwrap();
    let client = server.client().unwrap();
    let api = config_maps(&client);
    let from = server.resource_version().to_string();
    create_all(&api, &["a"]).await;
    for count in 0..3 * HISTORY {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("s{count}")}});
        server.put(&secret).unwrap();
    }
    let all: Api<ConfigMap> = Api::all(client);
    let mut watch = Follower::open(&all, &WatchParams::default(), &from).await;
    watch.expect("ADDED a").await;
}
