//! What a schema in a definition may contain, node by node. [`super::structural_rules`] has the rules about
//! its shape as a whole.

use serde_json::{Value, json};

use super::causes::{invalid, invalid_text, not_supported};
use super::props::{Props, PropsOrBool, PropsOrList};
use crate::status::Cause;

/// The types a schema may name.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
/// What a broken CEL rule may be reported as.
const VALIDATION_REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Everything that is wrong with a schema, apart from its shape.
pub(super) fn check(schema: &Props, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    check_node(schema, path, &Place { root: true, ..Place::default() }, &mut causes);
    causes
}

/// Where in a schema a node stands.
#[derive(Clone, Default)]
struct Place {
    root: bool,
    /// Inside `apiVersion`, `kind` or `metadata` of the object or of an embedded one.
    inside_meta: bool,
    /// Why there must be no default here.
    no_default: Option<String>,
}

fn check_node(schema: &Props, path: &str, place: &Place, causes: &mut Vec<Cause>) {
    check_forbidden(schema, path, place, causes);
    if schema.unique_items {
        causes.push(Cause::forbidden(
            format!("{path}.uniqueItems"),
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ));
    }
    check_children(schema, path, place, causes);
    if schema.preserve_unknown_fields == Some(false) {
        let field = format!("{path}.x-kubernetes-preserve-unknown-fields");
        causes.push(invalid(field, &json!(false), "must be true or undefined"));
    }
    check_map_type(schema, path, causes);
    check_list_type(schema, path, causes);
    check_validations(schema, path, causes);
}

fn check_forbidden(schema: &Props, path: &str, place: &Place, causes: &mut Vec<Cause>) {
    let mut forbid =
        |field: &str, detail: &str| causes.push(Cause::forbidden(format!("{path}.{field}"), detail));
    if let (Some(_), Some(reason)) = (&schema.default, &place.no_default) {
        forbid("default", &format!("must not be set {reason}"));
    }
    if !schema.id.is_empty() {
        forbid("id", "id is not supported");
    }
    if schema.additional_items.is_some() {
        forbid("additionalItems", "additionalItems is not supported");
    }
    if !schema.pattern_properties.is_empty() {
        forbid("patternProperties", "patternProperties is not supported");
    }
    if !schema.definitions.is_empty() {
        forbid("definitions", "definitions is not supported");
    }
    if schema.dependencies.is_some() {
        forbid("dependencies", "dependencies is not supported");
    }
    if schema.reference.is_some() {
        forbid("$ref", "$ref is not supported");
    }
    if schema.ty == "null" {
        forbid("type", "type cannot be set to null, use nullable as an alternative");
    }
    if matches!(&schema.items, Some(PropsOrList::List(list)) if !list.is_empty()) {
        forbid("items", "items must be a schema object and not an array");
    }
    if place.inside_meta && schema.embedded_resource {
        forbid("x-kubernetes-embedded-resource", "must not be used inside of resource meta");
    }
    if !schema.ty.is_empty() && !TYPES.contains(&schema.ty.as_str()) {
        causes.push(not_supported(format!("{path}.type"), &json!(schema.ty), &TYPES));
    }
}

fn check_children(schema: &Props, path: &str, within: &Place, causes: &mut Vec<Cause>) {
    let below = Place { root: false, ..within.clone() };
    if let Some(additional) = &schema.additional_properties {
        let closed = !matches!(additional, PropsOrBool::Bool(true));
        if closed && !schema.properties.is_empty() {
            causes.push(Cause::forbidden(
                format!("{path}.additionalProperties"),
                "additionalProperties and properties are mutual exclusive",
            ));
        }
        if let PropsOrBool::Props(value) = additional {
            let mut place = below.clone();
            if place.inside_meta {
                place.no_default = Some("inside additionalProperties applying to object metadata".to_owned());
            }
            check_node(value, &format!("{path}.additionalProperties"), &place, causes);
        }
    }
    for (name, property) in &schema.properties {
        let mut place = below.clone();
        let is_meta = matches!(name.as_str(), "metadata" | "kind" | "apiVersion");
        if is_meta && (within.root || schema.embedded_resource) {
            place.inside_meta = true;
            if within.root {
                place.no_default = Some(format!("in top-level {name}"));
            }
        }
        check_node(property, &format!("{path}.properties[{name}]"), &place, causes);
    }
    if let Some(not) = &schema.not {
        check_node(not, &format!("{path}.not"), &below, causes);
    }
    for (keyword, list) in [("allOf", &schema.all_of), ("oneOf", &schema.one_of), ("anyOf", &schema.any_of)] {
        for (at, one) in list.iter().enumerate() {
            check_node(one, &format!("{path}.{keyword}[{at}]"), &below, causes);
        }
    }
    match &schema.items {
        Some(PropsOrList::Props(item)) => check_node(item, &format!("{path}.items"), &below, causes),
        Some(PropsOrList::List(list)) => {
            for (at, item) in list.iter().enumerate() {
                check_node(item, &format!("{path}.items[{at}]"), &below, causes);
            }
        }
        None => {}
    }
}

fn check_map_type(schema: &Props, path: &str, causes: &mut Vec<Cause>) {
    let Some(map_type) = schema.map_type.as_deref() else { return };
    if schema.ty != "object" {
        causes.push(wrong_type(schema, path, "must be object if x-kubernetes-map-type is specified"));
    }
    if !matches!(map_type, "atomic" | "granular") {
        let field = format!("{path}.x-kubernetes-map-type");
        causes.push(not_supported(field, &json!(map_type), &["atomic", "granular"]));
    }
}

fn wrong_type(schema: &Props, path: &str, detail: &str) -> Cause {
    let field = format!("{path}.type");
    if schema.ty.is_empty() {
        Cause::required(field, detail)
    } else {
        invalid_text(field, &schema.ty, detail)
    }
}

fn check_list_type(schema: &Props, path: &str, causes: &mut Vec<Cause>) {
    let list_type = schema.list_type.as_deref();
    let field = format!("{path}.x-kubernetes-list-type");
    if list_type.is_some() && schema.ty != "array" {
        causes.push(wrong_type(schema, path, "must be array if x-kubernetes-list-type is specified"));
    } else if list_type == Some("set") {
        check_set_items(schema, path, causes);
    }
    if let Some(other) = list_type
        && !matches!(other, "atomic" | "set" | "map")
    {
        causes.push(not_supported(&*field, &json!(other), &["atomic", "set", "map"]));
    }
    if !schema.list_map_keys.is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => causes.push(Cause::required(field, detail)),
            Some("map") => {}
            Some(other) => causes.push(invalid_text(field, other, detail)),
        }
    }
    if list_type == Some("map") {
        check_map_list(schema, path, causes);
    }
    if let (Some(list_type @ ("set" | "map")), Some(item)) = (list_type, schema.item()) {
        check_keys_are_usable(schema, item, list_type, path, causes);
    }
}

fn check_set_items(schema: &Props, path: &str, causes: &mut Vec<Cause>) {
    let Some(item) = schema.item() else { return };
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let list_type = item.list_type.as_ref().map_or(Value::Null, |text| json!(text));
    match item.ty.as_str() {
        "array" if item.list_type.as_deref().is_some_and(|list_type| list_type != "atomic") => {
            causes.push(invalid(format!("{path}.items.x-kubernetes-list-type"), &list_type, detail));
        }
        "object" if item.map_type.as_deref() != Some("atomic") => {
            causes.push(invalid(format!("{path}.items.x-kubernetes-map-type"), &list_type, detail));
        }
        _ => {}
    }
}

fn check_map_list(schema: &Props, path: &str, causes: &mut Vec<Cause>) {
    let keys = format!("{path}.x-kubernetes-list-map-keys");
    if schema.list_map_keys.is_empty() {
        causes.push(Cause::required(&*keys, "must not be empty if x-kubernetes-list-type is map"));
    }
    let item = match &schema.items {
        None => {
            let detail = "must have a schema if x-kubernetes-list-type is map";
            causes.push(Cause::required(format!("{path}.items"), detail));
            return;
        }
        Some(PropsOrList::List(_)) => {
            let detail = "must only have a single schema if x-kubernetes-list-type is map";
            causes.push(invalid(format!("{path}.items"), &Value::Null, detail));
            return;
        }
        Some(PropsOrList::Props(item)) => item,
    };
    if item.ty != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        causes.push(invalid_text(format!("{path}.items.type"), &item.ty, detail));
        return;
    }
    for (at, key) in schema.list_map_keys.iter().enumerate() {
        match item.properties.get(key) {
            None => {
                let detail = "entries must all be names of item properties";
                causes.push(invalid(&*keys, &json!(schema.list_map_keys), detail));
            }
            Some(property) if matches!(property.ty.as_str(), "array" | "object") => {
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                causes.push(invalid_text(format!("{path}.items.properties[{key}].type"), &item.ty, detail));
            }
            Some(_) => {}
        }
        if schema.list_map_keys[..at].contains(key) {
            causes.push(invalid(&*keys, &json!(schema.list_map_keys), "must not contain duplicate entries"));
        }
    }
}

/// Keys must always have a value, or two elements without one could not be told apart.
fn check_keys_are_usable(schema: &Props, item: &Props, list_type: &str, path: &str, causes: &mut Vec<Cause>) {
    if item.nullable {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        causes.push(Cause::forbidden(format!("{path}.items.nullable"), &detail));
    }
    if list_type != "map" {
        return;
    }
    for key in &schema.list_map_keys {
        let Some(property) = item.properties.get(key) else { continue };
        let field = format!("{path}.items.properties[{key}]");
        if !item.required.contains(key) && property.default.is_none() {
            causes.push(Cause::required(
                format!("{field}.default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                 property",
            ));
        }
        if property.nullable {
            causes.push(Cause::forbidden(
                format!("{field}.nullable"),
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
            ));
        }
    }
}

/// CEL rules are not compiled, but an empty one is refused as in Kubernetes.
fn check_validations(schema: &Props, path: &str, causes: &mut Vec<Cause>) {
    let has_line_breaks = |text: &str| text.contains(['\n', '\r']);
    for (at, validation) in schema.validations.iter().enumerate() {
        let path = format!("{path}.x-kubernetes-validations[{at}]");
        let text = |field: &str| validation.get(field).and_then(Value::as_str).unwrap_or_default();
        let (rule, message) = (text("rule").trim(), text("message"));
        if rule.is_empty() {
            causes.push(Cause::required(format!("{path}.rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            causes.push(invalid_text(format!("{path}.message"), message, "must be non-empty if specified"));
        } else if has_line_breaks(message.trim()) {
            causes.push(invalid_text(format!("{path}.message"), message, "must not contain line breaks"));
        } else if has_line_breaks(rule) && message.trim().is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            causes.push(Cause::required(format!("{path}.message"), detail));
        }
        let reason = text("reason");
        if !reason.is_empty() && !VALIDATION_REASONS.contains(&reason) {
            causes.push(not_supported(format!("{path}.reason"), &json!(reason), &VALIDATION_REASONS));
        }
    }
}
