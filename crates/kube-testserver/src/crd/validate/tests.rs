use serde::Deserialize as _;

use super::super::pattern::Patterns;
use super::super::props::Props;
use super::*;
use crate::paths::copied_bytes;

fn schema(spec: Value) -> Structural {
    let mut written = json!({"type": "object", "properties": {}});
    written["properties"]["spec"] = spec;
    Structural::compile(Props::deserialize(written).unwrap(), &mut Patterns::default())
}

#[track_caller]
fn check(rules: Value, value: Value, expected: &[&str]) {
    let mut object = json!({});
    object["spec"] = value;
    let causes = schema(rules).check_object(&object, None);
    let texts: Vec<String> = causes.iter().map(Cause::to_string).collect();
    assert_eq!(texts, expected);
}

#[test]
fn values_must_have_the_declared_type() {
    let rules =
        json!({"type": "object", "properties": {"replicas": {"type": "integer"}, "on": {"type": "boolean"}}});
    check(
        rules.clone(),
        json!({"replicas": "3", "on": 1}),
        &[
            r#"spec.on: Invalid value: "integer": spec.on in body must be of type boolean: "integer""#,
            r#"spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string""#,
        ],
    );
    check(rules.clone(), json!({"replicas": 3.0}), &[]);
    check(
        rules.clone(),
        json!([]),
        &[r#"spec: Invalid value: "array": spec in body must be of type object: "array""#],
    );
    check(
        rules,
        json!({"on": null}),
        &[r#"spec.on: Invalid value: "null": spec.on in body must be of type boolean: "null""#],
    );
}

#[test]
fn an_int_or_string_takes_both() {
    let rules = json!({"x-kubernetes-int-or-string": true});
    check(rules.clone(), json!(80), &[]);
    check(rules.clone(), json!("http"), &[]);
    check(
        rules,
        json!(true),
        &[r#"spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean""#],
    );
}

#[test]
fn required_fields_and_enumerations() {
    let rules = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "mode": {"type": "string", "enum": ["a", "b"]},
        "level": {"type": "integer", "enum": [1, 2]}}});
    check(
        rules,
        json!({"mode": "x", "level": 3}),
        &[
            r#"spec.level: Unsupported value: 3: supported values: "1", "2""#,
            r#"spec.mode: Unsupported value: "x": supported values: "a", "b""#,
            "spec.name: Required value",
        ],
    );
}

#[test]
fn numbers_have_bounds() {
    let rules = json!({"type": "integer", "minimum": 1, "maximum": 10, "multipleOf": 2});
    check(rules.clone(), json!(4), &[]);
    check(
        rules.clone(),
        json!(0),
        &["spec: Invalid value: 0: spec in body should be greater than or equal to 1"],
    );
    check(
        rules,
        json!(11),
        &[
            "spec: Invalid value: 11: spec in body should be a multiple of 2",
            "spec: Invalid value: 11: spec in body should be less than or equal to 10",
        ],
    );
    let rules = json!({"type": "number", "minimum": 0.5, "exclusiveMinimum": true});
    check(rules, json!(0.5), &["spec: Invalid value: 0.5: spec in body should be greater than 0.5"]);
    check(
        json!({"type": "integer", "format": "int32"}),
        json!(3_000_000_000_i64),
        &["<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in spec"],
    );
}

#[test]
fn texts_have_a_length_a_pattern_and_a_format() {
    let rules = json!({"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$"});
    check(rules.clone(), json!("äb"), &["spec: Invalid value: \"äb\": spec in body should match '^[a-z]+$'"]);
    check(
        rules.clone(),
        json!("a"),
        &["spec: Invalid value: \"a\": spec in body should be at least 2 chars long"],
    );
    check(rules, json!("abcd"), &["spec: Too long: may not be more than 3 bytes"]);
    check(
        json!({"type": "string", "format": "date-time"}),
        json!("today"),
        &[r#"spec: Invalid value: "today": spec in body must be of type date-time: "today""#],
    );
}

#[test]
fn lists_and_objects_have_sizes() {
    let rules = json!({"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}});
    check(rules.clone(), json!([]), &["spec: Invalid value: 0: spec in body should have at least 1 items"]);
    check(
        rules,
        json!(["a", 1, "c"]),
        &[
            r#"spec[1]: Invalid value: "integer": spec[1] in body must be of type string: "integer""#,
            "spec: Too many: 3: must have at most 2 items",
        ],
    );
    let rules = json!({"type": "object", "minProperties": 1, "maxProperties": 1,
        "additionalProperties": {"type": "integer"}});
    check(
        rules.clone(),
        json!({}),
        &["spec: Invalid value: 0: spec in body should have at least 1 properties"],
    );
    check(
        rules,
        json!({"a": 1, "b": "x"}),
        &[
            "spec: Too many: 2: must have at most 1 item",
            r#"spec.b: Invalid value: "string": spec.b in body must be of type integer: "string""#,
        ],
    );
}

#[test]
fn alternatives_report_the_one_that_came_closest() {
    let rules = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    check(
        rules.clone(),
        json!({}),
        &[
            "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). Found none valid",
            "spec.a: Required value",
        ],
    );
    check(
        rules,
        json!({"a": "", "b": ""}),
        &[
            "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). Found 2 valid \
           alternatives",
        ],
    );
    check(
        json!({"type": "string", "not": {"pattern": "^x"}}),
        json!("xy"),
        &["<nil>: Invalid value: \"\": \"spec\" must not validate the schema (not)"],
    );
}

#[test]
fn what_was_wrong_before_and_is_untouched_is_let_through() {
    let schema = schema(json!({"type": "object", "properties": {
        "a": {"type": "string"}, "b": {"type": "integer"},
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}}}}));
    let old = json!({"spec": {"a": 1, "b": 1, "list": [{"k": "x", "v": "bad"}]}});
    let new = json!({"spec": {"a": 1, "b": "changed", "list": [{"k": "y", "v": 1}, {"k": "x", "v": "bad"}]}});
    let causes = schema.check_object(&new, Some(&old));
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].field, "spec.b");
    assert!(schema.check_object(&old, Some(&old)).is_empty());
    assert_eq!(schema.check_object(&old, None).len(), 2);
}

#[test]
fn of_many_problems_the_first_are_reported_and_the_rest_are_not_put_into_words() {
    let rules = schema(json!({"type": "array", "items": {"type": "object",
        "anyOf": [{"required": ["a"]}], "properties": {"n": {"type": "integer"}}}}));
    let work = |elements: usize| {
        let object = json!({"spec": vec![json!({"n": "x"}); elements]});
        let mut causes = Vec::new();
        let bytes = copied_bytes(|| causes = rules.check_object(&object, None));
        (bytes, causes)
    };
    let ((few, _), (many, causes)) = (work(4_000), work(8_000));
    assert_eq!(causes.len(), MAX_PROBLEMS);
    assert_eq!(
        causes[0].to_string(),
        "<nil>: Invalid value: \"\": \"spec[0]\" must validate at least one schema (anyOf)"
    );
    assert!(many <= 2 * few, "{few} and {many} bytes of paths");
}

#[test]
fn a_problem_behind_many_that_do_not_count_is_reported() {
    let rules = schema(json!({"type": "object", "properties": {
        "a": {"type": "array", "items": {"type": "integer"}},
        "b": {"not": {"items": {"type": "integer"}}},
        "c": {"type": "integer"}}}));
    let wrong = vec![json!("x"); 2 * MAX_PROBLEMS];
    let old = json!({"spec": {"a": wrong}});
    let new = json!({"spec": {"a": wrong, "b": wrong, "c": "x"}});
    let causes = rules.check_object(&new, Some(&old));
    assert_eq!(causes.iter().map(|cause| cause.field.as_str()).collect::<Vec<_>>(), ["spec.c"]);
    assert_eq!(rules.check_object(&new, None).len(), MAX_PROBLEMS);
}

#[test]
fn many_problems_below_a_long_name_do_not_repeat_it() {
    let rules = schema(json!({"type": "object", "additionalProperties": {"type": "object",
        "additionalProperties": {"type": "integer"}}}));
    let work = |fields: usize| {
        let below: Value = (0..fields).map(|at| (at.to_string(), json!("x"))).collect();
        let spec: Value = [("k".repeat(10 * fields), below)].into_iter().collect();
        let object = json!({"spec": spec});
        // What is unchanged is put into words before it is let through.
        copied_bytes(|| assert!(rules.check_object(&object, Some(&object)).is_empty()))
    };
    let (few, many) = (work(2_000), work(4_000));
    assert!(many <= 2 * few + 10_000, "{few} and {many} bytes of paths");
}

#[test]
fn the_keys_of_a_list_are_read_once_for_each_of_its_elements() {
    let rules =
        schema(json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "integer"}, "v": {"type": "string"}}}}));
    let list = |elements: usize| json!({"spec": (0..elements).map(|at| json!({"k": at, "v": at})).collect::<Vec<_>>()});
    let read = |elements: usize| {
        let before = KEYS_READ.get();
        assert!(rules.check_object(&list(elements), Some(&list(elements))).is_empty());
        KEYS_READ.get() - before
    };
    assert_eq!((read(1_000), read(2_000)), (2_000, 4_000));
}
