//! A controller of kube-rs for two kinds, beside an informer of this library for a third.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_client::{Api, Client, ResourceExt};
use kube_informer::SharedInformerFactory;
use kube_informer::fanout::EventHandler;
use kube_runtime::controller::{Action, Controller};
use kube_runtime::watcher;

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the API server answered: {0}")]
    Api(#[from] kube_client::Error),
}

async fn reconcile(deployment: Arc<Deployment>, client: Arc<Client>) -> Result<Action, Error> {
    let api = Api::<ConfigMap>::namespaced((*client).clone(), &deployment.namespace().unwrap_or_default());
    let found = api.get_opt(&deployment.name_any()).await?;
    println!("{}: {}", deployment.name_any(), if found.is_some() { "there" } else { "missing" });
    Ok(Action::requeue(Duration::from_secs(18436)))
}

fn on_error(_: Arc<Deployment>, error: &Error, _: Arc<Client>) -> Action {
    println!("{error}");
    Action::requeue(Duration::from_secs(18436))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let client = Client::try_default().await?;
    let factory = SharedInformerFactory::new(client.clone());
    let pods = factory.core().v1().pods().informer()?;
    pods.add_event_handler(EventHandler::<Pod>::new().on_update(|_, pod| {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        println!("{} is on {}", pod.key(), node.unwrap_or("no node"));
    }))?;
    factory.start();
    Controller::new(Api::<Deployment>::all(client.clone()), watcher::Config::default())
        .owns(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .run(reconcile, on_error, Arc::new(client))
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
