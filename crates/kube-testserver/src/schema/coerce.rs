//! What a typed Go decoder does to the JSON of a built-in kind.
//!
//! Kubernetes decodes built-in kinds into Go structs and encodes those again, so what it stores is not what
//! it was sent: fields the struct does not have are gone, `null` is the same as absent, and quantities and
//! times are written in one way. This does the same to JSON, in place.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use super::{Field, Object, Scalar, Type, TypeRef, quantity, times};
use crate::paths::{MAX_PATHS, shortened};

/// A field that its type does not have, and that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownField {
    /// The way to it, for example `spec.containers[0].foo`.
    pub(crate) path: String,
}

impl fmt::Display for UnknownField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown field {:?}", self.path)
    }
}

/// A value that its type cannot hold, in the words of Go's decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypeMismatch {
    pub(crate) message: String,
}

impl fmt::Display for TypeMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TypeMismatch {}

/// Makes a value what it would be after a trip through the Go type.
///
/// Returns the first fields that were dropped because the type does not have them. After an error the value may
/// be changed in part. Fields that Go would add (`status: {}`, `containers: null`) are not added.
pub(crate) fn coerce(value: &mut Value, ty: TypeRef<'_>) -> Result<Vec<UnknownField>, TypeMismatch> {
    let mut walk = Walk { unknown: Vec::new() };
    walk.value(value, ty, &Path::Root)?;
    Ok(walk.unknown)
}

struct Walk {
    unknown: Vec<UnknownField>,
}

/// The way to a value. It lives on the stack and becomes text only when something is wrong.
enum Path<'a> {
    Root,
    Field { parent: &'a Path<'a>, name: &'a str, object: &'a Object },
    Key { parent: &'a Path<'a>, key: &'a str },
    Index { parent: &'a Path<'a>, index: usize },
}

impl Walk {
    fn value(&mut self, value: &mut Value, ty: TypeRef<'_>, path: &Path<'_>) -> Result<(), TypeMismatch> {
        match ty.ty() {
            Type::Any => Ok(()),
            Type::Scalar(kind) => scalar(value, *kind, ty, path),
            Type::Object(object) => self.object(value, object, ty, path),
            Type::Map { value: id, .. } => {
                let Value::Object(map) = value else { return Err(mismatch(value, ty, path)) };
                let below = ty.schema.at(*id);
                for (key, value) in map {
                    self.element(value, below, &Path::Key { parent: path, key })?;
                }
                Ok(())
            }
            Type::List { item, .. } => {
                let Value::Array(list) = value else { return Err(mismatch(value, ty, path)) };
                let below = ty.schema.at(*item);
                for (index, value) in list.iter_mut().enumerate() {
                    self.element(value, below, &Path::Index { parent: path, index })?;
                }
                Ok(())
            }
        }
    }

    /// An element of a list or map. It cannot be absent, so `null` becomes Go's zero value.
    fn element(&mut self, value: &mut Value, ty: TypeRef<'_>, path: &Path<'_>) -> Result<(), TypeMismatch> {
        if value.is_null() {
            *value = zero(ty);
            return Ok(());
        }
        self.value(value, ty, path)
    }

    fn object(
        &mut self,
        value: &mut Value,
        object: &Object,
        ty: TypeRef<'_>,
        path: &Path<'_>,
    ) -> Result<(), TypeMismatch> {
        let Value::Object(map) = value else { return Err(mismatch(value, ty, path)) };
        // Nearly always empty, and then it costs nothing.
        let mut dropped: Vec<String> = Vec::new();
        let mut next = 0;
        for (name, value) in &mut *map {
            let Some(field) = find(&object.fields, &mut next, name) else {
                if !object.preserve_unknown {
                    if self.unknown.len() < MAX_PATHS {
                        let path = Path::Field { parent: path, name, object };
                        self.unknown.push(UnknownField { path: shortened(&path.with_elements()) });
                    }
                    dropped.push(name.clone());
                }
                continue;
            };
            let below = ty.schema.at(field.ty);
            if value.is_null() {
                if !matches!(below.ty(), Type::Any) {
                    dropped.push(name.clone());
                }
                continue;
            }
            self.value(value, below, &Path::Field { parent: path, name, object })?;
        }
        for name in dropped {
            map.remove(&name);
        }
        Ok(())
    }
}

/// The field of this name, looked for from `next` on.
///
/// Keys and fields are both sorted, so walking along is cheaper than searching for each key anew. Where keys
/// come in another order (or are unknown) a search has the last word.
fn find<'a>(fields: &'a [Field], next: &mut usize, name: &str) -> Option<&'a Field> {
    while let Some(field) = fields.get(*next) {
        match (*field.name).cmp(name) {
            Ordering::Less => *next += 1,
            Ordering::Equal => return Some(field),
            Ordering::Greater => break,
        }
    }
    let at = fields.binary_search_by(|field| (*field.name).cmp(name)).ok()?;
    Some(&fields[at])
}

fn scalar(value: &mut Value, kind: Scalar, ty: TypeRef<'_>, path: &Path<'_>) -> Result<(), TypeMismatch> {
    let text_error = |message: String| TypeMismatch { message };
    let replacement = match (kind, &*value) {
        (Scalar::String | Scalar::Duration | Scalar::IntOrString, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Number, Value::Number(_)) => None,
        (Scalar::Int32 | Scalar::IntOrString, Value::Number(n))
            if n.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) =>
        {
            None
        }
        (Scalar::Int64, Value::Number(n)) if n.is_i64() => None,
        (Scalar::Bytes, Value::String(text)) => base64_text(text).map_err(text_error)?,
        (Scalar::Time, Value::String(text)) => owned(times::seconds(text).map_err(text_error)?),
        (Scalar::MicroTime, Value::String(text)) => owned(times::micros(text).map_err(text_error)?),
        (Scalar::Quantity, Value::String(text)) => {
            let written = quantity::canonical(text.trim()).map_err(|error| text_error(error.to_string()))?;
            (*written != **text).then(|| written.into_owned())
        }
        (Scalar::Quantity, other) => {
            let text = other.to_string();
            let text = quantity::canonical(&text).map_err(|error| text_error(error.to_string()))?;
            Some(text.into_owned())
        }
        _ => return Err(mismatch(value, ty, path)),
    };
    if let Some(text) = replacement {
        *value = Value::String(text);
    }
    Ok(())
}

fn owned(text: Cow<'_, str>) -> Option<String> {
    match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}

/// Checks base64 with padding. Go skips line breaks, so a text with some comes back without them.
fn base64_text(text: &str) -> Result<Option<String>, String> {
    if text.bytes().any(|b| b == b'\n' || b == b'\r') {
        let joined: String = text.chars().filter(|c| *c != '\n' && *c != '\r').collect();
        check_base64(&joined)?;
        return Ok(Some(joined));
    }
    check_base64(text)?;
    Ok(None)
}

fn check_base64(text: &str) -> Result<(), String> {
    let error = |at: usize| format!("illegal base64 data at input byte {at}");
    let bytes = text.as_bytes();
    let padding = bytes.iter().rev().take(2).take_while(|b| **b == b'=').count();
    let body = &bytes[..bytes.len() - padding];
    if let Some(at) = body.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))) {
        return Err(error(at));
    }
    if !bytes.len().is_multiple_of(4) {
        return Err(error(bytes.len() / 4 * 4));
    }
    Ok(())
}

/// What Go writes for a value that was never set.
fn zero(ty: TypeRef<'_>) -> Value {
    match ty.ty() {
        Type::Object(_) => Value::Object(serde_json::Map::new()),
        Type::Any | Type::Map { .. } | Type::List { .. } => Value::Null,
        Type::Scalar(kind) => match kind {
            Scalar::String => Value::String(String::new()),
            Scalar::Quantity | Scalar::Duration => Value::String("0".to_owned()),
            Scalar::Boolean => Value::Bool(false),
            Scalar::Int32 | Scalar::Int64 | Scalar::Number | Scalar::IntOrString => Value::from(0),
            Scalar::Bytes | Scalar::Time | Scalar::MicroTime => Value::Null,
        },
    }
}

fn mismatch(value: &Value, ty: TypeRef<'_>, path: &Path<'_>) -> TypeMismatch {
    let found = match value {
        Value::Null => Cow::Borrowed("null"),
        Value::Bool(_) => Cow::Borrowed("bool"),
        // Go names the number when the type is right and only the number does not fit.
        Value::Number(n) if is_integer(ty) => Cow::Owned(format!("number {n}")),
        Value::Number(_) => Cow::Borrowed("number"),
        Value::String(_) => Cow::Borrowed("string"),
        Value::Array(_) => Cow::Borrowed("array"),
        Value::Object(_) => Cow::Borrowed("object"),
    };
    let wanted = go_type(ty);
    let message = match path.innermost_struct() {
        Some(object) => {
            let owner = object.name.rsplit('.').next().unwrap_or_default();
            let fields = path.fields_only();
            format!("json: cannot unmarshal {found} into Go struct field {owner}.{fields} of type {wanted}")
        }
        None => format!("json: cannot unmarshal {found} into Go value of type {wanted}"),
    };
    TypeMismatch { message }
}

fn is_integer(ty: TypeRef<'_>) -> bool {
    matches!(ty.ty(), Type::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::IntOrString))
}

/// The Go type as Go prints it: `int32`, `v1.Protocol`, `[]v1.Container`.
fn go_type(ty: TypeRef<'_>) -> String {
    if let Some(name) = ty.name() {
        let from = name.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
        return name[from..].to_owned();
    }
    match ty.ty() {
        Type::Any | Type::Object(_) => "interface {}".to_owned(),
        Type::Map { value, .. } => format!("map[string]{}", go_type(ty.schema.at(*value))),
        Type::List { item, .. } => format!("[]{}", go_type(ty.schema.at(*item))),
        Type::Scalar(kind) => match kind {
            Scalar::Boolean => "bool",
            Scalar::Int32 | Scalar::IntOrString => "int32",
            Scalar::Int64 => "int64",
            Scalar::Number => "float64",
            Scalar::Bytes => "[]uint8",
            // Decoded as strings first, so that is what Go says it wanted.
            Scalar::String | Scalar::Quantity | Scalar::Time | Scalar::MicroTime | Scalar::Duration => {
                "string"
            }
        }
        .to_owned(),
    }
}

impl<'a> Path<'a> {
    /// Fields, keys and indexes, as the strict decoder writes them.
    fn with_elements(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, true);
        text
    }

    /// Only fields, as Go's decoder writes them.
    fn fields_only(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, false);
        text
    }

    fn write(&self, text: &mut String, elements: bool) {
        let (parent, name) = match self {
            Path::Root => return,
            Path::Field { parent, name, .. } => (parent, name),
            Path::Key { parent, .. } | Path::Index { parent, .. } if !elements => {
                return parent.write(text, elements);
            }
            Path::Key { parent, key } => (parent, key),
            Path::Index { parent, index } => {
                parent.write(text, elements);
                text.push_str(&format!("[{index}]"));
                return;
            }
        };
        parent.write(text, elements);
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(name);
    }

    fn innermost_struct(&self) -> Option<&'a Object> {
        match self {
            Path::Root => None,
            Path::Field { object, .. } => Some(object),
            Path::Key { parent, .. } | Path::Index { parent, .. } => parent.innermost_struct(),
        }
    }
}

#[cfg(test)]
mod tests;
