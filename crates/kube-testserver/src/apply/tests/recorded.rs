//! Sequences of requests with the owners that a kube-apiserver 1.37.1 named after them.

use super::*;
use crate::schema::{Schema, Type};

/// The managed fields as `(manager, operation, fields)`.
fn owners(object: &Value) -> Vec<(&str, &str, &Value)> {
    let entries = object["metadata"]["managedFields"].as_array().expect("owners");
    entries
        .iter()
        .map(|entry| {
            let text = |key: &str| entry[key].as_str().expect("text");
            (text("manager"), text("operation"), &entry["fieldsV1"])
        })
        .collect()
}

#[test]
fn a_deployment_with_three_appliers_and_an_updater() {
    let config = |replicas: u8, web: Value| {
        deployment(&json!({"replicas": replicas, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [web]}}}))
    };
    let web = json!({"name": "web", "image": "x:1", "args": ["1"], "env": [{"name": "A", "value": "1"}],
        "ports": [{"containerPort": 80}, {"containerPort": 9090, "name": "m"}]});
    let live = created(&config(1, web));
    assert_eq!(
        owners(&live),
        [(
            "alice",
            "Apply",
            &json!({"f:spec": {"f:replicas": {}, "f:selector": {}, "f:template": {
                "f:metadata": {"f:labels": {"f:a": {}}},
                "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {
                    ".": {}, "f:args": {}, "f:image": {}, "f:name": {},
                    "f:env": {"k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}}},
                    "f:ports": {
                        "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}},
                        "k:{\"containerPort\":9090,\"protocol\":\"TCP\"}":
                            {".": {}, "f:containerPort": {}, "f:name": {}},
                    },
                }}},
            }}})
        )]
    );

    let other = config(2, json!({"name": "web", "image": "x:2", "args": ["2"]}));
    assert_eq!(
        run(Some(&live), &other, "bob", T1).expect_err("conflicts").to_string(),
        "Apply failed with 3 conflicts: conflicts with \"alice\":\n- .spec.replicas\n\
         - .spec.template.spec.containers[name=\"web\"].args\n\
         - .spec.template.spec.containers[name=\"web\"].image"
    );
    let live = run(Some(&live), &deployment(&json!({"replicas": 1})), "bob", T1).expect("agrees");
    let less =
        config(1, json!({"name": "web", "image": "x:1", "ports": [{"containerPort": 9090, "name": "m"}]}));
    let live = run(Some(&live), &less, "alice", T1).expect("mine");
    let live = force(&live, &deployment(&json!({"replicas": 3})), "carol", T1);
    let mut new = live.clone();
    new["spec"]["replicas"] = json!(7);
    new["spec"]["paused"] = json!(true);
    let live = update(Some(&live), new, "tool", T2);
    assert_eq!(
        owners(&live),
        [
            (
                "alice",
                "Apply",
                &json!({"f:spec": {"f:selector": {}, "f:template": {
                    "f:metadata": {"f:labels": {"f:a": {}}},
                    "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {
                        ".": {}, "f:image": {}, "f:name": {},
                        "f:ports": {"k:{\"containerPort\":9090,\"protocol\":\"TCP\"}":
                            {".": {}, "f:containerPort": {}, "f:name": {}}},
                    }}},
                }}})
            ),
            ("tool", "Update", &json!({"f:spec": {"f:paused": {}, "f:replicas": {}}})),
        ]
    );
    assert_eq!(
        live["spec"]["template"]["spec"]["containers"],
        json!([{"name": "web", "image": "x:1", "ports": [{"containerPort": 9090, "name": "m"}]}])
    );
}

#[test]
fn ports_conflict_in_the_order_of_their_numbers() {
    let ports = |target: u16| {
        let port = |number: u16| json!({"port": number, "protocol": "TCP", "targetPort": target});
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
               "spec": {"ports": [port(80), port(10000), port(9000)]}})
    };
    let ty = builtin().root("v1", "Service").expect("a known kind");
    let mut live = ports(1);
    let maker = Manager { api_version: "v1", ..updater("maker", T0) };
    track_update(None, &mut live, ty, &maker, &ResetFields::of_object());
    let alice = Manager { api_version: "v1", ..applier("alice", T1) };
    let error = apply(Some(&live), &ports(2), ty, &alice, false, &ResetFields::of_object());
    assert_eq!(
        error.expect_err("conflicts").to_string(),
        "Apply failed with 3 conflicts: conflicts with \"maker\" using v1:\n\
         - .spec.ports[port=80,protocol=\"TCP\"].targetPort\n\
         - .spec.ports[port=9000,protocol=\"TCP\"].targetPort\n\
         - .spec.ports[port=10000,protocol=\"TCP\"].targetPort"
    );
}

#[test]
fn without_a_schema_an_emptied_object_becomes_null() {
    let mut schema = Schema::default();
    let ty = schema.push(Type::Any);
    let ty = schema.at(ty);
    let step = |live: Option<&Value>, spec: Value, manager: &str| {
        let config =
            json!({"apiVersion": "example.com/v1", "kind": "Loose", "metadata": {"name": "l"}, "spec": spec});
        let manager = Manager { api_version: "example.com/v1", ..applier(manager, T0) };
        apply(live, &config, ty, &manager, false, &ResetFields::none()).expect("no conflict")
    };
    let live = step(None, json!({"a": {"b": 1, "c": 2}, "l": [1, {"x": 1}], "e": {}}), "alice");
    let live = step(Some(&live), json!({"a": {}}), "bob");
    assert_eq!(live["spec"], json!({"a": {"b": 1, "c": 2}, "e": {}, "l": [1, {"x": 1}]}));
    let live = step(Some(&live), json!({"a": {"b": 1}}), "alice");
    assert_eq!(live["spec"], json!({"a": {"b": 1}}));
    let live = step(Some(&live), json!({}), "alice");
    assert_eq!(live["spec"], json!({"a": null}));
}
