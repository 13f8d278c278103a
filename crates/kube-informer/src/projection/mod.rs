//! Informers of a few fields: everything else is passed over unread.
//!
//! A projection is a plain struct with the fields that matter, and [`Projection`] makes it something that can be
//! informed on: it adds the metadata, and knows which kind the fields are of. What the struct does not name is skipped
//! while decoding, from JSON and protobuf alike, and does not stay in memory: projections rest decoded, whatever the
//! [residency](crate::object::Residency).
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use kube_informer::projection::Projection;
//! use kube_informer::{SharedInformer, source::KubeSource};
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct Placement {
//!     spec: Spec,
//! }
//!
//! #[derive(Deserialize)]
//! #[serde(rename_all = "camelCase")]
//! struct Spec {
//!     node_name: Option<String>,
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = kube_testserver::TestServer::start().await?;
//! # server.seed("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: n1, containers: [{name: c, image: i}]}}")?;
//! # let client = server.client()?;
//! let pods = SharedInformer::new(KubeSource::<Projection<Pod, Placement>>::all(client, &()));
//! pods.start();
//! assert!(pods.synced().await);
//! let web = pods.store().get("default", "web").unwrap();
//! assert_eq!(web.spec.node_name.as_deref(), Some("n1"));
//! assert_eq!(web.metadata.name.as_deref(), Some("web"));
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! What a struct does not name it does not hear of: in protobuf `#[serde(deny_unknown_fields)]` refuses nothing, and a
//! `Deserialize` by hand has to give `deserialize_struct` the names of all its fields, or none.
//!
//! Who needs no more of the metadata than what an informer does, leaves the rest of it unread too: with
//! `Projection<Pod, Placement, Brief>` annotations, owners and finalizers are passed over ([`Brief`]).

mod brief;

pub use brief::{Brief, Metadata, Whole};

use std::any::type_name;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;
use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// Some fields of a kind: its metadata, all of it or in [brief](Brief), and those that `P` names. Derefs to `P`.
#[derive(Serialize)]
#[serde(bound(serialize = "P: Serialize"))]
pub struct Projection<K, P, M = Whole> {
    /// What every object has, as far as `M` reads it.
    pub metadata: ObjectMeta,
    /// The fields that matter.
    #[serde(flatten)]
    pub fields: P,
    #[serde(skip)]
    kind: PhantomData<fn() -> (K, M)>,
}

impl<K, P, M> Projection<K, P, M> {
    /// An object of its parts.
    pub fn new(metadata: ObjectMeta, fields: P) -> Self {
        Self { metadata, fields, kind: PhantomData }
    }
}

impl<K, P: Clone, M> Clone for Projection<K, P, M> {
    fn clone(&self) -> Self {
        Self::new(self.metadata.clone(), self.fields.clone())
    }
}

impl<K, P: PartialEq, M> PartialEq for Projection<K, P, M> {
    fn eq(&self, other: &Self) -> bool {
        self.metadata == other.metadata && self.fields == other.fields
    }
}

impl<K, P: fmt::Debug, M> fmt::Debug for Projection<K, P, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Projection").field("metadata", &self.metadata).field("fields", &self.fields).finish()
    }
}

impl<K, P, M> Deref for Projection<K, P, M> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.fields
    }
}

impl<K: Resource, P, M> Resource for Projection<K, P, M> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(kind: &K::DynamicType) -> Cow<'_, str> {
        K::kind(kind)
    }

    fn group(kind: &K::DynamicType) -> Cow<'_, str> {
        K::group(kind)
    }

    fn version(kind: &K::DynamicType) -> Cow<'_, str> {
        K::version(kind)
    }

    fn plural(kind: &K::DynamicType) -> Cow<'_, str> {
        K::plural(kind)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl<'de, K, P: Deserialize<'de>, M: Metadata> Deserialize<'de> for Projection<K, P, M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData))
    }
}

/// Whether a type is a projection: the bytes of the whole object are not to be kept for it.
pub(crate) fn is_projection<K>() -> bool {
    let name = |name: &'static str| name.split_once('<').map_or(name, |(name, _)| name);
    name(type_name::<K>()) == name(type_name::<Projection<(), ()>>())
}

struct Fields<T>(PhantomData<fn() -> T>);

impl<'de, K, P: Deserialize<'de>, M: Metadata> Visitor<'de> for Fields<Projection<K, P, M>> {
    type Value = Projection<K, P, M>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut metadata: Option<M::Read> = None;
        let fields =
            P::deserialize(MapAccessDeserializer::new(WithoutMetadata { map, metadata: &mut metadata }))?;
        Ok(Projection::new(metadata.map(Into::into).unwrap_or_default(), fields))
    }
}

/// The members of an object, without the metadata, which is put aside.
struct WithoutMetadata<'a, A, M> {
    map: A,
    metadata: &'a mut Option<M>,
}

impl<'de, A: MapAccess<'de>, M: Deserialize<'de>> MapAccess<'de> for WithoutMetadata<'_, A, M> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        while let Some(Name(name)) = self.map.next_key()? {
            if name == "metadata" {
                *self.metadata = Some(self.map.next_value()?);
            } else {
                return seed.deserialize(CowStrDeserializer::new(name)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// The name of a member, copied only if it must be.
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }

            fn visit_string<E>(self, name: String) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name)))
            }
        }

        deserializer.deserialize_identifier(Text)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube_wire::{DecodeOptions, decode_object};

    use super::*;

    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    struct Placement {
        spec: Spec,
        #[serde(default)]
        status: Option<Status>,
    }

    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        node_name: Option<String>,
    }

    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    struct Status {
        phase: String,
    }

    type Slim = Projection<Pod, Placement>;

    #[test]
    fn the_named_fields_come_with_the_metadata_and_the_rest_is_passed_over() {
        for text in [
            r#"{"kind":"Pod","metadata":{"name":"a","managedFields":[1]},"spec":{"nodeName":"n","containers":7},"status":{"phase":"Running","x":[]}}"#,
            r#"{"status":{"phase":"Running"},"spec":{"x":{"y":1},"nodeName":"n"},"metadata":{"name":"a"}}"#,
        ] {
            let pod: Slim = decode_object(text.as_bytes(), DecodeOptions::default()).unwrap();
            assert_eq!(pod.metadata.name.as_deref(), Some("a"));
            assert_eq!(pod.spec.node_name.as_deref(), Some("n"));
            assert_eq!(pod.status.as_ref().unwrap().phase, "Running");
        }
    }

    #[test]
    fn in_brief_there_is_of_the_metadata_what_an_informer_needs() {
        let meta = r#"{"annotations":7,"creationTimestamp":7,"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":7,"generation":3,"labels":{"tier":"1","app":"old","zone":"z","app":"web"},"managedFields":7,"name":"a","namespace":"b","ownerReferences":7,"resourceVersion":"5","uid":"u"}"#;
        let text = format!(r#"{{"metadata":{meta},"spec":{{"nodeName":"n"}}}}"#);
        type Short = Projection<Pod, Placement, Brief>;
        let pod: Short = decode_object(text.as_bytes(), DecodeOptions::default()).unwrap();
        let meta = pod.meta();
        let texts = [&meta.name, &meta.namespace, &meta.uid, &meta.resource_version];
        assert_eq!(texts.map(|text| text.as_deref().unwrap()), ["a", "b", "u", "5"]);
        assert_eq!((meta.generation, meta.labels.as_ref().unwrap().len()), (Some(3), 3));
        let labels = meta.labels.iter().flatten().map(|(label, value)| (label.as_str(), value.as_str()));
        assert!(labels.eq([("app", "web"), ("tier", "1"), ("zone", "z")]), "in order, and the last of two");
        assert!(meta.deletion_timestamp.is_some() && meta.annotations.is_none());
        assert!(
            decode_object::<Slim>(text.as_bytes(), DecodeOptions::default()).is_err(),
            "the whole is read"
        );
        assert!(is_projection::<Short>() && is_projection::<Slim>() && !is_projection::<Pod>());
    }

    #[test]
    fn it_is_of_the_kind_that_it_projects() {
        assert_eq!((Slim::kind(&()), Slim::plural(&())), ("Pod".into(), "pods".into()));
        assert_eq!(Slim::url_path(&(), Some("a")), "/api/v1/namespaces/a/pods");
        let text = r#"{"metadata":{"name":"a"},"spec":{"nodeName":"n"},"status":null}"#;
        let pod: Slim = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&pod).unwrap(), text);
    }

    #[test]
    fn fields_that_do_not_fit_are_an_error_with_the_name_of_the_object() {
        let text = br#"{"metadata":{"name":"a","namespace":"b"},"spec":{"nodeName":7}}"#;
        let error = decode_object::<Slim>(text, DecodeOptions::default()).unwrap_err();
        assert_eq!(error.key.unwrap().name, "a");
    }
}
