//! From the protobuf of a built-in kind to the JSON that Go would have written for the same object.
//!
//! Current clients in Go, `kubectl` among them, send built-in kinds as protobuf. There is no decoder for each
//! kind: the table of facts has the number of every field, and one walk over the bytes serves all.
//!
//! The two forms differ in more than notation. Protobuf has the zero value of every field that is not behind
//! a pointer, and JSON leaves out most of those; structs that JSON inlines are messages of their own. Structs
//! that are not behind a pointer are always there in both, so an unused `status` comes out as `{}`, as it does
//! when the same client sends JSON. Empty lists and maps do not exist in protobuf and are absent.

mod values;
mod wire;

use serde_json::{Map, Value};

use self::wire::{Raw, Reader};
use super::{MessageField, Scalar, Type, TypeRef, builtin};

/// What every Kubernetes protobuf body starts with; the message behind it says which kind it carries.
const PREFIX: &[u8] = b"k8s\0";

/// How deep messages may nest. A deep CustomResourceDefinition has three messages for each level of its
/// schema; nothing else comes near.
const MAX_DEPTH: usize = 100;

/// The name that the elements of a list get for the time of decoding, where protobuf has a message around
/// the list and JSON has not.
pub(super) const WRAPPED_ITEMS: &str = "items";

/// Reads the body of a request: one object of a built-in kind, with its `apiVersion` and `kind`.
///
/// A body that does not say what it is is taken for what is `expected`, an `apiVersion` and a `kind`.
pub(crate) fn decode(bytes: &[u8], expected: (&str, &str)) -> Result<Value, ProtobufError> {
    let envelope = Envelope::read(bytes).map_err(|cause| ProtobufError { object: None, cause })?;
    let api_version = if envelope.api_version.is_empty() { expected.0 } else { envelope.api_version };
    let kind = if envelope.kind.is_empty() { expected.1 } else { envelope.kind };
    let object = |cause| {
        let object = Some((api_version.to_owned(), kind.to_owned()));
        ProtobufError { object, cause }
    };
    let Some(ty) = builtin().root(api_version, kind) else { return Err(object(Cause::UnknownKind)) };
    let mut fields = Map::new();
    message(envelope.raw, ty, &mut fields, 0).map_err(object)?;
    fields.insert("apiVersion".to_owned(), Value::from(api_version));
    fields.insert("kind".to_owned(), Value::from(kind));
    Ok(Value::Object(fields))
}

/// Why bytes are not an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProtobufError {
    /// The `apiVersion` and `kind` that the body says it has, if it got as far as that.
    pub(crate) object: Option<(String, String)>,
    cause: Cause,
}

impl std::fmt::Display for ProtobufError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.cause, &self.object) {
            (Cause::UnknownKind, Some((api_version, kind))) => write!(
                f,
                "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\""
            ),
            (cause, _) => cause.fmt(f),
        }
    }
}

impl std::error::Error for ProtobufError {}

/// What is wrong, in the words of the Go decoder where it has some.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Cause {
    #[error("empty data")]
    Empty,
    #[error(
        "provided data does not appear to be a protobuf message, expected prefix [{} {} {} {}]",
        PREFIX[0], PREFIX[1], PREFIX[2], PREFIX[3]
    )]
    NoPrefix,
    #[error("empty body")]
    EmptyBody,
    #[error("no such kind")]
    UnknownKind,
    #[error("unexpected EOF")]
    Truncated,
    #[error("proto: negative length found during unmarshaling")]
    NegativeLength,
    #[error("proto: integer overflow")]
    EndlessNumber,
    #[error("proto: illegal tag {} (wire type {})", tag >> 3, tag & 7)]
    IllegalTag { tag: u64 },
    #[error("proto: wrong wireType = {wire}")]
    WrongWireType { wire: u8 },
    #[error("proto: wrong wireType = {wire} for field {field}")]
    WrongWireTypeOf { wire: u8, field: &'static str },
    #[error("proto: invalid UTF-8 in a string")]
    InvalidUtf8,
    #[error("proto: messages nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// A value that its type cannot hold.
    #[error("{0}")]
    Value(String),
}

/// Whether a value is one that Go's JSON leaves out of a field that is not behind a pointer.
///
/// Objects are not among them: structs are always written. Lists and maps are there only if they are not
/// empty.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// The message around every object.
struct Envelope<'a> {
    api_version: &'a str,
    kind: &'a str,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Cause> {
        if bytes.is_empty() {
            return Err(Cause::Empty);
        }
        let body = bytes.strip_prefix(PREFIX).ok_or(Cause::NoPrefix)?;
        if body.is_empty() {
            return Err(Cause::EmptyBody);
        }
        let mut envelope = Self { api_version: "", kind: "", raw: &[] };
        let mut reader = Reader::new(body);
        // The fields 3 and 4 are an encoding and a media type, which nobody sets in requests.
        while let Some((number, raw)) = reader.next()? {
            match number {
                1 => envelope.read_type(raw.bytes()?)?,
                2 => envelope.raw = raw.bytes()?,
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, bytes: &'a [u8]) -> Result<(), Cause> {
        let mut reader = Reader::new(bytes);
        while let Some((number, raw)) = reader.next()? {
            match number {
                1 => self.api_version = raw.text()?,
                2 => self.kind = raw.text()?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Adds the fields of a message to an object. Numbers that the message does not have are passed over.
fn message(bytes: &[u8], ty: TypeRef<'_>, into: &mut Map<String, Value>, depth: usize) -> Result<(), Cause> {
    if depth > MAX_DEPTH {
        return Err(Cause::TooDeep);
    }
    let fields = ty.message();
    let mut reader = Reader::new(bytes);
    while let Some((number, raw)) = reader.next()? {
        let Ok(at) = fields.binary_search_by_key(&number, |field| field.number) else { continue };
        let known = &fields[at];
        field(raw, known, ty.schema.at(known.ty), into, depth).map_err(|cause| {
            match (cause, known.name) {
                (Cause::WrongWireType { wire }, Some(field)) => Cause::WrongWireTypeOf { wire, field },
                (cause, _) => cause,
            }
        })?;
    }
    Ok(())
}

/// Adds one field to an object. A field that comes twice is extended if it has parts, else replaced.
fn field(
    raw: Raw<'_>,
    field: &MessageField,
    ty: TypeRef<'_>,
    into: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), Cause> {
    let Some(name) = field.name else { return message(raw.bytes()?, ty, into, depth + 1) };
    match ty.ty() {
        Type::Object(_) => {
            let below = into.entry(name).or_insert_with(|| Value::Object(Map::new()));
            // The table has a name only once in a message, so what is there already came from here.
            let Value::Object(below) = below else { return Ok(()) };
            message(raw.bytes()?, ty, below, depth + 1)
        }
        Type::Map { value, .. } => {
            let (key, value) = entry(raw.bytes()?, ty.schema.at(*value), depth + 1)?;
            let below = into.entry(name).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(below) = below {
                below.insert(key, value);
            }
            Ok(())
        }
        Type::List { item, .. } if ty.message().is_empty() => {
            let below = into.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            let Value::Array(below) = below else { return Ok(()) };
            elements(raw, ty.schema.at(*item), below, depth)
        }
        Type::Any | Type::Scalar(_) | Type::List { .. } => {
            let value = value(raw, ty, depth)?;
            let absent = match ty.ty() {
                // A struct in Go, which is never left out, whatever is in it.
                Type::Scalar(Scalar::IntOrString) => false,
                // A time that was never set is the same as an absent one.
                Type::Scalar(_) => value.is_null() || (is_zero(&value) && !field.shows_zero),
                _ => false,
            };
            if absent {
                into.remove(name);
            } else {
                into.insert(name.to_owned(), value);
            }
            Ok(())
        }
    }
}

/// Adds an element to a list, or several integers that are packed into one field.
fn elements(raw: Raw<'_>, item: TypeRef<'_>, into: &mut Vec<Value>, depth: usize) -> Result<(), Cause> {
    let integer = match item.ty() {
        Type::Scalar(kind @ (Scalar::Boolean | Scalar::Int32 | Scalar::Int64)) => Some(*kind),
        _ => None,
    };
    if let (Some(kind), Raw::Bytes(packed)) = (integer, raw) {
        let mut reader = Reader::new(packed);
        while let Some(number) = reader.next_packed()? {
            into.push(values::scalar(kind, Raw::Varint(number))?);
        }
        return Ok(());
    }
    into.push(value(raw, item, depth)?);
    Ok(())
}

/// A key of a map and its value; either may be left out if it is zero.
fn entry(bytes: &[u8], ty: TypeRef<'_>, depth: usize) -> Result<(String, Value), Cause> {
    let (mut key, mut found) = ("", None);
    let mut reader = Reader::new(bytes);
    while let Some((number, raw)) = reader.next()? {
        match number {
            1 => key = raw.text()?,
            2 => found = Some(value(raw, ty, depth)?),
            _ => {}
        }
    }
    let value = match (found, ty.ty()) {
        (Some(value), _) => value,
        (None, Type::Scalar(kind)) => values::zero(*kind),
        (None, _) => value(Raw::Bytes(&[]), ty, depth)?,
    };
    Ok((key.to_owned(), value))
}

/// A value in a place where it cannot be extended: an element, a scalar, or a type with a JSON form of its own.
fn value(raw: Raw<'_>, ty: TypeRef<'_>, depth: usize) -> Result<Value, Cause> {
    if let Type::Scalar(kind) = ty.ty() {
        return values::scalar(*kind, raw);
    }
    let bytes = raw.bytes()?;
    if let ([MessageField { name: Some("raw"), .. }], Type::Any) = (ty.message(), ty.ty()) {
        return embedded(bytes);
    }
    let mut parts = Map::new();
    message(bytes, ty, &mut parts, depth + 1)?;
    Ok(match ty.ty() {
        Type::Any => one_of(&mut parts, ty.message()),
        Type::List { .. } => parts.remove(WRAPPED_ITEMS).unwrap_or_else(|| Value::Array(Vec::new())),
        _ => Value::Object(parts),
    })
}

/// JSON in a protobuf field (`RawExtension`, `FieldsV1`); `null` if there is none.
fn embedded(bytes: &[u8]) -> Result<Value, Cause> {
    let mut json: &[u8] = &[];
    let mut reader = Reader::new(bytes);
    while let Some((number, raw)) = reader.next()? {
        if number == 1 {
            json = raw.bytes()?;
        }
    }
    if json.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(json).map_err(|error| Cause::Value(format!("json parse error: {error}")))
}

/// A type that has several forms in JSON and a field for each in protobuf: `JSONSchemaPropsOrBool` and its
/// relatives. The form that says most is the one that counts.
fn one_of(parts: &mut Map<String, Value>, fields: &[MessageField]) -> Value {
    let has_boolean = fields.iter().any(|field| field.name == Some("allows"));
    let zero = if has_boolean { Value::Bool(false) } else { Value::Null };
    ["jSONSchemas", "property", "schema", "allows"]
        .iter()
        .find_map(|name| parts.remove(*name))
        .unwrap_or(zero)
}

#[cfg(test)]
mod tests;
