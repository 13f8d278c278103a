//! The smallest use: an informer on an API server in the process, a handler, an index, and a bad day.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{EventHandler, SharedInformer, source::KubeSource};
use kube_testserver::{Fault, TestServer, Verb};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = TestServer::start().await?; // real HTTP on a free port, ready in milliseconds
    server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: hello, labels: {app: web}}}")?;
    server.inject(Fault::cut_after(200).on(Verb::Watch).times(1)); // a bad day

    let configs = SharedInformer::new(KubeSource::<ConfigMap>::all(server.client()?, &()));
    let by_app = configs
        .add_index("app", |config: &ConfigMap| config.metadata.labels.as_ref()?.get("app").cloned())?;
    configs.add_event_handler(
        EventHandler::<ConfigMap>::new()
            .on_add(|config, initial| println!("ADDED {} {initial}", config.key())),
    )?;
    configs.start();
    assert!(configs.synced().await); // in spite of the bad day
    assert_eq!(by_app.get("web")[0].name(), "hello");
    configs.shutdown().await;
    Ok(())
}
