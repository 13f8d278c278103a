//! A copy of one kind, whichever library keeps it: what the steps of the measurements need of it.

use futures::future::BoxFuture;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Node, Pod, Secret};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_client::Client;
use kube_core::{ApiResource, DynamicObject, Resource};
use serde::de::DeserializeOwned;

use super::reads::Read;
use super::{Library, Settings, kube_rs, ours};
use crate::Error;
use crate::replay::Served;

/// A copy of one kind.
pub(super) trait Follower: Send + Sync {
    /// Begins to list and watch.
    fn start(&self) -> Result<(), Error>;

    /// Waits until the copy is complete.
    fn synced(&self) -> BoxFuture<'_, Result<(), Error>>;

    fn len(&self) -> usize;

    /// Adds a handler of updates, and waits until it has heard of the objects that are there.
    fn on_update(&self, handler: UpdateHandler) -> BoxFuture<'_, Result<(), Error>>;

    /// Calls the function once, when handlers have heard of a relist that finds `changed` objects changed.
    fn on_relisted(&self, changed: usize, call: Box<dyn FnOnce() + Send>)
    -> BoxFuture<'_, Result<(), Error>>;

    /// The ways of reading the copy, which is complete.
    fn reads(&self) -> Result<Vec<Read>, Error>;
}

/// Called with the new state of each object that was updated.
pub(super) type UpdateHandler = Box<dyn FnMut(&dyn Updated) + Send>;

/// The new state of an object.
pub(super) trait Updated {
    fn version(&self) -> &str;

    /// Reads one field, and returns the length of its text.
    fn read_field(&self) -> usize;
}

/// A type of objects, with a field that handlers read.
pub(super) trait Measured:
    Resource + DeserializeOwned + Clone + std::fmt::Debug + Send + Sync + 'static
{
    fn field(&self) -> Option<&str>;
}

impl Measured for Pod {
    fn field(&self) -> Option<&str> {
        self.spec.as_ref()?.node_name.as_deref()
    }
}

impl Measured for Node {
    fn field(&self) -> Option<&str> {
        Some(&self.status.as_ref()?.node_info.as_ref()?.kubelet_version)
    }
}

impl Measured for EndpointSlice {
    fn field(&self) -> Option<&str> {
        self.endpoints.as_ref()?.first()?.addresses.first().map(String::as_str)
    }
}

impl Measured for ConfigMap {
    fn field(&self) -> Option<&str> {
        self.data.as_ref()?.values().next().map(String::as_str)
    }
}

impl Measured for Secret {
    fn field(&self) -> Option<&str> {
        self.type_.as_deref()
    }
}

impl Measured for Lease {
    fn field(&self) -> Option<&str> {
        self.spec.as_ref()?.holder_identity.as_deref()
    }
}

impl Measured for Event {
    fn field(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

impl Measured for DynamicObject {
    fn field(&self) -> Option<&str> {
        self.data["spec"]["nodeName"].as_str()
    }
}

/// Makes a copy of each kind that the server has.
pub(super) fn followers(
    settings: &Settings,
    client: &Client,
    kinds: &[Served],
) -> Result<Vec<Box<dyn Follower>>, Error> {
    let follower = |served: &Served| -> Result<Box<dyn Follower>, Error> {
        match served.kind.as_str() {
            "Pod" => Ok(follower::<Pod>(settings, client, ())),
            "Node" => Ok(follower::<Node>(settings, client, ())),
            "EndpointSlice" => Ok(follower::<EndpointSlice>(settings, client, ())),
            "ConfigMap" => Ok(follower::<ConfigMap>(settings, client, ())),
            "Secret" => Ok(follower::<Secret>(settings, client, ())),
            "Lease" => Ok(follower::<Lease>(settings, client, ())),
            "Event" => Ok(follower::<Event>(settings, client, ())),
            kind @ ("Widget" | "Blob") => {
                let resource = ApiResource {
                    group: "bench.example.com".to_owned(),
                    version: "v1".to_owned(),
                    api_version: "bench.example.com/v1".to_owned(),
                    kind: kind.to_owned(),
                    plural: format!("{}s", kind.to_lowercase()),
                };
                Ok(follower::<DynamicObject>(settings, client, resource))
            }
            kind => Err(format!("no type is known for the kind {kind}").into()),
        }
    };
    kinds.iter().map(follower).collect()
}

fn follower<K: kube_rs::Kind>(
    settings: &Settings,
    client: &Client,
    dynamic: K::DynamicType,
) -> Box<dyn Follower> {
    match settings.library {
        Library::KubeRs => Box::new(kube_rs::Reflector::<K>::new(settings, client, dynamic)),
        library => Box::new(ours::Informer::<K>::new(settings, library, client, dynamic)),
    }
}
