//! The schemas of custom resources: what their authors wrote, and the fields that every object has.

use serde_json::{Map, Value, json};

use super::{
    COMMON_FIELDS, Components, Dialect, GVK, OpenApiResource, PRESERVE, api_version, common_description, gvk,
};

impl Components<'_> {
    pub(super) fn custom(&mut self, resource: &OpenApiResource<'_>) -> Value {
        let open = || json!({ "type": "object", PRESERVE: true });
        let mut schema = resource.raw_schema.cloned().unwrap_or_else(open);
        let kinds = json!([gvk(resource.group, resource.version, resource.kind)]);
        if self.dialect == Dialect::V2 {
            if schema[PRESERVE] == true {
                return json!({ "type": "object", GVK: kinds });
            }
            make_v2(&mut schema);
        }
        self.add_embedded_fields(&mut schema);
        if let Value::Object(schema) = &mut schema {
            let properties = schema.entry("properties").or_insert_with(|| json!({}));
            self.add_common_fields(properties, "Pod");
            schema.insert(GVK.to_owned(), kinds);
        }
        schema
    }

    pub(super) fn custom_list(&mut self, resource: &OpenApiResource<'_>, item: &Value) -> Value {
        let kind = format!("{}List", resource.kind);
        let mut properties = json!({ "items": {
            "description": format!("The {} in this list.", resource.plural), "type": "array", "items": item,
        } });
        self.add_common_fields(&mut properties, "PodList");
        json!({
            "type": "object",
            "description": format!("{kind} in {}", api_version(resource.group, resource.version)),
            "required": ["items"],
            "properties": properties,
            GVK: [gvk(resource.group, resource.version, &kind)],
        })
    }

    /// Adds the fields that every object has; the type of its metadata is that of a built-in kind's.
    fn add_common_fields(&mut self, properties: &mut Value, like: &str) {
        properties["apiVersion"] = json!({ "type": "string" });
        properties["kind"] = json!({ "type": "string" });
        properties["metadata"] = self.meta(like);
        for field in COMMON_FIELDS {
            let description = Map::from_iter([("description".to_owned(), json!(common_description(field)))]);
            properties[field] = self.extended(properties[field].take(), description);
        }
    }

    /// Adds the fields that every object has to all embedded objects of a schema. In v2, embedded objects with unknown fields get
    /// none: kubectl would take all other fields for unknown.
    fn add_embedded_fields(&mut self, schema: &mut Value) {
        let Value::Object(schema) = schema else { return };
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.values_mut().for_each(|property| self.add_embedded_fields(property));
        }
        for nested in ["items", "additionalProperties"] {
            if let Some(nested) = schema.get_mut(nested) {
                self.add_embedded_fields(nested);
            }
        }
        if !is_true(schema, EMBEDDED) || (self.dialect == Dialect::V2 && is_true(schema, PRESERVE)) {
            return;
        }
        self.add_common_fields(schema.entry("properties").or_insert_with(|| json!({})), "Pod");
        if let Value::Array(required) = schema.entry("required").or_insert_with(|| json!([])) {
            for field in ["kind", "apiVersion"].map(Value::from) {
                if !required.contains(&field) {
                    required.push(field);
                }
            }
        }
    }
}

/// The value of a field is an object with `apiVersion`, `kind` and `metadata`.
const EMBEDDED: &str = "x-kubernetes-embedded-resource";

fn is_true(schema: &Map<String, Value>, keyword: &str) -> bool {
    schema.get(keyword) == Some(&Value::Bool(true))
}

/// `com.example.v1.Widget` for `Widget` in `example.com/v1`.
pub(super) fn custom_name(resource: &OpenApiResource<'_>) -> String {
    let mut parts: Vec<&str> = resource.group.rsplit('.').collect();
    parts.extend([resource.version, resource.kind]);
    parts.join(".")
}

/// Removes the keywords that OpenAPI v2 lacks: alternatives, defaults, and the structure of values that may be null or may
/// have unknown fields. Fields that may be null are not required.
fn make_v2(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    let nullable = schema.remove("nullable") == Some(Value::Bool(true));
    for keyword in ["oneOf", "anyOf", "allOf", "not", "default"] {
        schema.remove(keyword);
    }
    if nullable || is_true(schema, PRESERVE) {
        for keyword in ["type", "properties", "items"] {
            schema.remove(keyword);
        }
    }
    drop_nullable_from_required(schema);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(make_v2);
    }
    for nested in ["items", "additionalProperties"] {
        if let Some(nested) = schema.get_mut(nested) {
            make_v2(nested);
        }
    }
}

/// Removes the properties that may be null from the required ones, and all required ones if additional properties may be null.
fn drop_nullable_from_required(schema: &mut Map<String, Value>) {
    let is_nullable = |schema: Option<&Value>| schema.is_some_and(|schema| schema["nullable"] == true);
    let Some(Value::Array(mut required)) = schema.remove("required") else { return };
    if is_nullable(schema.get("additionalProperties")) {
        return;
    }
    let properties = schema.get("properties");
    required.retain(|name| !is_nullable(name.as_str().and_then(|name| properties?.get(name))));
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
}
