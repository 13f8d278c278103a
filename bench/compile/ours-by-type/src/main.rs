//! Follows pods with an informer of this library that is made from a source, so that the type decodes itself.

use k8s_openapi::api::core::v1::Pod;
use kube_client::Client;
use kube_informer::SharedInformer;
use kube_informer::fanout::EventHandler;
use kube_informer::source::KubeSource;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pods = SharedInformer::new(KubeSource::<Pod>::all(Client::try_default().await?, &()));
    pods.add_event_handler(EventHandler::<Pod>::new().on_update(|_, pod| {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        println!("{} is on {}", pod.key(), node.unwrap_or("no node"));
    }))?;
    pods.start();
    anyhow::ensure!(pods.synced().await, "the informer has been stopped");
    println!("{} pods", pods.store().list().len());
    tokio::signal::ctrl_c().await?;
    pods.shutdown().await;
    Ok(())
}
