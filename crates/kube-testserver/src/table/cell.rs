//! Reads the parts of objects that cells are made of. Whatever is absent reads as empty; where the real
//! server would have filled in a default, the columns name it.

use std::fmt::Display;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;

pub(super) const NONE: &str = "<none>";
pub(super) const UNSET: &str = "<unset>";
pub(super) const UNKNOWN: &str = "<unknown>";

/// The value at a JSON pointer, or null.
pub(super) fn at<'v>(object: &'v Value, pointer: &str) -> &'v Value {
    object.pointer(pointer).unwrap_or(&Value::Null)
}

/// The text at a pointer.
pub(super) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    at(object, pointer).as_str().unwrap_or_default()
}

/// The text at a pointer, or something else if it is absent or empty.
pub(super) fn text_or<'v>(object: &'v Value, pointer: &str, otherwise: &'v str) -> &'v str {
    or(text(object, pointer), otherwise)
}

/// A text, or something else if it is empty.
pub(super) fn or<'v>(text: &'v str, otherwise: &'v str) -> &'v str {
    if text.is_empty() { otherwise } else { text }
}

/// The whole number at a pointer.
pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    at(object, pointer).as_i64().unwrap_or(0)
}

/// The desired replicas. They are 1 unless the object says otherwise.
pub(super) fn replicas(object: &Value) -> i64 {
    at(object, "/spec/replicas").as_i64().unwrap_or(1)
}

/// Whether the value at a pointer is true.
pub(super) fn flag(object: &Value, pointer: &str) -> bool {
    at(object, pointer).as_bool().unwrap_or(false)
}

/// The elements of the list at a pointer.
pub(super) fn list<'v>(object: &'v Value, pointer: &str) -> &'v [Value] {
    at(object, pointer).as_array().map_or(&[], Vec::as_slice)
}

/// How many elements or fields the value at a pointer has.
pub(super) fn count(object: &Value, pointer: &str) -> usize {
    match at(object, pointer) {
        Value::Array(list) => list.len(),
        Value::Object(map) => map.len(),
        _ => 0,
    }
}

/// A value as text: texts and numbers plainly. Quantities are stored as the texts that are shown.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The time at a pointer.
pub(super) fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    at(object, pointer).as_str()?.parse().ok()
}

/// How long ago the time at a pointer was.
pub(super) fn age_at(object: &Value, pointer: &str, now: Timestamp) -> Value {
    json!(age(now, time(object, pointer)))
}

/// The first condition of a type.
pub(super) fn condition<'v>(object: &'v Value, ty: &str) -> Option<&'v Value> {
    list(object, "/status/conditions").iter().find(|condition| condition["type"] == ty)
}

/// Whether the first condition of a type holds.
pub(super) fn condition_is_true(object: &Value, ty: &str) -> bool {
    condition(object, ty).is_some_and(|condition| condition["status"] == "True")
}

/// Whether deletion has begun.
pub(super) fn is_deleted(object: &Value) -> bool {
    !at(object, "/metadata/deletionTimestamp").is_null()
}

/// An annotation.
pub(super) fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    at(object, "/metadata/annotations").get(name)?.as_str()
}

/// Things joined by a separator.
pub(super) fn join(things: impl IntoIterator<Item = impl Display>, separator: &str) -> String {
    let mut out = String::new();
    for (position, thing) in things.into_iter().enumerate() {
        if position > 0 {
            out.push_str(separator);
        }
        out.push_str(&thing.to_string());
    }
    out
}

/// The texts in a list under a name, joined by commas: `name` of containers, for example.
pub(super) fn each(object: &Value, pointer: &str, field: &str) -> String {
    join(list(object, pointer).iter().map(|one| one[field].as_str().unwrap_or_default()), ",")
}

/// The first `max` of some texts, and how many more there are.
pub(super) fn first_of(texts: &[String], max: usize, separator: &str) -> String {
    match texts.len().checked_sub(max) {
        Some(more @ 1..) => format!("{} + {more} more...", texts[..max].join(separator)),
        _ => texts.join(separator),
    }
}

/// Labels as `a=b,c=d`.
pub(super) fn labels(value: &Value) -> String {
    let pairs = value.as_object().into_iter().flatten();
    let text = join(pairs.map(|(key, value)| format!("{key}={}", plain(value))), ",");
    or(&text, NONE).to_owned()
}

/// A label selector as text.
pub(super) fn selector(value: &Value) -> String {
    match crate::crd::selector_text(value) {
        Some(text) => or(&text, NONE).to_owned(),
        None => "<error>".to_owned(),
    }
}
