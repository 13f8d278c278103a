//! What is readable of a packed object without decoding it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::key;

/// What stands between the parts. Kubernetes has it in no name, uid, version or label.
const SEPARATOR: char = '\0';

/// An object's key, and, if it rests packed, its uid, version and labels: in one piece of memory.
pub(super) struct Head {
    /// The key, and then, each after a separator: uid, version, label, value, label, value, …
    text: Box<str>,
    key_length: u32,
}

impl Head {
    /// The key alone.
    pub(super) fn key_of(meta: &ObjectMeta) -> Self {
        let text = key(meta.namespace.as_deref().unwrap_or(""), meta.name.as_deref().unwrap_or(""));
        let key_length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        Self { text: text.into(), key_length }
    }

    /// Everything; none if it cannot be taken apart again.
    pub(super) fn of(meta: &ObjectMeta) -> Option<Self> {
        let mut text = key(meta.namespace.as_deref().unwrap_or(""), meta.name.as_deref().unwrap_or(""));
        let key_length = u32::try_from(text.len()).ok()?;
        let labels = meta.labels.iter().flatten().flat_map(|(label, value)| [label.as_str(), value.as_str()]);
        let rest = [meta.uid.as_deref().unwrap_or(""), meta.resource_version.as_deref().unwrap_or("")];
        let mut separators = 0;
        for part in rest.into_iter().chain(labels) {
            text.push(SEPARATOR);
            text.push_str(part);
            separators += 1;
        }
        let clear = text.matches(SEPARATOR).count() == separators;
        clear.then(|| Self { text: text.into(), key_length })
    }

    pub(super) fn key(&self) -> &str {
        self.text.get(..self.key_length as usize).unwrap_or(&self.text)
    }

    pub(super) fn uid(&self) -> &str {
        self.rest().next().unwrap_or("")
    }

    pub(super) fn resource_version(&self) -> &str {
        self.rest().nth(1).unwrap_or("")
    }

    /// Labels and values, in the order of labels.
    pub(super) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut parts = self.rest().skip(2);
        std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
    }

    /// What follows the key.
    fn rest(&self) -> impl Iterator<Item = &str> {
        let rest = self.text.get(self.key_length as usize + 1..);
        rest.into_iter().flat_map(|rest| rest.split(SEPARATOR))
    }
}
