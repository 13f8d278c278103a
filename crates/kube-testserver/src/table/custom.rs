//! The columns that definitions give to custom resources.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use crate::crd::{ColumnType, PrinterColumn, compact_json, print_float};

/// The definition of a column, as JSON.
pub(super) fn definition(column: &PrinterColumn) -> Value {
    let description = if column.description.is_empty() {
        format!("The value at {}.", column.json_path)
    } else {
        column.description.clone()
    };
    json!({
        "name": column.name,
        "type": column.ty.name(),
        "format": column.format,
        "description": description,
        "priority": column.priority,
    })
}

/// The cell of an object: the first thing that the path points to, if it has the column's type.
pub(super) fn cell(column: &PrinterColumn, object: &Value, now: Timestamp) -> Value {
    let Some(value) = column.path.as_ref().and_then(|path| path.first(object)) else { return Value::Null };
    match (column.ty, value) {
        (ColumnType::String, value) => json!(printed(value)),
        (ColumnType::Boolean, Value::Bool(value)) => json!(value),
        (ColumnType::Integer, Value::Number(number)) => json!(whole(number)),
        (ColumnType::Number, Value::Number(number)) => json!(number.as_f64()),
        (ColumnType::Date, Value::String(text)) => json!(date(text, now)),
        _ => Value::Null,
    }
}

fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<no value>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.to_string(),
            None => print_float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::Array(_) | Value::Object(_) => compact_json(value),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a column of whole numbers shows the whole part")]
fn whole(number: &serde_json::Number) -> i64 {
    number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or(0.0) as i64)
}

fn date(text: &str, now: Timestamp) -> String {
    match text {
        "" | "null" => age(now, None),
        text => text.parse().map_or_else(|_| "<invalid>".to_owned(), |then| age(now, Some(then))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns_for;
    use super::*;
    use crate::crd::JsonPath;

    const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0);

    fn column(ty: &str, path: &str) -> PrinterColumn {
        PrinterColumn {
            name: "C".to_owned(),
            ty: ColumnType::parse(ty).unwrap(),
            format: String::new(),
            description: String::new(),
            priority: 0,
            json_path: path.to_owned(),
            path: JsonPath::parse(path),
        }
    }

    #[track_caller]
    fn check(ty: &str, path: &str, expected: &Value) {
        let object = json!({
            "spec": {"n": 3, "f": 1.5, "s": "x", "b": true, "nil": null, "m": {"a": "<"}, "big": 12_345_678.0},
            "status": {"since": "2023-11-14T22:08:20Z", "bad": "soon", "conditions": [
                {"type": "Synced", "status": "False"}, {"type": "Ready", "status": "True"}]},
        });
        assert_eq!(cell(&column(ty, path), &object, NOW), *expected, "{ty} {path}");
    }

    #[test]
    fn cells_have_the_type_of_their_column() {
        check("integer", ".spec.n", &json!(3));
        check("integer", ".spec.f", &json!(1));
        check("integer", ".spec.s", &Value::Null);
        check("number", ".spec.n", &json!(3.0));
        check("boolean", ".spec.b", &json!(true));
        check("boolean", ".spec.s", &Value::Null);
        check("date", ".status.since", &json!("5m"));
        check("date", ".status.bad", &json!("<invalid>"));
        check("date", ".spec.n", &Value::Null);
    }

    #[test]
    fn text_columns_print_everything() {
        check("string", ".spec.n", &json!("3"));
        check("string", ".spec.f", &json!("1.5"));
        check("string", ".spec.big", &json!("1.2345678e+07"));
        check("string", ".spec.m", &json!(r#"{"a":"\u003c"}"#));
        check("string", ".spec.missing", &Value::Null);
        check("string", r#".status.conditions[?(@.type=="Ready")].status"#, &json!("True"));
        check("string", ".status.conditions[*].type", &json!("Synced"));
    }

    #[test]
    fn custom_resources_without_columns_show_their_age() {
        let columns = columns_for("example.com", "widgets", Some(&[]));
        let definitions = columns.definitions();
        assert_eq!(definitions[1]["name"], "Age");
        assert_eq!(definitions[1]["type"], "date");
        let object = json!({"metadata": {"name": "w", "creationTimestamp": "2023-11-14T22:13:10Z"}});
        assert_eq!(columns.cells(&object, NOW), [json!("w"), json!("10s")]);
    }

    #[test]
    fn a_path_that_is_not_understood_ends_the_table() {
        let columns = [column("string", ".spec.s"), column("string", "..x"), column("string", ".spec.n")];
        let columns = columns_for("example.com", "widgets", Some(&columns));
        assert_eq!(columns.definitions().as_array().unwrap().len(), 2);
    }
}
