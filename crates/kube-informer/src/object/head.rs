//! What is readable of an object without looking into it.

use std::sync::Arc;

use arrayvec::ArrayString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::label_set::LabelSet;

/// Keys of so many bytes rest in the object itself: those who look for one find it beside the count of references.
const SHORT: usize = 40;

/// What identifies an object, as the server said it, and its labels. The key comes first: it is what is looked for.
#[repr(C)]
pub(super) struct Head {
    key: Key,
    /// Uid and version.
    text: Box<str>,
    uid_end: u32,
    /// As how many bytes the object arrived; 0 if that is not known.
    arrived_bytes: u32,
    labels: Option<Arc<LabelSet>>,
}

enum Key {
    Short(ArrayString<SHORT>),
    Long(Box<str>),
}

/// What a head is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identity<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) resource_version: &'a str,
}

impl<'a> Identity<'a> {
    pub(super) fn of(meta: &'a ObjectMeta) -> Self {
        let [namespace, name, uid, resource_version] =
            [&meta.namespace, &meta.name, &meta.uid, &meta.resource_version]
                .map(|part| part.as_deref().unwrap_or(""));
        Self { namespace, name, uid, resource_version }
    }
}

impl Head {
    /// What an object's metadata says.
    pub(super) fn of(meta: &ObjectMeta) -> Self {
        Self::new(Identity::of(meta), labels(meta))
    }

    /// Nothing.
    pub(super) fn empty() -> Self {
        Self {
            key: Key::Short(ArrayString::new()),
            text: Box::default(),
            uid_end: 0,
            arrived_bytes: 0,
            labels: None,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.key().is_empty()
    }

    /// What identifies an object, and its labels in order.
    pub(super) fn new<'a>(
        identity: Identity<'_>,
        labels: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Self {
        let Identity { namespace, name, uid, resource_version } = identity;
        let mut text = String::with_capacity(uid.len() + resource_version.len());
        text.extend([uid, resource_version]);
        Self {
            key: Key::new(namespace, name),
            text: text.into(),
            uid_end: place(uid),
            arrived_bytes: 0,
            labels: LabelSet::of(labels),
        }
    }

    /// The same object with other labels.
    pub(super) fn labelled(self, meta: &ObjectMeta) -> Self {
        Self { labels: LabelSet::of(labels(meta)), ..self }
    }

    pub(super) fn arrived_bytes(&self) -> usize {
        self.arrived_bytes as usize
    }

    pub(super) fn arrive_as(&mut self, bytes: usize) {
        self.arrived_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    }

    #[inline]
    pub(super) fn key(&self) -> &str {
        match &self.key {
            Key::Short(key) => key,
            Key::Long(key) => key,
        }
    }

    pub(super) fn uid(&self) -> &str {
        self.text.get(..self.uid_end as usize).unwrap_or("")
    }

    pub(super) fn resource_version(&self) -> &str {
        self.text.get(self.uid_end as usize..).unwrap_or("")
    }

    pub(super) fn labels(&self) -> Option<&LabelSet> {
        self.labels.as_deref()
    }
}

impl Key {
    fn new(namespace: &str, name: &str) -> Self {
        let mut short = ArrayString::new();
        let slash = if namespace.is_empty() { "" } else { "/" };
        let parts = [namespace, slash, name];
        match parts.into_iter().try_for_each(|part| short.try_push_str(part)) {
            Ok(()) => Self::Short(short),
            Err(_) => Self::Long(parts.concat().into()),
        }
    }
}

/// Labels and their values, in order.
fn labels(meta: &ObjectMeta) -> impl Iterator<Item = (&str, &str)> + Clone {
    meta.labels.iter().flatten().map(|(label, value)| (label.as_str(), value.as_str()))
}

/// Where a text ends. Names, uids and versions are far from 4 GiB: what arrives has a limit.
fn place(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}
