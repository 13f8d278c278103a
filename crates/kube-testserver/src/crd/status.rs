//! What the server writes into a CustomResourceDefinition: defaults, accepted names, conditions.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The names that the definitions of one group already have.
#[derive(Debug, Default)]
pub(crate) struct NamesInUse {
    /// Plural, singular and short names share one space.
    resources: HashSet<String>,
    /// Kinds and list kinds share another.
    kinds: HashSet<String>,
}

impl NamesInUse {
    /// Adds the names that another definition of the same group has been granted.
    pub(crate) fn add(&mut self, other: &Value) {
        let names = &other["status"]["acceptedNames"];
        let text = |field: &str| names[field].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        self.resources.extend([text("plural"), text("singular")].into_iter().flatten());
        let short = names["shortNames"].as_array().into_iter().flatten();
        self.resources.extend(short.filter_map(Value::as_str).map(str::to_owned));
        self.kinds.extend([text("kind"), text("listKind")].into_iter().flatten());
    }
}

/// Fills in the spec of a definition that has been sent to the server.
pub(crate) fn fill_defaults(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut)
        && let Some(kind) = names.get("kind").and_then(Value::as_str).map(str::to_owned)
        && !kind.is_empty()
    {
        for (field, default) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
            if names.get(field).and_then(Value::as_str).is_none_or(str::is_empty) {
                names.insert(field.to_owned(), json!(default));
            }
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
    }
}

/// Replaces the status of a definition that is being created: clients cannot set it, and nothing has been
/// accepted yet.
pub(crate) fn reset_status(crd: &mut Value) {
    if let Some(crd) = crd.as_object_mut() {
        let status = json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}});
        crd.insert("status".to_owned(), status);
    }
    set_stored_version(crd);
}

/// Remembers the version in which objects are stored from now on. Versions are never forgotten by
/// themselves: objects may still be stored in an older one.
pub(crate) fn set_stored_version(crd: &mut Value) {
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let Some(name) = versions
        .filter(|version| version["storage"] == json!(true))
        .find_map(|version| version["name"].as_str())
        .map(str::to_owned)
    else {
        return;
    };
    let Some(status) = status_of(crd) else { return };
    match status.entry("storedVersions").or_insert(Value::Null) {
        Value::Array(stored) if stored.contains(&json!(name)) => {}
        Value::Array(stored) => stored.push(json!(name)),
        stored => *stored = json!([name]),
    }
}

/// Grants a definition its names and establishes it, or says which names others already have. Returns
/// whether the definition is established, that is, whether its resources are to be served.
///
/// The real server establishes a definition a moment after it has granted the names; here both happen at
/// once. A definition that is established stays so, even if it asks for another short name that is taken.
pub(crate) fn establish(crd: &mut Value, in_use: &NamesInUse, now: Timestamp) -> bool {
    let requested = crd["spec"]["names"].clone();
    let mut accepted = crd["status"]["acceptedNames"].as_object().cloned().unwrap_or_default();
    let mut conflict: Option<(&str, String)> = None;
    for (field, reason, used) in [
        ("plural", "PluralConflict", &in_use.resources),
        ("singular", "SingularConflict", &in_use.resources),
        ("shortNames", "ShortNamesConflict", &in_use.resources),
        ("kind", "KindConflict", &in_use.kinds),
        ("listKind", "ListKindConflict", &in_use.kinds),
    ] {
        let taken = taken(requested.get(field), accepted.get(field), used);
        if taken.is_empty() {
            copy(field, &requested, &mut accepted);
        } else {
            // Of several conflicts, the last one is reported.
            conflict = Some((reason, in_words(&taken)));
        }
    }
    copy("categories", &requested, &mut accepted);
    // These two are always there, if only as empty text.
    for field in ["plural", "kind"] {
        accepted.entry(field).or_insert_with(|| json!(""));
    }
    if let Some(status) = status_of(crd) {
        status.insert("acceptedNames".to_owned(), Value::Object(accepted));
    }

    let fine = conflict.is_none();
    let (reason, message) = conflict.unwrap_or(("NoConflicts", "no conflicts found".to_owned()));
    set_condition(crd, "NamesAccepted", fine, reason, &message, now);
    if !is_established(crd) {
        if fine {
            let message = "the initial names have been accepted";
            set_condition(crd, "Established", true, "InitialNamesAccepted", message, now);
        } else {
            set_condition(crd, "Established", false, "NotAccepted", "not all names are accepted", now);
        }
    }
    is_established(crd)
}

/// Whether the resources of a definition are served.
pub(crate) fn is_established(crd: &Value) -> bool {
    let conditions = crd["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|one| one["type"] == "Established" && one["status"] == "True")
}

/// Says that a definition is going away, and its objects with it.
pub(crate) fn terminate(crd: &mut Value, now: Timestamp) {
    let message = "CustomResource deletion is in progress";
    set_condition(crd, "Terminating", true, "InstanceDeletionInProgress", message, now);
}

/// The names that somebody else has. A name that is already granted to this definition is not one of them.
fn taken(requested: Option<&Value>, accepted: Option<&Value>, used: &HashSet<String>) -> Vec<String> {
    fn texts(value: Option<&Value>) -> Vec<&str> {
        match value {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }
    let accepted = texts(accepted);
    texts(requested)
        .into_iter()
        .filter(|name| !accepted.contains(name) && used.contains(*name))
        .map(str::to_owned)
        .collect()
}

fn in_words(names: &[String]) -> String {
    let each: Vec<String> = names.iter().map(|name| format!("\"{name}\" is already in use")).collect();
    match &each[..] {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

fn copy(field: &str, from: &Value, to: &mut Map<String, Value>) {
    match from.get(field) {
        Some(value) if !value.is_null() => _ = to.insert(field.to_owned(), value.clone()),
        _ => _ = to.remove(field),
    }
}

/// The status, which is made if it is not there.
fn status_of(crd: &mut Value) -> Option<&mut Map<String, Value>> {
    let status = crd.as_object_mut()?.entry("status").or_insert(Value::Null);
    if !status.is_object() {
        *status = Value::Object(Map::new());
    }
    status.as_object_mut()
}

/// Sets a condition. The time is that of the last change from one status to another.
fn set_condition(crd: &mut Value, ty: &str, status: bool, reason: &str, message: &str, now: Timestamp) {
    let status = if status { "True" } else { "False" };
    let Some(status_fields) = status_of(crd) else { return };
    let conditions = status_fields.entry("conditions").or_insert(Value::Null);
    if !conditions.is_array() {
        *conditions = Value::Array(Vec::new());
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let existing = conditions.iter().position(|condition| condition["type"] == ty);
    let unchanged = existing.filter(|at| conditions[*at]["status"] == status);
    let time = match unchanged {
        Some(at) => conditions[at]["lastTransitionTime"].clone(),
        None => json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
    };
    let condition = json!({
        "type": ty, "status": status, "lastTransitionTime": time, "reason": reason, "message": message,
    });
    match existing {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0);
    const NOW_TEXT: &str = "2023-11-14T22:13:20Z";

    fn widgets() -> Value {
        let mut crd = json!({"spec": {
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [{"name": "v2", "storage": false}, {"name": "v1", "storage": true}]}});
        fill_defaults(&mut crd);
        reset_status(&mut crd);
        crd
    }

    #[test]
    fn names_and_conversion_have_defaults() {
        let crd = widgets();
        assert_eq!(crd["spec"]["names"]["singular"], "widget");
        assert_eq!(crd["spec"]["names"]["listKind"], "WidgetList");
        assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
        assert_eq!(
            crd["status"],
            json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]})
        );
    }

    #[test]
    fn a_definition_without_conflicts_is_established() {
        let mut crd = widgets();
        assert!(establish(&mut crd, &NamesInUse::default(), NOW));
        assert_eq!(
            crd["status"],
            json!({
                "acceptedNames": {"plural": "widgets", "singular": "widget", "shortNames": ["wd"],
                    "kind": "Widget", "listKind": "WidgetList"},
                "conditions": [
                    {"type": "NamesAccepted", "status": "True", "lastTransitionTime": NOW_TEXT,
                        "reason": "NoConflicts", "message": "no conflicts found"},
                    {"type": "Established", "status": "True", "lastTransitionTime": NOW_TEXT,
                        "reason": "InitialNamesAccepted", "message": "the initial names have been accepted"},
                ],
                "storedVersions": ["v1"],
            })
        );
    }

    #[test]
    fn a_definition_whose_names_are_taken_gets_what_is_left() {
        let mut first = widgets();
        establish(&mut first, &NamesInUse::default(), NOW);
        let mut in_use = NamesInUse::default();
        in_use.add(&first);
        let mut second = widgets();
        second["spec"]["names"]["plural"] = json!("wodgets");
        assert!(!establish(&mut second, &in_use, NOW));
        assert_eq!(second["status"]["acceptedNames"], json!({"kind": "", "plural": "wodgets"}));
        let conditions = &second["status"]["conditions"];
        assert_eq!(conditions[0]["reason"], "ListKindConflict");
        assert_eq!(conditions[0]["message"], "\"WidgetList\" is already in use");
        assert_eq!(conditions[1]["reason"], "NotAccepted");
    }

    #[test]
    fn a_condition_keeps_its_time_while_its_status_stays() {
        let mut crd = widgets();
        establish(&mut crd, &NamesInUse::default(), NOW);
        let later = Timestamp::constant(1_800_000_000, 0);
        crd["spec"]["names"]["shortNames"] = json!(["wd", "wx"]);
        assert!(establish(&mut crd, &NamesInUse::default(), later));
        assert_eq!(crd["status"]["conditions"][0]["lastTransitionTime"], NOW_TEXT);
        assert_eq!(crd["status"]["acceptedNames"]["shortNames"], json!(["wd", "wx"]));
        terminate(&mut crd, later);
        assert_eq!(crd["status"]["conditions"][2]["reason"], "InstanceDeletionInProgress");
    }

    #[test]
    fn stored_versions_are_remembered() {
        let mut crd = widgets();
        crd["spec"]["versions"] = json!([{"name": "v2", "storage": true}, {"name": "v1", "storage": false}]);
        set_stored_version(&mut crd);
        assert_eq!(crd["status"]["storedVersions"], json!(["v1", "v2"]));
    }
}
