//! The smallest use: a server, an object, a bad day, and what the client really sent.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, api::ListParams};
use kube_testserver::{Fault, TestServer, Verb};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = TestServer::start().await?; // real HTTP on a free port, ready in milliseconds
    server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: hello}, data: {greeting: hi}}")?;
    server.inject(Fault::reply(503).on(Verb::List).resource("configmaps").times(1)); // a bad day

    let configs: Api<ConfigMap> = Api::namespaced(server.client()?, "default");
    assert!(configs.list(&ListParams::default()).await.is_err()); // the bad day
    assert_eq!(configs.list(&ListParams::default()).await?.items.len(), 1);
    for request in server.requests() {
        println!("{} {} -> {:?}", request.method, request.path, request.code); // what the client really sent
    }
    Ok(())
}
