//! The columns that a definition adds to `kubectl get`.

use serde::Deserialize;

use super::MAX_COLUMNS;
use super::causes::{invalid_text, too_many};
use super::json_path::JsonPath;
use super::props::or_default;
use crate::status::Cause;

/// The types of cells.
const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

/// One column of a custom resource's table.
#[derive(Clone, Debug)]
pub(crate) struct PrinterColumn {
    pub(crate) name: String,
    pub(crate) ty: ColumnType,
    pub(crate) format: String,
    /// Empty if the definition gives none.
    pub(crate) description: String,
    /// Columns above 0 are shown only by `-o wide`.
    pub(crate) priority: i32,
    /// The path as written.
    pub(crate) json_path: String,
    /// None if the path is not understood. Such a column is accepted, but it and those after it are not
    /// shown.
    pub(crate) path: Option<JsonPath>,
}

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Boolean,
    Date,
    Integer,
    Number,
    String,
}

/// A column as written in a definition.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RawColumn {
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(rename = "type", deserialize_with = "or_default")]
    ty: String,
    #[serde(deserialize_with = "or_default")]
    format: String,
    #[serde(deserialize_with = "or_default")]
    description: String,
    #[serde(deserialize_with = "or_default")]
    priority: i32,
    #[serde(deserialize_with = "or_default")]
    json_path: String,
}

impl ColumnType {
    /// The type with a name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "boolean" => Self::Boolean,
            "date" => Self::Date,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
        }
    }
}

/// Reads columns that have been checked.
pub(super) fn read(columns: &[RawColumn]) -> Vec<PrinterColumn> {
    let column = |raw: &RawColumn| {
        Some(PrinterColumn {
            name: raw.name.clone(),
            ty: ColumnType::parse(&raw.ty)?,
            format: raw.format.clone(),
            description: raw.description.clone(),
            priority: raw.priority,
            json_path: raw.json_path.clone(),
            path: JsonPath::parse(&raw.json_path),
        })
    };
    columns.iter().filter_map(column).collect()
}

/// What is wrong with the columns of a version.
pub(super) fn check(columns: &[RawColumn], path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let path = format!("{path}[{at}]");
        if column.name.is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        }
        let types = format!("must be one of {}", TYPES.join(","));
        if column.ty.is_empty() {
            causes.push(Cause::required(format!("{path}.type"), &types));
        } else if ColumnType::parse(&column.ty).is_none() {
            causes.push(invalid_text(format!("{path}.type"), &column.ty, &types));
        }
        if !column.format.is_empty() && !FORMATS.contains(&column.format.as_str()) {
            let detail = format!("must be one of {}", FORMATS.join(","));
            causes.push(invalid_text(format!("{path}.format"), &column.format, &detail));
        }
        let field = format!("{path}.JSONPath");
        if column.json_path.is_empty() {
            causes.push(Cause::required(field, ""));
        } else {
            causes.extend(check_simple_path(&column.json_path, field));
        }
    }
    if columns.len() > MAX_COLUMNS {
        let max = i64::try_from(MAX_COLUMNS).unwrap_or(i64::MAX);
        causes.push(too_many(path, columns.len(), max));
    }
    causes
}

/// Paths in definitions start with a dot.
pub(super) fn check_simple_path(path: &str, field: String) -> Option<Cause> {
    (!path.starts_with('.')).then(|| invalid_text(field, path, "must be a simple json path starting with ."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_need_a_name_a_known_type_and_a_path() {
        let raw: Vec<RawColumn> = serde_json::from_value(json!([
            {"type": "text", "jsonPath": "spec.a"},
            {"name": "A", "type": "string", "format": "x", "jsonPath": ".a"},
        ]))
        .unwrap();
        let causes: Vec<String> = check(&raw, "c").iter().map(Cause::to_string).collect();
        assert_eq!(
            causes,
            [
                "c[0].name: Required value",
                "c[0].type: Invalid value: \"text\": must be one of boolean,date,integer,number,string",
                "c[0].JSONPath: Invalid value: \"spec.a\": must be a simple json path starting with .",
                "c[1].format: Invalid value: \"x\": must be one of \
                 byte,date,date-time,double,float,int32,int64,password",
            ]
        );
    }

    #[test]
    fn a_path_that_is_not_understood_is_accepted() {
        let raw: Vec<RawColumn> =
            serde_json::from_value(json!([{"name": "A", "type": "string", "jsonPath": "..x"}])).unwrap();
        assert!(check(&raw, "c").is_empty());
        assert!(read(&raw)[0].path.is_none());
    }
}
