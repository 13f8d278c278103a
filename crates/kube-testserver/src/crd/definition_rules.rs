//! What a definition must satisfy, in the order in which the server reports it.

use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::causes::{invalid, invalid_text, not_supported};
use super::definition::Definition;
use super::pattern::Patterns;
use super::props::Props;
use super::raw::{RawDefinition, RawNames, RawSpec};
use super::status::is_established;
use super::structural::{JsonType, Structural, checked_format};
use super::version_rules::{
    Aspects, check_aspects, check_selectable_place, check_storage, check_stored, check_warning,
};
use crate::names::{label_1035, subdomain_1123};
use crate::status::Cause;

/// The annotation that groups of the Kubernetes project need.
const APPROVAL: &str = "api-approved.kubernetes.io";

/// Checks a definition and compiles the schema of each version.
pub(super) fn check(
    raw: &RawDefinition,
    patterns: &mut Patterns,
) -> Result<Vec<Arc<Structural>>, Vec<Cause>> {
    let mut causes = check_name(raw);
    let schemas = check_spec(&raw.spec, patterns, &mut causes);
    check_stored(&raw.spec.versions, &mut causes);
    causes.extend(check_approval(raw));
    if raw.spec.preserve_unknown_fields {
        causes.push(invalid(
            "spec.preserveUnknownFields",
            &json!(true),
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
             instead",
        ));
    }
    if causes.is_empty() { Ok(schemas) } else { Err(causes) }
}

/// What a client is warned about.
pub(super) fn warnings(raw: &RawDefinition) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut sets = Vec::new();
    let mut seen: Vec<&Value> = Vec::new();
    for schema in raw.spec.versions.iter().filter_map(|version| version.schema.open_api.as_ref()) {
        if seen.contains(&schema) {
            continue;
        }
        seen.push(schema);
        let Ok(props) = Props::deserialize(schema) else { continue };
        props.any(&mut |node| {
            let checked = checked_format(&node.format, JsonType::parse(&node.ty), false).is_some();
            if !node.format.is_empty() && !checked {
                warnings.push(format!("unrecognized format \"{}\"", node.format));
            }
            if let (Some("set"), Some(item)) = (node.list_type.as_deref(), node.item())
                && matches!(item.ty.as_str(), "object" | "array")
            {
                sets.push(format!(
                    "x-kubernetes-list-type: set for items of type \"{}\" is not supported by server-side \
                     apply or CEL validation rules",
                    item.ty
                ));
            }
            false
        });
    }
    sets.sort_unstable();
    sets.dedup();
    warnings.extend(sets);
    warnings
}

/// What must not change, and versions that must not go.
pub(super) fn check_update(new: &Definition, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut fixed = |field: &str, new: &str, old: &Value| {
        if old.as_str() != Some(new) {
            causes.push(invalid_text(field, new, "field is immutable"));
        }
    };
    let spec = &old["spec"];
    if is_established(old) {
        fixed("spec.scope", new.scope.name(), &spec["scope"]);
        fixed("spec.names.kind", &new.names.kind, &spec["names"]["kind"]);
    }
    fixed("spec.group", &new.group, &spec["group"]);
    fixed("spec.names.plural", &new.names.plural, &spec["names"]["plural"]);
    let stored = old["status"]["storedVersions"].as_array().into_iter().flatten();
    for (at, name) in stored.filter_map(Value::as_str).enumerate() {
        if new.version(name).is_none() {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {name} and \
                 removes {name} from status.storedVersions"
            );
            causes.push(invalid_text(format!("status.storedVersions[{at}]"), name, &detail));
        }
    }
    causes
}

fn check_name(raw: &RawDefinition) -> Vec<Cause> {
    let name = &raw.metadata.name;
    if name.is_empty() {
        return vec![Cause::required("metadata.name", "name or generateName is required")];
    }
    let mut wrong = subdomain_1123(name);
    if *name != format!("{}.{}", raw.spec.names.plural, raw.spec.group) {
        wrong.push("must be spec.names.plural+\".\"+spec.group".to_owned());
    }
    wrong.iter().map(|wrong| invalid_text("metadata.name", name, wrong)).collect()
}

fn check_spec(spec: &RawSpec, patterns: &mut Patterns, causes: &mut Vec<Cause>) -> Vec<Arc<Structural>> {
    check_group_and_scope(spec, causes);
    for (at, version) in spec.versions.iter().enumerate() {
        if version.schema.open_api.is_none() {
            causes.push(Cause::required(format!("spec.versions[{at}].schema.openAPIV3Schema"), ""));
        }
    }
    // What all versions have in common is reported once, as if it stood above the versions.
    let (shared, own) = Aspects::split(&spec.versions);
    let mut schemas = Vec::new();
    for (at, version) in spec.versions.iter().enumerate() {
        let path = format!("spec.versions[{at}]");
        let wrong = label_1035(&version.name);
        if !wrong.is_empty() {
            causes.push(invalid_text(format!("{path}.name"), &version.name, &wrong.join(",")));
        }
        for wrong in check_warning(version) {
            let warning = version.deprecation_warning.as_deref().unwrap_or_default();
            causes.push(invalid_text(format!("{path}.deprecationWarning"), warning, &wrong));
        }
        schemas.push(check_aspects(version, own, &path, "schema", patterns, causes));
    }
    check_storage(spec, causes);
    check_names(&spec.names, causes);
    if let Some(first) = spec.versions.first() {
        let schema = check_aspects(first, shared, "spec", "validation", patterns, causes);
        if shared.schema {
            schemas.fill(schema);
        }
        check_selectable_place(spec, shared, causes);
    }
    check_conversion(spec, causes);
    schemas.into_iter().flatten().collect()
}

fn check_group_and_scope(spec: &RawSpec, causes: &mut Vec<Cause>) {
    let group = &spec.group;
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else {
        let wrong = subdomain_1123(group);
        if !wrong.is_empty() {
            causes.push(invalid_text("spec.group", group, &wrong.join(",")));
        } else if !group.contains('.') {
            causes.push(invalid_text("spec.group", group, "should be a domain with at least one dot"));
        }
    }
    match spec.scope.as_str() {
        "" => causes.push(Cause::required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => causes.push(not_supported("spec.scope", &json!(other), &["Cluster", "Namespaced"])),
    }
}

fn check_names(names: &RawNames, causes: &mut Vec<Cause>) {
    let required = [
        ("plural", &names.plural),
        ("singular", &names.singular),
        ("kind", &names.kind),
        ("listKind", &names.list_kind),
    ];
    for (field, name) in required {
        if name.is_empty() {
            causes.push(Cause::required(format!("spec.names.{field}"), ""));
        }
    }
    for (field, name) in required {
        let mixed_case = matches!(field, "kind" | "listKind");
        let wrong = label_1035(&if mixed_case { name.to_lowercase() } else { name.clone() });
        if !name.is_empty() && !wrong.is_empty() {
            let prefix = if mixed_case { "may have mixed case, but should otherwise match: " } else { "" };
            let detail = format!("{prefix}{}", wrong.join(","));
            causes.push(invalid_text(format!("spec.names.{field}"), name, &detail));
        }
    }
    let mut check_list = |field: &str, list: &[String]| {
        for (at, name) in list.iter().enumerate() {
            let wrong = label_1035(name);
            if !wrong.is_empty() {
                causes.push(invalid_text(format!("spec.names.{field}[{at}]"), name, &wrong.join(",")));
            }
        }
    };
    check_list("shortNames", &names.short_names);
    check_list("categories", &names.categories);
    if !names.kind.is_empty() && names.kind == names.list_kind {
        let detail = "kind and listKind may not be the same";
        causes.push(invalid_text("spec.names.listKind", &names.list_kind, detail));
    }
}

/// Versions are told apart by name only: there is no webhook that could convert between them.
fn check_conversion(spec: &RawSpec, causes: &mut Vec<Cause>) {
    let Some(conversion) = &spec.conversion else { return };
    let strategy = "spec.conversion.strategy";
    match conversion.strategy.as_str() {
        "None" => {
            let webhook = conversion.webhook.as_ref().unwrap_or(&Value::Null);
            for (field, internal) in [
                ("clientConfig", "webhookClientConfig"),
                ("conversionReviewVersions", "conversionReviewVersions"),
            ] {
                if !webhook[field].is_null() {
                    let detail = "should not be set when strategy is not set to Webhook";
                    causes.push(Cause::forbidden(format!("spec.conversion.{internal}"), detail));
                }
            }
        }
        "" => causes.push(Cause::required(strategy, "")),
        "Webhook" => causes.push(not_supported(strategy, &json!("Webhook"), &["None"])),
        other => causes.push(not_supported(strategy, &json!(other), &["None", "Webhook"])),
    }
}

/// Groups of the Kubernetes project need an approval.
fn check_approval(raw: &RawDefinition) -> Option<Cause> {
    let group = &raw.spec.group;
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == domain || group.ends_with(&format!(".{domain}")));
    if !protected {
        return None;
    }
    let field = format!("metadata.annotations[{APPROVAL}]");
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match raw.metadata.annotations.get(APPROVAL).map(String::as_str).unwrap_or_default() {
        "" => {
            let detail = format!("protected groups must have approval annotation \"{APPROVAL}\", {see}");
            Some(Cause::required(field, &detail))
        }
        text if text.starts_with("unapproved") || text.contains("://") => None,
        text => {
            let detail = format!(
                "protected groups must have approval annotation \"{APPROVAL}\" with either a URL or a reason \
                 starting with \"unapproved\", {see}"
            );
            Some(invalid_text(field, text, &detail))
        }
    }
}
