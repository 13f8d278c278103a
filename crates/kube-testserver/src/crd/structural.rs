//! The compiled schema of a custom resource.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::format::Format;
use super::pattern::Patterns;
use super::props::{Props, PropsOrBool, PropsOrList};

/// A type of JSON values, with everything that is required of them.
///
/// The same form serves the structural part of a schema and what stands below `allOf`, `anyOf`, `oneOf` and
/// `not`, which only restricts values.
#[derive(Debug, Default)]
pub(super) struct Structural {
    pub(super) ty: Option<JsonType>,
    pub(super) nullable: bool,
    pub(super) default: Option<Value>,
    pub(super) properties: BTreeMap<Box<str>, Structural>,
    pub(super) additional: Option<Additional>,
    pub(super) items: Option<Box<Structural>>,
    pub(super) rules: Rules,
    pub(super) preserve_unknown: bool,
    pub(super) int_or_string: bool,
    pub(super) embedded_resource: bool,
    pub(super) list_type: ListType,
    pub(super) atomic_map: bool,
    /// CEL rules (`x-kubernetes-validations`) as written. They are not evaluated.
    pub(super) validations: Vec<Value>,
}

/// The types of JSON schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonType {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// Fields of an object that are not in `properties`.
#[derive(Debug)]
pub(super) enum Additional {
    /// `additionalProperties: true` or `false`.
    Bool(bool),
    Schema(Box<Structural>),
}

/// How the elements of a list are told apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum ListType {
    #[default]
    Atomic,
    Set,
    Map(Vec<Box<str>>),
}

/// What a value must satisfy beyond having the right type.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) required: Vec<Box<str>>,
    pub(super) enumeration: Vec<Value>,
    /// The format as written, if the server checks it.
    pub(super) format: Option<Box<str>>,
    /// The check of a string format.
    pub(super) text_format: Option<Format>,
    pub(super) pattern: Option<Regex>,
    /// The pattern as written, for messages.
    pub(super) pattern_text: Box<str>,
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) exclusive_maximum: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<i64>,
    pub(super) max_length: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) max_items: Option<i64>,
    pub(super) unique_items: bool,
    pub(super) min_properties: Option<i64>,
    pub(super) max_properties: Option<i64>,
    pub(super) all_of: Vec<Structural>,
    pub(super) any_of: Vec<Structural>,
    pub(super) one_of: Vec<Structural>,
    pub(super) not: Option<Box<Structural>>,
}

impl Structural {
    /// Compiles a schema that has been checked: what the checks refuse is ignored here.
    pub(super) fn compile(props: Props, patterns: &mut Patterns) -> Self {
        let mut list = |list: Vec<Props>| -> Vec<Self> {
            list.into_iter().map(|one| Self::compile(one, patterns)).collect()
        };
        let (all_of, any_of, one_of) = (list(props.all_of), list(props.any_of), list(props.one_of));
        let ty = JsonType::parse(&props.ty);
        let format = checked_format(&props.format, ty, props.int_or_string);
        let rules = Rules {
            required: props.required.into_iter().map(Into::into).collect(),
            enumeration: props.enumeration,
            text_format: format.and_then(Format::parse),
            format: format.map(Into::into),
            pattern: match props.pattern.as_str() {
                "" => None,
                text => patterns.get(text).as_ref().ok().cloned(),
            },
            pattern_text: props.pattern.into(),
            minimum: props.minimum,
            maximum: props.maximum,
            exclusive_minimum: props.exclusive_minimum,
            exclusive_maximum: props.exclusive_maximum,
            multiple_of: props.multiple_of,
            min_length: props.min_length,
            max_length: props.max_length,
            min_items: props.min_items,
            max_items: props.max_items,
            unique_items: props.unique_items,
            min_properties: props.min_properties,
            max_properties: props.max_properties,
            all_of,
            any_of,
            one_of,
            not: props.not.map(|not| Box::new(Self::compile(*not, patterns))),
        };
        Self {
            ty,
            nullable: props.nullable,
            default: props.default,
            properties: props
                .properties
                .into_iter()
                .map(|(name, property)| (name.into(), Self::compile(property, patterns)))
                .collect(),
            additional: props.additional_properties.map(|additional| match additional {
                PropsOrBool::Bool(allowed) => Additional::Bool(allowed),
                PropsOrBool::Props(value) => Additional::Schema(Box::new(Self::compile(*value, patterns))),
            }),
            items: match props.items {
                Some(PropsOrList::Props(item)) => Some(Box::new(Self::compile(*item, patterns))),
                Some(PropsOrList::List(_)) | None => None,
            },
            rules,
            preserve_unknown: props.preserve_unknown_fields == Some(true),
            int_or_string: props.int_or_string,
            embedded_resource: props.embedded_resource,
            list_type: match props.list_type.as_deref() {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map(props.list_map_keys.into_iter().map(Into::into).collect()),
                _ => ListType::Atomic,
            },
            atomic_map: props.map_type.as_deref() == Some("atomic"),
            validations: props.validations,
        }
    }

    /// The schema of values in a map.
    pub(super) fn additional_schema(&self) -> Option<&Self> {
        match &self.additional {
            Some(Additional::Schema(value)) => Some(value),
            _ => None,
        }
    }

    /// Whether there are CEL rules here or below.
    pub(super) fn has_validations(&self) -> bool {
        !self.validations.is_empty()
            || self.properties.values().any(Self::has_validations)
            || self.additional_schema().is_some_and(Self::has_validations)
            || self.items.as_ref().is_some_and(|item| item.has_validations())
    }
}

impl JsonType {
    /// The type with a name; none for no name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// The format, if the server checks it for values of this type. All others are only documentation.
pub(super) fn checked_format(format: &str, ty: Option<JsonType>, int_or_string: bool) -> Option<&str> {
    let checked = match ty {
        None | Some(JsonType::String) => Format::parse(format).is_some(),
        Some(JsonType::Integer) => matches!(format, "int32" | "int64"),
        Some(JsonType::Number) => matches!(format, "float" | "double"),
        Some(JsonType::Object | JsonType::Array | JsonType::Boolean) => false,
    };
    // An int-or-string has two types, so the format belongs to none of them alone; text formats still count.
    let checked = if int_or_string { Format::parse(format).is_some() } else { checked };
    checked.then_some(format)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;
    use serde_json::json;

    use super::*;

    fn compile(schema: Value) -> Structural {
        Structural::compile(Props::deserialize(schema).unwrap(), &mut Patterns::default())
    }

    #[test]
    fn formats_of_the_wrong_type_are_not_checked() {
        assert_eq!(
            compile(json!({"type": "string", "format": "date-time"})).rules.format.as_deref(),
            Some("date-time")
        );
        assert!(compile(json!({"type": "string", "format": "int32"})).rules.format.is_none());
        assert!(compile(json!({"type": "integer", "format": "int32"})).rules.format.is_some());
        assert!(compile(json!({"type": "integer", "format": "date"})).rules.format.is_none());
    }

    #[test]
    fn rules_in_cel_are_kept() {
        let schema = compile(
            json!({"properties": {"a": {"items": {"x-kubernetes-validations": [{"rule": "self > 1"}]}}}}),
        );
        assert!(schema.has_validations());
        assert!(!compile(json!({"properties": {"a": {}}})).has_validations());
    }
}
