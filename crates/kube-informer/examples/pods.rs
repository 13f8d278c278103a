//! Follows the pods of the cluster that the kubeconfig names, and prints the node of each pod that changes.
//!
//! `cargo xtask test` bounds how much code this program compiles.

#![allow(clippy::print_stdout, reason = "the program prints what it sees")]

use std::error::Error;

use k8s_openapi::api::core::v1::Pod;
use kube_client::Client;
use kube_informer::{EventHandler, SharedInformerFactory};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let factory = SharedInformerFactory::new(Client::try_default().await?);
    let pods = factory.core().v1().pods().informer()?;
    pods.add_event_handler(EventHandler::<Pod>::new().on_update(|_, pod| {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        println!("{} is on {}", pod.key(), node.unwrap_or("no node"));
    }))?;
    factory.start();
    factory.wait_for_cache_sync().await?;
    println!("{} pods", pods.store().list().len());
    std::future::pending().await
}
