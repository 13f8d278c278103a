//! What two servers have in common: everything but versions, uids, times and tokens.

use serde_json::Value;

/// What generated names begin with, in all requests.
const GENERATED: &str = "d-";

/// The answer without what no two servers have in common.
pub(crate) fn common(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), field(name, value))).collect()
        }
        Value::Array(items) => items.iter().map(common).collect(),
        Value::String(text) if is_age(text) => "AGE".into(),
        other => other.clone(),
    }
}

fn field(name: &str, value: &Value) -> Value {
    match (name, value) {
        (_, Value::String(text)) if text.is_empty() => value.clone(),
        ("uid", Value::String(_)) => "UID".into(),
        ("resourceVersion", Value::String(_)) => "VERSION".into(),
        ("continue" | "token", Value::String(_)) => "TOKEN".into(),
        ("creationTimestamp" | "deletionTimestamp" | "lastTransitionTime" | "time", Value::String(_)) => {
            "TIME".into()
        }
        ("targetPort", Value::Number(port)) if port.as_u64().is_some_and(|port| port > 1024) => "PORT".into(),
        ("message" | "reason", Value::String(text)) => words(text).into(),
        // Ours describes the columns of tables in its own words.
        ("description", Value::String(_)) => "TEXT".into(),
        ("name", Value::String(text)) if is_generated(text) => "GENERATED".into(),
        _ => common(value),
    }
}

/// A message without its numbers and uids.
fn words(text: &str) -> String {
    let mut words = Vec::new();
    for word in text.split(' ') {
        let bare = word.trim_matches(|sign: char| !sign.is_ascii_alphanumeric());
        let is_number = !bare.is_empty() && bare.chars().all(|sign| sign.is_ascii_digit());
        let is_uid = bare.len() == 36 && bare.matches('-').count() == 4;
        words.push(match (is_number, is_uid) {
            (true, _) => word.replace(bare, "NUMBER"),
            (_, true) => word.replace(bare, "UID"),
            _ => word.to_owned(),
        });
    }
    words.join(" ")
}

fn is_generated(name: &str) -> bool {
    name.strip_prefix(GENERATED).is_some_and(|rest| rest.len() == 5)
}

/// Whether it says how many seconds something is old.
pub(crate) fn is_age(text: &str) -> bool {
    let digits = text.strip_suffix('s');
    digits.is_some_and(|digits| !digits.is_empty() && digits.chars().all(|sign| sign.is_ascii_digit()))
}
