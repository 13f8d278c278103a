//! The rules that make a schema structural: every field has one type that is written where the field is
//! declared, and `allOf`, `anyOf`, `oneOf` and `not` only restrict values. Pruning and defaulting rely on it.

use serde_json::{Value, json};

use super::causes::{invalid, invalid_text};
use super::embedded;
use super::pattern::Patterns;
use super::props::{Props, PropsOrBool, PropsOrList};
use super::structural::Structural;
use crate::status::Cause;

/// Everything that keeps a schema from being structural, sorted as the server sorts it.
pub(super) fn check(schema: &Props, path: &str, patterns: &mut Patterns) -> Vec<Cause> {
    let mut check = Check { patterns, causes: Vec::new() };
    check.node(schema, Level::Root, path);
    check.restrictions_cover(schema, schema, path, path);
    let mut causes = check.causes;
    causes.sort_by_cached_key(Cause::to_string);
    causes
}

/// Why a schema cannot be read as a structural one at all; reported only if nothing else is wrong.
pub(super) fn unreadable(schema: &Props) -> Option<&'static str> {
    let mut found = None;
    schema.any(&mut |node| {
        found = if !node.schema.is_empty() {
            Some("OpenAPIV3Schema 'schema' is not supported")
        } else if !node.id.is_empty()
            || node.reference.is_some()
            || !node.pattern_properties.is_empty()
            || node.dependencies.is_some()
            || node.additional_items.is_some()
            || !node.definitions.is_empty()
            || node.preserve_unknown_fields == Some(false)
            || matches!(&node.items, Some(PropsOrList::List(list)) if !list.is_empty())
        {
            Some("OpenAPIV3Schema is not supported")
        } else {
            None
        };
        found.is_some()
    });
    found
}

/// Whether defaults are themselves valid, and have no fields that would be pruned.
pub(super) fn check_defaults(schema: &Structural, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    check_default(schema, path, true, &mut causes);
    causes
}

fn check_default(schema: &Structural, path: &str, root: bool, causes: &mut Vec<Cause>) {
    if let Some(default) = &schema.default {
        let field = format!("{path}.default");
        let mut pruned = default.clone();
        schema.prune_part(&mut pruned);
        if pruned != *default {
            causes.push(invalid(&*field, default, "must not have unknown fields"));
        }
        let wrong = embedded::check(schema, default, &field);
        causes.extend(if wrong.is_empty() { schema.check_part(default, &field) } else { wrong });
    }
    // Defaults inside `additionalProperties` are not looked at, as in Kubernetes.
    if let Some(item) = &schema.items {
        check_default(item, &format!("{path}.items"), false, causes);
    }
    for (name, property) in &schema.properties {
        // Those of metadata have rules of their own, which are not implemented.
        let is_meta = matches!(&**name, "metadata" | "apiVersion" | "kind");
        if !(is_meta && (root || schema.embedded_resource)) {
            check_default(property, &format!("{path}.properties[{name}]"), false, causes);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

struct Check<'a> {
    patterns: &'a mut Patterns,
    causes: Vec<Cause>,
}

impl Check<'_> {
    fn forbid(&mut self, field: String, detail: &str) {
        self.causes.push(Cause::forbidden(field, detail));
    }

    fn require(&mut self, field: String, detail: &str) {
        self.causes.push(Cause::required(field, detail));
    }

    /// A node of the structural part.
    fn node(&mut self, schema: &Props, level: Level, path: &str) {
        if schema.ty == "array" && schema.items.is_none() {
            self.require(format!("{path}.items"), "must be specified");
        }
        if let Some(item) = schema.item() {
            self.node(item, Level::Item, &format!("{path}.items"));
        }
        for (name, property) in &schema.properties {
            self.node(property, Level::Field, &format!("{path}.properties[{name}]"));
        }
        if let Some(additional) = &schema.additional_properties {
            let field = format!("{path}.additionalProperties");
            if let PropsOrBool::Props(value) = additional {
                self.node(value, Level::Field, &field);
            }
            if level == Level::Root {
                self.forbid(field.clone(), "must not be used at the root");
            }
            if schema.embedded_resource {
                self.forbid(field, "must not be used if x-kubernetes-embedded-resource is set");
            }
        }
        self.extensions(schema, path);
        self.restrictions(schema, is_int_or_string(&schema.any_of), first_is_int_or_string(schema), path);
        self.declared_type(schema, level, path);
        self.meta(schema, level, path);
    }

    fn extensions(&mut self, schema: &Props, path: &str) {
        if !schema.int_or_string {
            return;
        }
        let detail = "must be false if x-kubernetes-int-or-string is true";
        if schema.preserve_unknown_fields == Some(true) {
            let field = format!("{path}.x-kubernetes-preserve-unknown-fields");
            self.causes.push(invalid(field, &json!(true), detail));
        }
        if schema.embedded_resource {
            let field = format!("{path}.x-kubernetes-embedded-resource");
            self.causes.push(invalid(field, &json!(true), detail));
        }
    }

    fn declared_type(&mut self, schema: &Props, level: Level, path: &str) {
        let field = format!("{path}.type");
        if schema.embedded_resource && schema.ty != "object" {
            let detail = "must be object if x-kubernetes-embedded-resource is true";
            if schema.ty.is_empty() {
                self.require(field, detail);
            } else {
                self.causes.push(invalid_text(field, &schema.ty, detail));
            }
        } else if schema.ty.is_empty()
            && !schema.int_or_string
            && schema.preserve_unknown_fields != Some(true)
        {
            let detail = match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            };
            self.require(field, detail);
        } else if level == Level::Root && !schema.ty.is_empty() && schema.ty != "object" {
            self.causes.push(invalid_text(field, &schema.ty, "must be object at the root"));
        }
    }

    /// `apiVersion`, `kind` and `metadata` are the server's: a schema may restrict names, no more.
    fn meta(&mut self, schema: &Props, level: Level, path: &str) {
        let is_resource = level == Level::Root || schema.embedded_resource;
        for name in ["kind", "apiVersion"] {
            if let Some(property) = schema.properties.get(name)
                && is_resource
                && property.ty != "string"
            {
                let field = format!("{path}.properties[{name}].type");
                self.causes.push(invalid_text(field, &property.ty, "must be string"));
            }
        }
        if let Some(metadata) = schema.properties.get("metadata") {
            let field = format!("{path}.properties[metadata]");
            if is_resource && metadata.ty != "object" {
                self.causes.push(invalid_text(format!("{field}.type"), &metadata.ty, "must be object"));
            }
            if level == Level::Root && specifies_more_than_names(metadata) {
                self.forbid(
                    field,
                    "must not specify anything other than name and generateName, but metadata is implicitly \
                     specified",
                );
            }
        }
        if schema.embedded_resource
            && schema.preserve_unknown_fields != Some(true)
            && schema.properties.is_empty()
        {
            self.require(
                format!("{path}.properties"),
                "must not be empty if x-kubernetes-embedded-resource is true without \
                 x-kubernetes-preserve-unknown-fields",
            );
        }
    }

    /// What restricts the values of a node: `skip_any_of` and `skip_first` let the two ways to write an
    /// int-or-string pass.
    fn restrictions(&mut self, schema: &Props, skip_any_of: bool, skip_first: bool, path: &str) {
        if !skip_any_of {
            for (at, one) in schema.any_of.iter().enumerate() {
                self.nested(one, false, &format!("{path}.anyOf[{at}]"));
            }
        }
        for (at, one) in schema.all_of.iter().enumerate() {
            self.nested(one, skip_first && at == 0, &format!("{path}.allOf[{at}]"));
        }
        for (at, one) in schema.one_of.iter().enumerate() {
            self.nested(one, false, &format!("{path}.oneOf[{at}]"));
        }
        if let Some(not) = &schema.not {
            self.nested(not, false, &format!("{path}.not"));
        }
        if !schema.pattern.is_empty()
            && let Err(error) = self.patterns.get(&schema.pattern)
        {
            let detail = format!("must be a valid regular expression, but isn't: {error}");
            self.causes.push(invalid_text(format!("{path}.pattern"), &schema.pattern, &detail));
        }
    }

    /// A node below `allOf`, `anyOf`, `oneOf` or `not`.
    fn nested(&mut self, schema: &Props, skip_any_of: bool, path: &str) {
        self.restrictions(schema, skip_any_of, false, path);
        if let Some(item) = schema.item() {
            self.nested(item, false, &format!("{path}.items"));
        }
        for (name, property) in &schema.properties {
            self.nested(property, false, &format!("{path}.properties[{name}]"));
        }
        let additional = !matches!(schema.additional_properties, None | Some(PropsOrBool::Bool(false)));
        for (set, field, what) in [
            (!schema.ty.is_empty(), "type", "empty"),
            (additional, "additionalProperties", "undefined"),
            (schema.default.is_some(), "default", "undefined"),
            (!schema.title.is_empty(), "title", "empty"),
            (!schema.description.is_empty(), "description", "empty"),
            (schema.nullable, "nullable", "false"),
            (schema.preserve_unknown_fields == Some(true), "x-kubernetes-preserve-unknown-fields", "false"),
            (schema.embedded_resource, "x-kubernetes-embedded-resource", "false"),
            (schema.int_or_string, "x-kubernetes-int-or-string", "false"),
            (!schema.list_map_keys.is_empty(), "x-kubernetes-list-map-keys", "empty"),
            (schema.list_type.is_some(), "x-kubernetes-list-type", "undefined"),
            (schema.map_type.is_some(), "x-kubernetes-map-type", "undefined"),
            (!schema.validations.is_empty(), "x-kubernetes-validations", "empty"),
        ] {
            if set {
                self.forbid(format!("{path}.{field}"), &format!("must be {what} to be structural"));
            }
        }
        if schema.properties.contains_key("metadata") {
            self.forbid(format!("{path}.properties[metadata]"), "must not be specified in a nested context");
        }
    }

    /// Every field that a restriction talks about must be declared. Like the server, this looks at the
    /// restrictions of the root only.
    fn restrictions_cover(&mut self, rule: &Props, declared: &Props, declared_at: &str, rule_at: &str) {
        if let Some(not) = &rule.not {
            self.nested_covers(not, Some(declared), declared_at, &format!("{rule_at}.not"));
        }
        for (keyword, list) in [("allOf", &rule.all_of), ("anyOf", &rule.any_of), ("oneOf", &rule.one_of)] {
            for (at, one) in list.iter().enumerate() {
                self.nested_covers(one, Some(declared), declared_at, &format!("{rule_at}.{keyword}[{at}]"));
            }
        }
    }

    fn nested_covers(&mut self, rule: &Props, declared: Option<&Props>, declared_at: &str, rule_at: &str) {
        let Some(declared) = declared else {
            self.require(declared_at.to_owned(), &format!("because it is defined in {rule_at}"));
            return;
        };
        self.restrictions_cover(rule, declared, declared_at, rule_at);
        if let Some(item) = rule.item() {
            let (declared_at, rule_at) = (format!("{declared_at}.items"), format!("{rule_at}.items"));
            self.nested_covers(item, declared.item(), &declared_at, &rule_at);
        }
        for (name, property) in &rule.properties {
            let declared_at = format!("{declared_at}.properties[{name}]");
            let rule_at = format!("{rule_at}.properties[{name}]");
            self.nested_covers(property, declared.properties.get(name), &declared_at, &rule_at);
        }
    }
}

/// Whether a list of alternatives is exactly "an integer" and "a string".
fn is_int_or_string(list: &[Props]) -> bool {
    let only = |one: &Props, ty: &str| *one == Props { ty: ty.to_owned(), ..Props::default() };
    matches!(list, [first, second] if only(first, "integer") && only(second, "string"))
}

fn first_is_int_or_string(schema: &Props) -> bool {
    schema.all_of.first().is_some_and(|first| is_int_or_string(&first.any_of))
}

fn specifies_more_than_names(metadata: &Props) -> bool {
    let mut rest = metadata.clone();
    rest.ty.clear();
    rest.default = None;
    if rest.properties.keys().all(|name| matches!(name.as_str(), "name" | "generateName")) {
        rest.properties.clear();
    }
    rest != Props::default()
}

/// Whether JSON nests deeper than a limit. Recursion stops there.
pub(super) fn deeper_than(value: &Value, limit: usize) -> bool {
    let Some(limit) = limit.checked_sub(1) else { return true };
    match value {
        Value::Object(map) => map.values().any(|child| deeper_than(child, limit)),
        Value::Array(list) => list.iter().any(|child| deeper_than(child, limit)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;

    use super::*;

    fn check_json(schema: Value) -> Vec<String> {
        let props = Props::deserialize(schema).unwrap();
        check(&props, "s", &mut Patterns::default()).iter().map(Cause::to_string).collect()
    }

    #[test]
    fn every_declared_field_needs_a_type() {
        let schema =
            json!({"properties": {"a": {}, "b": {"type": "array"}, "c": {"type": "array", "items": {}}}});
        assert_eq!(
            check_json(schema),
            [
                "s.properties[a].type: Required value: must not be empty for specified object fields",
                "s.properties[b].items: Required value: must be specified",
                "s.properties[c].items.type: Required value: must not be empty for specified array items",
                "s.type: Required value: must not be empty at the root",
            ]
        );
        assert_eq!(
            check_json(json!({"type": "string"})),
            [r#"s.type: Invalid value: "string": must be object at the root"#]
        );
    }

    #[test]
    fn restrictions_must_not_declare_anything() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string",
            "anyOf": [{"type": "string", "description": "x"}]}}});
        assert_eq!(
            check_json(schema),
            [
                "s.properties[a].anyOf[0].description: Forbidden: must be empty to be structural",
                "s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
            ]
        );
        let undeclared = json!({"type": "object", "not": {"properties": {"b": {}}}});
        assert_eq!(
            check_json(undeclared),
            ["s.properties[b]: Required value: because it is defined in s.not.properties[b]"]
        );
    }

    #[test]
    fn an_int_or_string_may_spell_out_its_types() {
        let schema = json!({"type": "object", "properties": {"port": {
            "x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}}});
        assert!(check_json(schema).is_empty());
    }

    #[test]
    fn metadata_may_only_restrict_names() {
        let ok = json!({"type": "object", "properties": {"metadata": {"type": "object",
            "properties": {"name": {"type": "string", "maxLength": 10}}}}});
        assert!(check_json(ok).is_empty());
        let bad = json!({"type": "object", "properties": {"metadata": {"type": "object",
            "properties": {"labels": {"type": "object"}}}}});
        assert_eq!(check_json(bad).len(), 1);
    }

    #[test]
    fn patterns_must_compile() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "(?!a)"}}});
        assert_eq!(
            check_json(schema),
            [
                "s.properties[a].pattern: Invalid value: \"(?!a)\": must be a valid regular expression, but isn't: \
              error parsing regexp: invalid or unsupported Perl syntax: `(?!`"
            ]
        );
    }
}
