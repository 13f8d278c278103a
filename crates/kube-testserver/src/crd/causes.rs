//! Field errors beyond the common ones, and values printed the way the Go server prints them.

use std::fmt::Write as _;

use serde_json::Value;

use crate::status::Cause;

/// The field of an error that belongs to no single field, as Kubernetes prints it.
pub(super) const NO_FIELD: &str = "<nil>";

/// A value of the wrong JSON type. Clients see the same words as for an invalid value, but another reason.
pub(super) fn type_invalid(field: impl Into<String>, value: &str, detail: &str) -> Cause {
    Cause {
        reason: "FieldValueTypeInvalid",
        message: format!("Invalid value: {}: {detail}", quote(value)),
        field: field.into(),
    }
}

/// An invalid value, printed as Go prints it (`Cause::invalid` prints JSON, which differs for floats).
pub(super) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Cause {
    Cause {
        reason: "FieldValueInvalid",
        message: format!("Invalid value: {}: {detail}", print(value)),
        field: field.into(),
    }
}

/// Like [`invalid`], for a value that is text.
pub(super) fn invalid_text(field: impl Into<String>, value: &str, detail: &str) -> Cause {
    Cause {
        reason: "FieldValueInvalid",
        message: format!("Invalid value: {}: {detail}", quote(value)),
        field: field.into(),
    }
}

/// A value that is not one of the allowed ones.
pub(super) fn not_supported<T: AsRef<str>>(field: impl Into<String>, value: &Value, allowed: &[T]) -> Cause {
    let mut message = format!("Unsupported value: {}", print(value));
    for (at, text) in allowed.iter().enumerate() {
        message.push_str(if at == 0 { ": supported values: " } else { ", " });
        message.push_str(&quote(text.as_ref()));
    }
    Cause { reason: "FieldValueNotSupported", message, field: field.into() }
}

/// A value that is there twice.
pub(super) fn duplicate(field: impl Into<String>, value: &Value) -> Cause {
    Cause {
        reason: "FieldValueDuplicate",
        message: format!("Duplicate value: {}", print(value)),
        field: field.into(),
    }
}

/// A text that is too long; the text itself is not repeated.
pub(super) fn too_long(field: impl Into<String>, max: i64) -> Cause {
    let unit = if max == 1 { "byte" } else { "bytes" };
    Cause {
        reason: "FieldValueTooLong",
        message: format!("Too long: may not be more than {max} {unit}"),
        field: field.into(),
    }
}

/// A list or map with too many entries.
pub(super) fn too_many(field: impl Into<String>, actual: usize, max: i64) -> Cause {
    let unit = if max == 1 { "item" } else { "items" };
    Cause {
        reason: "FieldValueTooMany",
        message: format!("Too many: {actual}: must have at most {max} {unit}"),
        field: field.into(),
    }
}

/// A value as it appears in a message: scalars plainly, everything else as JSON.
pub(super) fn print(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => match number.as_f64() {
            // A whole number that needs more than 63 bits is a float to the server.
            Some(float) if !number.is_i64() => print_float(float),
            _ => number.to_string(),
        },
        Value::Object(_) | Value::Array(_) => compact_json(value),
        Value::Null | Value::Bool(_) => value.to_string(),
    }
}

/// A value as Go's `%v` writes it, which is not JSON: `[1 a map[b:<nil>]]`.
pub(crate) fn print_go(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(" ");
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) => format!("[{}]", joined(list.iter().map(print_go).collect())),
        Value::Object(map) => {
            let parts = map.iter().map(|(key, value)| format!("{key}:{}", print_go(value)));
            format!("map[{}]", joined(parts.collect()))
        }
        Value::Bool(_) | Value::Number(_) => print(value),
    }
}

/// JSON as Go writes it: like everybody's, but with `<`, `>` and `&` escaped.
pub(crate) fn compact_json(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['<', '>', '&']) {
        return text;
    }
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// A float as Go's `%v` writes it: the shortest digits, with an exponent from a million on and below one
/// ten-thousandth.
pub(crate) fn print_float(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    // Rust's `{:e}` has the shortest digits and the exponent, for example `1.5e6`.
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A text in quotes as Go's `%q` writes it.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            // Writing to a String cannot fail.
            letter if letter < ' ' || letter == '\u{7f}' => _ = write!(out, "\\x{:02x}", letter as u32),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn floats_are_written_like_go_writes_them() {
        assert_eq!(print_float(1.5), "1.5");
        assert_eq!(print_float(3.0), "3");
        assert_eq!(print_float(100_000.0), "100000");
        assert_eq!(print_float(1_000_000.0), "1e+06");
        assert_eq!(print_float(1_234_567.5), "1.2345675e+06");
        assert_eq!(print_float(0.000_012), "1.2e-05");
    }

    #[test]
    fn unsupported_values_list_what_is_supported() {
        let cause = not_supported("spec.mode", &json!("x"), &["a", "b"]);
        assert_eq!(cause.to_string(), r#"spec.mode: Unsupported value: "x": supported values: "a", "b""#);
    }
}
