//! From deltas to steps: what goes to the store at once, and what listeners are then told.

use std::collections::HashSet;

use kube_core::Resource;
use kube_wire::{DecodeError, ObjectKey};

use crate::fanout::{Deleted, Event};
use crate::object::{Object, key};
use crate::queue::Delta;
use crate::source::{Distrust, Scope};
use crate::store::{Store, Trust, Write, Written};

/// What stands for the key of an object that does not say its name.
const NAMELESS: &str = "an object without a readable name";

/// What goes to the store at once.
pub(super) enum Step<K> {
    /// Some objects have changed.
    Changes(Changes<K>),
    /// These are all objects.
    Everything {
        objects: Vec<Object<K>>,
        undecodable: Vec<DecodeError>,
        version: String,
        new_epoch: bool,
        distrust: Option<Distrust>,
    },
    /// Nothing more has happened up to this version.
    Bookmark { version: String },
    /// Everything is to be told again.
    Again,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Changes,
    Everything,
    Bookmark,
    Again,
}

/// Changes of single objects, in order.
pub(super) struct Changes<K> {
    writes: Vec<Write<K>>,
    /// Empty while the last of the writes says it.
    version: String,
    /// What happened to objects, in order: why one could not be decoded, or nothing if it could, or is gone.
    quarantine: Vec<(String, Option<String>)>,
    /// Objects are in quarantine, so that those that can be decoded have to be named.
    any: bool,
}

/// What everything means, if a step is about everything.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    /// What is covered.
    pub(super) scope: &'a Scope,
    /// Nobody has heard of a list before.
    pub(super) initial: bool,
    /// Which of the objects that are there are still what is wanted.
    pub(super) trust: Trust,
}

/// What a step did.
pub(super) struct Applied<K> {
    /// What listeners are to be told.
    pub(super) events: Vec<Event<K>>,
    /// How many events listeners have been told.
    pub(super) told: u64,
    pub(super) quarantine: Quarantine,
}

/// What a step means for objects that could not be decoded.
#[derive(Default)]
pub(super) struct Quarantine {
    /// Whatever was in quarantine before is not.
    pub(super) anew: bool,
    /// In order, for objects why they are in quarantine, or nothing if they are not. The last that is said of one counts.
    pub(super) objects: Vec<(String, Option<String>)>,
}

/// Makes steps of deltas: runs of single changes are one step, everything else is a step of its own. Whether `any` object is
/// in quarantine says whether it matters which can be decoded.
pub(super) fn steps<K: Resource>(batch: Vec<Delta<K>>, any: bool) -> Vec<Step<K>> {
    let (mut steps, mut run) = (Vec::new(), Changes::new(any));
    for delta in batch {
        let step = match delta {
            Delta::Added(object) | Delta::Updated(object) => {
                run.put(object);
                continue;
            }
            Delta::Deleted(object) => {
                run.remove(object);
                continue;
            }
            Delta::Undecodable { event, error } => {
                run.quarantine(&event, error);
                continue;
            }
            Delta::Bookmark { resource_version } => Step::Bookmark { version: resource_version },
            Delta::Resync => Step::Again,
            Delta::Replaced { objects, resource_version: version, undecodable, new_epoch, distrust } => {
                run.any |= !undecodable.is_empty();
                Step::Everything { objects, undecodable, version, new_epoch, distrust }
            }
        };
        run.end(&mut steps);
        steps.push(step);
    }
    run.end(&mut steps);
    steps
}

impl<K: Resource> Step<K> {
    pub(super) fn kind(&self) -> StepKind {
        match self {
            Step::Changes(_) => StepKind::Changes,
            Step::Everything { .. } => StepKind::Everything,
            Step::Bookmark { .. } => StepKind::Bookmark,
            Step::Again => StepKind::Again,
        }
    }

    /// The version up to which the copy is current after it; empty if it says nothing about that.
    pub(super) fn version(&self) -> &str {
        match self {
            Step::Changes(changes) => &changes.version,
            Step::Everything { version, .. } | Step::Bookmark { version } => version,
            Step::Again => "",
        }
    }

    /// Which objects of the store it leaves as they are.
    pub(super) fn trust(&self) -> Trust {
        match self {
            Step::Everything { new_epoch: true, .. } => Trust::NewEpoch,
            Step::Everything { distrust: Some(_), .. } => Trust::Nothing,
            _ => Trust::Versions,
        }
    }

    /// Writes to the store, which is current up to `version` then.
    pub(super) fn apply(self, store: &Store<K>, list: List<'_>, version: Option<&str>) -> Applied<K> {
        match self {
            Step::Bookmark { .. } => {
                if let Some(version) = version {
                    store.bookmark(version);
                }
                Applied { events: Vec::new(), told: 0, quarantine: Quarantine::default() }
            }
            Step::Again => Applied { events: Vec::new(), told: 0, quarantine: Quarantine::default() },
            Step::Changes(Changes { writes, quarantine, .. }) => {
                let events = written(store.write(writes, version));
                Applied { events, told: 0, quarantine: Quarantine { anew: false, objects: quarantine } }
            }
            Step::Everything { objects, undecodable, distrust, .. } => {
                let kept: HashSet<String> =
                    undecodable.iter().filter_map(|error| error.key.as_deref()).map(key_text).collect();
                let written = store.replace_in(list.scope, objects, list.trust, &kept, version);
                drop(distrust);
                let named = |error: DecodeError| {
                    let key = error.key.as_deref().map_or_else(|| NAMELESS.to_owned(), key_text);
                    (key, Some(error.why))
                };
                let objects = undecodable.into_iter().map(named).collect();
                let quarantine = Quarantine { anew: true, objects };
                Applied { events: replaced(written, list), told: 0, quarantine }
            }
        }
    }
}

impl<K> Changes<K> {
    fn new(any: bool) -> Self {
        Self { writes: Vec::new(), version: String::new(), quarantine: Vec::new(), any }
    }
}

impl<K: Resource> Changes<K> {
    fn put(&mut self, object: Object<K>) {
        self.note(&object);
        self.writes.push(Write::Put(object));
    }

    fn remove(&mut self, object: Object<K>) {
        self.note(&object);
        self.writes.push(Write::Remove(object));
    }

    fn note(&mut self, object: &Object<K>) {
        self.version.clear();
        if self.any {
            self.quarantine.push((object.key().to_owned(), None));
        }
    }

    fn quarantine(&mut self, event: &str, error: DecodeError) {
        self.any = true;
        let Some(key) = &error.key else {
            self.quarantine.push((NAMELESS.to_owned(), Some(error.why)));
            return;
        };
        self.version.clone_from(&key.resource_version);
        let key = key_text(key);
        if event == "DELETED" {
            self.quarantine.push((key.clone(), None));
            self.writes.push(Write::RemoveKey(key));
        } else {
            self.quarantine.push((key, Some(error.why)));
        }
    }

    /// Ends the run: it is a step if there is anything in it.
    fn end(&mut self, steps: &mut Vec<Step<K>>) {
        let mut changes = std::mem::replace(self, Self::new(self.any));
        if changes.version.is_empty()
            && let Some(Write::Put(last) | Write::Remove(last)) = changes.writes.last()
        {
            last.resource_version().clone_into(&mut changes.version);
        }
        if !changes.writes.is_empty() || !changes.quarantine.is_empty() {
            steps.push(Step::Changes(changes));
        }
    }
}

/// What changes of single objects mean for listeners. A watch that began from nowhere says again what is known: that is
/// none.
pub(super) fn written<K>(written: Vec<Written<K>>) -> Vec<Event<K>> {
    let is_known = |written: &Written<K>| match (&written.old, &written.new) {
        (Some(old), Some(new)) => old.is_same_version(new),
        _ => false,
    };
    written.into_iter().filter(|written| !is_known(written)).filter_map(changed).collect()
}

/// What a change of one object means for listeners.
fn changed<K>(written: Written<K>) -> Option<Event<K>> {
    match written {
        Written { old: None, new: Some(object), .. } => Some(Event::Added { object, initial: false }),
        Written { old: Some(old), new: Some(new), .. } => Some(Event::Updated { old, new, resync: false }),
        // What the server said about the object when it went, or else what was seen of it last.
        Written { old: Some(old), new: None, last: Some(last) } => {
            Some(Event::Deleted(Deleted::new(last).after(old)))
        }
        Written { old: Some(old), new: None, last: None } => Some(Event::Deleted(Deleted::unseen(old))),
        // Nobody had heard of it.
        Written { old: None, new: None, .. } => None,
    }
}

/// What a replacement means for listeners. What is gone comes first, as in client-go; what has not changed is not
/// told, if versions are trusted.
fn replaced<K>(mut written: Vec<Written<K>>, list: List<'_>) -> Vec<Event<K>> {
    let unchanged = |written: &Written<K>| match (&written.old, &written.new) {
        (Some(old), Some(new)) => {
            old.is_same(new) || (list.trust == Trust::Versions && old.is_same_version(new))
        }
        _ => false,
    };
    // A list may be long: nothing here is there twice, nor grows bit by bit.
    written.retain(|written| !unchanged(written));
    let gone = written.split_off(written.partition_point(|written| written.new.is_some()));
    let mut events = Vec::with_capacity(gone.len() + written.len());
    events.extend(gone.into_iter().filter_map(changed));
    events.extend(written.into_iter().filter_map(changed).map(|event| match event {
        Event::Added { object, .. } => Event::Added { object, initial: list.initial },
        other => other,
    }));
    events
}

/// The key under which the store has an object.
fn key_text(of: &ObjectKey) -> String {
    key(&of.namespace, &of.name)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_wire::decode_object;
    use serde_json::json;

    use super::*;
    use Delta::{Added, Deleted as Gone, Updated};

    fn object(name: &str, version: u64) -> Object<ConfigMap> {
        let metadata = json!({"name": name, "uid": name, "resourceVersion": version.to_string()});
        Object::new(serde_json::from_value(json!({"metadata": metadata})).unwrap())
    }

    fn replaced<const N: usize>(objects: [(&str, u64); N], version: u64) -> Delta<ConfigMap> {
        let objects = objects.into_iter().map(|(name, version)| object(name, version)).collect();
        Delta::Replaced {
            objects,
            resource_version: version.to_string(),
            undecodable: Vec::new(),
            new_epoch: false,
            distrust: None,
        }
    }

    fn undecodable(event: &str, name: &str, version: u64) -> Delta<ConfigMap> {
        let object = json!({"metadata": {"name": name, "resourceVersion": version.to_string()}, "data": 5});
        let error = decode_object::<ConfigMap>(object.to_string().as_bytes(), Default::default());
        Delta::Undecodable { event: event.to_owned(), error: error.unwrap_err() }
    }

    /// `+a1` for an added object, `a1>2` for an updated one, `-a3` for a deleted one; `?` after one that nobody saw go.
    fn short(event: &Event<ConfigMap>) -> String {
        let version = |object: &Object<ConfigMap>| object.resource_version().to_owned();
        match event {
            Event::Added { object, .. } => format!("+{}{}", object.key(), version(object)),
            Event::Updated { old, new, .. } => format!("{}{}>{}", new.key(), version(old), version(new)),
            Event::Deleted(gone) => {
                let unknown = if gone.final_state_unknown() { "?" } else { "" };
                format!("-{}{}{unknown}", gone.object().key(), version(gone.object()))
            }
        }
    }

    /// What is told of deltas that wait together.
    fn told(store: &Store<ConfigMap>, deltas: Vec<Delta<ConfigMap>>) -> Vec<String> {
        let steps = steps(deltas, false);
        let apply = |step: Step<ConfigMap>| {
            let version = step.version().to_owned();
            let list = List { scope: &Scope::default(), initial: false, trust: step.trust() };
            step.apply(store, list, Some(&version)).events
        };
        steps.into_iter().flat_map(apply).map(|event| short(&event)).collect()
    }

    /// A store with these objects.
    fn store<const N: usize>(objects: [(&str, u64); N]) -> Store<ConfigMap> {
        let store = Store::new();
        told(&store, vec![replaced(objects, 1)]);
        store
    }

    #[test]
    fn a_resync_is_one_step_and_stays_where_it_was_put() {
        let deltas =
            vec![Added(object("a", 2)), Added(object("b", 3)), Delta::Resync, Updated(object("a", 4))];
        let kinds: Vec<StepKind> = steps(deltas, false).iter().map(Step::kind).collect();
        assert_eq!(kinds, [StepKind::Changes, StepKind::Again, StepKind::Changes]);
    }

    #[test]
    fn changes_of_one_object_that_wait_together_are_all_told() {
        let changes = vec![Added(object("a", 2)), Updated(object("a", 3)), Gone(object("a", 4))];
        assert_eq!(told(&store([]), changes), ["+a2", "a2>3", "-a4"]);
        let there = vec![Added(object("b", 2)), Gone(object("b", 3))];
        assert_eq!(told(&store([]), there), ["+b2", "-b3"]);
    }

    #[test]
    fn what_nobody_knew_is_not_told_to_be_gone() {
        let store = store([("a", 1)]);
        assert_eq!(told(&store, vec![Gone(object("b", 2)), Gone(object("a", 3))]), ["-a3"]);
        assert_eq!(told(&store, vec![Gone(object("a", 3))]), Vec::<String>::new());
    }

    #[test]
    fn a_list_behind_changes_that_wait_is_told_after_them() {
        let changed = vec![Added(object("a", 2)), replaced([("a", 3)], 3)];
        assert_eq!(told(&store([]), changed), ["+a2", "a2>3"], "both states");
        let same = vec![Added(object("a", 2)), replaced([("a", 2)], 3)];
        assert_eq!(told(&store([]), same), ["+a2"]);
        let gone = vec![Gone(object("a", 2)), replaced([("b", 3)], 3)];
        assert_eq!(told(&store([("a", 1)]), gone), ["-a2", "+b3"], "it is gone once");
        let gone = vec![Gone(object("a", 2)), replaced([("a", 3)], 3)];
        assert_eq!(told(&store([("a", 1)]), gone), ["-a2", "+a3"]);
    }

    #[test]
    fn what_a_list_does_not_have_is_gone_once_wherever_it_was_known_from() {
        let only_waiting = vec![Added(object("a", 2)), replaced([], 3)];
        assert_eq!(told(&store([]), only_waiting), ["+a2", "-a2?"]);
        let both = vec![Updated(object("a", 2)), replaced([], 3)];
        assert_eq!(told(&store([("a", 1)]), both), ["a1>2", "-a2?"], "in the last state that was seen");
        let twice = vec![replaced([], 3), replaced([], 4)];
        assert_eq!(told(&store([("a", 1)]), twice), ["-a1?"]);
        let back = vec![replaced([], 3), Added(object("a", 4)), replaced([], 5)];
        assert_eq!(told(&store([("a", 1)]), back), ["-a1?", "+a4", "-a4?"]);
    }

    #[test]
    fn what_a_list_does_not_have_is_told_before_what_it_has() {
        let mut told = told(&store([("a", 1), ("b", 1), ("c", 1)]), vec![replaced([("d", 4), ("b", 3)], 4)]);
        told[..2].sort();
        assert_eq!(told, ["-a1?", "-c1?", "+d4", "b1>3"], "in the order of the list");
    }

    #[test]
    fn a_list_is_a_step_of_its_own_and_so_is_a_bookmark() {
        let bookmark = |version: u64| Delta::Bookmark { resource_version: version.to_string() };
        let deltas = vec![
            Added(object("a", 2)),
            Updated(object("a", 3)),
            bookmark(4),
            replaced([("a", 3)], 5),
            Gone(object("a", 6)),
            Added(object("b", 7)),
        ];
        let steps = steps(deltas, false);
        let kinds: Vec<(StepKind, &str)> = steps.iter().map(|step| (step.kind(), step.version())).collect();
        use StepKind::{Bookmark, Changes, Everything};
        let expected = [(Changes, "3"), (Bookmark, "4"), (Everything, "5"), (Changes, "7")];
        assert_eq!(kinds, expected, "each has the version of the last thing in it");
    }

    #[test]
    fn what_can_be_decoded_is_named_if_anything_could_not_be() {
        let named = |deltas: Vec<Delta<ConfigMap>>, any: bool| -> Vec<(String, bool)> {
            let changes = steps(deltas, any).into_iter().filter_map(|step| match step {
                Step::Changes(changes) => Some(changes.quarantine),
                _ => None,
            });
            changes.flatten().map(|(key, why)| (key, why.is_some())).collect()
        };
        let [bad, good] = [true, false].map(|bad| move || ("a".to_owned(), bad));
        assert_eq!(named(vec![Added(object("a", 2))], false), []);
        assert_eq!(named(vec![Added(object("a", 2))], true), [good()]);
        let back = vec![undecodable("MODIFIED", "a", 2), Updated(object("a", 3))];
        assert_eq!(named(back, false), [bad(), good()]);
        let lost = vec![Updated(object("a", 2)), undecodable("MODIFIED", "a", 3)];
        assert_eq!(named(lost, true), [good(), bad()]);
        let Delta::Undecodable { error, .. } = undecodable("ADDED", "a", 2) else { panic!("it is one") };
        let list = Delta::Replaced {
            objects: Vec::new(),
            resource_version: "2".to_owned(),
            undecodable: vec![error],
            new_epoch: false,
            distrust: None,
        };
        assert_eq!(named(vec![list, Updated(object("a", 3))], false), [good()]);
    }

    #[test]
    fn what_cannot_be_decoded_stops_nothing_and_has_a_version() {
        let store = store([("a", 1), ("b", 1)]);
        let deltas = vec![
            Added(object("c", 2)),
            undecodable("MODIFIED", "a", 3),
            undecodable("DELETED", "b", 4),
            Updated(object("c", 5)),
        ];
        assert_eq!(told(&store, deltas), ["+c2", "-b1?", "c2>5"]);
        assert_eq!(store.get("", "a").unwrap().resource_version(), "1", "the last good state is kept");
        assert_eq!(told(&store, vec![undecodable("ADDED", "d", 6)]), Vec::<String>::new());
        assert_eq!(store.resource_version().unwrap().as_str(), "6");
    }
}
