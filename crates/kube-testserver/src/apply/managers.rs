//! `metadata.managedFields`: who owns which fields.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::fieldset::FieldSet;
use super::{Manager, Operation};

/// How many managers that update an object are told apart. The oldest beyond that are put together, so that
/// an object written by ever-new managers does not grow without end.
const MAX_UPDATE_MANAGERS: usize = 10;

/// The manager that the oldest updates are attributed to.
const ANCIENT: &str = "ancient-changes";

/// Everybody who owns fields of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Managers(pub(super) Vec<Entry>);

/// One owner.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) id: Identity,
    /// The version of the object that the fields are of. It is part of the identity of updates only: a
    /// manager that applies replaces its own fields whatever version it uses.
    pub(super) api_version: String,
    /// When the fields last changed; none for a manager that has only applied what was there already.
    pub(super) time: Option<String>,
    pub(super) fields: FieldSet,
}

/// What tells one owner from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub(super) manager: String,
    pub(super) operation: Operation,
    pub(super) subresource: String,
}

impl Managers {
    /// Reads `managedFields` as a client may have written them. The error is the one of Kubernetes.
    pub(super) fn decode(managed_fields: &Value) -> Result<Self, String> {
        let Some(entries) = managed_fields.as_array() else { return Ok(Self::default()) };
        let mut managers = Self::default();
        for (at, entry) in entries.iter().enumerate() {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            match text("fieldsType") {
                _ if !matches!(text("operation"), "Apply" | "Update") => {
                    return Err("operation must be `Apply` or `Update`".to_owned());
                }
                _ if text("apiVersion").is_empty() => return Err("apiVersion must not be empty".to_owned()),
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
                other => return Err(format!("invalid fieldsType \"{other}\" in managed fields entry {at}")),
            }
            let fields = match entry.get("fieldsV1") {
                None | Some(Value::Null) => FieldSet::default(),
                Some(fields) => FieldSet::from_fields_v1(fields)?,
            };
            managers.0.push(Entry::from_value(entry.clone(), fields));
        }
        // Of several entries of one owner the last one counts.
        let mut seen = HashSet::new();
        let mut last: Vec<bool> = managers.0.iter().rev().map(|entry| seen.insert(entry.key())).collect();
        managers.0.retain(|_| last.pop() == Some(true));
        Ok(managers)
    }

    /// Reads `managedFields` that this module wrote.
    pub(super) fn trusted(managed_fields: Value) -> Self {
        let Value::Array(entries) = managed_fields else { return Self::default() };
        let read = |mut entry: Value| {
            let fields = entry.get_mut("fieldsV1").map(Value::take).unwrap_or_default();
            Entry::from_value(entry, FieldSet::trusted(fields))
        };
        Self(entries.into_iter().map(read).collect())
    }

    /// Writes `managedFields`; none if nobody owns anything.
    pub(super) fn encode(mut self) -> Option<Value> {
        if self.0.is_empty() {
            return None;
        }
        self.0.sort_by(|a, b| a.order().cmp(&b.order()));
        Some(Value::Array(self.0.into_iter().map(Entry::into_value).collect()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The place of a manager's entry.
    pub(super) fn position(&self, manager: &Manager<'_>) -> Option<usize> {
        let id = Identity::of(manager);
        self.0.iter().position(|entry| entry.is(&id, manager.api_version))
    }

    /// Gives fields to a manager, beside those it has.
    pub(super) fn grant(&mut self, manager: &Manager<'_>, fields: FieldSet) {
        let time = (!manager.time.is_empty()).then(|| manager.time.to_owned());
        match self.position(manager) {
            Some(at) => {
                self.0[at].fields.union(fields);
                self.0[at].time = time;
            }
            None => self.0.push(Entry {
                id: Identity::of(manager),
                api_version: manager.api_version.to_owned(),
                time,
                fields,
            }),
        }
    }

    /// Takes fields from everybody, and drops those who are left with nothing.
    pub(super) fn take(&mut self, fields: &FieldSet) {
        if !fields.is_empty() {
            for entry in &mut self.0 {
                entry.fields.subtract(fields);
            }
        }
        self.drop_empty();
    }

    pub(super) fn drop_empty(&mut self) {
        self.0.retain(|entry| !entry.fields.is_empty());
    }

    /// Puts the oldest updates together, per version, until few enough are left.
    pub(super) fn squash(&mut self) {
        let mut updates = self.0.iter().filter(|entry| entry.id.operation == Operation::Update).count();
        if updates <= MAX_UPDATE_MANAGERS {
            return;
        }
        self.0.sort_by(|a, b| a.order().cmp(&b.order()));
        let bucket = Identity {
            manager: ANCIENT.to_owned(),
            operation: Operation::Update,
            subresource: String::new(),
        };
        let mut entries: Vec<Option<Entry>> = std::mem::take(&mut self.0).into_iter().map(Some).collect();
        // By version: the bucket, if there is one, and the oldest update, which becomes it otherwise.
        let mut buckets: HashMap<String, usize> = HashMap::new();
        for (at, entry) in entries.iter().enumerate() {
            if let Some(entry) = entry.as_ref().filter(|entry| entry.id == bucket) {
                buckets.entry(entry.api_version.clone()).or_insert(at);
            }
        }
        let mut oldest: HashMap<String, usize> = HashMap::new();
        for at in 0..entries.len() {
            if updates <= MAX_UPDATE_MANAGERS {
                break;
            }
            let Some(entry) = entries[at].take_if(|entry| entry.id.operation == Operation::Update) else {
                continue;
            };
            let first = *oldest.entry(entry.api_version.clone()).or_insert(at);
            let into =
                buckets.get(&entry.api_version).copied().filter(|bucket| *bucket != at).unwrap_or(first);
            let Some(older) = entries[into].as_mut().filter(|_| first != at) else {
                entries[at] = Some(entry);
                continue;
            };
            older.id = bucket.clone();
            older.fields.union(entry.fields);
            older.time = entry.time;
            buckets.insert(entry.api_version, into);
            updates -= 1;
        }
        self.0 = entries.into_iter().flatten().collect();
    }
}

impl Entry {
    fn from_value(mut entry: Value, fields: FieldSet) -> Self {
        let mut text = |key: &str| match entry.get_mut(key).map(Value::take) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let operation = if text("operation") == "Apply" { Operation::Apply } else { Operation::Update };
        let time = text("time");
        Self {
            id: Identity { manager: text("manager"), operation, subresource: text("subresource") },
            api_version: text("apiVersion"),
            time: (!time.is_empty()).then_some(time),
            fields,
        }
    }

    fn into_value(self) -> Value {
        let mut entry = Map::new();
        let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
        if !self.id.manager.is_empty() {
            put("manager", Value::String(self.id.manager));
        }
        put("operation", Value::String(self.id.operation.as_str().to_owned()));
        put("apiVersion", Value::String(self.api_version));
        if let Some(time) = self.time {
            put("time", Value::String(time));
        }
        put("fieldsType", Value::String("FieldsV1".to_owned()));
        put("fieldsV1", self.fields.into_fields_v1());
        if !self.id.subresource.is_empty() {
            put("subresource", Value::String(self.id.subresource));
        }
        Value::Object(entry)
    }

    fn is(&self, id: &Identity, api_version: &str) -> bool {
        self.id == *id && (id.operation == Operation::Apply || self.api_version == api_version)
    }

    /// What two entries of one owner have in common.
    fn key(&self) -> (Identity, String) {
        let version = if self.id.operation == Operation::Apply { "" } else { &*self.api_version };
        (self.id.clone(), version.to_owned())
    }

    /// The order of `managedFields`: who applies before who updates, then the older first. Times are compared
    /// as text, which is their order in the one form that the server writes.
    fn order(&self) -> impl Ord + '_ {
        let id = &self.id;
        (id.operation.as_str(), self.time.as_deref(), &*id.manager, &*self.api_version, &*id.subresource)
    }

    /// The entry as conflict messages call it.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("{:?}", self.id.manager);
        if !self.id.subresource.is_empty() {
            text += &format!(" with subresource {:?}", self.id.subresource);
        }
        if self.id.operation == Operation::Update {
            text += &format!(" using {}", self.api_version);
        }
        text
    }
}

impl Identity {
    pub(super) fn of(manager: &Manager<'_>) -> Self {
        let name = if manager.name.is_empty() { "unknown" } else { manager.name };
        Self {
            manager: name.to_owned(),
            operation: manager.operation,
            subresource: manager.subresource.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, time: &str) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": time,
               "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {format!("f:{manager}"): {}}}})
    }

    #[test]
    fn entries_round_trip() {
        let mut written = entry("a", "Apply", "2026-01-01T00:00:00Z");
        written["subresource"] = json!("status");
        let written = json!([written]);
        assert_eq!(Managers::decode(&written).expect("valid").encode(), Some(written.clone()));
        assert_eq!(Managers::trusted(written.clone()).encode(), Some(written));
        assert_eq!(Managers::trusted(json!([])).encode(), None);
    }

    #[test]
    fn appliers_come_first_then_the_oldest() {
        let written = json!([
            entry("u2", "Update", "2026-01-02T00:00:00Z"),
            entry("u1", "Update", "2026-01-01T00:00:00Z"),
            entry("b", "Apply", "2026-01-03T00:00:00Z"),
            entry("a", "Apply", "2026-01-03T00:00:00Z"),
        ]);
        let sorted = Managers::decode(&written).expect("valid").encode().expect("entries");
        let names: Vec<&Value> =
            sorted.as_array().expect("a list").iter().map(|entry| &entry["manager"]).collect();
        assert_eq!(names, ["a", "b", "u1", "u2"]);
    }

    #[test]
    fn invalid_entries_are_refused_with_the_words_of_kubernetes() {
        let check = |key: &str, value: Value, message: &str| {
            let mut entry = entry("a", "Update", "2026-01-01T00:00:00Z");
            entry[key] = value;
            assert_eq!(Managers::decode(&json!([entry])).expect_err("invalid"), message);
        };
        check("operation", json!("Create"), "operation must be `Apply` or `Update`");
        check("apiVersion", json!(""), "apiVersion must not be empty");
        check("fieldsType", json!(""), "missing fieldsType in managed fields entry 0");
        check("fieldsType", json!("V2"), "invalid fieldsType \"V2\" in managed fields entry 0");
    }

    #[test]
    fn one_identity_has_one_entry() {
        let twice = json!([
            entry("a", "Update", "2026-01-01T00:00:00Z"),
            entry("a", "Update", "2026-01-02T00:00:00Z")
        ]);
        assert_eq!(Managers::decode(&twice).expect("valid").0.len(), 1);
    }

    #[test]
    fn the_oldest_updates_are_put_together() {
        let mut written: Vec<Value> = (0..12)
            .map(|n| entry(&format!("m{n:02}"), "Update", &format!("2026-01-{:02}T00:00:00Z", n + 1)))
            .collect();
        written.push(entry("applier", "Apply", "2026-01-01T00:00:00Z"));
        let mut managers = Managers::decode(&Value::Array(written)).expect("valid");
        managers.squash();
        let entries = managers.encode().expect("entries");
        let entries = entries.as_array().expect("a list");
        assert_eq!(entries.len(), 11);
        assert_eq!(entries[1]["manager"], "ancient-changes");
        assert_eq!(entries[1]["time"], "2026-01-03T00:00:00Z");
        assert_eq!(entries[1]["fieldsV1"], json!({"f:spec": {"f:m00": {}, "f:m01": {}, "f:m02": {}}}));
        assert_eq!(entries[2]["manager"], "m03");
    }

    /// The same, done by searching all entries for each one.
    fn squash_by_searching(managers: &mut Managers) {
        let is_update = |entry: &Entry| entry.id.operation == Operation::Update;
        let bucket = Identity {
            manager: ANCIENT.to_owned(),
            operation: Operation::Update,
            subresource: String::new(),
        };
        managers.0.sort_by(|a, b| a.order().cmp(&b.order()));
        let mut at = 0;
        while at < managers.0.len()
            && managers.0.iter().filter(|entry| is_update(entry)).count() > MAX_UPDATE_MANAGERS
        {
            let version = managers.0[at].api_version.clone();
            let same = |entry: &Entry| is_update(entry) && entry.api_version == version;
            if !same(&managers.0[at]) || !managers.0[..at].iter().any(same) {
                at += 1;
                continue;
            }
            let entry = managers.0.remove(at);
            let into = managers.0.iter().position(|entry| entry.is(&bucket, &version));
            let into = into.or_else(|| managers.0[..at].iter().position(same)).expect("an older one");
            managers.0[into].id = bucket.clone();
            managers.0[into].fields.union(entry.fields);
            managers.0[into].time = entry.time;
        }
    }

    #[test]
    fn putting_together_and_searching_agree() {
        let random = crate::random::Random::new(11);
        let choose = |count: u64| random.next() % count;
        for _ in 0..300 {
            let count = choose(30);
            let written: Vec<Value> = (0..count)
                .map(|at| {
                    let name = if choose(8) == 0 { ANCIENT.to_owned() } else { format!("m{at}") };
                    let mut entry =
                        entry(&name, "Update", &format!("2026-01-{:02}T00:00:00Z", choose(28) + 1));
                    entry["apiVersion"] = json!(format!("v{}", choose(3)));
                    if choose(5) == 0 {
                        entry["operation"] = json!("Apply");
                    }
                    entry
                })
                .collect();
            let mut squashed = Managers::decode(&Value::Array(written)).expect("valid");
            let mut searched = squashed.clone();
            squashed.squash();
            if searched.0.iter().filter(|entry| entry.id.operation == Operation::Update).count()
                > MAX_UPDATE_MANAGERS
            {
                squash_by_searching(&mut searched);
            }
            assert_eq!(squashed.0, searched.0);
        }
    }

    #[test]
    fn conflicts_say_how_a_field_came_to_its_owner() {
        let mut written = entry("a", "Update", "2026-01-01T00:00:00Z");
        written["subresource"] = json!("status");
        let managers = Managers::decode(&json!([written, entry("b", "Apply", "")])).expect("valid");
        assert_eq!(managers.0[0].describe(), r#""a" with subresource "status" using v1"#);
        assert_eq!(managers.0[1].describe(), r#""b""#);
    }
}
