//! JSON as Kubernetes reads it: of a field that comes twice the last one counts, but it is noticed; and what is
//! wrong is said in the words of Go.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A document, and whether any of its objects has a field twice.
#[derive(Debug, PartialEq)]
pub(super) struct Parsed {
    pub(super) value: Value,
    pub(super) repeats: bool,
}

/// Reads a document in one pass; an error is worded as Go words it.
pub(super) fn parse(body: &[u8]) -> Result<Parsed, String> {
    let repeats = Cell::new(false);
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = Values(&repeats)
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| in_words_of_go(body, &error))?;
    Ok(Parsed { value, repeats: repeats.get() })
}

/// Builds a value, and remembers whether a field came twice.
#[derive(Clone, Copy)]
struct Values<'a>(&'a Cell<bool>);

impl<'de> DeserializeSeed<'de> for Values<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(self)?;
            if object.insert(key, value).is_some() {
                self.0.set(true);
            }
        }
        Ok(Value::Object(object))
    }
}

/// One field of a document, in its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Occurrence {
    /// `spec.containers[0].image`.
    pub(super) path: String,
    /// The same field was there before.
    pub(super) repeated: bool,
}

/// All fields of a document in the order in which they are written; only errors need it.
pub(super) fn occurrences(body: &[u8]) -> Vec<Occurrence> {
    let mut found = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    // A document that does not parse was refused before anybody asks this.
    let _ = Fields { path: "", found: &mut found }.deserialize(&mut deserializer);
    found
}

struct Fields<'a> {
    path: &'a str,
    found: &'a mut Vec<Occurrence>,
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        for at in 0.. {
            let path = format!("{}[{at}]", self.path);
            if list.next_element_seed(Fields { path: &path, found: &mut *self.found })?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut seen = std::collections::HashSet::new();
        while let Some(key) = fields.next_key::<String>()? {
            let path = if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
            self.found.push(Occurrence { path: path.clone(), repeated: !seen.insert(key) });
            fields.next_value_seed(Fields { path: &path, found: &mut *self.found })?;
        }
        Ok(())
    }
}

/// What Go says about a document that is no JSON.
fn in_words_of_go(body: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let said = error.to_string();
    let place = if said.starts_with("expected value") || said.starts_with("expected ident") {
        "looking for beginning of value"
    } else if said.starts_with("key must be a string") || said.starts_with("trailing comma") {
        "looking for beginning of object key string"
    } else if said.starts_with("expected `:`") {
        "after object key"
    } else if said.starts_with("expected `,` or `}`") || said.starts_with("invalid number") {
        "after object key:value pair"
    } else if said.starts_with("expected `,` or `]`") {
        "after array element"
    } else if said.starts_with("trailing characters") {
        "after top-level value"
    } else if said.starts_with("control character") {
        "in string literal"
    } else if said.starts_with("invalid escape") {
        "in string escape code"
    } else {
        return said;
    };
    let line = body.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let found = line.get(error.column().saturating_sub(1)).copied().unwrap_or_default();
    let shown = match found {
        b'\'' => "'\\''".to_owned(),
        found if found.is_ascii_control() => format!("'\\x{found:02x}'"),
        0x80..=0x9f => format!("'\\u{found:04x}'"),
        found => format!("'{}'", char::from(found)),
    };
    format!("invalid character {shown} {place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_two_fields_counts_and_both_are_noticed() {
        let parsed = parse(br#"{"a":{"b":1,"b":[2.5,true,null,"x"]},"c":-1}"#).unwrap();
        assert_eq!(parsed.value, serde_json::json!({"a": {"b": [2.5, true, null, "x"]}, "c": -1}));
        assert!(parsed.repeats);
        assert!(!parse(br#"{"a":{"b":1},"b":1}"#).unwrap().repeats);
    }

    #[test]
    fn fields_are_found_in_the_order_of_the_document() {
        let found = occurrences(br#"{"z":{"b":1},"a":[{"x":1,"x":2}]}"#);
        let text: Vec<String> =
            found.iter().map(|at| format!("{}{}", at.path, if at.repeated { "!" } else { "" })).collect();
        assert_eq!(text, ["z", "z.b", "a", "a[0].x", "a[0].x!"]);
    }

    #[test]
    fn errors_are_worded_as_go_words_them() {
        for (body, why) in [
            ("", "unexpected end of JSON input"),
            ("{\"kind\":", "unexpected end of JSON input"),
            ("hello", "invalid character 'h' looking for beginning of value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 x}", "invalid character 'x' after object key:value pair"),
            ("{\"a\":[1 2]}", "invalid character '2' after array element"),
            ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\":1} x", "invalid character 'x' after top-level value"),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("{\"a\":\"\\q\"}", "invalid character 'q' in string escape code"),
        ] {
            assert_eq!(parse(body.as_bytes()).unwrap_err(), why, "{body}");
        }
    }
}
