//! A CustomResourceDefinition as it is written, before anything is checked.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::columns::RawColumn;
use super::props::or_default;
use super::scale::RawScale;
use super::selectable::RawSelectable;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RawDefinition {
    #[serde(deserialize_with = "or_default")]
    pub(super) metadata: RawMetadata,
    #[serde(deserialize_with = "or_default")]
    pub(super) spec: RawSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RawMetadata {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) annotations: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RawSpec {
    #[serde(deserialize_with = "or_default")]
    pub(super) group: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) names: RawNames,
    #[serde(deserialize_with = "or_default")]
    pub(super) scope: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) versions: Vec<RawVersion>,
    pub(super) conversion: Option<RawConversion>,
    #[serde(deserialize_with = "or_default")]
    pub(super) preserve_unknown_fields: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RawNames {
    #[serde(deserialize_with = "or_default")]
    pub(super) plural: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) singular: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) kind: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) list_kind: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) short_names: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) categories: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RawConversion {
    #[serde(deserialize_with = "or_default")]
    pub(super) strategy: String,
    pub(super) webhook: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RawVersion {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) served: bool,
    #[serde(deserialize_with = "or_default")]
    pub(super) storage: bool,
    #[serde(deserialize_with = "or_default")]
    pub(super) deprecated: bool,
    pub(super) deprecation_warning: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) schema: RawSchema,
    pub(super) subresources: Option<RawSubresources>,
    #[serde(deserialize_with = "or_default")]
    pub(super) additional_printer_columns: Vec<RawColumn>,
    #[serde(deserialize_with = "or_default")]
    pub(super) selectable_fields: Vec<RawSelectable>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct RawSchema {
    #[serde(rename = "openAPIV3Schema")]
    pub(super) open_api: Option<Value>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RawSubresources {
    pub(super) status: Option<Value>,
    pub(super) scale: Option<RawScale>,
}

impl RawVersion {
    pub(super) fn has_status(&self) -> bool {
        self.subresources.as_ref().is_some_and(|subresources| subresources.status.is_some())
    }

    pub(super) fn scale(&self) -> Option<&RawScale> {
        self.subresources.as_ref()?.scale.as_ref()
    }
}
