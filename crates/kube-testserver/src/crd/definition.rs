//! A CustomResourceDefinition that has been read and found valid.

use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::Value;

use super::causes::{NO_FIELD, invalid};
use super::columns::{self, PrinterColumn};
use super::definition_rules;
use super::pattern::Patterns;
use super::raw::{RawDefinition, RawNames, RawVersion};
use super::scale::ScalePaths;
use super::selectable::{self, SelectableField};
use super::structural::Structural;
use super::to_schema::to_schema;
use super::versions::compare_versions;
use super::{embedded, list_types};
use crate::schema::{Schema, TypeRef};
use crate::status::Cause;

/// What a definition says.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) group: String,
    pub(crate) names: Names,
    pub(crate) scope: Scope,
    /// In the order in which they are written.
    pub(crate) versions: Vec<Version>,
    /// What a client that creates this definition is warned about.
    pub(crate) warnings: Vec<String>,
}

/// The names of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
}

/// Whether objects live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Namespaced,
    Cluster,
}

/// One version of a custom resource.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) served: bool,
    /// Objects are stored in this version; exactly one has it.
    pub(crate) storage: bool,
    /// What clients of a deprecated version are told.
    pub(crate) deprecation: Option<String>,
    /// The status has its own subresource.
    pub(crate) status: bool,
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) columns: Vec<PrinterColumn>,
    pub(crate) selectable: Vec<SelectableField>,
    schema: Arc<Structural>,
    types: Schema,
    api_version: String,
    kind: String,
}

impl Definition {
    /// Reads and checks a definition as the server does when one is created. Everything that is wrong is
    /// reported at once.
    pub(crate) fn parse(crd: &Value) -> Result<Self, Vec<Cause>> {
        let mut raw = RawDefinition::deserialize(crd).map_err(|error| vec![unreadable(&error)])?;
        raw.spec.names.fill_defaults();
        let mut patterns = Patterns::default();
        let schemas = definition_rules::check(&raw, &mut patterns)?;
        let spec = &raw.spec;
        let versions = spec
            .versions
            .iter()
            .zip(schemas)
            .map(|(version, schema)| {
                let api_version = format!("{}/{}", spec.group, version.name);
                Version {
                    name: version.name.clone(),
                    served: version.served,
                    storage: version.storage,
                    deprecation: deprecation(version, &raw),
                    status: version.has_status(),
                    scale: version.scale().map(ScalePaths::read),
                    columns: columns::read(&version.additional_printer_columns),
                    selectable: selectable::read(&version.selectable_fields),
                    types: to_schema(&schema, &api_version, &spec.names.kind),
                    schema,
                    api_version,
                    kind: spec.names.kind.clone(),
                }
            })
            .collect();
        Ok(Self {
            warnings: definition_rules::warnings(&raw),
            group: raw.spec.group,
            scope: if raw.spec.scope == "Cluster" { Scope::Cluster } else { Scope::Namespaced },
            names: raw.spec.names.into(),
            versions,
        })
    }

    /// What is wrong with this definition as the successor of another one: some things cannot change.
    pub(crate) fn check_update(&self, old: &Value) -> Vec<Cause> {
        definition_rules::check_update(self, old)
    }

    /// The version with a name.
    pub(crate) fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The version in which objects are stored.
    pub(crate) fn storage_version(&self) -> Option<&Version> {
        self.versions.iter().find(|version| version.storage)
    }
}

impl Version {
    /// The types of the kind's fields, for server-side apply.
    pub(crate) fn type_ref(&self) -> Option<TypeRef<'_>> {
        self.types.root(&self.api_version, &self.kind)
    }

    /// Removes unknown fields and returns their paths.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        self.schema.prune(object)
    }

    /// Fills in defaults.
    pub(crate) fn default(&self, object: &mut Value) {
        self.schema.default(object);
    }

    /// What is wrong with a new object. `metadata` is the caller's to check.
    pub(crate) fn validate(&self, object: &Value) -> Vec<Cause> {
        let mut causes = self.schema.check_object(object, None);
        causes.extend(self.scale.iter().flat_map(|scale| scale.check_spec(object)));
        causes.extend(self.scale.iter().flat_map(|scale| scale.check_status(object)));
        causes.extend(embedded::check(&self.schema, object, ""));
        causes.extend(list_types::check(&self.schema, object));
        self.add_unchecked(causes)
    }

    /// What is wrong with an object that replaces another one. What was wrong before and is untouched is
    /// let through.
    pub(crate) fn validate_update(&self, object: &Value, old: &Value) -> Vec<Cause> {
        let mut causes = self.schema.check_object(object, Some(old));
        causes.extend(self.scale.iter().flat_map(|scale| scale.check_spec(object)));
        causes.extend(self.scale.iter().flat_map(|scale| scale.check_status(object)));
        causes.extend(embedded::check(&self.schema, object, ""));
        causes.extend(self.new_duplicates(object, old));
        self.add_unchecked(causes)
    }

    /// What is wrong with an object whose status replaces that of another one.
    pub(crate) fn validate_status(&self, object: &Value, old: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if let (Some(status), Some(schema)) = (object.get("status"), self.schema.properties.get("status")) {
            causes.extend(schema.check_part_update(status, old.get("status"), "status"));
        }
        causes.extend(self.scale.iter().flat_map(|scale| scale.check_status(object)));
        causes.extend(self.new_duplicates(object, old));
        self.add_unchecked(causes)
    }

    /// Elements of lists that are there twice, unless the old object already had such.
    fn new_duplicates(&self, object: &Value, old: &Value) -> Vec<Cause> {
        if list_types::check(&self.schema, old).is_empty() {
            list_types::check(&self.schema, object)
        } else {
            Vec::new()
        }
    }

    /// Says that CEL rules have not been looked at, where the real server would not look at them either.
    pub(crate) fn add_unchecked(&self, mut causes: Vec<Cause>) -> Vec<Cause> {
        const BLOCKING: [&str; 5] = [
            "FieldValueNotSupported",
            "FieldValueRequired",
            "FieldValueTooLong",
            "FieldValueTooMany",
            "FieldValueTypeInvalid",
        ];
        if causes.iter().any(|cause| BLOCKING.contains(&cause.reason)) && self.schema.has_validations() {
            causes.push(invalid(
                NO_FIELD,
                &Value::Null,
                "some validation rules were not checked because the object was invalid; correct the existing \
                 errors to complete validation",
            ));
        }
        causes
    }
}

impl Scope {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Namespaced => "Namespaced",
            Self::Cluster => "Cluster",
        }
    }
}

impl RawNames {
    fn fill_defaults(&mut self) {
        if self.singular.is_empty() {
            self.singular = self.kind.to_lowercase();
        }
        if self.list_kind.is_empty() && !self.kind.is_empty() {
            self.list_kind = format!("{}List", self.kind);
        }
    }
}

impl From<RawNames> for Names {
    fn from(raw: RawNames) -> Self {
        Self {
            plural: raw.plural,
            singular: raw.singular,
            kind: raw.kind,
            list_kind: raw.list_kind,
            short_names: raw.short_names,
            categories: raw.categories,
        }
    }
}

/// What clients of a deprecated version are told, unless the definition says it: which version to use.
fn deprecation(version: &RawVersion, raw: &RawDefinition) -> Option<String> {
    if !version.deprecated {
        return None;
    }
    if let Some(warning) = &version.deprecation_warning {
        return Some(warning.clone());
    }
    let (group, kind) = (&raw.spec.group, &raw.spec.names.kind);
    let warning = format!("{group}/{} {kind} is deprecated", version.name);
    let better = raw
        .spec
        .versions
        .iter()
        .filter(|other| other.served && !other.deprecated)
        .filter(|other| compare_versions(&version.name, &other.name).is_lt())
        .max_by(|one, other| compare_versions(&one.name, &other.name));
    Some(match better {
        Some(better) => format!("{warning}; use {group}/{} {kind}", better.name),
        None => warning,
    })
}

/// A definition whose fields do not even have the right types.
fn unreadable(error: &serde_json::Error) -> Cause {
    Cause { reason: "FieldValueTypeInvalid", message: error.to_string(), field: String::new() }
}

#[cfg(test)]
mod tests;
