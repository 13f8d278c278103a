//! The type that the controller is for. `deploy/crd.yaml` is its definition.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{NamespaceResourceScope, Resource};
use serde::{Deserialize, Serialize};

/// There shall be a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Foo {
    /// What every object has.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default)]
    pub spec: FooSpec,
    /// What is there; none before the controller has looked at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<FooStatus>,
}

/// What is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FooSpec {
    /// What the Deployment is called.
    pub deployment_name: String,
    /// How many replicas it shall have; none for as many as it likes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

/// What is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FooStatus {
    /// How many replicas of the Deployment are available.
    pub available_replicas: i32,
}

impl Resource for Foo {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Foo".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "samplecontroller.k8s.io".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1alpha1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "foos".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

kube_informer::accessors! {
    /// `samplecontroller.k8s.io`: with this in scope a factory has `samplecontroller().v1alpha1().foos()`.
    pub trait SampleController: samplecontroller {
        v1alpha1 { foos: Foo }
    }
}
