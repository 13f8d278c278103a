//! What is done about a Foo.

use std::fmt;

use k8s_openapi::api::apps::v1::Deployment;
use kube_client::api::{Patch, PatchParams, PostParams};
use kube_client::{Api, Client};
use kube_controller::controller::{Action, Context, ReconcileError, Reconciler};
use kube_controller::events::{Event, EventRecorder};
use kube_core::Resource;
use kube_informer::Object;
use kube_informer::lister::Lister;
use kube_informer::object::ObjectName;
use serde_json::json;

use crate::NAME;
use crate::deployment::{available, is_controlled_by, wanted_by};
use crate::foo::{Foo, FooStatus};
use crate::written::Written;

/// Sees to it that each Foo has its Deployment, and says how many of its replicas are available.
///
/// Every step looks first and does only what is missing, so that it can be cut off anywhere and begun anew.
pub struct Sample {
    pub(crate) client: Client,
    pub(crate) foos: Lister<Foo>,
    pub(crate) deployments: Lister<Deployment>,
    pub(crate) recorder: EventRecorder,
    pub(crate) written: Written,
}

impl Reconciler<ObjectName> for Sample {
    async fn reconcile(&self, request: ObjectName, _: Context) -> Result<Action, ReconcileError> {
        let Ok(foo) = self.foos.namespaced(&request.namespace).get(&request.name) else {
            self.written.forget(&request);
            return Ok(Action::done()); // It is gone, and its Deployment goes with it.
        };
        if foo.metadata.deletion_timestamp.is_some() {
            return Ok(Action::done());
        }
        if foo.spec.deployment_name.is_empty() {
            let note = "spec.deploymentName is empty; say what the Deployment shall be called";
            self.warn(&foo, "ErrInvalidFoo", note.to_owned());
            // Trying again makes no sense before somebody has changed it.
            return Err(ReconcileError::terminal(format!("Foo {request}: {note}")));
        }
        let (deployment, made) = self.deployment(&foo).await?;
        let (deployment, scaled) = self.scale(&foo, deployment).await?;
        let told = self.tell(&request, &foo, available(&deployment)).await?;
        if made || scaled || told {
            self.recorder
                .record(&foo.object_ref(&()), Event::normal("Synced", "Sync", "Foo synced successfully"));
        }
        Ok(Action::done())
    }
}

impl Sample {
    /// The Deployment of a Foo, made if it is not there. An error if somebody else's has its name.
    async fn deployment(&self, foo: &Object<Foo>) -> Result<(Deployment, bool), ReconcileError> {
        let name = foo.spec.deployment_name.as_str();
        let known = self.deployments.namespaced(foo.namespace()).get(name);
        let (deployment, made) = match known {
            Ok(deployment) => (Deployment::clone(&deployment), false),
            Err(_) => match self.api(foo).create(&by_us(), &wanted_by(foo)).await {
                Ok(deployment) => (deployment, true),
                // Somebody was faster, and we have not heard of it yet.
                Err(kube_client::Error::Api(status)) if status.is_already_exists() => {
                    (self.api(foo).get(name).await?, false)
                }
                Err(error) => return Err(error.into()),
            },
        };
        if !is_controlled_by(&deployment, foo) {
            let note = format!("Resource {name:?} already exists and is not managed by Foo");
            self.warn(foo, "ErrResourceExists", note.clone());
            return Err(ReconcileError::new(note));
        }
        Ok((deployment, made))
    }

    /// Gives the Deployment as many replicas as the Foo wants.
    async fn scale(
        &self,
        foo: &Object<Foo>,
        mut deployment: Deployment,
    ) -> Result<(Deployment, bool), ReconcileError> {
        let Some(wanted) = foo.spec.replicas else { return Ok((deployment, false)) };
        if deployment.spec.replicas == Some(wanted) {
            return Ok((deployment, false));
        }
        deployment.spec.replicas = Some(wanted);
        // With the version that was looked at: what others have changed meanwhile is not overwritten.
        let name = foo.spec.deployment_name.as_str();
        Ok((self.api(foo).replace(name, &by_us(), &deployment).await?, true))
    }

    /// Writes down how many replicas are available, if the Foo does not say so yet.
    async fn tell(
        &self,
        request: &ObjectName,
        foo: &Object<Foo>,
        available_replicas: i32,
    ) -> Result<bool, ReconcileError> {
        let status = FooStatus { available_replicas };
        if self.written.status(request, foo).as_ref() == Some(&status) {
            return Ok(false);
        }
        // A patch, and only of the status: it does no harm if the Foo that we know is a moment old.
        let patch = Patch::Merge(json!({ "status": status }));
        let foos: Api<Foo> = Api::namespaced(self.client.clone(), foo.namespace());
        let params = PatchParams { field_manager: Some(NAME.to_owned()), ..PatchParams::default() };
        let answer = foos.patch_status(foo.name(), &params, &patch).await?;
        self.written.note(request, &answer, status);
        Ok(true)
    }

    fn api(&self, foo: &Object<Foo>) -> Api<Deployment> {
        Api::namespaced(self.client.clone(), foo.namespace())
    }

    fn warn(&self, foo: &Object<Foo>, reason: &str, note: String) {
        self.recorder.record(&foo.object_ref(&()), Event::warning(reason, "Sync", note));
    }
}

/// Writes are ours, by name.
fn by_us() -> PostParams {
    PostParams { field_manager: Some(NAME.to_owned()), ..PostParams::default() }
}

impl fmt::Debug for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sample").field("foos", &self.foos).finish_non_exhaustive()
    }
}
