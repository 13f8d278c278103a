//! Fills in the defaults of a schema.

use serde_json::Value;

use super::structural::Structural;

impl Structural {
    /// Fills in what is missing, and what is null although it must not be. Fields inside a default that has
    /// just been filled in get their own defaults, too.
    pub(super) fn default(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (name, property) in &self.properties {
                    if let Some(default) = &property.default
                        && map.get(&**name).is_none_or(|value| value.is_null() && !property.nullable)
                    {
                        map.insert((**name).to_owned(), default.clone());
                    }
                }
                for (name, value) in map.iter_mut() {
                    match self.properties.get(name.as_str()) {
                        Some(property) => property.default(value),
                        None => fill(self.additional_schema(), value),
                    }
                }
            }
            Value::Array(list) => {
                for element in list {
                    fill(self.items.as_deref(), element);
                }
            }
            _ => {}
        }
    }
}

fn fill(schema: Option<&Structural>, value: &mut Value) {
    let Some(schema) = schema else { return };
    if value.is_null() && !schema.nullable {
        *value = schema.default.clone().unwrap_or(Value::Null);
    }
    schema.default(value);
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;
    use serde_json::json;

    use super::super::pattern::Patterns;
    use super::super::props::Props;
    use super::*;

    fn default(schema: Value, mut value: Value) -> Value {
        let schema = Structural::compile(Props::deserialize(schema).unwrap(), &mut Patterns::default());
        schema.default(&mut value);
        value
    }

    #[test]
    fn missing_fields_get_their_default_and_so_do_fields_inside_it() {
        let schema = json!({"properties": {"spec": {"default": {}, "properties": {
            "replicas": {"type": "integer", "default": 1}, "name": {"type": "string"}}}}});
        assert_eq!(default(schema, json!({})), json!({"spec": {"replicas": 1}}));
    }

    #[test]
    fn nulls_are_replaced_unless_they_are_allowed() {
        let schema = json!({"properties": {
            "a": {"type": "integer", "default": 1},
            "b": {"type": "integer", "default": 1, "nullable": true},
            "c": {"type": "integer"}}});
        let value = json!({"a": null, "b": null, "c": null});
        assert_eq!(default(schema, value), json!({"a": 1, "b": null, "c": null}));
    }

    #[test]
    fn elements_of_lists_and_values_of_maps_get_defaults() {
        let schema = json!({"properties": {
            "list": {"items": {"properties": {"p": {"default": "TCP"}}}},
            "map": {"additionalProperties": {"properties": {"x": {"default": 2}}}}}});
        assert_eq!(
            default(schema, json!({"list": [{}, {"p": "UDP"}], "map": {"k": {}}})),
            json!({"list": [{"p": "TCP"}, {"p": "UDP"}], "map": {"k": {"x": 2}}})
        );
    }
}
