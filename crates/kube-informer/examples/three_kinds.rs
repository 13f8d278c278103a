//! A program that follows three kinds by name, and the same by type if it is compiled with `--cfg by_type`: what accessors
//! cost those who compile is the difference.

#![allow(unexpected_cfgs, reason = "`by_type` is for those who measure")]
#![allow(clippy::print_stdout, reason = "it is there to print")]

use std::error::Error;

use kube_core::Selector;
use kube_informer::SharedInformerFactory;
use kube_testserver::TestServer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = TestServer::start().await?;
    server.seed("{apiVersion: v1, kind: Node, metadata: {name: node-1}}")?;
    let factory = SharedInformerFactory::new(server.client()?);

    #[cfg(not(by_type))]
    let (nodes, pods, deployments) = (
        factory.core().v1().nodes().lister()?,
        factory.core().v1().pods().lister()?,
        factory.apps().v1().deployments().lister()?,
    );
    #[cfg(by_type)]
    let (nodes, pods, deployments) = {
        use k8s_openapi::api::{apps::v1::Deployment, core::v1};
        (factory.lister::<v1::Node>()?, factory.lister::<v1::Pod>()?, factory.lister::<Deployment>()?)
    };

    factory.start();
    factory.wait_for_cache_sync().await?;
    let all = Selector::default();
    println!(
        "{} nodes, {} pods, {} deployments",
        nodes.list(&all).len(),
        pods.list(&all).len(),
        deployments.list(&all).len()
    );
    factory.shutdown().await;
    Ok(())
}
