//! Tables of the server's own settings: definitions, API services, admission, flow control.

use serde_json::{Value, json};

use super::cell::{NONE, UNSET, at, condition, condition_is_true, count, flag, join, list, number, text};
use super::column::{AGE, CREATED_AT, Column, NAME, boolean, integer, string};

pub(super) const DEFINITIONS: &[Column] = &[
    NAME,
    string("Scope", "Whether objects live in namespaces.", |crd, _| json!(text(crd, "/spec/scope"))),
    string("Versions", "The versions that are served.", |crd, _| json!(versions(crd))),
    CREATED_AT,
    string("Group", "The API group.", |crd, _| json!(text(crd, "/spec/group"))).wide(),
    string("Kind", "The kind of the objects.", |crd, _| json!(text(crd, "/spec/names/kind"))).wide(),
    string("ShortNames", "The short names.", |crd, _| {
        json!(join(list(crd, "/spec/names/shortNames").iter().map(super::cell::plain), ","))
    })
    .wide(),
    boolean("Established", "Whether objects can be made.", |crd, _| {
        json!(condition_is_true(crd, "Established"))
    })
    .wide(),
];

fn versions(crd: &Value) -> String {
    let served = list(crd, "/spec/versions").iter().filter(|version| flag(version, "/served"));
    let mut names: Vec<String> = served
        .map(|version| {
            let storage = if flag(version, "/storage") { "(storage)" } else { "" };
            format!("{}{storage}", text(version, "/name"))
        })
        .collect();
    names.sort_unstable();
    names.join(",")
}

pub(super) const API_SERVICES: &[Column] = &[
    NAME,
    string("Service", "The service that answers, or this server.", |object, _| {
        json!(match at(object, "/spec/service") {
            Value::Null => "Local".to_owned(),
            service => format!("{}/{}", text(service, "/namespace"), text(service, "/name")),
        })
    }),
    string("Available", "Whether the API can be used.", |object, _| {
        let Some(available) = condition(object, "Available") else { return json!("Unknown") };
        json!(match (text(available, "/status"), text(available, "/reason")) {
            (status @ "True", _) | (status, "") => status.to_owned(),
            (status, reason) => format!("{status} ({reason})"),
        })
    }),
    AGE,
];

pub(super) const WEBHOOKS: &[Column] = &[
    NAME,
    integer("Webhooks", "How many webhooks there are.", |object, _| json!(count(object, "/webhooks"))),
    AGE,
];

const PARAM_KIND: Column = string("ParamKind", "The kind of the policy's parameters.", |policy, _| {
    json!(match at(policy, "/spec/paramKind") {
        Value::Null => UNSET.to_owned(),
        kind => format!("{}/{}", text(kind, "/apiVersion"), text(kind, "/kind")),
    })
});

pub(super) const VALIDATING_POLICIES: &[Column] = &[
    NAME,
    integer("Validations", "How many rules there are.", |policy, _| {
        json!(count(policy, "/spec/validations"))
    }),
    PARAM_KIND,
    AGE,
];

pub(super) const MUTATING_POLICIES: &[Column] = &[
    NAME,
    integer("Mutations", "How many changes are made.", |policy, _| json!(count(policy, "/spec/mutations"))),
    PARAM_KIND,
    AGE,
];

pub(super) const POLICY_BINDINGS: &[Column] = &[
    NAME,
    string("PolicyName", "The policy that is put to use.", |binding, _| {
        json!(text(binding, "/spec/policyName"))
    }),
    string("ParamRef", "The object with the parameters.", |binding, _| json!(param(binding))),
    AGE,
];

fn param(binding: &Value) -> String {
    let param = at(binding, "/spec/paramRef");
    match (text(param, "/namespace"), text(param, "/name")) {
        (_, "") => UNSET.to_owned(),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

pub(super) const FLOW_SCHEMAS: &[Column] = &[
    NAME,
    string("PriorityLevel", "The level that matching requests get.", |schema, _| {
        json!(text(schema, "/spec/priorityLevelConfiguration/name"))
    }),
    string("MatchingPrecedence", "Lower goes first.", |schema, _| {
        json!(number(schema, "/spec/matchingPrecedence"))
    }),
    string("DistinguisherMethod", "What tells flows apart.", |schema, _| {
        json!(at(schema, "/spec/distinguisherMethod/type").as_str().unwrap_or(NONE))
    }),
    AGE,
    string("MissingPL", "Whether the level does not exist.", |schema, _| {
        json!(condition(schema, "Dangling").map_or("?", |dangling| text(dangling, "/status")))
    }),
];

pub(super) const PRIORITY_LEVELS: &[Column] = &[
    NAME,
    string("Type", "Whether requests are limited.", |level, _| json!(text(level, "/spec/type"))),
    string("NominalConcurrencyShares", "The share of what can be done at once.", |level, _| {
        or_none(at(level, "/spec/limited/nominalConcurrencyShares"))
    }),
    string("Queues", "How many queues there are.", |level, _| {
        or_none(at(level, "/spec/limited/limitResponse/queuing/queues"))
    }),
    string("HandSize", "How many queues a flow is spread over.", |level, _| {
        or_none(at(level, "/spec/limited/limitResponse/queuing/handSize"))
    }),
    string("QueueLengthLimit", "How many requests a queue takes.", |level, _| {
        or_none(at(level, "/spec/limited/limitResponse/queuing/queueLengthLimit"))
    }),
    AGE,
];

fn or_none(value: &Value) -> Value {
    if value.is_null() { json!(NONE) } else { value.clone() }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::columns_for;
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0);

    #[test]
    fn definitions_show_what_is_served() {
        let crd = json!({"metadata": {"name": "w.x.y", "creationTimestamp": "2023-01-01T00:00:00Z"},
            "spec": {"scope": "Cluster", "group": "x.y", "names": {"kind": "W", "shortNames": ["a", "b"]},
                "versions": [{"name": "v2", "served": true, "storage": true}, {"name": "v1", "served": true},
                    {"name": "v0", "served": false}]},
            "status": {"conditions": [{"type": "Established", "status": "True"}]}});
        let columns = columns_for("apiextensions.k8s.io", "customresourcedefinitions", None);
        assert_eq!(
            json!(columns.cells(&crd, NOW)),
            json!(["w.x.y", "Cluster", "v1,v2(storage)", "2023-01-01T00:00:00Z", "x.y", "W", "a,b", true])
        );
    }

    #[test]
    fn api_services_say_why_they_are_away() {
        let service =
            |conditions: Value| json!({"metadata": {"name": "a"}, "status": {"conditions": conditions}});
        let columns = columns_for("apiregistration.k8s.io", "apiservices", None);
        let away = json!([{"type": "Available", "status": "False", "reason": "Missing"}]);
        assert_eq!(columns.cells(&service(away), NOW)[2], "False (Missing)");
        assert_eq!(columns.cells(&service(json!([])), NOW)[1..3], [json!("Local"), json!("Unknown")]);
    }
}
