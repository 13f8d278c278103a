//! Objects of any kind, from whatever they are read: made here, with no room to spare.
//!
//! What kube and serde_json make of themselves has some in every list, and kube's goes a long way: each member is kept as
//! something of no type before it is known where it belongs.

mod value;

use std::any::Any;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{DynamicObject, TypeMeta};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use value::Exact;

/// Decodes an object: one of any kind is made here, by itself or in a box, all others as serde makes them.
pub(crate) fn decode<'de, K, D>(deserializer: D) -> Result<K, D::Error>
where
    K: DeserializeOwned + 'static,
    D: Deserializer<'de>,
{
    // The types are known when this is compiled, so all but one of these ways vanish.
    let mut made: Option<K> = None;
    let place = &mut made as &mut dyn Any;
    if let Some(place) = place.downcast_mut::<Option<Box<DynamicObject>>>() {
        *place = Some(Box::new(deserializer.deserialize_map(DynamicVisitor)?));
    } else if let Some(place) = place.downcast_mut::<Option<DynamicObject>>() {
        *place = Some(deserializer.deserialize_map(DynamicVisitor)?);
    } else if let Some(place) = place.downcast_mut::<Option<Box<Value>>>() {
        *place = Some(Box::new(Exact::deserialize(deserializer)?.0));
    } else if let Some(place) = place.downcast_mut::<Option<Value>>() {
        *place = Some(Exact::deserialize(deserializer)?.0);
    } else {
        return K::deserialize(deserializer);
    }
    made.ok_or_else(|| Error::custom("nothing was made of it"))
}

/// Makes what [`DynamicObject`] makes of itself, but for a type that is no text, or stands there twice: that is none, or the last.
struct DynamicVisitor;

impl<'de> Visitor<'de> for DynamicVisitor {
    type Value = DynamicObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct DynamicObject")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<DynamicObject, A::Error> {
        let (mut api_version, mut kind): (Option<Value>, Option<Value>) = (None, None);
        let mut metadata: Option<ObjectMeta> = None;
        let mut data = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            match &*key {
                "apiVersion" => api_version = Some(members.next_value()?),
                "kind" => kind = Some(members.next_value()?),
                "metadata" if metadata.is_some() => return Err(Error::duplicate_field("metadata")),
                "metadata" => metadata = Some(members.next_value()?),
                _ => {
                    let Exact(value) = members.next_value()?;
                    data.insert(key, value);
                }
            }
        }
        // One without the other is none.
        let types = match (api_version, kind) {
            (Some(Value::String(api_version)), Some(Value::String(kind))) => {
                Some(TypeMeta { api_version, kind })
            }
            _ => None,
        };
        Ok(DynamicObject { types, metadata: metadata.unwrap_or_default(), data: Value::Object(data) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What is made here, and what the type makes of itself.
    fn both(text: &str) -> [Result<DynamicObject, String>; 2] {
        let mut json = serde_json::Deserializer::from_str(text);
        let here: Result<DynamicObject, _> = decode(&mut json);
        [here, serde_json::from_str(text)].map(|made| made.map_err(|error| error.to_string()))
    }

    #[test]
    fn an_object_of_any_kind_is_what_it_makes_of_itself() {
        for text in [
            r#"{"apiVersion":"v1","kind":"X","metadata":{"name":"a","labels":{"b":"c"}},"spec":{"n":[1,-2,0.5,true,null,"\u00fc",[],{}]},"status":null}"#,
            r#"{"spec":{},"kind":"X","metadata":{},"apiVersion":"v1","data":[[1,[2]]],"x":"y"}"#,
            r#"{"metadata":{"name":"a"}}"#,
            "{}",
            r#"{"kind":"X"}"#,
            r#"{"apiVersion":"v1","a":1}"#,
            r#"{"a":1,"a":2,"metadata":{"name":"a"}}"#,
            r#"{"k\u0069nd":"X","apiVersion":"v1","\u0061":1}"#,
            r#"{"a":18446744073709551615,"b":-9223372036854775808,"c":1e3,"d":123456789012345678901234567890}"#,
        ] {
            let [here, own] = both(text);
            assert_eq!(here.as_ref().unwrap(), own.as_ref().unwrap(), "{text}");
        }
    }

    #[test]
    fn of_a_type_that_stands_there_twice_the_last_counts_and_one_that_is_no_text_is_none() {
        let types = |text| both(text)[0].clone().unwrap().types;
        let twice = types(r#"{"kind":"X","apiVersion":"v1","kind":"Y"}"#);
        assert_eq!(twice, Some(TypeMeta { api_version: "v1".to_owned(), kind: "Y".to_owned() }));
        assert_eq!(types(r#"{"kind":1,"apiVersion":"v1"}"#), None);
    }

    #[test]
    fn what_is_no_object_is_refused_as_it_refuses_it() {
        for text in [
            r#"{"metadata":null}"#,
            r#"{"metadata":{"name":1}}"#,
            r#"{"metadata":{},"metadata":{}}"#,
            r#"{"a":[1,}"#,
            "[]",
            "1",
            "",
        ] {
            let [here, own] = both(text);
            assert_eq!(here.unwrap_err(), own.unwrap_err(), "{text}");
        }
    }

    #[test]
    fn a_value_of_no_type_is_what_it_makes_of_itself() {
        let text = r#"{"a":[1,-1,1.5,null,true,"x",[[]],{"b":{}}],"e":"\n"}"#;
        let made: Value = decode(&mut serde_json::Deserializer::from_str(text)).unwrap();
        assert_eq!(made, json!({"a": [1, -1, 1.5, null, true, "x", [[]], {"b": {}}], "e": "\n"}));
    }
}
