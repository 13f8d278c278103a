//! One version of one object, as it rests in memory: encoded once, never changed, shared by everyone.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

/// One version of one object.
///
/// The text is a JSON object without `apiVersion` and `kind`: lists of built-in kinds leave them out, and
/// the same object may be served in several versions. What selectors ask is kept beside it, so that
/// neither a list nor a watch has to parse anything.
#[derive(Debug)]
pub(crate) struct Stored {
    key: Arc<str>,
    namespace_len: u32,
    version: u64,
    labels: Labels,
    /// The values of the kind's selectable fields, in their order, each ended by a NUL.
    fields: Box<str>,
    text: Bytes,
}

/// An object ready to be stored; the store adds the resource version.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) key: Arc<str>,
    /// The object, `metadata` included; `apiVersion` and `kind` are dropped.
    pub(crate) object: Map<String, Value>,
    /// The values of the kind's selectable fields, in their order.
    pub(crate) fields: Vec<String>,
}

/// Labels in one string, which is a third of the size of a map of strings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels(Box<str>);

impl Stored {
    /// Encodes the draft as version `version`.
    pub(super) fn encode(mut draft: Draft, version: u64) -> Self {
        draft.object.remove("apiVersion");
        draft.object.remove("kind");
        let mut labels = Labels::default();
        if let Some(Value::Object(metadata)) = draft.object.get_mut("metadata") {
            if version > 0 {
                metadata.insert("resourceVersion".to_owned(), Value::String(version.to_string()));
            }
            labels = Labels::of(metadata);
        }
        let mut fields = String::new();
        for field in &draft.fields {
            fields.push_str(field);
            fields.push('\0');
        }
        // A map with string keys always has a JSON form; an empty text would only mean an empty object.
        let text = serde_json::to_vec(&draft.object).unwrap_or_default().into_boxed_slice();
        let namespace_len = draft.key.find('/').unwrap_or(0);
        Self {
            namespace_len: u32::try_from(namespace_len).unwrap_or(0),
            key: draft.key,
            version,
            labels,
            fields: fields.into(),
            text: Bytes::from(text),
        }
    }

    /// What a dry run answers: the draft, with the version of the object it would replace.
    pub(crate) fn preview(draft: Draft, version: Option<u64>) -> Self {
        Self::encode(draft, version.unwrap_or(0))
    }

    /// The same object at a later version: what a DELETED event carries.
    pub(crate) fn at_version(&self, version: u64) -> Self {
        let mut object: Map<String, Value> = serde_json::from_slice(&self.text).unwrap_or_default();
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.insert("resourceVersion".to_owned(), Value::String(version.to_string()));
        }
        let text = serde_json::to_vec(&object).unwrap_or_default().into_boxed_slice();
        Self {
            key: Arc::clone(&self.key),
            namespace_len: self.namespace_len,
            version,
            labels: Labels(self.labels.0.clone()),
            fields: self.fields.clone(),
            text: Bytes::from(text),
        }
    }

    /// `namespace/name`; `/name` for cluster-scoped objects.
    pub(crate) fn key(&self) -> &Arc<str> {
        &self.key
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.key[..self.namespace_len as usize]
    }

    pub(crate) fn name(&self) -> &str {
        &self.key[self.namespace_len as usize + 1..]
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The value of the `at`th selectable field of the kind.
    pub(crate) fn field(&self, at: usize) -> &str {
        self.fields.split('\0').nth(at).unwrap_or("")
    }

    /// The JSON text, `{…}`, without `apiVersion` and `kind`.
    pub(crate) fn text(&self) -> &Bytes {
        &self.text
    }

    /// The object, without `apiVersion` and `kind`.
    pub(crate) fn object(&self) -> Map<String, Value> {
        // The text was written by `encode`, so it parses.
        serde_json::from_slice(&self.text).unwrap_or_default()
    }

    /// The object has been asked to go.
    pub(crate) fn is_deleting(&self) -> bool {
        const MARK: &[u8] = b"\"deletionTimestamp\"";
        // Most objects do not have the word in them, and need not be parsed.
        self.text.windows(MARK.len()).any(|window| window == MARK)
            && self.object().get("metadata").is_some_and(|metadata| metadata["deletionTimestamp"].is_string())
    }

    /// What it weighs, in bytes, without the allocator's overhead.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.key.len() + self.labels.0.len() + self.fields.len() + self.text.len()
    }
}

/// The key of an object in its table.
pub(crate) fn object_key(namespace: &str, name: &str) -> Arc<str> {
    format!("{namespace}/{name}").into()
}

impl Labels {
    #[cfg(test)]
    pub(crate) fn new<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut text = String::new();
        for (key, value) in pairs {
            push_pair(&mut text, key, value);
        }
        Self(text.into())
    }

    fn of(metadata: &Map<String, Value>) -> Self {
        let mut text = String::new();
        if let Some(Value::Object(labels)) = metadata.get("labels") {
            for (key, value) in labels {
                push_pair(&mut text, key, value.as_str().unwrap_or(""));
            }
        }
        Self(text.into())
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let mut parts = self.0.split('\0');
        while let (Some(found), Some(value)) = (parts.next(), parts.next()) {
            if found == key {
                return Some(value);
            }
        }
        None
    }
}

fn push_pair(text: &mut String, key: &str, value: &str) {
    text.push_str(key);
    text.push('\0');
    text.push_str(value);
    text.push('\0');
}
