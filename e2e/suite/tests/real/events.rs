//! Events on a real server.

use k8s_openapi::api::events::v1::Event as Written;
use kube_client::api::{Api, ListParams};
use kube_controller::events::{Event, EventRecorder};
use kube_core::Resource;
use kube_informer_e2e::skip;
use tokio_util::sync::CancellationToken;

use crate::{create, namespace, shared};

#[tokio::test(flavor = "multi_thread")]
async fn a_real_server_takes_our_events_and_their_counts() {
    if skip() {
        return;
    }
    let client = shared().await.client().await.unwrap();
    let configs = namespace(&client, "events").await;
    create(&configs, "web", "1").await;
    let web = configs.get("web").await.unwrap().object_ref(&());

    let (recorder, writer) = EventRecorder::new(client.clone(), "example.com/controller", "pod-1");
    let stop = CancellationToken::new();
    let writing = tokio::spawn(writer.run(stop.clone()));
    for _ in 0..5 {
        recorder.record(&web, Event::normal("Scaled", "Scale", "Scaled up to 3"));
    }
    recorder.record(&web, Event::warning("Broken", "Check", "ä".repeat(2000)).related(web.clone()));
    stop.cancel();
    writing.await.unwrap();

    let stats = recorder.stats();
    assert_eq!((stats.failed, stats.dropped), (0, 0), "{stats:?}");
    let events: Api<Written> = Api::namespaced(client, "events");
    let mut events = events.list(&ListParams::default()).await.unwrap().items;
    events.sort_by_key(|event| event.type_.clone());
    assert_eq!(events.len(), 2);
    assert_eq!(events[0].series.as_ref().unwrap().count, 5);
    assert_eq!((events[1].type_.as_deref(), events[1].note.as_ref().unwrap().len()), (Some("Warning"), 1024));
}
