//! How much of the metadata a projection reads.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};

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
    labels: Option<Labels>,
}

/// Labels come in order, so that a map of all of them needs no search for the place of each.
struct Labels(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut all = Vec::with_capacity(map.size_hint().unwrap_or(0).min(MANY_LABELS));
                while let Some(label) = map.next_entry()? {
                    all.push(label);
                }
                Ok(Labels(all.into_iter().collect()))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// For no more labels than this memory is taken before they are there.
const MANY_LABELS: usize = 64;

impl From<BriefMetadata> for ObjectMeta {
    fn from(brief: BriefMetadata) -> Self {
        Self {
            name: brief.name,
            namespace: brief.namespace,
            uid: brief.uid,
            resource_version: brief.resource_version,
            generation: brief.generation,
            deletion_timestamp: brief.deletion_timestamp,
            labels: brief.labels.map(|Labels(labels)| labels),
            ..Self::default()
        }
    }
}
