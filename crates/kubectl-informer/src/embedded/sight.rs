//! How far things are, as informers know it.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kube_client::Resource;
use kube_client::core::Selector;
use kube_informer::fanout::Event;
use kube_informer::lister::Lister;
use kube_informer::{Object, SharedInformerFactory};
use sample_controller::deployment::is_controlled_by;
use sample_controller::foo::Foo;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::programs::ProgramsError;

/// What can be seen of Foos and of all that is made for them.
pub(super) struct Sight {
    foos: Lister<Foo>,
    deployments: Lister<Deployment>,
    sets: Lister<ReplicaSet>,
    pods: Lister<Pod>,
    changed: watch::Receiver<()>,
}

impl Sight {
    pub(super) fn new(factory: &SharedInformerFactory) -> Result<Self, ProgramsError> {
        let (change, changed) = watch::channel(());
        notice::<Foo>(factory, &change)?;
        notice::<Deployment>(factory, &change)?;
        notice::<ReplicaSet>(factory, &change)?;
        notice::<Pod>(factory, &change)?;
        Ok(Self {
            foos: factory.lister()?,
            deployments: factory.lister()?,
            sets: factory.lister()?,
            pods: factory.lister()?,
            changed,
        })
    }

    /// Waits until something is so.
    pub(super) async fn until(&mut self, is_so: impl Fn(&Self) -> bool) {
        loop {
            self.changed.mark_unchanged();
            if is_so(self) {
                return;
            }
            if self.changed.changed().await.is_err() {
                // The informers are gone, and with them the cluster.
                return std::future::pending().await;
            }
        }
    }

    /// A Foo has its Deployment with so many pods of an image, all of them available, and says so.
    pub(super) fn has(&self, namespace: &str, name: &str, replicas: i32, image: &str) -> bool {
        let Ok(foo) = self.foos.namespaced(namespace).get(name) else { return false };
        let Ok(deployment) = self.deployments.namespaced(namespace).get(&foo.spec.deployment_name) else {
            return false;
        };
        let told = foo.status.as_ref().is_some_and(|status| status.available_replicas == replicas);
        let containers = deployment.spec.template.spec.iter().flat_map(|spec| &spec.containers);
        let images = containers.map(|container| container.image.as_deref());
        told && is_controlled_by(&deployment, &foo)
            && images.eq([Some(image)])
            && is_complete(&deployment, replicas)
            && self.pods(namespace, name).len() == usize::try_from(replicas).unwrap_or(0)
    }

    /// Nothing is left of a Foo, nor of what was made for it.
    pub(super) fn is_gone(&self, namespace: &str, name: &str) -> bool {
        self.foos.namespaced(namespace).get(name).is_err()
            && self.deployments.namespaced(namespace).get(name).is_err()
            && made_for(&self.sets, namespace, name).is_empty()
            && self.pods(namespace, name).is_empty()
    }

    /// The pods that were made for a Foo, also those that are about to end.
    pub(super) fn pods(&self, namespace: &str, foo: &str) -> Vec<Object<Pod>> {
        made_for(&self.pods, namespace, foo)
    }
}

/// Has it noticed when anything of a kind happens.
fn notice<K>(factory: &SharedInformerFactory, change: &watch::Sender<()>) -> Result<(), ProgramsError>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
{
    let change = change.clone();
    factory.of::<K>()?.add_event_handler(move |_: Event<K>| {
        change.send_replace(());
    })?;
    Ok(())
}

/// What bears the label by which sample-controller marks what belongs to a Foo.
fn made_for<K: Resource>(lister: &Lister<K>, namespace: &str, foo: &str) -> Vec<Object<K>> {
    let mut all = lister.namespaced(namespace).list(&Selector::default());
    all.retain(|one| one.labels().get("controller") == Some(foo));
    all
}

/// All replicas are there, of the latest template, and available.
fn is_complete(deployment: &Deployment, replicas: i32) -> bool {
    let Some(status) = &deployment.status else { return false };
    let seen = [status.replicas, status.updated_replicas, status.available_replicas];
    status.observed_generation == deployment.metadata.generation
        && deployment.spec.replicas == Some(replicas)
        && seen == [Some(replicas); 3]
}
