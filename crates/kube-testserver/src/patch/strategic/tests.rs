use serde_json::{Value, json};

use super::*;
use crate::schema::{Schema, builtin};

fn patch(kind: (&str, &str), doc: Value, patch: Value) -> Result<Value, PatchError> {
    strategic_merge_patch(doc, patch, builtin().root(kind.0, kind.1).expect("a known kind"))
}

fn pod(doc: Value, change: Value) -> Result<Value, PatchError> {
    let spec = |value: Value| Value::Object(Fields::from_iter([("spec".to_owned(), value)]));
    let patched = patch(("v1", "Pod"), spec(doc), spec(change))?;
    Ok(patched["spec"].clone())
}

#[test]
fn objects_merge_field_by_field_and_null_deletes() {
    let doc = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"nodeName": "n", "priority": 1}});
    let change =
        json!({"metadata": {"labels": {"b": null, "c": "3"}}, "spec": {"nodeName": null, "hostIPC": null}});
    assert_eq!(
        patch(("v1", "Pod"), doc, change),
        Ok(json!({"metadata": {"labels": {"a": "1", "c": "3"}}, "spec": {"priority": 1}}))
    );
}

#[test]
fn lists_with_a_merge_key_merge_by_it() {
    let doc = json!({"containers": [{"name": "a", "image": "1", "tty": true}, {"name": "b", "image": "1"}]});
    let change = json!({"containers": [{"name": "b", "image": "2"}, {"name": "c"}]});
    assert_eq!(
        pod(doc, change),
        Ok(json!({"containers": [
            {"name": "a", "image": "1", "tty": true}, {"name": "b", "image": "2"}, {"name": "c"}
        ]}))
    );
}

#[test]
fn merge_keys_work_at_every_depth() {
    let doc = json!({"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "1"}]}]});
    let change = json!({"containers": [{"name": "a", "env": [{"name": "Y", "value": "2"}]}]});
    assert_eq!(
        pod(doc, change),
        Ok(json!({"containers": [
            {"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]}
        ]}))
    );
}

#[test]
fn lists_without_a_strategy_are_replaced() {
    let doc = json!({"containers": [{"name": "a", "args": ["1", "2"]}], "tolerations": [{"key": "x"}]});
    let change = json!({"containers": [{"name": "a", "args": ["3"]}], "tolerations": [{"key": "y"}]});
    assert_eq!(
        pod(doc, change),
        Ok(json!({"containers": [{"name": "a", "args": ["3"]}], "tolerations": [{"key": "y"}]}))
    );
}

#[test]
fn lists_of_scalars_with_merge_are_joined() {
    let doc = json!({"metadata": {"finalizers": ["a", "b"]}});
    let change = json!({"metadata": {"finalizers": ["b", "c"]}});
    assert_eq!(patch(("v1", "Pod"), doc, change), Ok(json!({"metadata": {"finalizers": ["a", "b", "c"]}})));
}

#[test]
fn patch_delete_removes_an_element() {
    let doc = json!({"containers": [{"name": "a"}, {"name": "b"}]});
    let change = json!({"containers": [{"name": "a", "$patch": "delete"}]});
    assert_eq!(pod(doc, change), Ok(json!({"containers": [{"name": "b"}]})));
}

#[test]
fn patch_delete_empties_an_object() {
    let doc = json!({"securityContext": {"fsGroup": 1}, "nodeName": "n"});
    let change = json!({"securityContext": {"$patch": "delete"}});
    assert_eq!(pod(doc, change), Ok(json!({"securityContext": {}, "nodeName": "n"})));
}

#[test]
fn patch_replace_replaces_an_object() {
    let doc = json!({"securityContext": {"fsGroup": 1, "runAsUser": 2}});
    let change = json!({"securityContext": {"$patch": "replace", "runAsUser": 3}});
    assert_eq!(pod(doc, change), Ok(json!({"securityContext": {"runAsUser": 3}})));
}

#[test]
fn patch_replace_replaces_a_merged_list() {
    let doc = json!({"containers": [{"name": "a"}, {"name": "b"}]});
    let change = json!({"containers": [{"name": "c"}, {"$patch": "replace"}]});
    assert_eq!(pod(doc, change), Ok(json!({"containers": [{"name": "c"}]})));
}

#[test]
fn patch_merge_and_unknown_directives_are_refused() {
    let doc = json!({"containers": [{"name": "a"}], "securityContext": {"fsGroup": 1}});
    let error = |change| pod(doc.clone(), change).expect_err("refused").to_string();
    assert_eq!(
        error(json!({"containers": [{"name": "a", "$patch": "merge"}]})),
        "merging lists cannot yet be specified in the patch"
    );
    assert_eq!(
        error(json!({"securityContext": {"$patch": "merge", "fsGroup": 2}})),
        "unknown patch type: merge in map: map[$patch:merge fsGroup:2]"
    );
    assert_eq!(
        error(json!({"containers": [{"name": "a", "$patch": "x"}]})),
        "unknown patch type: x in map: map[$patch:x name:a]"
    );
}

#[test]
fn directives_that_find_nothing_leave_no_trace() {
    let change =
        json!({"securityContext": {"$patch": "delete"}, "containers": [{"name": "a", "$patch": "delete"}]});
    assert_eq!(pod(json!({}), change), Ok(json!({"containers": []})));
}

#[test]
fn delete_from_primitive_list_removes_values() {
    let doc = json!({"metadata": {"finalizers": ["a", "b", "c"]}});
    let change =
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["b", "x"], "finalizers": ["d"]}});
    assert_eq!(patch(("v1", "Pod"), doc, change), Ok(json!({"metadata": {"finalizers": ["d", "a", "c"]}})));
    let error =
        patch(("v1", "Pod"), json!({"metadata": {}}), json!({"metadata": {"$deleteFromPrimitiveList": []}}));
    let error = error.expect_err("no field");
    assert_eq!((error.code(), error.to_string()), (400, "invalid patch format of primitive list".to_owned()));
}

#[test]
fn set_element_order_orders_merged_lists() {
    let doc = json!({"containers": [{"name": "a"}, {"name": "live"}, {"name": "b"}]});
    let change = json!({
        "$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}],
        "containers": [{"name": "c"}],
    });
    assert_eq!(
        pod(doc, change),
        Ok(json!({"containers": [{"name": "c"}, {"name": "live"}, {"name": "b"}, {"name": "a"}]}))
    );
}

#[test]
fn set_element_order_counts_added_elements_in_the_room_of_deleted_ones() {
    // What `kubectl apply` sends for one container less and one more; the result is that of Kubernetes.
    let doc = json!({"containers": [{"name": "old"}, {"name": "live"}]});
    let change = json!({
        "$setElementOrder/containers": [{"name": "new"}],
        "containers": [{"name": "new"}, {"name": "old", "$patch": "delete"}],
    });
    assert_eq!(pod(doc, change), Ok(json!({"containers": [{"name": "live"}, {"name": "new"}]})));
}

#[test]
fn set_element_order_works_without_a_change() {
    let doc = json!({"metadata": {"finalizers": ["a", "b", "c"]}});
    let change = json!({"metadata": {"$setElementOrder/finalizers": ["c", "a"]}});
    assert_eq!(patch(("v1", "Pod"), doc, change), Ok(json!({"metadata": {"finalizers": ["b", "c", "a"]}})));
}

#[test]
fn set_element_order_must_list_what_the_patch_has() {
    let doc = json!({"containers": [{"name": "a"}]});
    let change = json!({"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b"}]});
    assert_eq!(
        pod(doc, change).expect_err("b has no place").to_string(),
        "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n"
    );
}

#[test]
fn retain_keys_deletes_what_is_not_listed() {
    let doc = json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
    let change = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    assert_eq!(
        patch(("apps/v1", "Deployment"), doc.clone(), change),
        Ok(json!({"spec": {"strategy": {"type": "Recreate"}}}))
    );
    let change = json!({"spec": {"strategy": {"$retainKeys": [], "type": "Recreate"}}});
    let error = patch(("apps/v1", "Deployment"), doc, change).expect_err("type is not listed");
    assert_eq!((error.code(), error.to_string()), (400, "invalid patch format of retainKeys".to_owned()));
}

#[test]
fn retain_keys_works_in_elements() {
    let doc = json!({"volumes": [{"name": "v", "emptyDir": {}}]});
    let change =
        json!({"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]});
    assert_eq!(pod(doc, change), Ok(json!({"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]})));
}

#[test]
fn elements_without_their_merge_key_are_refused() {
    let doc = json!({"containers": [{"name": "a"}]});
    let error = pod(doc, json!({"containers": [{"image": "x"}]})).expect_err("no name");
    assert_eq!(error.code(), 500);
    assert_eq!(error.to_string(), "map: map[image:x] does not contain declared merge key: name");
}

#[test]
fn only_objects_are_strategic_merge_patches() {
    let error = decode_strategic_merge_patch(b"\"x\"").expect_err("no object");
    assert_eq!(
        error.to_string(),
        "json: cannot unmarshal string into Go value of type map[string]interface {}"
    );
    assert_eq!(decode_strategic_merge_patch(b"null"), Ok(json!({})));
}

#[test]
fn kinds_without_a_schema_are_refused() {
    let mut schema = Schema::default();
    let id = schema.push(Type::Any);
    let error = strategic_merge_patch(json!({}), json!({}), schema.at(id)).expect_err("no schema");
    assert_eq!(
        (error.code(), error.to_string()),
        (400, "strategic merge patch format is not supported".to_owned())
    );
}
