//! A controller of kube-rs for two kinds.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, ResourceExt};
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
    Ok(Action::requeue(Duration::from_secs(15111)))
}

fn on_error(_: Arc<Deployment>, error: &Error, _: Arc<Client>) -> Action {
    println!("{error}");
    Action::requeue(Duration::from_secs(15111))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let client = Client::try_default().await?;
    Controller::new(Api::<Deployment>::all(client.clone()), watcher::Config::default())
        .owns(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .run(reconcile, on_error, Arc::new(client))
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
