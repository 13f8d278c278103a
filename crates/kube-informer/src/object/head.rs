//! What is readable of an object without looking into it.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::label_set::LabelSet;

/// What identifies an object, as the server said it, and its labels.
pub(super) struct Head {
    /// Key, uid and version.
    text: Box<str>,
    key_end: u32,
    uid_end: u32,
    labels: Option<Arc<LabelSet>>,
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
        Self { text: Box::default(), key_end: 0, uid_end: 0, labels: None }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.key_end == 0
    }

    /// What identifies an object, and its labels in order.
    pub(super) fn new<'a>(
        identity: Identity<'_>,
        labels: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Self {
        let Identity { namespace, name, uid, resource_version } = identity;
        let slash = if namespace.is_empty() { "" } else { "/" };
        let parts = [namespace, slash, name, uid, resource_version];
        let mut text = String::with_capacity(parts.map(str::len).iter().sum());
        text.extend([namespace, slash, name]);
        let key_end = place(&text);
        text.push_str(uid);
        let uid_end = place(&text);
        text.push_str(resource_version);
        Self { text: text.into(), key_end, uid_end, labels: LabelSet::of(labels) }
    }

    /// The same object with other labels.
    pub(super) fn labelled(self, meta: &ObjectMeta) -> Self {
        Self { labels: LabelSet::of(labels(meta)), ..self }
    }

    #[inline]
    pub(super) fn key(&self) -> &str {
        self.part(0, self.key_end)
    }

    pub(super) fn uid(&self) -> &str {
        self.part(self.key_end, self.uid_end)
    }

    pub(super) fn resource_version(&self) -> &str {
        self.text.get(self.uid_end as usize..).unwrap_or("")
    }

    pub(super) fn labels(&self) -> Option<&LabelSet> {
        self.labels.as_deref()
    }

    #[inline]
    fn part(&self, start: u32, end: u32) -> &str {
        self.text.get(start as usize..end as usize).unwrap_or("")
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
