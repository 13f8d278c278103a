//! What stands for the rest of a cluster on the embedded server: somebody who runs what Deployments want.

use k8s_openapi::api::apps::v1::Deployment;
use kube_client::api::{Patch, PatchParams};
use kube_client::{Api, Client};
use kube_controller::controller::{BuildError, Controller, Watch, predicate};
use kube_informer::SharedInformer;
use kube_informer::object::ObjectName;
use serde_json::json;

/// A controller that says of each Deployment that all replicas it wants are available: what the Deployment controller,
/// the scheduler and the kubelets do together, without any pods.
pub fn availability(
    client: Client,
    deployments: &SharedInformer<Deployment>,
) -> Result<Controller, BuildError> {
    let store = deployments.store().clone();
    Controller::builder("availability")
        .for_(Watch::new(deployments).filter(predicate::generation_changed()))
        .concurrency(2)
        .build(move |request: ObjectName, _| {
            let (client, known) = (client.clone(), store.get(&request.namespace, &request.name));
            async move {
                let Some(deployment) = known else { return Ok(()) };
                let wanted = deployment.spec.replicas.unwrap_or(1);
                let status =
                    json!({"replicas": wanted, "readyReplicas": wanted, "availableReplicas": wanted});
                let api: Api<Deployment> = Api::namespaced(client, &request.namespace);
                let patch = Patch::Merge(json!({ "status": status }));
                api.patch_status(&request.name, &PatchParams::default(), &patch).await?;
                Ok(())
            }
        })
}
