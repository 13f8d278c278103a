//! One object from its bytes, with the fields that nobody wants passed over.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::json;
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
    /// A function of the program panicked on the object, so it may be decoded when it comes again.
    pub panicked: bool,
}

impl DecodeError {
    /// An error about the object with this key, if it is known.
    pub fn new(key: Option<Box<ObjectKey>>, why: impl Into<String>) -> Self {
        Self { key, why: why.into(), panicked: false }
    }

    /// The error about an object for which a function of the program panicked.
    pub fn panicked(key: Option<Box<ObjectKey>>, why: impl Into<String>) -> Self {
        Self { panicked: true, ..Self::new(key, why) }
    }
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
///
/// Strings and lists have no room to spare, with three exceptions: a [`serde_json::Value`] inside another type, the last two
/// bytes of what was base64, and a list whose elements take more than a megabyte or have many thousands of lists in them.
pub fn decode_object<K: DeserializeOwned + 'static>(
    object: &[u8],
    options: DecodeOptions,
) -> Result<K, DecodeError> {
    let decoded =
        text(object).and_then(|text| json::from_text(text, options).map_err(|error| error.to_string()));
    decoded.map_err(|why| DecodeError::new(peek_key(object).map(Box::new), why))
}

/// The text that bytes are, or why they are none. To look at all of it at once costs less than to look at each string in it.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| format!("it is not UTF-8 after byte {}", error.valid_up_to()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
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
