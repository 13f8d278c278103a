//! What is readable of an object without looking into it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

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
        Self::with_parts(meta, std::iter::empty)
    }

    /// Nothing.
    pub(super) fn empty() -> Self {
        Self { text: Box::default(), key_end: 0, uid_end: 0, version_end: 0 }
    }

    /// The labels too; none if they could not be taken apart again.
    pub(super) fn with_labels(meta: &ObjectMeta) -> Option<Self> {
        let parts = || meta.labels.iter().flatten().flat_map(|(label, value)| [label, value]);
        (!parts().any(|part| part.contains(SEPARATOR))).then(|| Self::with_parts(meta, parts))
    }

    /// What identifies the object, and then these parts, in a piece of memory of the right size.
    fn with_parts<'a, I: Iterator<Item = &'a String>>(meta: &'a ObjectMeta, parts: impl Fn() -> I) -> Self {
        let [namespace, name, uid, version] =
            [&meta.namespace, &meta.name, &meta.uid, &meta.resource_version]
                .map(|part| part.as_deref().unwrap_or(""));
        let slash = if namespace.is_empty() { "" } else { "/" };
        let fixed = [namespace, slash, name, uid, version].map(str::len).iter().sum::<usize>();
        let rest: usize = parts().map(|part| SEPARATOR.len_utf8() + part.len()).sum();
        let mut text = String::with_capacity(fixed + rest);
        text.extend([namespace, slash, name]);
        let key_end = place(&text);
        text.push_str(uid);
        let uid_end = place(&text);
        text.push_str(version);
        let version_end = place(&text);
        for part in parts() {
            text.push(SEPARATOR);
            text.push_str(part);
        }
        Self { text: text.into(), key_end, uid_end, version_end }
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
