//! Custom resources: what a CustomResourceDefinition says, and what follows from it for its objects.
//!
//! [`Definition::parse`] reads and checks a definition the way the server does when one is created. The
//! [`Version`]s it yields prune, default and validate objects, and describe them to server-side apply
//! ([`Version::type_ref`]). Everything here is a function of its arguments: nothing is stored, and the time
//! is passed in.
//!
//! Rules in CEL (`x-kubernetes-validations`) are kept but not evaluated: an object that breaks only such a
//! rule is accepted. Conversion between versions by webhook is refused when the definition is created.

mod causes;
mod columns;
mod default;
mod definition;
mod definition_rules;
mod embedded;
mod format;
mod json_path;
mod list_types;
mod pattern;
mod props;
mod prune;
mod raw;
mod scale;
mod schema_rules;
mod selectable;
mod status;
mod structural;
mod structural_rules;
mod to_schema;
mod validate;
mod version_rules;
mod versions;

pub(crate) use causes::{compact_json, print_float, print_go};
pub(crate) use columns::{ColumnType, PrinterColumn};
pub(crate) use definition::{Definition, Scope, Version};
#[cfg(test)]
pub(crate) use json_path::JsonPath;
pub(crate) use scale::{builtin_scale, selector_text};
pub(crate) use status::{
    NamesInUse, establish, fill_defaults, is_established, reset_status, set_stored_version, terminate,
};
pub(crate) use versions::compare_versions;

/// How deep a schema may nest. Kubernetes has no limit of its own, but its JSON decoder does.
const MAX_SCHEMA_DEPTH: usize = 64;
/// How many printer columns a version may have; a table wider than this is a mistake.
const MAX_COLUMNS: usize = 128;
/// How many selectable fields a version may have, as in Kubernetes.
const MAX_SELECTABLE_FIELDS: usize = 8;
