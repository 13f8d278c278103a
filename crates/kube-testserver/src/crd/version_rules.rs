//! What the versions of a definition must satisfy.

use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::causes::{invalid, invalid_text};
use super::pattern::Patterns;
use super::props::Props;
use super::raw::{RawSpec, RawVersion};
use super::structural::Structural;
use super::{MAX_SCHEMA_DEPTH, columns, scale, schema_rules, selectable, structural_rules};
use crate::names::label_1035;
use crate::status::Cause;

/// The longest warning of a deprecated version.
const MAX_WARNING: usize = 256;
/// Fields that must not be at the root of a schema whose status is a subresource, because they would not be
/// applied to it.
const NOT_AT_ROOT: [&str; 22] = [
    "$ref",
    "$schema",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "definitions",
    "dependencies",
    "enum",
    "id",
    "maxProperties",
    "minProperties",
    "not",
    "nullable",
    "oneOf",
    "patternProperties",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];

/// The parts of a version that Kubernetes lifts above the versions if they are the same in all of them.
#[derive(Clone, Copy)]
pub(super) struct Aspects {
    pub(super) schema: bool,
    subresources: bool,
    columns: bool,
    selectable: bool,
}

impl Aspects {
    /// Which parts are shared by all versions, and which are not.
    pub(super) fn split(versions: &[RawVersion]) -> (Self, Self) {
        fn same<T: PartialEq>(versions: &[RawVersion], part: impl Fn(&RawVersion) -> &T) -> bool {
            versions.windows(2).all(|pair| part(&pair[0]) == part(&pair[1]))
        }
        let shared = Self {
            schema: same(versions, |version| &version.schema),
            subresources: same(versions, |version| &version.subresources),
            columns: same(versions, |version| &version.additional_printer_columns),
            selectable: same(versions, |version| &version.selectable_fields),
        };
        let own = Self {
            schema: !shared.schema,
            subresources: !shared.subresources,
            columns: !shared.columns,
            selectable: !shared.selectable,
        };
        (shared, own)
    }
}

/// Checks the given parts of a version, and compiles its schema if that is one of them.
pub(super) fn check_aspects(
    version: &RawVersion,
    aspects: Aspects,
    path: &str,
    schema_name: &str,
    patterns: &mut Patterns,
    causes: &mut Vec<Cause>,
) -> Option<Arc<Structural>> {
    let mut compiled = None;
    if aspects.schema
        && let Some(schema) = &version.schema.open_api
    {
        let path = format!("{path}.{schema_name}.openAPIV3Schema");
        match check_schema(schema, version.has_status(), &path, patterns) {
            Ok(schema) => compiled = Some(Arc::new(schema)),
            Err(wrong) => causes.extend(wrong),
        }
    }
    if aspects.subresources
        && let Some(paths) = version.scale()
    {
        causes.extend(scale::check_paths(paths, &format!("{path}.subresources")));
    }
    if aspects.columns {
        let path = format!("{path}.additionalPrinterColumns");
        causes.extend(columns::check(&version.additional_printer_columns, &path));
    }
    if aspects.selectable
        && let Some(schema) = &compiled
    {
        let path = format!("{path}.selectableFields");
        causes.extend(selectable::check(&version.selectable_fields, schema, &path));
    }
    compiled
}

/// Selectable fields are looked up in the schema that stands beside them: both must be shared by all
/// versions, or neither. Kubernetes refuses the rest, in words that suggest the opposite.
pub(super) fn check_selectable_place(spec: &RawSpec, shared: Aspects, causes: &mut Vec<Cause>) {
    let mut refuse = |field: String, detail: &str| causes.push(invalid_text(field, "", detail));
    for (at, version) in spec.versions.iter().enumerate() {
        if version.selectable_fields.is_empty() || shared.selectable == shared.schema {
            continue;
        }
        if shared.selectable {
            refuse("spec.selectableFields".to_owned(), "may only be set when validations.schema is included");
            return;
        }
        let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
        refuse(format!("spec.versions[{at}].selectableFields"), detail);
    }
}

fn check_schema(
    schema: &Value,
    has_status: bool,
    path: &str,
    patterns: &mut Patterns,
) -> Result<Structural, Vec<Cause>> {
    // Each level of a schema is two levels of JSON: the keyword and the field's name.
    if structural_rules::deeper_than(schema, 2 * MAX_SCHEMA_DEPTH) {
        let detail = format!("must not nest deeper than {MAX_SCHEMA_DEPTH} levels");
        return Err(vec![invalid_text(path, "", &detail)]);
    }
    let props =
        Props::deserialize(schema).map_err(|error| vec![invalid_text(path, "", &error.to_string())])?;
    let mut causes = Vec::new();
    if has_status {
        check_root(schema, &props, path, &mut causes);
    }
    if props.nullable {
        causes.push(Cause::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    let unreadable = structural_rules::unreadable(&props);
    let not_structural =
        if unreadable.is_some() { Vec::new() } else { structural_rules::check(&props, path, patterns) };
    let rules = schema_rules::check(&props, path);
    if not_structural.is_empty() && unreadable.is_none() {
        let compiled = Structural::compile(props, patterns);
        causes.extend(structural_rules::check_defaults(&compiled, path));
        causes.extend(rules);
        return if causes.is_empty() { Ok(compiled) } else { Err(causes) };
    }
    causes.extend(not_structural);
    causes.extend(rules);
    if let (Some(detail), true) = (unreadable, causes.is_empty()) {
        causes.push(invalid_text(path, "", detail));
    }
    Err(causes)
}

fn check_root(schema: &Value, props: &Props, path: &str, causes: &mut Vec<Cause>) {
    if !props.ty.is_empty() && props.ty != "object" {
        causes.push(invalid_text(
            format!("{path}.type"),
            &props.ty,
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
             enabled",
        ));
        return;
    }
    let is_set = |name: &str| match &schema[name] {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty() || name == "additionalProperties",
        Value::Bool(true) | Value::Number(_) => true,
    };
    if NOT_AT_ROOT.into_iter().any(is_set) {
        causes.push(invalid(
            path,
            schema,
            "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
             MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs \
             Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the \
             status subresource is enabled",
        ));
    }
}

/// Exactly one version stores objects, and no two have the same name.
pub(super) fn check_storage(spec: &RawSpec, causes: &mut Vec<Cause>) {
    let mut refuse = |detail: &str| {
        let message = format!("Invalid value: {}: {detail}", print_versions(&spec.versions));
        let field = "spec.versions".to_owned();
        causes.push(Cause { reason: "FieldValueInvalid", message, field });
    };
    let names: Vec<&str> = spec.versions.iter().map(|version| version.name.as_str()).collect();
    if names.iter().enumerate().any(|(at, name)| names[..at].contains(name)) {
        refuse("must contain unique version names");
    }
    if spec.versions.iter().filter(|version| version.storage).count() != 1 {
        refuse("must have exactly one version marked as storage version");
    }
    // The first version has a second name in the server, from the time when there was only one.
    if let Some(first) = names.first() {
        let wrong = label_1035(first);
        if !first.is_empty() && !wrong.is_empty() {
            causes.push(invalid_text("spec.version", first, &wrong.join(",")));
        }
    }
}

/// Versions as the server prints them: by the fields of its own type. Schemas and the like are left out.
fn print_versions(versions: &[RawVersion]) -> String {
    let each: Vec<String> = versions
        .iter()
        .map(|version| {
            format!(
                "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\
                 \"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,\
                 \"SelectableFields\":null}}",
                json!(version.name),
                version.served,
                version.storage,
                version.deprecated,
                json!(version.deprecation_warning),
            )
        })
        .collect();
    format!("[{}]", each.join(","))
}

/// The first version that stores objects is remembered; another one with the same flag is then missing.
pub(super) fn check_stored(versions: &[RawVersion], causes: &mut Vec<Cause>) {
    let mut storing = versions.iter().filter(|version| version.storage);
    let Some(first) = storing.next() else {
        causes.push(invalid("status.storedVersions", &Value::Null, "must have at least one stored version"));
        return;
    };
    for version in storing {
        let detail = format!("must have the storage version {}", version.name);
        causes.push(invalid("status.storedVersions", &json!([first.name]), &detail));
    }
}

pub(super) fn check_warning(version: &RawVersion) -> Vec<String> {
    let Some(warning) = &version.deprecation_warning else { return Vec::new() };
    if !version.deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut wrong = Vec::new();
    if warning.len() > MAX_WARNING {
        wrong.push(format!("must be <= {MAX_WARNING} characters long"));
    }
    if warning.is_empty() {
        wrong.push("must not be an empty string".to_owned());
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, letter)| letter.is_control()) {
        wrong.push(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
    wrong
}
