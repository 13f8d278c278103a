//! What makes a revision: the template, its hash, and the numbers that are noted on sets.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The label that tells the pods of one revision from those of another.
pub(super) const HASH_LABEL: &str = "pod-template-hash";

/// The annotation with the number of the revision.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";

/// The annotation with the numbers that a revision had before somebody went back to it.
pub(super) const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";

/// The annotation with the number of replicas that the deployment wanted when it last scaled the set.
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";

/// The annotation with the number of replicas that all sets together could have had then.
pub(super) const MAX: &str = "deployment.kubernetes.io/max-replicas";

/// Annotations of a deployment that are not those of its sets.
const NOT_COPIED: [&str; 5] =
    ["kubectl.kubernetes.io/last-applied-configuration", REVISION, REVISION_HISTORY, DESIRED, MAX];

/// Letters that make no words.
const SAFE: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A short text that differs between templates, and between the tries to find a name that is free.
pub(super) fn hash(template: &PodTemplateSpec, collisions: i32) -> String {
    // Fields come in the order of the type, and maps in that of their keys.
    let text = serde_json::to_string(template).unwrap_or_default();
    let bytes = text.bytes().chain((collisions > 0).then(|| collisions.to_le_bytes()).into_iter().flatten());
    // FNV-1a.
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash.to_string().bytes().map(|digit| char::from(SAFE[usize::from(digit) % SAFE.len()])).collect()
}

/// Whether two templates are the same but for the label that is made of them.
pub(super) fn is_same(one: &PodTemplateSpec, two: &PodTemplateSpec) -> bool {
    let plain = |template: &PodTemplateSpec| {
        let mut template = template.clone();
        if let Some(labels) = template.metadata.as_mut().and_then(|meta| meta.labels.as_mut()) {
            labels.remove(HASH_LABEL);
        }
        template
    };
    plain(one) == plain(two)
}

/// The annotations of a deployment that its sets have too.
pub(super) fn copied(annotations: Option<&BTreeMap<String, String>>) -> BTreeMap<String, String> {
    let copied = annotations.into_iter().flatten().filter(|(key, _)| !NOT_COPIED.contains(&key.as_str()));
    copied.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A number that is noted on a set or a deployment.
pub(super) fn noted<T: std::str::FromStr>(meta: &ObjectMeta, annotation: &str) -> Option<T> {
    meta.annotations.as_ref()?.get(annotation)?.parse().ok()
}

/// Notes something; false if it was noted already.
pub(super) fn note(meta: &mut ObjectMeta, annotation: &str, value: &(impl ToString + ?Sized)) -> bool {
    let value = value.to_string();
    let annotations = meta.annotations.get_or_insert_default();
    if annotations.get(annotation) == Some(&value) {
        return false;
    }
    annotations.insert(annotation.to_owned(), value);
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_that_differ_have_hashes_that_differ_and_so_have_tries() {
        let template = |image: &str| -> PodTemplateSpec {
            serde_json::from_value(json!({"spec": {"containers": [{"name": "main", "image": image}]}}))
                .unwrap()
        };
        assert_eq!(hash(&template("v1"), 0), hash(&template("v1"), 0));
        assert_ne!(hash(&template("v1"), 0), hash(&template("v2"), 0));
        assert_ne!(hash(&template("v1"), 0), hash(&template("v1"), 1));
        assert!(hash(&template("v1"), 0).bytes().all(|byte| SAFE.contains(&byte)));
    }

    #[test]
    fn the_label_that_is_made_of_a_template_is_no_part_of_it() {
        let template = |labels| -> PodTemplateSpec {
            serde_json::from_value(json!({"metadata": {"labels": labels}})).unwrap()
        };
        let plain = template(json!({"app": "web"}));
        assert!(is_same(&plain, &template(json!({"app": "web", HASH_LABEL: "abc"}))));
        assert!(!is_same(&plain, &template(json!({"app": "db"}))));
    }
}
