//! Follows pods with an informer of this library, and prints the node of each pod that changes.

use k8s_openapi::api::core::v1::Pod;
use kube_client::Client;
use kube_informer::SharedInformerFactory;
use kube_informer::fanout::EventHandler;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let factory = SharedInformerFactory::new(Client::try_default().await?);
    let pods = factory.core().v1().pods().informer()?;
    pods.add_event_handler(EventHandler::<Pod>::new().on_update(|_, pod| {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        println!("{} is on {}", pod.key(), node.unwrap_or("no node"));
    }))?;
    factory.start();
    factory.wait_for_cache_sync().await?;
    println!("{} pods", pods.store().list().len());
    tokio::signal::ctrl_c().await?;
    factory.shutdown().await;
    Ok(())
}
