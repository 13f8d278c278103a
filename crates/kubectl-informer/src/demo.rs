//! `demo`: a server with a small changing cluster inside, and every change on a line of its own.

use std::time::Duration;

use clap::Args;
use futures::StreamExt;
use futures::stream::SelectAll;
use kube_client::Client;
use kube_client::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube_informer::SharedInformer;
use kube_informer::fanout::Event;
use kube_informer::source::KubeSource;
use kube_testserver::TestServer;
use serde_json::Value;

use crate::world::World;
use crate::{paint, stop_signal};

#[derive(Debug, Default, Args)]
pub(crate) struct DemoArguments {
    /// Stop after so many seconds [default: run until Ctrl-C]
    #[arg(long, value_name = "SECONDS")]
    duration: Option<u64>,
}

/// How often something happens in the cluster.
const STEP: Duration = Duration::from_millis(700);

/// The kinds that are shown.
const SHOWN: [(&str, &str, &str); 4] =
    [("", "v1", "Namespace"), ("", "v1", "ConfigMap"), ("", "v1", "Pod"), ("apps", "v1", "Deployment")];

pub(crate) async fn run(arguments: DemoArguments) -> Result<(), Box<dyn std::error::Error>> {
    let server = TestServer::builder()
        .garbage_collection(true)
        .namespace_deletion(true)
        .pod_termination(true)
        .start()
        .await?;
    let client = server.client()?;
    paint::say(&format!("a Kubernetes API server with a small changing cluster runs on {}", server.url()));
    paint::note(&format!(
        "look into it: kubectl --server {} get pods -A --watch; Ctrl-C stops it",
        server.url()
    ));

    let world = World::new(client.clone());
    let end = async {
        match arguments.duration {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
            None => std::future::pending().await,
        }
    };
    let outcome = tokio::select! {
        () = show(client) => Ok(()),
        outcome = change(world) => outcome,
        () = end => Ok(()),
        () = stop_signal() => Ok(()),
    };
    let stats = server.stats();
    paint::note(&format!("{} requests answered, {} objects left", stats.requests, stats.objects));
    server.shutdown().await;
    outcome.map_err(Into::into)
}

async fn change(mut world: World) -> Result<(), kube_client::Error> {
    loop {
        tokio::time::sleep(STEP).await;
        world.step().await?;
    }
}

/// Prints what happens to all shown kinds.
async fn show(client: Client) {
    let (mut informers, mut events) = (Vec::new(), SelectAll::new());
    for (group, version, kind) in SHOWN {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let informer = SharedInformer::<DynamicObject>::new(KubeSource::all(client.clone(), &resource));
        // One that has just been made is not stopped, so it can be subscribed to.
        if let Ok(subscription) = informer.subscribe() {
            events.push(subscription.map(move |event| (resource.clone(), event)));
        }
        informer.start();
        informers.push(informer);
    }
    while let Some((resource, event)) = events.next().await {
        match event {
            Event::Added { object, .. } => line("ADDED", &resource, &object),
            Event::Updated { new, .. } => line("MODIFIED", &resource, &new),
            Event::Deleted(gone) => line("DELETED", &resource, gone.object()),
            _ => {}
        }
    }
}

fn line(kind: &str, resource: &ApiResource, object: &DynamicObject) {
    let name = object.metadata.name.as_deref().unwrap_or("");
    let full_name = match &object.metadata.namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    };
    let detail = if kind == "DELETED" { String::new() } else { detail(&resource.kind, &object.data) };
    paint::event(kind, &format!("{} {}", resource.api_version, resource.kind), &full_name, &detail);
}

/// What is worth knowing about an object of a kind, in a few words.
fn detail(kind: &str, data: &Value) -> String {
    let text = |pointer: &str| data.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
    let number = |pointer: &str| data.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
    match kind {
        "Pod" => {
            let node = text("/spec/nodeName");
            let place = if node.is_empty() { String::new() } else { format!(" on {node}") };
            format!("{}{place}", text("/status/phase"))
        }
        "Deployment" => {
            format!("{} of {} ready", number("/status/readyReplicas"), number("/spec/replicas"))
        }
        "Namespace" => text("/status/phase"),
        "ConfigMap" => {
            let keys = data.get("data").and_then(Value::as_object).map_or(0, serde_json::Map::len);
            format!("{keys} key{}", if keys == 1 { "" } else { "s" })
        }
        _ => String::new(),
    }
}
