//! What apply does, as its callers see it.

mod custom;
mod recorded;
mod updates;

use serde_json::{Value, json};

use super::*;
use crate::schema::builtin;

const T0: &str = "2026-01-01T00:00:00Z";
const T1: &str = "2026-01-01T00:00:01Z";
const T2: &str = "2026-01-01T00:00:02Z";

fn deployment_type() -> TypeRef<'static> {
    builtin().root("apps/v1", "Deployment").expect("a known kind")
}

fn applier<'a>(name: &'a str, time: &'a str) -> Manager<'a> {
    Manager { name, operation: Operation::Apply, api_version: "apps/v1", subresource: "", time }
}

fn updater<'a>(name: &'a str, time: &'a str) -> Manager<'a> {
    Manager { operation: Operation::Update, ..applier(name, time) }
}

/// A deployment with these fields in its spec.
fn deployment(spec: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
}

fn containers(items: &Value) -> Value {
    deployment(&json!({"template": {"spec": {"containers": items}}}))
}

fn run(live: Option<&Value>, config: &Value, manager: &str, time: &str) -> Result<Value, ApplyError> {
    apply(live, config, deployment_type(), &applier(manager, time), false, &ResetFields::of_object())
}

fn force(live: &Value, config: &Value, manager: &str, time: &str) -> Value {
    let manager = applier(manager, time);
    apply(Some(live), config, deployment_type(), &manager, true, &ResetFields::of_object()).expect("forced")
}

fn update(live: Option<&Value>, mut new: Value, manager: &str, time: &str) -> Value {
    track_update(live, &mut new, deployment_type(), &updater(manager, time), &ResetFields::of_object());
    new
}

fn created(config: &Value) -> Value {
    run(None, config, "alice", T0).expect("created")
}

/// The object without its managed fields.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    take_managed_fields(&mut object);
    object
}

fn owned<'a>(object: &'a Value, manager: &str) -> &'a Value {
    let entries = object["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().find(|entry| entry["manager"] == manager).map_or(&Value::Null, |entry| &entry["fieldsV1"])
}

fn time_of<'a>(object: &'a Value, manager: &str) -> &'a Value {
    let entries = object["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().find(|entry| entry["manager"] == manager).map_or(&Value::Null, |entry| &entry["time"])
}

#[test]
fn apply_creates_and_owns_what_it_mentions() {
    let object = created(&deployment(&json!({"replicas": 1})));
    assert_eq!(
        object["metadata"]["managedFields"],
        json!([{"manager": "alice", "operation": "Apply", "apiVersion": "apps/v1", "time": T0,
                "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}])
    );
}

#[test]
fn apply_changes_what_it_owns() {
    let live = created(&deployment(&json!({"replicas": 1})));
    let object =
        run(Some(&live), &deployment(&json!({"replicas": 2, "paused": true})), "alice", T1).expect("mine");
    assert_eq!(object["spec"], json!({"replicas": 2, "paused": true}));
    assert_eq!(owned(&object, "alice"), &json!({"f:spec": {"f:replicas": {}, "f:paused": {}}}));
    assert_eq!(time_of(&object, "alice"), T1);
}

#[test]
fn applying_the_same_again_changes_nothing() {
    let config = deployment(&json!({"replicas": 1}));
    let live = created(&config);
    assert_eq!(run(Some(&live), &config, "alice", T1), Ok(live));
}

#[test]
fn changing_what_another_owns_is_a_conflict() {
    let live = created(&deployment(&json!({"replicas": 1, "paused": true})));
    let error = run(Some(&live), &deployment(&json!({"replicas": 2})), "bob", T1).expect_err("conflict");
    assert_eq!(error.to_string(), "Apply failed with 1 conflict: conflict with \"alice\": .spec.replicas");
    assert_eq!((error.code(), error.reason()), (409, "Conflict"));
    let causes = error.causes();
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].reason, "FieldManagerConflict");
    assert_eq!(causes[0].message, "conflict with \"alice\"");
    assert_eq!(causes[0].field, ".spec.replicas");
}

#[test]
fn several_conflicts_are_listed_by_manager() {
    let live = created(&containers(&json!([{"name": "a", "image": "1"}])));
    let mut changed = live.clone();
    changed["spec"]["replicas"] = json!(3);
    changed["spec"]["paused"] = json!(true);
    let live = update(Some(&live), changed, "tool", T1);
    let mut config = containers(&json!([{"name": "a", "image": "2"}]));
    config["spec"]["replicas"] = json!(4);
    config["spec"]["paused"] = json!(false);
    let error = run(Some(&live), &config, "bob", T2).expect_err("conflicts");
    assert_eq!(
        error.to_string(),
        "Apply failed with 3 conflicts: conflicts with \"alice\":\n\
         - .spec.template.spec.containers[name=\"a\"].image\n\
         conflicts with \"tool\" using apps/v1:\n- .spec.paused\n- .spec.replicas"
    );
}

#[test]
fn force_takes_fields_from_their_owner() {
    let live = created(&deployment(&json!({"replicas": 1, "paused": true})));
    let object = force(&live, &deployment(&json!({"replicas": 2})), "bob", T1);
    assert_eq!(object["spec"], json!({"replicas": 2, "paused": true}));
    assert_eq!(owned(&object, "alice"), &json!({"f:spec": {"f:paused": {}}}));
    assert_eq!(time_of(&object, "alice"), T0);
    assert_eq!(owned(&object, "bob"), &json!({"f:spec": {"f:replicas": {}}}));
}

#[test]
fn a_field_that_is_not_applied_any_more_is_removed() {
    let live = created(&deployment(&json!({"replicas": 1, "paused": true})));
    let object = run(Some(&live), &deployment(&json!({"replicas": 1})), "alice", T1).expect("mine");
    assert_eq!(object["spec"], json!({"replicas": 1}));
    assert_eq!(owned(&object, "alice"), &json!({"f:spec": {"f:replicas": {}}}));
}

#[test]
fn equal_values_are_shared_and_stay_until_the_last_owner_leaves() {
    let live = created(&deployment(&json!({"replicas": 1, "paused": true})));
    let live = run(Some(&live), &deployment(&json!({"replicas": 1})), "bob", T1).expect("the same value");
    assert_eq!(owned(&live, "alice"), &json!({"f:spec": {"f:replicas": {}, "f:paused": {}}}));
    assert_eq!(owned(&live, "bob"), &json!({"f:spec": {"f:replicas": {}}}));
    let live = run(Some(&live), &deployment(&json!({"paused": true})), "alice", T2).expect("gives up");
    assert_eq!(live["spec"], json!({"replicas": 1, "paused": true}));
    let live = run(Some(&live), &deployment(&json!({"minReadySeconds": 1})), "bob", T2).expect("gives up");
    assert_eq!(live["spec"], json!({"paused": true, "minReadySeconds": 1}));
}

#[test]
fn a_manager_that_only_agrees_has_no_time() {
    let config = deployment(&json!({"replicas": 1}));
    let object = run(Some(&created(&config)), &config, "bob", T1).expect("agrees");
    assert_eq!(owned(&object, "bob"), &json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(time_of(&object, "bob"), &Value::Null);
}

#[test]
fn list_items_that_are_not_applied_any_more_are_removed() {
    let live = created(&containers(&json!([{"name": "a", "image": "1"}, {"name": "b", "image": "1"}])));
    let object =
        run(Some(&live), &containers(&json!([{"name": "b", "image": "1"}])), "alice", T1).expect("mine");
    assert_eq!(bare(&object), containers(&json!([{"name": "b", "image": "1"}])));
}

#[test]
fn list_items_of_others_stay() {
    let live = created(&containers(&json!([{"name": "a", "image": "1"}])));
    let live =
        run(Some(&live), &containers(&json!([{"name": "b", "image": "1"}])), "bob", T1).expect("no conflict");
    assert_eq!(bare(&live), containers(&json!([{"name": "a", "image": "1"}, {"name": "b", "image": "1"}])));
    let object = run(Some(&live), &deployment(&json!({"replicas": 1})), "alice", T2).expect("mine");
    assert_eq!(object["spec"]["template"]["spec"]["containers"], json!([{"name": "b", "image": "1"}]));
}

#[test]
fn the_owner_of_an_emptied_field_keeps_it() {
    let labelled = |labels: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d", "labels": labels}})
    };
    let live = update(None, labelled(json!({"a": "1"})), "tool", T0);
    let live = force(&live, &labelled(json!({"a": "2"})), "alice", T1);
    assert_eq!(owned(&live, "tool"), &json!({"f:metadata": {"f:labels": {}}}));
    let object = run(Some(&live), &deployment(&json!({"replicas": 1})), "alice", T2).expect("mine");
    assert_eq!(object["metadata"].get("labels"), None);
    assert_eq!(owned(&object, "tool"), &json!({"f:metadata": {"f:labels": {}}}));
}

#[test]
fn set_items_have_owners_of_their_own() {
    let config = |finalizers: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d", "finalizers": finalizers}})
    };
    let live = created(&config(json!(["a", "b"])));
    let live = run(Some(&live), &config(json!(["c"])), "bob", T1).expect("no conflict");
    assert_eq!(live["metadata"]["finalizers"], json!(["a", "b", "c"]));
    assert_eq!(owned(&live, "bob"), &json!({"f:metadata": {"f:finalizers": {"v:\"c\"": {}}}}));
    let live = run(Some(&live), &config(json!(["b"])), "alice", T2).expect("mine");
    assert_eq!(live["metadata"]["finalizers"], json!(["b", "c"]));
}

#[test]
fn atomic_lists_are_owned_and_conflict_as_a_whole() {
    let live = created(&containers(&json!([{"name": "a", "args": ["1", "2"]}])));
    let config = containers(&json!([{"name": "a", "args": ["1", "3"]}]));
    let error = run(Some(&live), &config, "bob", T1).expect_err("conflict");
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"alice\": .spec.template.spec.containers[name=\"a\"].args"
    );
    let object = force(&live, &config, "bob", T1);
    assert_eq!(bare(&object), config);
}

#[test]
fn objects_without_owners_belong_to_before_first_apply() {
    let live = deployment(&json!({"replicas": 1, "paused": true}));
    let error = run(Some(&live), &deployment(&json!({"replicas": 2})), "alice", T1).expect_err("conflict");
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using apps/v1: .spec.replicas"
    );
    let object = force(&live, &deployment(&json!({"replicas": 2})), "alice", T1);
    assert_eq!(owned(&object, "before-first-apply"), &json!({"f:spec": {"f:paused": {}}}));
}

#[test]
fn managed_fields_in_a_configuration_are_refused() {
    let mut config = deployment(&json!({}));
    config["metadata"]["managedFields"] = json!([]);
    let error = run(None, &config, "alice", T0).expect_err("refused");
    assert_eq!((error.code(), error.to_string()), (400, "metadata.managedFields must be nil".to_owned()));
}

#[test]
fn a_configuration_of_another_version_is_refused() {
    let config = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}});
    let error = run(None, &config, "alice", T0).expect_err("refused");
    assert_eq!((error.code(), error.to_string()), (400, "invalid object type: /v1, Kind=Pod".to_owned()));
}

#[test]
fn a_configuration_that_does_not_fit_the_schema_is_refused() {
    let error = run(None, &deployment(&json!({"foo": 1})), "alice", T0).expect_err("refused");
    assert_eq!(error.code(), 500);
    assert_eq!(
        error.to_string(),
        "failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.foo: field not declared in \
         schema"
    );
}

#[test]
fn kubectl_takes_over_what_its_annotation_explains() {
    let annotation = deployment(&json!({"replicas": 1, "paused": true})).to_string();
    let mut live = deployment(&json!({"replicas": 1, "paused": true}));
    live["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": annotation});
    let live = update(None, live, "kubectl-client-side-apply", T0);
    let config = deployment(&json!({"replicas": 2, "paused": true}));
    assert!(run(Some(&live), &config, "alice", T1).is_err());
    let object = run(Some(&live), &config, "kubectl", T1).expect("explained");
    assert_eq!(object["spec"]["replicas"], 2);
    let annotation = &object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
    assert_eq!(annotation.as_str().expect("text"), format!("{config}\n"));
}
