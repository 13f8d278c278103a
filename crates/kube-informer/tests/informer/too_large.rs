//! Objects that are larger than what is taken: the trouble of one object, not of its kind.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::SharedInformer;
use kube_informer::informer::InformerStatus;
use kube_informer::reflector::Config;
use kube_informer::source::KubeSource;
use kube_testserver::TestServer;
use kube_wire::Limits;

use crate::{PATIENCE, delete, server, write};

const LIMIT: usize = 2_000;

fn grow(server: &TestServer, name: &str, bytes: usize) {
    let text = "x".repeat(bytes);
    server
        .mutate("v1/ConfigMap", "default", name, |object| object["data"]["text"] = text.as_str().into())
        .unwrap();
}

async fn until(informer: &SharedInformer<ConfigMap>, what: impl FnMut(&InformerStatus) -> bool) {
    let mut status = informer.watch_status();
    tokio::time::timeout(PATIENCE, status.wait_for(what)).await.expect("in time").unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_too_large_is_in_quarantine_and_the_others_go_on() {
    for (json, initial_events) in [(true, true), (true, false), (false, true), (false, false)] {
        let server = server().await;
        for name in ["a", "huge", "z"] {
            write(&server, name, 1);
        }
        grow(&server, "huge", 3 * LIMIT);
        let mut limits = Limits::default();
        (limits.frame_bytes, limits.item_bytes) = (LIMIT, LIMIT);
        let mut source = KubeSource::<ConfigMap>::all(server.in_process_client(), &()).limits(limits);
        if json {
            source = source.json();
        }
        let mut config = Config::default();
        config.initial_events = initial_events;
        let informer = SharedInformer::builder(source).config(config).build();
        informer.start();
        assert!(tokio::time::timeout(PATIENCE, informer.synced()).await.expect("in time"));
        let has = |name: &str| informer.store().get("default", name);
        let status = informer.status();
        assert!(status.quarantined.keys().eq(["default/huge"]), "{status:?}");
        let why = &status.quarantined["default/huge"];
        assert!(why.contains("no more than 2000 are taken"), "{why}");
        assert!(has("a").is_some() && has("z").is_some() && has("huge").is_none());

        // One that grows is kept as it was; those behind it arrive.
        let before = has("a").unwrap();
        grow(&server, "a", 3 * LIMIT);
        write(&server, "z", 2);
        until(&informer, |status| status.quarantined.contains_key("default/a")).await;
        until(&informer, |_| has("z").is_some_and(|z| z.data.as_ref().unwrap()["value"] == "2")).await;
        assert_eq!(has("a").unwrap().resource_version(), before.resource_version());

        // One that shrinks comes, one that goes is gone.
        grow(&server, "huge", 1);
        delete(&server, "a");
        until(&informer, |status| status.quarantined.is_empty()).await;
        assert!(has("huge").is_some() && has("a").is_none());
        let status = informer.status();
        assert_eq!(status.lists, 1, "nothing was asked for again: {status:?}");
    }
}
