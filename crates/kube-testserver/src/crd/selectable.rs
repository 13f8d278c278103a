//! Fields of custom resources that clients may select by (`?fieldSelector=spec.color=blue`).

use serde::Deserialize;
use serde_json::{Value, json};

use super::MAX_SELECTABLE_FIELDS;
use super::causes::{duplicate, invalid_text, too_many};
use super::json_path::JsonPath;
use super::props::or_default;
use super::structural::{JsonType, Structural};
use crate::status::Cause;

/// One field to select by.
#[derive(Clone, Debug)]
pub(crate) struct SelectableField {
    /// As it is written in a selector, for example `spec.color`.
    pub(crate) name: String,
    path: JsonPath,
}

/// A selectable field as written in a definition.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RawSelectable {
    #[serde(deserialize_with = "or_default")]
    json_path: String,
}

impl SelectableField {
    /// The field's value in an object, as text; empty if there is none.
    pub(crate) fn value(&self, object: &Value) -> String {
        match self.path.first(object) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => super::causes::print(other),
        }
    }
}

/// Reads fields that have been checked.
pub(super) fn read(fields: &[RawSelectable]) -> Vec<SelectableField> {
    let field = |raw: &RawSelectable| {
        let name = raw.json_path.strip_prefix('.').unwrap_or(&raw.json_path).to_owned();
        Some(SelectableField { name, path: JsonPath::parse(&raw.json_path)? })
    };
    fields.iter().filter_map(field).collect()
}

/// What is wrong with the selectable fields of a version.
pub(super) fn check(fields: &[RawSelectable], schema: &Structural, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (at, raw) in fields.iter().enumerate() {
        let field = format!("{path}[{at}].jsonPath");
        let text = raw.json_path.as_str();
        if text.is_empty() {
            causes.push(Cause::required(field, ""));
            continue;
        }
        let found = match resolve(text, schema) {
            Ok(found) => found,
            Err(why) => {
                causes.push(invalid_text(field, text, &format!("is an invalid path: {why}")));
                continue;
            }
        };
        if text == ".metadata" || text.starts_with(".metadata.") {
            causes.push(invalid_text(&*field, text, "must not point to fields in metadata"));
        }
        if !matches!(found.ty, Some(JsonType::String | JsonType::Boolean | JsonType::Integer)) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and \
                          strings with formats are allowed.";
            causes.push(invalid_text(&*field, text, detail));
        }
        if seen.contains(&text) {
            causes.push(duplicate(field, &json!(text)));
        } else {
            seen.push(text);
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        let max = i64::try_from(MAX_SELECTABLE_FIELDS).unwrap_or(i64::MAX);
        causes.push(too_many(path, seen.len(), max));
    }
    causes
}

/// The schema a path of fields points to.
fn resolve<'s>(path: &str, schema: &'s Structural) -> Result<&'s Structural, String> {
    let Some(names) = path.strip_prefix('.') else {
        return Err(format!(
            "expected [ or . but got: {}",
            path.split(['.', '[', ']']).next().unwrap_or(path)
        ));
    };
    if path.contains('[') {
        return Err("array notation is not allowed".to_owned());
    }
    if names.is_empty() || names.ends_with('.') {
        return Err("unexpected end of JSON path".to_owned());
    }
    let mut schema = schema;
    for name in names.split('.') {
        let below = if schema.properties.is_empty() {
            schema.additional_schema()
        } else {
            schema.properties.get(name)
        };
        schema = below.ok_or("does not refer to a valid field")?;
    }
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use super::super::pattern::Patterns;
    use super::super::props::Props;
    use super::*;

    fn schema() -> Structural {
        let written = json!({"properties": {"spec": {"properties": {
            "color": {"type": "string"}, "size": {"type": "integer"}, "tags": {"type": "array"}}}}});
        Structural::compile(Props::deserialize(written).unwrap(), &mut Patterns::default())
    }

    fn raw(paths: &[&str]) -> Vec<RawSelectable> {
        paths.iter().map(|path| RawSelectable { json_path: (*path).to_owned() }).collect()
    }

    #[test]
    fn values_are_texts_and_empty_if_absent() {
        let fields = read(&raw(&[".spec.color", ".spec.size"]));
        let object = json!({"spec": {"size": 3}});
        assert_eq!(fields[0].name, "spec.color");
        assert_eq!(fields[0].value(&object), "");
        assert_eq!(fields[1].value(&object), "3");
    }

    #[test]
    fn fields_must_exist_and_be_scalars() {
        let causes = check(&raw(&[".spec.color", ".spec.nope", ".spec.tags", ".spec.color"]), &schema(), "f");
        let texts: Vec<String> = causes.iter().map(Cause::to_string).collect();
        assert_eq!(
            texts,
            [
                "f[1].jsonPath: Invalid value: \".spec.nope\": is an invalid path: does not refer to a valid field",
                "f[2].jsonPath: Invalid value: \".spec.tags\": must point to a field of type string, boolean or \
                 integer. Enum string fields and strings with formats are allowed.",
                "f[3].jsonPath: Duplicate value: \".spec.color\"",
            ]
        );
    }
}
