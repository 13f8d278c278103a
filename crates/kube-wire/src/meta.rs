//! Which object a piece is about, read without decoding the rest.

use serde::Deserialize;

use crate::json;
use crate::object::DecodeOptions;

/// What identifies one version of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ObjectKey {
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// The object's uid; empty if the server sent none.
    pub uid: String,
    /// The version; empty if the server sent none.
    pub resource_version: String,
}

impl ObjectKey {
    /// A key of its parts.
    pub fn new(
        namespace: impl Into<String>,
        name: impl Into<String>,
        uid: impl Into<String>,
        resource_version: impl Into<String>,
    ) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            uid: uid.into(),
            resource_version: resource_version.into(),
        }
    }
}

/// Reads the key of an object; none if there is no readable metadata with a name.
///
/// It works where decoding does not: an object with a field of an unexpected type still has a name, and whoever
/// cannot decode it can say which one it was.
pub fn peek_key(object: &[u8]) -> Option<ObjectKey> {
    let object: Object = match std::str::from_utf8(object) {
        Ok(text) => json::from_text(text, DecodeOptions::default()).ok()?,
        // What is no text may have a name all the same.
        Err(_) => serde_json::from_slice(object).ok()?,
    };
    let metadata = object.metadata;
    (!metadata.name.is_empty()).then_some(ObjectKey {
        namespace: metadata.namespace,
        name: metadata.name,
        uid: metadata.uid,
        resource_version: metadata.resource_version,
    })
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    resource_version: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_read_whatever_the_rest_looks_like() {
        let key = peek_key(
            br#"{"spec":{"replicas":"three"},"metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"7","labels":5}}"#,
        );
        let key = key.unwrap();
        assert_eq!((key.namespace.as_str(), key.name.as_str()), ("b", "a"));
        assert_eq!((key.uid.as_str(), key.resource_version.as_str()), ("c", "7"));
        assert_eq!(peek_key(br#"{"metadata":{"name":"n"}}"#).unwrap().namespace, "");
    }

    #[test]
    fn what_has_no_name_has_no_key() {
        for text in ["{}", "[]", r#"{"metadata":{}}"#, r#"{"metadata":{"name":5}}"#, "{", ""] {
            assert_eq!(peek_key(text.as_bytes()), None, "{text}");
        }
    }
}
