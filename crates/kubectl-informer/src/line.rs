//! An event as one aligned line, for people.

use serde_json::Value;

use crate::diff::Change;
use crate::paint::{DIM, GREEN, Paint, RED, YELLOW, harmless};
use crate::seen::{Happened, Seen, What};

/// How many changed fields a line shows.
const MAX_FIELDS: usize = 3;

/// How many letters of a value a line shows.
const MAX_VALUE: usize = 32;

/// How wide the kinds are at least, so that lines of several runs look alike.
const MIN_WHAT: usize = 22;

/// How wide the names are at first; they grow with the names that are seen, up to the other.
const NAME_WIDTHS: (usize, usize) = (20, 48);

/// The columns of a listing.
#[derive(Debug)]
pub(crate) struct Columns {
    paint: Paint,
    what: usize,
    name: usize,
}

impl Columns {
    /// Columns wide enough for these kinds.
    pub(crate) fn new<'a>(paint: Paint, kinds: impl Iterator<Item = &'a What>) -> Self {
        let what = kinds.map(|what| width(&what.label()).max(width(&what.resource))).max().unwrap_or(0);
        Self { paint, what: what.max(MIN_WHAT), name: NAME_WIDTHS.0 }
    }

    /// `MODIFIED  apps/v1 Deployment      shop/web              spec.replicas 2 → 3`.
    pub(crate) fn event(&mut self, seen: &Seen) -> String {
        let (style, detail) = match &seen.happened {
            Happened::Added { .. } => (GREEN, self.paint.painted(DIM, &summary(&seen.what, &seen.object))),
            Happened::Modified(changes) => (YELLOW, self.changes(&seen.what, changes)),
            Happened::Deleted { final_state_unknown: true } => {
                (RED, self.paint.painted(DIM, "nobody saw it go"))
            }
            Happened::Deleted { .. } => (RED, String::new()),
        };
        let name = harmless(&seen.key);
        self.name = self.name.max(width(&name).min(NAME_WIDTHS.1));
        let kind = self.paint.painted(style, &format!("{:<8}", seen.happened.name()));
        let (what, name) = (pad(&seen.what.label(), self.what), pad(&name, self.name));
        format!("{kind}  {what}  {name}  {detail}").trim_end().to_owned()
    }

    /// A line about a kind as a whole, in the same columns.
    pub(crate) fn about(&self, label: &str, what: &What, text: &str) -> String {
        format!("{label:<8}  {}  {text}", pad(&what.resource, self.what))
    }

    fn changes(&self, what: &What, changes: &[Change]) -> String {
        if changes.is_empty() {
            return self.paint.painted(DIM, "nothing but its version");
        }
        let mut shown: Vec<&Change> = changes.iter().collect();
        shown.sort_by_key(|change| rank(&change.path));
        let more = shown.len().saturating_sub(MAX_FIELDS);
        let mut words: Vec<String> =
            shown.into_iter().take(MAX_FIELDS).map(|change| self.change(what, change)).collect();
        if more > 0 {
            words.push(self.paint.painted(DIM, &format!("and {more} more")));
        }
        words.join(", ")
    }

    fn change(&self, what: &What, change: &Change) -> String {
        let path = self.paint.painted(DIM, &harmless(&change.path));
        if is_secret(what, &change.path) {
            let happened = match (&change.old, &change.new) {
                (None, _) => "added",
                (_, None) => "removed",
                _ => "changed",
            };
            return format!("{path} {happened}");
        }
        let arrow = self.paint.painted(DIM, "→");
        format!("{path} {} {arrow} {}", text(change.old.as_ref()), text(change.new.as_ref()))
    }
}

/// What is wanted comes first, then what is there; what explains that, and what only says when, how long or for which
/// version, comes last.
fn rank(path: &str) -> u8 {
    let field = path.rsplit('.').next().unwrap_or(path);
    let is_bookkeeping =
        matches!(field, "observedGeneration" | "deletionGracePeriodSeconds" | "lastTimestamp")
            || field.ends_with("Time");
    let is_remark = path.contains(".conditions[") && matches!(field, "type" | "reason" | "message");
    if is_bookkeeping || is_remark {
        3
    } else if path.starts_with("metadata.annotations") {
        2
    } else if path.starts_with("spec.") {
        0
    } else {
        1
    }
}

/// What nobody should read over a shoulder.
fn is_secret(what: &What, path: &str) -> bool {
    what.kind == "Secret"
        && what.api_version == "v1"
        && ["data", "stringData"].iter().any(|field| {
            path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
}

/// A value in a few letters.
fn text(value: Option<&Value>) -> String {
    match value {
        None => "none".to_owned(),
        Some(Value::String(text)) if text.is_empty() => "\"\"".to_owned(),
        Some(Value::String(text)) => shortened(text),
        Some(other) => shortened(&other.to_string()),
    }
}

fn shortened(text: &str) -> String {
    // What is cut off is not looked at: it may be a megabyte.
    let beginning: String = text.chars().take(MAX_VALUE + 1).collect();
    if beginning.chars().count() <= MAX_VALUE {
        return harmless(&beginning).into_owned();
    }
    let cut: String = beginning.chars().take(MAX_VALUE - 1).collect();
    format!("{}…", harmless(&cut))
}

/// What is worth knowing about a new object, in a few words.
fn summary(what: &What, object: &Value) -> String {
    let text =
        |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map_or_else(String::new, shortened);
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
    match what.kind.as_str() {
        "Pod" => {
            let node = text("/spec/nodeName");
            let place = if node.is_empty() { String::new() } else { format!(" on {node}") };
            format!("{}{place}", text("/status/phase"))
        }
        "Deployment" | "ReplicaSet" | "StatefulSet" => {
            format!("{} of {} ready", number("/status/readyReplicas"), number("/spec/replicas"))
        }
        "ConfigMap" | "Secret" => {
            let keys = object.get("data").and_then(Value::as_object).map_or(0, serde_json::Map::len);
            counted(keys as u64, "key")
        }
        "Event" => {
            let message = object.get("message").or_else(|| object.get("note")).and_then(Value::as_str);
            let message: String = message.unwrap_or("").chars().take(2 * MAX_VALUE).collect();
            format!("{} {}: {}", text("/involvedObject/name"), text("/reason"), harmless(&message))
        }
        "Foo" => {
            let wanted = u64::try_from(number("/spec/replicas")).unwrap_or(0);
            format!("{} of {} available", number("/status/availableReplicas"), counted(wanted, "replica"))
        }
        "Service" => format!("{} {}", text("/spec/type"), text("/spec/clusterIP")),
        _ => text("/status/phase"),
    }
}

/// `1 key`, `2 keys`.
pub(crate) fn counted(count: u64, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

/// Padded by what is seen, not by bytes.
fn pad(text: &str, to: usize) -> String {
    format!("{text}{:1$}", "", to.saturating_sub(width(text)))
}

fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::diff::changes;

    fn what(api_version: &str, kind: &str, resource: &str) -> Arc<What> {
        let (api_version, kind, resource) = (api_version.to_owned(), kind.to_owned(), resource.to_owned());
        Arc::new(What { api_version, kind, resource })
    }

    fn seen(what: &Arc<What>, key: &str, happened: Happened, object: Value) -> Seen {
        Seen { what: Arc::clone(what), key: key.to_owned(), happened, object }
    }

    fn modified(what: &Arc<What>, old: &Value, new: &Value) -> String {
        let mut columns = Columns::new(Paint::default(), std::iter::empty());
        let line = columns.event(&seen(what, "a", Happened::Modified(changes(old, new)), new.clone()));
        line.split_once("a                     ").map_or(line.clone(), |(_, detail)| detail.to_owned())
    }

    #[test]
    fn columns_are_as_wide_as_what_they_hold() {
        let deployments = what("apps/v1", "Deployment", "deployments.apps");
        let long = what("a-group.example.com/v1beta1", "Thing", "things.a-group.example.com");
        let mut columns = Columns::new(Paint::default(), [&*deployments].into_iter());
        let object = json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 1}});
        let added = || Happened::Added { initial: false };
        assert_eq!(
            columns.event(&seen(&deployments, "shop/web", added(), object.clone())),
            "ADDED     apps/v1 Deployment      shop/web              1 of 3 ready"
        );
        columns.event(&seen(&deployments, "a-long-namespace/a-long-name", added(), object.clone()));
        let gone = Happened::Deleted { final_state_unknown: true };
        assert_eq!(
            columns.event(&seen(&deployments, "shop/web", gone, object.clone())),
            "DELETED   apps/v1 Deployment      shop/web                      nobody saw it go"
        );
        let mut columns = Columns::new(Paint::default(), [&*deployments, &*long].into_iter());
        assert_eq!(
            columns.event(&seen(&deployments, "shop/web", added(), object)),
            "ADDED     apps/v1 Deployment                 shop/web              1 of 3 ready"
        );
    }

    #[test]
    fn changes_are_few_short_and_the_telling_ones_first() {
        let pods = what("v1", "Pod", "pods");
        let old = json!({"status": {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "1"}]}});
        let new = json!({"status": {
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2"}],
            "message": "x".repeat(1_000), "phase": "Running", "podIP": "",
        }});
        assert_eq!(
            modified(&pods, &old, &new),
            format!(
                "status.conditions[Ready].status False → True, status.message none → {}…, \
                 status.phase none → Running, and 2 more",
                "x".repeat(31)
            )
        );
        let heartbeat = json!({"status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": "2"}]}});
        let before = json!({"status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": "1"}]}});
        assert_eq!(modified(&pods, &before, &heartbeat), "status.conditions[Ready].lastHeartbeatTime 1 → 2");
        assert_eq!(modified(&pods, &old, &old), "nothing but its version");
    }

    #[test]
    fn what_is_wanted_comes_before_what_is_said_about_it() {
        let sets = what("apps/v1", "ReplicaSet", "replicasets.apps");
        let state = |replicas: i32, status: &str| {
            json!({
                "metadata": {"annotations": {"desired": replicas.to_string()}},
                "spec": {"replicas": replicas},
                "status": {"conditions": [{"type": "Full", "status": status, "reason": status}]},
            })
        };
        assert_eq!(
            modified(&sets, &state(1, "False"), &state(2, "True")),
            "spec.replicas 1 → 2, status.conditions[Full].status False → True, \
             metadata.annotations.desired 1 → 2, and 1 more"
        );
    }

    #[test]
    fn a_foo_says_how_many_replicas_it_has_of_how_many() {
        let foos = what("samplecontroller.k8s.io/v1alpha1", "Foo", "foos.samplecontroller.k8s.io");
        let foo = json!({"spec": {"replicas": 3}, "status": {"availableReplicas": 1}});
        assert_eq!(summary(&foos, &foo), "1 of 3 replicas available");
    }

    #[test]
    fn secrets_are_not_shown_and_terminals_not_commanded() {
        let secrets = what("v1", "Secret", "secrets");
        let (old, new) =
            (json!({"data": {"a": "b64", "gone": "x"}}), json!({"data": {"a": "b65", "x.y": "z"}}));
        assert_eq!(modified(&secrets, &old, &new), "data.a changed, data.gone removed, data[x.y] added");
        let configs = what("v1", "ConfigMap", "configmaps");
        let new = json!({"data": {"a": "\u{1b}[2J", "gone": "x"}});
        assert_eq!(modified(&configs, &old, &new), "data.a b64 → \\u{1b}[2J");
    }
}
