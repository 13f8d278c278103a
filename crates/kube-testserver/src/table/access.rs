//! Tables of who may do what.

use serde_json::{Value, json};

use super::age::duration;
use super::cell::{NONE, at, join, labels, list, text, text_or};
use super::column::{AGE, Column, NAME, string};

pub(super) const BINDINGS: &[Column] = &[
    NAME,
    string("Role", "The role that is granted.", |binding, _| {
        json!(format!("{}/{}", text(binding, "/roleRef/kind"), text(binding, "/roleRef/name")))
    }),
    AGE,
    string("Users", "The users that have the role.", |binding, _| json!(subjects(binding, "User"))).wide(),
    string("Groups", "The groups that have the role.", |binding, _| json!(subjects(binding, "Group"))).wide(),
    string("ServiceAccounts", "The service accounts that have the role.", |binding, _| {
        json!(subjects(binding, "ServiceAccount"))
    })
    .wide(),
];

fn subjects(binding: &Value, kind: &str) -> String {
    let subjects = list(binding, "/subjects").iter().filter(|subject| subject["kind"] == kind);
    let names = subjects.map(|subject| match kind {
        "ServiceAccount" => format!("{}/{}", text(subject, "/namespace"), text(subject, "/name")),
        _ => text(subject, "/name").to_owned(),
    });
    join(names, ", ")
}

pub(super) const SIGNING_REQUESTS: &[Column] = &[
    NAME,
    AGE,
    string("SignerName", "Who is to sign.", |request, _| json!(text_or(request, "/spec/signerName", NONE))),
    string("Requestor", "Who asks.", |request, _| json!(text(request, "/spec/username"))),
    string("RequestedDuration", "For how long the certificate is to be valid.", |request, _| {
        json!(at(request, "/spec/expirationSeconds").as_i64().map_or_else(|| NONE.to_owned(), duration))
    }),
    string("Condition", "What has become of the request.", |request, _| json!(request_state(request))),
];

fn request_state(request: &Value) -> String {
    let has = |ty: &str| list(request, "/status/conditions").iter().any(|condition| condition["type"] == ty);
    let mut states = vec![if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    }];
    if has("Failed") {
        states.push("Failed");
    }
    if !text(request, "/status/certificate").is_empty() {
        states.push("Issued");
    }
    states.join(",")
}

pub(super) const TRUST_BUNDLES: &[Column] = &[
    NAME,
    string("SignerName", "Whose certificates the bundle vouches for.", |bundle, _| {
        json!(text_or(bundle, "/spec/signerName", NONE))
    }),
];

pub(super) const POD_CERTIFICATES: &[Column] = &[
    NAME,
    string("PodName", "The pod that asks.", |request, _| json!(text(request, "/spec/podName"))),
    string("ServiceAccountName", "The service account of the pod.", |request, _| {
        json!(text(request, "/spec/serviceAccountName"))
    }),
    string("NodeName", "The node of the pod.", |request, _| json!(text(request, "/spec/nodeName"))),
    string("SignerName", "Who is to sign.", |request, _| json!(text(request, "/spec/signerName"))),
    string("State", "What has become of the request.", |request, _| {
        let states = ["Issued", "Denied", "Failed"];
        let last = list(request, "/status/conditions").iter().rev().map(|condition| text(condition, "/type"));
        json!(last.into_iter().find(|ty| states.contains(ty)).unwrap_or("Pending"))
    }),
    string("UnverifiedUserAnnotations", "What the pod says beyond that.", |request, _| {
        json!(labels(at(request, "/spec/unverifiedUserAnnotations")))
    }),
];

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::columns_for;
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0);

    #[test]
    fn bindings_name_their_subjects_by_kind() {
        let binding = json!({"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": [
            {"kind": "User", "name": "u"}, {"kind": "User", "name": "v"},
            {"kind": "ServiceAccount", "namespace": "n", "name": "s"}]});
        let columns = columns_for("rbac.authorization.k8s.io", "rolebindings", None);
        assert_eq!(
            json!(columns.cells(&binding, NOW)),
            json!(["b", "Role/r", "<unknown>", "u, v", "", "n/s"])
        );
    }

    #[test]
    fn requests_say_what_became_of_them() {
        let request = json!({"status": {"conditions": [{"type": "Approved"}], "certificate": "YQ=="}});
        assert_eq!(request_state(&request), "Approved,Issued");
        assert_eq!(request_state(&json!({})), "Pending");
    }
}
