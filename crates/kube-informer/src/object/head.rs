//! What is readable of an object without looking into it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::key;

/// What stands between labels. Kubernetes has it in none.
const SEPARATOR: char = '\0';

/// What identifies an object, as the server said it, and, if it rests packed, its labels: in one piece of memory.
pub(super) struct Head {
    /// Key, uid and version, and then, each after a separator: label, value, label, value, …
    text: Box<str>,
    key_end: u32,
    uid_end: u32,
    version_end: u32,
}

impl Head {
    /// Key, uid and version.
    pub(super) fn of(meta: &ObjectMeta) -> Self {
        let mut text = key(meta.namespace.as_deref().unwrap_or(""), meta.name.as_deref().unwrap_or(""));
        let key_end = place(&text);
        text.push_str(meta.uid.as_deref().unwrap_or(""));
        let uid_end = place(&text);
        text.push_str(meta.resource_version.as_deref().unwrap_or(""));
        let version_end = place(&text);
        Self { text: text.into(), key_end, uid_end, version_end }
    }

    /// Nothing.
    pub(super) fn empty() -> Self {
        Self { text: Box::default(), key_end: 0, uid_end: 0, version_end: 0 }
    }

    /// The labels too; none if they could not be taken apart again.
    pub(super) fn with_labels(meta: &ObjectMeta) -> Option<Self> {
        let mut head = Self::of(meta);
        let mut text = String::from(head.text);
        for part in meta.labels.iter().flatten().flat_map(|(label, value)| [label, value]) {
            if part.contains(SEPARATOR) {
                return None;
            }
            text.push(SEPARATOR);
            text.push_str(part);
        }
        head.text = text.into();
        Some(head)
    }

    pub(super) fn key(&self) -> &str {
        self.part(0, self.key_end)
    }

    pub(super) fn uid(&self) -> &str {
        self.part(self.key_end, self.uid_end)
    }

    pub(super) fn resource_version(&self) -> &str {
        self.part(self.uid_end, self.version_end)
    }

    /// Labels and values, in the order of labels.
    pub(super) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.text.get(self.version_end as usize..).unwrap_or("");
        let mut parts = labels.split(SEPARATOR).skip(1);
        std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
    }

    fn part(&self, start: u32, end: u32) -> &str {
        self.text.get(start as usize..end as usize).unwrap_or("")
    }
}

/// Where a text ends. Names, uids and versions are far from 4 GiB: what arrives has a limit.
fn place(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}
