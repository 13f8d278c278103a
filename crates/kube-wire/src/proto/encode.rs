//! From JSON to protobuf, as Go's encoder writes it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::MAX_DEPTH;
use super::table::{Field, Kind, ProtoMessage, Shape, Table};
use super::time::Time;
use super::wire::{BYTES, Tag, VARINT, put_bytes, put_varint};

/// An object that its kind cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// Where it is wrong, for example `spec.containers[0].image`; empty for the object itself.
    pub path: String,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.why),
            path => write!(f, "{path}: {}", self.why),
        }
    }
}

impl std::error::Error for EncodeError {}

/// Encodes one object as the protobuf message of its kind, without an envelope around it.
///
/// The bytes are those that Go's encoder writes for the same object: fields in the order of their numbers, keys of maps
/// in theirs, and the zero value of every field that is not behind a pointer. `apiVersion` and `kind` are not part of a
/// message. A field that the kind does not have is an error.
///
/// ```
/// use kube_wire::{DecodeOptions, ProtoMessage, decode_object_proto, encode_object_proto};
/// use serde_json::{Value, json};
///
/// let kind = ProtoMessage::of("", "v1", "ConfigMap").unwrap();
/// let object = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
/// let bytes = encode_object_proto(&object, kind)?;
/// let decoded: Value = decode_object_proto(&bytes, kind, DecodeOptions::default()).unwrap();
/// assert_eq!(decoded, object);
/// # Ok::<(), kube_wire::EncodeError>(())
/// ```
pub fn encode_object_proto(object: &Value, message: ProtoMessage) -> Result<Vec<u8>, EncodeError> {
    encode(object, message, Unknown::Refused)
}

/// Encodes one object as [`encode_object_proto`] does, but leaves out fields that the kind does not have.
pub fn encode_known_proto(object: &Value, message: ProtoMessage) -> Result<Vec<u8>, EncodeError> {
    encode(object, message, Unknown::LeftOut)
}

/// What becomes of fields that a kind does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Refused,
    LeftOut,
}

fn encode(object: &Value, message: ProtoMessage, unknown: Unknown) -> Result<Vec<u8>, EncodeError> {
    let table = Table::get();
    let mut out = Vec::new();
    let mut encoder = Encoder { table, unknown, depth: 0 };
    let known = table.fields(message.message());
    object_of(object)
        .and_then(|object| encoder.message(object, known, &mut out))
        .map_err(EncodeError::from)?;
    out.shrink_to_fit();
    Ok(out)
}

/// The fields that JSON has and messages have not.
const TYPES: [&str; 2] = ["apiVersion", "kind"];

struct Encoder {
    table: &'static Table,
    unknown: Unknown,
    depth: u32,
}

impl Encoder {
    /// Writes the fields of a message, and makes sure that there are no others.
    fn message(
        &mut self,
        object: &Map<String, Value>,
        known: &'static [Field],
        out: &mut Vec<u8>,
    ) -> Result<(), Wrong> {
        if self.depth > MAX_DEPTH {
            return Err(Wrong::new(format!("nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let written = self.fields(object, known, out)?;
        self.depth -= 1;
        if written == object.len() || self.unknown == Unknown::LeftOut {
            return Ok(());
        }
        match object.keys().find(|name| !self.knows(known, name) && !TYPES.contains(&name.as_str())) {
            Some(name) => Err(Wrong::new("unknown field").below(name)),
            None => Ok(()),
        }
    }

    /// Writes fields, and counts those that the object has.
    fn fields(
        &mut self,
        object: &Map<String, Value>,
        known: &'static [Field],
        out: &mut Vec<u8>,
    ) -> Result<usize, Wrong> {
        let mut written = 0;
        for field in known.iter().filter(|field| field.kind != Kind::Absent) {
            if field.kind == Kind::Inline {
                let below = self.table.fields(self.table.below(field));
                written += delimited(field, out, |out| self.fields(object, below, out))?;
                continue;
            }
            let value = object.get(field.name);
            written += usize::from(value.is_some());
            match value {
                None | Some(Value::Null) => self.zero(field, out)?,
                Some(value) => self.field(field, value, out).map_err(|wrong| wrong.below(field.name))?,
            }
        }
        Ok(written)
    }

    fn knows(&self, fields: &'static [Field], name: &str) -> bool {
        fields.iter().any(|field| match field.kind {
            Kind::Absent => false,
            Kind::Inline => self.knows(self.table.fields(self.table.below(field)), name),
            _ => field.name == name,
        })
    }

    fn field(&mut self, field: &'static Field, value: &Value, out: &mut Vec<u8>) -> Result<(), Wrong> {
        match field.shape {
            Shape::One => self.value(field, value, out),
            Shape::Repeated => {
                let items = value.as_array().ok_or_else(|| Wrong::new("expected a list"))?;
                for (at, item) in items.iter().enumerate() {
                    self.value(field, item, out).map_err(|wrong| wrong.at(at))?;
                }
                Ok(())
            }
            Shape::Map => {
                // In the order of their keys, as Go writes them.
                let mut entries: Vec<_> = object_of(value)?.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                for (key, value) in entries {
                    let entry = |out: &mut Vec<u8>| {
                        put_bytes(1, key.as_bytes(), out);
                        let mut in_entry = *field;
                        in_entry.tag = Tag::new(2, BYTES);
                        self.value(&in_entry, value, out)
                    };
                    delimited(field, out, entry).map_err(|wrong| wrong.below(key))?;
                }
                Ok(())
            }
        }
    }

    /// Writes one value with its tag.
    fn value(&mut self, field: &Field, value: &Value, out: &mut Vec<u8>) -> Result<(), Wrong> {
        match field.kind {
            Kind::String => put_text(field, text(value)?.as_bytes(), out),
            Kind::Bytes => {
                // The decoder's own words have a byte of the value in them.
                let bytes = STANDARD.decode(text(value)?).map_err(|_| Wrong::new("expected base64"))?;
                put_text(field, &bytes, out);
            }
            Kind::Bool => {
                let value = value.as_bool().ok_or_else(|| Wrong::new("expected true or false"))?;
                put_number(field, value.into(), out);
            }
            Kind::Int32 => put_number(field, int32(value)? as i64 as u64, out),
            Kind::Int64 => put_number(field, integer(value)? as u64, out),
            Kind::Number => {
                let value = value.as_f64().ok_or_else(|| Wrong::new("expected a number"))?;
                put_varint(field.tag.bits(), out);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Kind::Time | Kind::MicroTime => {
                let time = match value {
                    // Never set.
                    Value::Null => None,
                    value => Some(Time::parse(text(value)?).ok_or_else(|| Wrong::new("expected a time"))?),
                };
                delimited(field, out, |out| {
                    if let Some(time) = time {
                        time.write(field.kind, out);
                    }
                    Ok(())
                })?;
            }
            Kind::Quantity => {
                let quantity = match value {
                    Value::Number(number) => number.to_string(),
                    value => text(value)?.to_owned(),
                };
                delimited(field, out, |out| {
                    put_bytes(1, quantity.as_bytes(), out);
                    Ok(())
                })?;
            }
            Kind::IntOrString => {
                let (is_name, number, name) = match value {
                    Value::String(name) => (1, 0, name.as_str()),
                    value => (0, int32(value)?, ""),
                };
                delimited(field, out, |out| {
                    put_int_or_string(is_name, number, name, out);
                    Ok(())
                })?;
            }
            Kind::Json => delimited(field, out, |out| {
                if !value.is_null() {
                    put_bytes(1, value.to_string().as_bytes(), out);
                }
                Ok(())
            })?,
            Kind::Message => {
                let below = self.table.fields(self.table.below(field));
                let object = object_of(value)?;
                delimited(field, out, |out| self.message(object, below, out))?;
            }
            Kind::Or => {
                let below = self.table.fields(self.table.below(field));
                delimited(field, out, |out| self.one_of(below, value, out))?;
            }
            // Neither gets here: fields are asked for by name.
            Kind::Inline | Kind::Absent => {}
        }
        Ok(())
    }

    /// Writes a value into the one of several fields that takes values of its form.
    fn one_of(&mut self, fields: &'static [Field], value: &Value, out: &mut Vec<u8>) -> Result<(), Wrong> {
        let takes = |field: &&Field| match (field.shape, field.kind) {
            (Shape::Repeated, _) => value.is_array(),
            (_, Kind::Bool) => value.is_boolean(),
            (_, Kind::Message) => value.is_object(),
            _ => false,
        };
        let taking = fields.iter().find(takes);
        if taking.is_none() && !value.is_null() {
            return Err(Wrong::new("is none of the forms that this field may have"));
        }
        for field in fields {
            match taking {
                Some(taking) if field == taking => self.field(field, value, out)?,
                // A schema for what else there may be says that there may be something else.
                _ if field.kind == Kind::Bool => put_number(field, value.is_object().into(), out),
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes what Go writes for a field that was not set.
    fn zero(&mut self, field: &'static Field, out: &mut Vec<u8>) -> Result<(), Wrong> {
        if field.pointer || field.shape != Shape::One {
            return Ok(());
        }
        match field.kind {
            Kind::String | Kind::Time | Kind::MicroTime | Kind::Json => put_text(field, b"", out),
            Kind::Bool | Kind::Int32 | Kind::Int64 => put_number(field, 0, out),
            Kind::Quantity => self.value(field, &Value::from("0"), out)?,
            Kind::IntOrString => self.value(field, &Value::from(0), out)?,
            Kind::Number => self.value(field, &Value::from(0.0), out)?,
            Kind::Message => self.value(field, &Value::Object(Map::new()), out)?,
            // Those can be nothing in Go.
            Kind::Bytes | Kind::Or | Kind::Inline | Kind::Absent => {}
        }
        Ok(())
    }
}

/// Writes a tag, and what is written below it with its length.
fn delimited<T>(
    field: &Field,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<T, Wrong>,
) -> Result<T, Wrong> {
    put_varint(field.tag.bits(), out);
    let start = out.len();
    let written = write(out)?;
    let mut length = Vec::new();
    put_varint((out.len() - start) as u64, &mut length);
    out.splice(start..start, length);
    Ok(written)
}

fn put_text(field: &Field, text: &[u8], out: &mut Vec<u8>) {
    put_bytes(field.tag.number(), text, out);
}

fn put_number(field: &Field, number: u64, out: &mut Vec<u8>) {
    put_varint(field.tag.bits(), out);
    put_varint(number, out);
}

fn put_int_or_string(is_name: u64, number: i32, name: &str, out: &mut Vec<u8>) {
    for (tag, value) in [(INT_OR_STRING_TYPE, is_name), (INT_OR_STRING_NUMBER, i64::from(number) as u64)] {
        put_varint(tag.bits(), out);
        put_varint(value, out);
    }
    put_bytes(INT_OR_STRING_NAME, name.as_bytes(), out);
}

const INT_OR_STRING_TYPE: Tag = Tag::new(1, VARINT);
const INT_OR_STRING_NUMBER: Tag = Tag::new(2, VARINT);
const INT_OR_STRING_NAME: u32 = 3;

fn object_of(value: &Value) -> Result<&Map<String, Value>, Wrong> {
    value.as_object().ok_or_else(|| Wrong::new("expected an object"))
}

fn text(value: &Value) -> Result<&str, Wrong> {
    value.as_str().ok_or_else(|| Wrong::new("expected a string"))
}

fn integer(value: &Value) -> Result<i64, Wrong> {
    value.as_i64().ok_or_else(|| Wrong::new("expected an integer"))
}

fn int32(value: &Value) -> Result<i32, Wrong> {
    i32::try_from(integer(value)?).map_err(|_| Wrong::new("expected an integer of 32 bits"))
}

/// An error on its way up, where its path grows.
struct Wrong {
    why: String,
    /// From the inside out.
    path: Vec<String>,
}

impl Wrong {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), path: Vec::new() }
    }

    fn below(mut self, name: &str) -> Self {
        self.path.push(format!(".{name}"));
        self
    }

    fn at(mut self, index: usize) -> Self {
        self.path.push(format!("[{index}]"));
        self
    }
}

impl From<Wrong> for EncodeError {
    fn from(wrong: Wrong) -> Self {
        let path: String = wrong.path.into_iter().rev().collect();
        Self { path: path.trim_start_matches('.').to_owned(), why: wrong.why }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn encode(group: &str, version: &str, kind: &str, object: &Value) -> Result<Vec<u8>, String> {
        let message = ProtoMessage::of(group, version, kind).unwrap();
        encode_object_proto(object, message).map_err(|error| error.to_string())
    }

    #[test]
    fn zero_values_are_written_as_go_writes_them() {
        let object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"b": "", "a": "1"}, "immutable": null});
        let expected = b"\x0a\x10\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00\
            \x12\x06\x0a\x01a\x12\x011\x12\x05\x0a\x01b\x12\x00";
        assert_eq!(encode("", "v1", "ConfigMap", &object).unwrap(), expected);
    }

    #[test]
    fn what_a_kind_cannot_hold_is_an_error_that_says_where() {
        for (object, error) in [
            (json!([]), "expected an object"),
            (json!({"spek": {}}), "spek: unknown field"),
            (json!({"metadata": {"labels": {"a": 1}}}), "metadata.labels.a: expected a string"),
            (
                json!({"spec": {"containers": [{}, {"image": 5}]}}),
                "spec.containers[1].image: expected a string",
            ),
            (json!({"spec": {"containers": {}}}), "spec.containers: expected a list"),
            (
                json!({"spec": {"volumes": [{"name": "a", "emptyDri": {}}]}}),
                "spec.volumes[0].emptyDri: unknown field",
            ),
            (json!({"spec": {"priority": 1_i64 << 40}}), "spec.priority: expected an integer of 32 bits"),
            (json!({"spec": {"hostNetwork": "yes"}}), "spec.hostNetwork: expected true or false"),
            (
                json!({"metadata": {"creationTimestamp": "now"}}),
                "metadata.creationTimestamp: expected a time",
            ),
        ] {
            assert_eq!(encode("", "v1", "Pod", &object), Err(error.to_owned()), "{object}");
        }
        let secret = json!({"data": {"a": "not base64!"}});
        assert!(encode("", "v1", "Secret", &secret).unwrap_err().starts_with("data.a: "));
    }

    #[test]
    fn what_a_kind_does_not_have_can_be_left_out() {
        let known = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
        let more = json!({"metadata": {"name": "a", "colour": "red"}, "data": {"k": "v"}, "spek": {}});
        let message = ProtoMessage::of("", "v1", "ConfigMap").unwrap();
        assert_eq!(encode_known_proto(&more, message), encode_object_proto(&known, message));
        assert!(encode_known_proto(&json!({"data": 5}), message).is_err(), "what is wrong stays wrong");
    }

    #[test]
    fn nesting_beyond_the_limit_is_an_error() {
        let mut schema = json!({});
        for _ in 0..200 {
            schema = json!({"not": schema});
        }
        let definition = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
        let error =
            encode("apiextensions.k8s.io", "v1", "CustomResourceDefinition", &definition).unwrap_err();
        assert!(error.ends_with("nested more than 100 deep"), "{error}");
        let either =
            json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {"additionalProperties": 5}}}]}});
        let error = encode("apiextensions.k8s.io", "v1", "CustomResourceDefinition", &either).unwrap_err();
        assert!(
            error.ends_with("additionalProperties: is none of the forms that this field may have"),
            "{error}"
        );
    }
}
