//! A schema as it is written in a definition, before anything is checked.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// `JSONSchemaProps`. Fields that nothing depends on (examples, external documentation) are left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Props {
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub(super) ty: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) title: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) description: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) format: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) pattern: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) nullable: bool,
    pub(super) default: Option<Value>,
    #[serde(rename = "enum", deserialize_with = "or_default")]
    pub(super) enumeration: Vec<Value>,

    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    #[serde(deserialize_with = "or_default")]
    pub(super) exclusive_minimum: bool,
    #[serde(deserialize_with = "or_default")]
    pub(super) exclusive_maximum: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<i64>,
    pub(super) max_length: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) max_items: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    pub(super) unique_items: bool,
    pub(super) min_properties: Option<i64>,
    pub(super) max_properties: Option<i64>,

    #[serde(deserialize_with = "or_default")]
    pub(super) required: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) properties: BTreeMap<String, Props>,
    pub(super) additional_properties: Option<PropsOrBool>,
    pub(super) items: Option<PropsOrList>,
    #[serde(deserialize_with = "or_default")]
    pub(super) all_of: Vec<Props>,
    #[serde(deserialize_with = "or_default")]
    pub(super) any_of: Vec<Props>,
    #[serde(deserialize_with = "or_default")]
    pub(super) one_of: Vec<Props>,
    pub(super) not: Option<Box<Props>>,

    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    pub(super) preserve_unknown_fields: Option<bool>,
    #[serde(rename = "x-kubernetes-embedded-resource", deserialize_with = "or_default")]
    pub(super) embedded_resource: bool,
    #[serde(rename = "x-kubernetes-int-or-string", deserialize_with = "or_default")]
    pub(super) int_or_string: bool,
    #[serde(rename = "x-kubernetes-list-type")]
    pub(super) list_type: Option<String>,
    #[serde(rename = "x-kubernetes-list-map-keys", deserialize_with = "or_default")]
    pub(super) list_map_keys: Vec<String>,
    #[serde(rename = "x-kubernetes-map-type")]
    pub(super) map_type: Option<String>,
    #[serde(rename = "x-kubernetes-validations", deserialize_with = "or_default")]
    pub(super) validations: Vec<Value>,

    // Parts of JSON schema that are refused wherever they appear.
    #[serde(deserialize_with = "or_default")]
    pub(super) id: String,
    #[serde(rename = "$schema", deserialize_with = "or_default")]
    pub(super) schema: String,
    #[serde(rename = "$ref")]
    pub(super) reference: Option<String>,
    pub(super) additional_items: Option<Value>,
    #[serde(deserialize_with = "or_default")]
    pub(super) pattern_properties: BTreeMap<String, IgnoredAny>,
    #[serde(deserialize_with = "or_default")]
    pub(super) definitions: BTreeMap<String, IgnoredAny>,
    pub(super) dependencies: Option<BTreeMap<String, IgnoredAny>>,
}

/// `additionalProperties`: yes, no, or of this type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PropsOrBool {
    Bool(bool),
    Props(Box<Props>),
}

/// `items`: one schema; a list of them is valid JSON schema, but refused.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PropsOrList {
    Props(Box<Props>),
    List(Vec<Props>),
}

impl Props {
    /// The schema of elements, if it is the one that is allowed.
    pub(super) fn item(&self) -> Option<&Props> {
        match &self.items {
            Some(PropsOrList::Props(item)) => Some(item),
            _ => None,
        }
    }

    /// The schema of values in a map.
    pub(super) fn additional(&self) -> Option<&Props> {
        match &self.additional_properties {
            Some(PropsOrBool::Props(value)) => Some(value),
            _ => None,
        }
    }

    /// Whether this, or anything below, satisfies a test.
    pub(super) fn any(&self, test: &mut dyn FnMut(&Props) -> bool) -> bool {
        let nested =
            |list: &[Props], test: &mut dyn FnMut(&Props) -> bool| list.iter().any(|one| one.any(test));
        test(self)
            || match &self.items {
                Some(PropsOrList::Props(item)) => item.any(test),
                Some(PropsOrList::List(list)) => nested(list, test),
                None => false,
            }
            || nested(&self.all_of, test)
            || nested(&self.any_of, test)
            || nested(&self.one_of, test)
            || self.not.as_ref().is_some_and(|not| not.any(test))
            || self.properties.values().any(|one| one.any(test))
            || self.additional().is_some_and(|value| value.any(test))
    }
}

impl<'de> Deserialize<'de> for PropsOrBool {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = PropsOrBool;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a schema or a boolean")
            }
            fn visit_bool<E>(self, value: bool) -> Result<PropsOrBool, E> {
                Ok(PropsOrBool::Bool(value))
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<PropsOrBool, M::Error> {
                Props::deserialize(MapAccessDeserializer::new(map))
                    .map(|props| PropsOrBool::Props(Box::new(props)))
            }
        }
        from.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for PropsOrList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = PropsOrList;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a schema or a list of schemas")
            }
            fn visit_seq<S: SeqAccess<'de>>(self, list: S) -> Result<PropsOrList, S::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(PropsOrList::List)
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<PropsOrList, M::Error> {
                Props::deserialize(MapAccessDeserializer::new(map))
                    .map(|props| PropsOrList::Props(Box::new(props)))
            }
        }
        from.deserialize_any(Either)
    }
}

/// Reads `null` as if the field were absent, as Go does.
pub(super) fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(from).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nulls_are_absent_fields() {
        let written = json!({"type": null, "properties": {"a": {"required": null}}, "default": null});
        let props = Props::deserialize(&written).unwrap();
        assert_eq!(props.ty, "");
        assert_eq!(props.properties.len(), 1);
        assert!(props.default.is_none());
    }

    #[test]
    fn additional_properties_are_a_schema_or_a_boolean() {
        let read = |value: Value| Props::deserialize(&value).unwrap();
        let typed = read(json!({"additionalProperties": {"type": "string"}}));
        assert_eq!(typed.additional().unwrap().ty, "string");
        let open = read(json!({"additionalProperties": true}));
        assert!(matches!(open.additional_properties, Some(PropsOrBool::Bool(true))));
        assert!(Props::deserialize(&json!({"additionalProperties": 1})).is_err());
    }

    #[test]
    fn any_looks_everywhere_below() {
        let written = json!({"properties": {"a": {"items": {"anyOf": [{"format": "x"}]}}}});
        let props = Props::deserialize(&written).unwrap();
        assert!(props.any(&mut |props| props.format == "x"));
        assert!(!props.any(&mut |props| props.format == "y"));
    }
}
