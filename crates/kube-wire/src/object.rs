//! One object from its bytes, with the fields that nobody wants passed over.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::CowStrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

use crate::meta::{ObjectKey, peek_key};

/// What is left out while decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// Keeps `metadata.managedFields`, which are a third to a half of a typical object and which hardly anybody
    /// reads. Off by default.
    pub keep_managed_fields: bool,
}

impl DecodeOptions {
    /// Keeps `metadata.managedFields`.
    #[must_use]
    pub fn keep_managed_fields(mut self, keep: bool) -> Self {
        self.keep_managed_fields = keep;
        self
    }
}

/// An object that is not what its type says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Which object it is, if that much can be read.
    pub key: Option<Box<ObjectKey>>,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) if key.namespace.is_empty() => {
                write!(f, "{} cannot be decoded: {}", key.name, self.why)
            }
            Some(key) => write!(f, "{}/{} cannot be decoded: {}", key.namespace, key.name, self.why),
            None => write!(f, "an object without a readable name cannot be decoded: {}", self.why),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Decodes one object.
pub fn decode_object<K: DeserializeOwned>(object: &[u8], options: DecodeOptions) -> Result<K, DecodeError> {
    let failed = |why: String| DecodeError { key: peek_key(object).map(Box::new), why };
    let mut json = serde_json::Deserializer::from_str(text(object).map_err(failed)?);
    let decoded = if options.keep_managed_fields {
        K::deserialize(&mut json)
    } else {
        K::deserialize(Skipping { inner: &mut json, place: Place::Object })
    };
    decoded.and_then(|value| json.end().map(|()| value)).map_err(|error| failed(error.to_string()))
}

/// The text that bytes are, or why they are none. To look at all of it at once costs less than to look at each string in it.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| format!("it is not UTF-8 after byte {}", error.valid_up_to()))
}

/// Where in an object the decoder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the object.
    Object,
    /// At its metadata.
    Metadata,
}

impl Place {
    /// A field that is passed over here.
    fn skips(self, field: &str) -> bool {
        self == Place::Metadata && field == "managedFields"
    }

    /// The place below a field, if there is something to skip in it.
    fn below(self, field: &str) -> Option<Place> {
        (self == Place::Object && field == "metadata").then_some(Place::Metadata)
    }
}

/// A deserializer that hides fields from the type behind it. What is hidden is never built, only passed over.
pub(crate) struct Skipping<D> {
    pub(crate) inner: D,
    pub(crate) place: Place,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Skipping<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(SkippingVisitor { inner: visitor, place: self.place })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(SkippingVisitor { inner: visitor, place: self.place })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_struct(name, fields, SkippingVisitor { inner: visitor, place: self.place })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_option(SkippingVisitor { inner: visitor, place: self.place })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_newtype_struct(name, SkippingVisitor { inner: visitor, place: self.place })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_ignored_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct enum identifier
    }
}

struct SkippingVisitor<V> {
    inner: V,
    place: Place,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for SkippingVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(SkippingMap { inner: map, place: self.place, below: None })
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Skipping { inner, place: self.place })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Skipping { inner, place: self.place })
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<V::Value, E> {
        self.inner.visit_bool(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<V::Value, E> {
        self.inner.visit_i64(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<V::Value, E> {
        self.inner.visit_u64(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<V::Value, E> {
        self.inner.visit_f64(value)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<V::Value, E> {
        self.inner.visit_str(value)
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, value: &'de str) -> Result<V::Value, E> {
        self.inner.visit_borrowed_str(value)
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<V::Value, E> {
        self.inner.visit_string(value)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(seq)
    }
}

struct SkippingMap<A> {
    inner: A,
    place: Place,
    /// The place of the value behind the key that was read last.
    below: Option<Place>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for SkippingMap<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        while let Some(Key(key)) = self.inner.next_key()? {
            if self.place.skips(&key) {
                self.inner.next_value::<IgnoredAny>()?;
                continue;
            }
            self.below = self.place.below(&key);
            return seed.deserialize(CowStrDeserializer::new(key)).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        match self.below.take() {
            Some(place) => self.inner.next_value_seed(At { seed, place }),
            None => self.inner.next_value_seed(seed),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// Decodes a value at a place.
struct At<S> {
    seed: S,
    place: Place,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for At<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.seed.deserialize(Skipping { inner, place: self.place })
    }
}

/// A key, borrowed where it has no escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;

    const OBJECT: &str = r#"{"apiVersion":"v1","kind":"X","metadata":{"name":"a","managedFields":[{"fieldsV1":{"f:x":{}}}],"labels":{"managedFields":"kept"}},"spec":{"metadata":{"managedFields":"kept"},"managedFields":"kept"}}"#;

    #[test]
    fn managed_fields_of_the_object_are_skipped_and_nothing_else() {
        let decoded: Value = decode_object(OBJECT.as_bytes(), DecodeOptions::default()).unwrap();
        let mut expected: Value = serde_json::from_str(OBJECT).unwrap();
        expected["metadata"].as_object_mut().unwrap().remove("managedFields");
        assert_eq!(decoded, expected);
    }

    #[test]
    fn managed_fields_can_be_kept() {
        let options = DecodeOptions::default().keep_managed_fields(true);
        let decoded: Value = decode_object(OBJECT.as_bytes(), options).unwrap();
        assert_eq!(decoded, serde_json::from_str::<Value>(OBJECT).unwrap());
    }

    #[test]
    fn types_with_options_flattened_fields_and_escaped_keys_work() {
        #[derive(Deserialize, Debug, PartialEq)]
        struct Typed {
            metadata: Option<Meta>,
            #[serde(flatten)]
            rest: BTreeMap<String, Value>,
        }
        #[derive(Deserialize, Debug, PartialEq)]
        #[serde(rename_all = "camelCase")]
        struct Meta {
            name: Option<String>,
            managed_fields: Option<Value>,
        }
        let text = r#"{"me\u0074adata":{"n\u0061me":"a","managed\u0046ields":[1]},"data":{"k":1}}"#;
        let typed: Typed = decode_object(text.as_bytes(), DecodeOptions::default()).unwrap();
        assert_eq!(typed.metadata, Some(Meta { name: Some("a".to_owned()), managed_fields: None }));
        assert_eq!(typed.rest["data"], json!({"k": 1}));
        let typed: Typed = decode_object(br#"{"metadata":null}"#, DecodeOptions::default()).unwrap();
        assert_eq!(typed.metadata, None);
    }

    #[test]
    fn an_object_of_another_type_says_which_one_it_is() {
        #[derive(Deserialize, Debug)]
        struct Typed {
            #[expect(dead_code)]
            spec: u32,
        }
        let text = br#"{"metadata":{"name":"a","namespace":"b","resourceVersion":"7"},"spec":"no number"}"#;
        let error = decode_object::<Typed>(text, DecodeOptions::default()).unwrap_err();
        let key = error.key.as_ref().unwrap();
        assert_eq!((key.name.as_str(), key.resource_version.as_str()), ("a", "7"));
        assert!(error.to_string().starts_with("b/a cannot be decoded: invalid type: string"), "{error}");
        assert!(decode_object::<Value>(b"{} x", DecodeOptions::default()).is_err());
        assert!(decode_object::<Value>(b"", DecodeOptions::default()).unwrap_err().key.is_none());
    }

    #[test]
    fn nesting_beyond_the_limit_is_an_error_not_a_crash() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let text = format!(r#"{{"metadata":{{"name":"a"}},"spec":{deep}}}"#);
        let error = decode_object::<Value>(text.as_bytes(), DecodeOptions::default()).unwrap_err();
        assert!(error.why.contains("recursion limit"), "{error}");
    }
}
