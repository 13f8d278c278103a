//! The Deployment that a Foo wants.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use kube_core::Resource;

use crate::foo::Foo;

/// The Deployment that a Foo wants, controlled by it: when the Foo goes, it goes too.
pub fn wanted_by(foo: &Foo) -> Deployment {
    let name = foo.metadata.name.clone().unwrap_or_default();
    let labels = BTreeMap::from([("app".to_owned(), "nginx".to_owned()), ("controller".to_owned(), name)]);
    let container = Container {
        name: "nginx".to_owned(),
        image: Some("nginx:latest".to_owned()),
        ..Container::default()
    };
    let owner = foo.controller_owner_ref(&());
    Deployment {
        metadata: ObjectMeta {
            name: Some(foo.spec.deployment_name.clone()),
            namespace: foo.metadata.namespace.clone(),
            owner_references: owner
                .map(|owner| vec![OwnerReference { block_owner_deletion: Some(true), ..owner }]),
            ..ObjectMeta::default()
        },
        spec: DeploymentSpec {
            replicas: foo.spec.replicas,
            selector: LabelSelector { match_labels: Some(labels.clone()), ..LabelSelector::default() },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
                spec: Some(PodSpec { containers: vec![container], ..PodSpec::default() }),
            },
            ..DeploymentSpec::default()
        },
        status: None,
    }
}

/// Whether a Foo controls a Deployment: this one, and not another that had its name.
pub fn is_controlled_by(deployment: &Deployment, foo: &Foo) -> bool {
    let mut owners = deployment.metadata.owner_references.iter().flatten();
    let controller = owners.find(|owner| owner.controller == Some(true));
    controller.is_some_and(|owner| Some(&owner.uid) == foo.metadata.uid.as_ref())
}

/// How many replicas are available.
pub fn available(deployment: &Deployment) -> i32 {
    deployment.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}
