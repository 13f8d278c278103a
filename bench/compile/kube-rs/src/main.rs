//! Follows pods with a reflector of kube-rs, and prints the node of each pod that changes.

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube_client::{Api, Client, ResourceExt};
use kube_runtime::{WatchStreamExt, reflector, watcher};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pods = Api::<Pod>::all(Client::try_default().await?);
    let (store, writer) = reflector::store();
    let stream = reflector(writer, watcher(pods, watcher::Config::default()))
        .default_backoff()
        .applied_objects()
        .try_for_each(|pod| async move {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            println!("{} is on {}", pod.name_any(), node.unwrap_or("no node"));
            Ok(())
        });
    let following = tokio::spawn(stream);
    store.wait_until_ready().await?;
    println!("{} pods", store.state().len());
    tokio::signal::ctrl_c().await?;
    following.abort();
    Ok(())
}
