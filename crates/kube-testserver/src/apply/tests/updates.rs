//! What every other write does to the owners of fields.

use super::*;

#[test]
fn an_update_takes_what_it_changes() {
    let live = created(&deployment(&json!({"replicas": 1, "paused": true})));
    let mut new = live.clone();
    new["spec"]["replicas"] = json!(5);
    let object = update(Some(&live), new, "tool", T1);
    assert_eq!(owned(&object, "alice"), &json!({"f:spec": {"f:paused": {}}}));
    assert_eq!(owned(&object, "tool"), &json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(time_of(&object, "tool"), T1);
}

#[test]
fn apply_after_an_update_conflicts_with_it() {
    let config = deployment(&json!({"replicas": 1}));
    let live = created(&config);
    let mut new = live.clone();
    new["spec"]["replicas"] = json!(5);
    let live = update(Some(&live), new, "tool", T1);
    let error = run(Some(&live), &config, "alice", T2).expect_err("conflict");
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"tool\" using apps/v1: .spec.replicas"
    );
    assert_eq!(force(&live, &config, "alice", T2)["spec"]["replicas"], 1);
}

#[test]
fn fields_that_an_update_removes_belong_to_nobody() {
    let live = created(&deployment(&json!({"replicas": 1, "paused": true})));
    let mut new = live.clone();
    new["spec"] = json!({"paused": true});
    let object = update(Some(&live), new, "tool", T1);
    assert_eq!(owned(&object, "alice"), &json!({"f:spec": {"f:paused": {}}}));
    assert_eq!(owned(&object, "tool"), &Value::Null);
}

#[test]
fn an_update_without_a_change_leaves_everything_as_it_is() {
    let live = created(&deployment(&json!({"replicas": 1})));
    let mut new = live.clone();
    new["metadata"]["resourceVersion"] = json!("7");
    assert_eq!(update(Some(&live), new.clone(), "tool", T1), new);
}

#[test]
fn a_client_that_drops_managed_fields_does_not_lose_them() {
    let live = created(&deployment(&json!({"replicas": 1})));
    assert_eq!(update(Some(&live), bare(&live), "tool", T1), live);
}

#[test]
fn an_empty_list_forgets_all_owners() {
    let live = created(&deployment(&json!({"replicas": 1})));
    for reset in [json!([]), json!([{}])] {
        let mut new = live.clone();
        new["metadata"]["managedFields"] = reset;
        new["spec"]["replicas"] = json!(2);
        let object = update(Some(&live), new, "tool", T1);
        assert_eq!(object["metadata"].get("managedFields"), None);
        let again = update(Some(&object), deployment(&json!({"replicas": 3})), "tool", T2);
        assert_eq!(again["metadata"].get("managedFields"), None);
    }
}

#[test]
fn managed_fields_that_make_no_sense_are_ignored() {
    let live = created(&deployment(&json!({"replicas": 1})));
    let mut new = live.clone();
    new["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Nonsense"}]);
    assert_eq!(update(Some(&live), new, "tool", T1), live);
}

#[test]
fn managed_fields_can_be_edited_but_not_through_a_subresource() {
    let live = created(&deployment(&json!({"replicas": 1})));
    let mut new = live.clone();
    new["metadata"]["managedFields"][0]["manager"] = json!("renamed");
    let edited = update(Some(&live), new.clone(), "tool", T1);
    assert_eq!(owned(&edited, "renamed"), &json!({"f:spec": {"f:replicas": {}}}));
    let manager = Manager { subresource: "status", ..updater("tool", T1) };
    track_update(Some(&live), &mut new, deployment_type(), &manager, &ResetFields::of_status("Deployment"));
    assert_eq!(new, live);
}

#[test]
fn create_gives_everything_to_its_manager() {
    let object = update(None, containers(&json!([{"name": "a", "image": "1"}])), "tool", T0);
    assert_eq!(
        owned(&object, "tool"),
        &json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {
            "k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:image": {}}
        }}}}})
    );
}

#[test]
fn the_status_endpoint_gives_status_only() {
    let live = update(None, deployment(&json!({"replicas": 1})), "tool", T0);
    let mut new = live.clone();
    new["status"] = json!({"replicas": 1, "conditions": [{"type": "Available", "status": "True"}]});
    new["spec"]["replicas"] = json!(9);
    let manager = Manager { subresource: "status", ..updater("controller", T1) };
    track_update(Some(&live), &mut new, deployment_type(), &manager, &ResetFields::of_status("Deployment"));
    let entry = &new["metadata"]["managedFields"][1];
    assert_eq!(entry["subresource"], "status");
    assert_eq!(
        entry["fieldsV1"],
        json!({"f:status": {"f:replicas": {}, "f:conditions": {".": {}, "k:{\"type\":\"Available\"}": {
            ".": {}, "f:type": {}, "f:status": {}
        }}}})
    );
}

#[test]
fn the_main_endpoint_never_gives_status() {
    let mut config = deployment(&json!({"replicas": 1}));
    config["status"] = json!({"replicas": 1});
    assert_eq!(owned(&created(&config), "alice"), &json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(owned(&update(None, config, "tool", T0), "tool"), &json!({"f:spec": {"f:replicas": {}}}));
}

#[test]
fn the_eleventh_updater_puts_the_oldest_together() {
    let mut object = update(None, deployment(&json!({"replicas": 0})), "m00", T0);
    for n in 1..12 {
        let mut new = object.clone();
        new["metadata"]["labels"][format!("l{n}")] = json!("x");
        object = update(Some(&object), new, &format!("m{n:02}"), &format!("2026-01-01T00:00:{n:02}Z"));
    }
    let entries = object["metadata"]["managedFields"].as_array().expect("entries");
    assert_eq!(entries.len(), 10);
    assert_eq!(entries[0]["manager"], "ancient-changes");
    assert_eq!(
        entries[0]["fieldsV1"],
        json!({"f:spec": {"f:replicas": {}}, "f:metadata": {"f:labels": {".": {}, "f:l1": {}, "f:l2": {}}}})
    );
}

#[test]
fn a_manager_that_applies_and_updates_has_two_entries() {
    let live = created(&deployment(&json!({"replicas": 1})));
    let mut new = live.clone();
    new["spec"]["paused"] = json!(true);
    let object = update(Some(&live), new, "alice", T1);
    let operations: Vec<&Value> = object["metadata"]["managedFields"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|entry| &entry["operation"])
        .collect();
    assert_eq!(operations, ["Apply", "Update"]);
}

#[test]
fn times_are_kept_if_nothing_else_is_new() {
    let live = created(&deployment(&json!({"replicas": 1})));
    let mut new = live.clone();
    new["metadata"]["managedFields"][0]["time"] = json!(T2);
    new["metadata"]["resourceVersion"] = json!("9");
    keep_times(&live, &mut new);
    assert_eq!(time_of(&new, "alice"), T0);
    new["metadata"]["managedFields"][0]["time"] = json!(T2);
    new["spec"]["replicas"] = json!(2);
    keep_times(&live, &mut new);
    assert_eq!(time_of(&new, "alice"), T2);
}
