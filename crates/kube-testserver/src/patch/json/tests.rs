use serde_json::json;

use super::work::MAX_DEPTH;
use super::*;

fn run(doc: &Value, patch: &Value) -> Result<Value, PatchError> {
    json_patch(doc, patch.to_string().as_bytes())
}

#[test]
fn every_operation_works() {
    let doc = json!({"a": 1, "list": ["x", "y"], "b": {"c": 2}});
    let patch = json!([
        {"op": "test", "path": "/a", "value": 1},
        {"op": "add", "path": "/list/1", "value": "new"},
        {"op": "add", "path": "/list/-", "value": "last"},
        {"op": "remove", "path": "/list/0"},
        {"op": "replace", "path": "/a", "value": 5},
        {"op": "move", "from": "/b/c", "path": "/moved"},
        {"op": "copy", "from": "/list", "path": "/copied"},
    ]);
    assert_eq!(
        run(&doc, &patch),
        Ok(json!({"a": 5, "list": ["new", "y", "last"], "b": {}, "moved": 2,
                  "copied": ["new", "y", "last"]}))
    );
}

#[test]
fn escaped_path_segments_name_keys_with_slashes() {
    let doc = json!({"metadata": {"labels": {"example.com/a~b": "1"}}});
    let patch = json!([{"op": "remove", "path": "/metadata/labels/example.com~1a~0b"}]);
    assert_eq!(run(&doc, &patch), Ok(json!({"metadata": {"labels": {}}})));
}

#[test]
fn a_failing_test_is_unprocessable() {
    let error = run(&json!({"a": 1}), &json!([{"op": "test", "path": "/a", "value": 2}]));
    let error = error.expect_err("the test fails");
    assert_eq!(error.code(), 422);
    assert_eq!(error.to_string(), "the server rejected our request due to an error in our request");
}

#[test]
fn a_missing_path_is_unprocessable() {
    for op in ["remove", "replace", "add", "test"] {
        let patch = json!([{"op": op, "path": "/a/b", "value": 1}]);
        assert_eq!(run(&json!({}), &patch).expect_err("no such path").code(), 422, "{op}");
    }
    assert_eq!(run(&json!({}), &json!([{"op": "remove", "path": "/a"}])).expect_err("no field").code(), 422);
    assert_eq!(run(&json!({}), &json!([{"op": "add"}])).expect_err("no path").code(), 422);
}

#[test]
fn replacing_a_field_that_is_not_there_adds_it() {
    assert_eq!(run(&json!({}), &json!([{"op": "replace", "path": "/a", "value": 1}])), Ok(json!({"a": 1})));
}

#[test]
fn a_missing_value_is_null() {
    assert_eq!(run(&json!({}), &json!([{"op": "add", "path": "/a"}])), Ok(json!({"a": null})));
}

#[test]
fn an_unknown_operation_is_unprocessable() {
    assert_eq!(run(&json!({}), &json!([{"op": "frob", "path": "/a"}])).expect_err("unknown").code(), 422);
}

#[test]
fn a_missing_field_tests_equal_to_null() {
    let doc = json!({"a": 1});
    assert!(run(&doc, &json!([{"op": "test", "path": "/b/c", "value": null}])).is_err());
    assert_eq!(run(&doc, &json!([{"op": "test", "path": "/b", "value": null}])), Ok(doc));
}

#[test]
fn negative_positions_count_from_the_end() {
    let patch = json!([{"op": "replace", "path": "/list/-1", "value": 9}]);
    assert_eq!(run(&json!({"list": [1, 2]}), &patch), Ok(json!({"list": [1, 9]})));
}

#[test]
fn a_patch_that_is_not_a_list_is_a_bad_request() {
    let error = run(&json!({}), &json!({"a": 1})).expect_err("not a list");
    assert_eq!(error.code(), 400);
    assert!(error.to_string().starts_with("error decoding patch: json: cannot unmarshal object"));
    assert_eq!(
        run(&json!({}), &json!([1])).expect_err("no operation").to_string(),
        "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"
    );
    assert_eq!(json_patch(&json!({}), b"null"), Ok(json!({})));
    assert_eq!(json_patch(&json!({}), b"[").expect_err("not JSON").to_string(), "invalid JSON patch");
}

#[test]
fn the_number_of_operations_is_limited() {
    let one = json!({"op": "test", "path": "/a", "value": 1});
    let error = run(&json!({"a": 1}), &Value::Array(vec![one; MAX_OPERATIONS + 1])).expect_err("too many");
    assert_eq!(error.code(), 413);
    assert_eq!(
        error.to_string(),
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}

#[test]
fn copies_cannot_grow_without_bound() {
    let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let error = run(&json!({"a": ["0123456789"]}), &Value::Array(vec![double; 100])).expect_err("too big");
    assert_eq!(error.code(), 422);
}

#[test]
fn operations_cannot_nest_without_bound() {
    let deeper = (1..200).map(|n| json!({"op": "add", "path": "/a".repeat(n), "value": {}})).collect();
    assert_eq!(run(&json!({}), &Value::Array(deeper)).expect_err("too deep").code(), 422);
}

/// What a patch took off each budget: bytes copied, values visited, elements shifted.
fn spent(doc: &Value, patch: &Value) -> [usize; 3] {
    let left = |work: &Work| [work.copied_bytes_left, work.visited_values_left, work.shifted_elements_left];
    let mut work = Work::on(doc);
    let before = left(&work);
    patched(doc, patch.to_string().as_bytes(), &mut work).expect("within the budget");
    let after = left(&work);
    std::array::from_fn(|at| before[at] - after[at])
}

fn map_of(keys: usize) -> Value {
    (0..keys).map(|key| (key.to_string(), Value::Null)).collect()
}

/// A patch of two operations in turn.
fn alternating(first: &Value, second: &Value, times: usize) -> Value {
    std::iter::repeat_n([first, second], times).flatten().cloned().collect()
}

#[test]
fn moves_do_not_visit_what_they_move() {
    let there = json!({"op": "move", "from": "/a", "path": "/b"});
    let back = json!({"op": "move", "from": "/b", "path": "/a"});
    let moves = |count: usize| alternating(&there, &back, count / 2);
    assert_eq!(spent(&json!({"a": map_of(20_000)}), &moves(1_000)), [0, 0, 0]);
    assert_eq!(spent(&json!({"a": map_of(40_000)}), &moves(2_000)), [0, 0, 0]);
}

#[test]
fn moves_that_may_nest_too_deep_visit_a_bounded_number_of_values() {
    // A document that is nearly as deep as allowed, in which each move takes a large map one level down.
    let deep = (0..MAX_DEPTH - 2).fold(json!(0), |below, _| json!({"x": below}));
    let doc = |keys: usize| json!({"deep": deep, "a": map_of(keys), "b": {"c": {}}});
    let there = json!({"op": "move", "from": "/a", "path": "/b/c/d"});
    let back = json!({"op": "move", "from": "/b/c/d", "path": "/a"});
    let moves = |count: usize| alternating(&there, &back, count);
    let [_, few, _] = spent(&doc(1_000), &moves(10));
    let [_, many, _] = spent(&doc(1_000), &moves(20));
    assert!(few >= 10_000 && many <= 2 * few, "{few} and {many} values");
    let error = run(&doc(20_000), &moves(100)).expect_err("too many values");
    assert_eq!(error, PatchError::Unprocessable("the move operations visit more than 1048576 values".into()));
}

#[test]
fn insertions_and_removals_at_the_head_of_an_array_are_counted() {
    let list = |length: usize| json!({"list": vec![0; length]});
    let grow = json!({"op": "add", "path": "/list/0", "value": 0});
    let shrink = json!({"op": "remove", "path": "/list/0"});
    let both = |count: usize| alternating(&grow, &shrink, count);
    let [_, _, few] = spent(&list(1_000), &both(100));
    let [_, _, more] = spent(&list(2_000), &both(100));
    assert!(few >= 200_000 && more <= 2 * few, "{few} and {more} elements");

    let mut work = Work::on(&Value::Null);
    work.shifted_elements_left = few - 1;
    let error = patched(&list(1_000), both(100).to_string().as_bytes(), &mut work).expect_err("too many");
    assert_eq!(error.code(), 422);
    // At the end there is nothing to shift.
    let last = json!({"op": "add", "path": "/list/-", "value": 0});
    assert_eq!(spent(&list(1_000), &Value::Array(vec![last; 100])), [0, 0, 0]);
}

#[test]
fn a_copy_is_refused_before_it_is_written() {
    let large = json!({"a": "x".repeat(1024 * 1024)});
    let copies = |count: usize| {
        (0..count).map(|at| json!({"op": "copy", "from": "/a", "path": format!("/copy{at}")})).collect()
    };
    let [bytes, _, _] = spent(&large, &copies(2));
    assert_eq!(bytes, 2 * (1024 * 1024 + 2));
    let error = run(&large, &copies(3)).expect_err("too much");
    assert_eq!(error, PatchError::Unprocessable("the copy operations copy more than 3145728 bytes".into()));
}
