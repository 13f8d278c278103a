//! How much of the metadata a projection reads.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// How much of the metadata a [`Projection`](super::Projection) reads: [`Whole`] or [`Brief`].
pub trait Metadata: Closed + 'static {
    /// What is read.
    #[doc(hidden)]
    type Read: DeserializeOwned + Into<ObjectMeta>;
}

/// There are two, and no more.
pub trait Closed {}

/// All of the metadata.
#[derive(Clone, Copy, Debug)]
pub enum Whole {}

/// What identifies an object, its labels, its generation, and since when it is being deleted. The rest is passed over unread,
/// and looks as if it were not there: annotations, owners, finalizers, and when the object was created.
///
/// Do not replace an object on the server by such a one: what was not read would be taken away. A controller that looks for
/// the owners of what changes needs the [whole](Whole).
#[derive(Clone, Copy, Debug)]
pub enum Brief {}

impl Closed for Whole {}

impl Closed for Brief {}

impl Metadata for Whole {
    type Read = ObjectMeta;
}

impl Metadata for Brief {
    type Read = BriefMetadata;
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BriefMetadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
}

impl From<BriefMetadata> for ObjectMeta {
    fn from(brief: BriefMetadata) -> Self {
        Self {
            name: brief.name,
            namespace: brief.namespace,
            uid: brief.uid,
            resource_version: brief.resource_version,
            generation: brief.generation,
            deletion_timestamp: brief.deletion_timestamp,
            labels: brief.labels,
            ..Self::default()
        }
    }
}
