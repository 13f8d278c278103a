//! From deltas to steps: what goes to the store at once, and what listeners are then told.

use std::collections::HashSet;

use kube_core::Resource;
use kube_wire::{DecodeError, ObjectKey};

use crate::fanout::{Deleted, Event};
use crate::object::{Object, key};
use crate::queue::Delta;
use crate::store::{Store, Write, Written};

/// What stands for the key of an object that does not say its name.
const NAMELESS: &str = "an object without a readable name";

/// What goes to the store at once.
pub(super) enum Step<K> {
    /// Some objects have changed.
    Changes(Changes<K>),
    /// These are all objects.
    Everything { objects: Vec<Object<K>>, undecodable: Vec<DecodeError>, version: String },
    /// Nothing more has happened up to this version.
    Bookmark { version: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Changes,
    Everything,
    Bookmark,
}

/// Changes of single objects, in order.
pub(super) struct Changes<K> {
    writes: Vec<Write<K>>,
    version: String,
    /// Objects that could be decoded, or are gone: they are not in quarantine any more.
    released: Vec<String>,
    quarantined: Vec<(String, String)>,
}

/// What a step did.
pub(super) struct Applied<K> {
    /// What listeners are to be told.
    pub(super) events: Vec<Event<K>>,
    pub(super) quarantine: Quarantine,
}

/// What a step means for objects that could not be decoded.
#[derive(Default)]
pub(super) struct Quarantine {
    /// Whatever was in quarantine before is not.
    pub(super) anew: bool,
    pub(super) released: Vec<String>,
    pub(super) added: Vec<(String, String)>,
}

/// Makes steps of deltas: runs of single changes are one step, everything else is a step of its own.
pub(super) fn steps<K: Resource>(batch: Vec<Delta<K>>) -> Vec<Step<K>> {
    let (mut steps, mut run) = (Vec::new(), Changes::default());
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
            Delta::Replaced { objects, resource_version, undecodable } => {
                Step::Everything { objects, undecodable, version: resource_version }
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
        }
    }

    /// The version up to which the copy is current after it.
    pub(super) fn version(&self) -> &str {
        match self {
            Step::Changes(changes) => &changes.version,
            Step::Everything { version, .. } | Step::Bookmark { version } => version,
        }
    }

    /// Writes to the store. `initial` says that nothing had been listed before, `namespace` that everything is
    /// everything in one namespace, and `version` up to where the store is current then.
    pub(super) fn apply(
        self,
        store: &Store<K>,
        namespace: Option<&str>,
        initial: bool,
        version: Option<&str>,
    ) -> Applied<K> {
        match self {
            Step::Bookmark { .. } => {
                if let Some(version) = version {
                    store.bookmark(version);
                }
                Applied { events: Vec::new(), quarantine: Quarantine::default() }
            }
            Step::Changes(Changes { writes, released, quarantined, .. }) => {
                let written = store.write(writes, version);
                let events = written.into_iter().filter_map(changed).collect();
                let quarantine = Quarantine { anew: false, released, added: quarantined };
                Applied { events, quarantine }
            }
            Step::Everything { objects, undecodable, .. } => {
                let kept: HashSet<String> =
                    undecodable.iter().filter_map(|error| error.key.as_deref()).map(key_text).collect();
                let written = store.replace(objects, namespace, &kept, version);
                let named = |error: DecodeError| {
                    let key = error.key.as_deref().map_or_else(|| NAMELESS.to_owned(), key_text);
                    (key, error.why)
                };
                let added = undecodable.into_iter().map(named).collect();
                let quarantine = Quarantine { anew: true, released: Vec::new(), added };
                Applied { events: replaced(written, initial), quarantine }
            }
        }
    }
}

impl<K> Default for Changes<K> {
    fn default() -> Self {
        Self { writes: Vec::new(), version: String::new(), released: Vec::new(), quarantined: Vec::new() }
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
        object.resource_version().clone_into(&mut self.version);
        self.released.push(object.key().to_owned());
    }

    fn quarantine(&mut self, event: &str, error: DecodeError) {
        let Some(key) = &error.key else {
            self.quarantined.push((NAMELESS.to_owned(), error.why));
            return;
        };
        self.version.clone_from(&key.resource_version);
        let key = key_text(key);
        if event == "DELETED" {
            self.released.push(key.clone());
            self.writes.push(Write::RemoveKey(key));
        } else {
            self.quarantined.push((key, error.why));
        }
    }

    /// Ends the run: it is a step if there is anything in it.
    fn end(&mut self, steps: &mut Vec<Step<K>>) {
        let changes = std::mem::take(self);
        if !changes.writes.is_empty() || !changes.quarantined.is_empty() {
            steps.push(Step::Changes(changes));
        }
    }
}

/// What a change of one object means for listeners.
fn changed<K>(written: Written<K>) -> Option<Event<K>> {
    match written {
        Written { old: None, new: Some(object), .. } => Some(Event::Added { object, initial: false }),
        Written { old: Some(old), new: Some(new), .. } => Some(Event::Updated { old, new, resync: false }),
        // What the server said about the object when it went, or else what was seen of it last.
        Written { old: Some(_), new: None, last: Some(last) } => Some(Event::Deleted(Deleted::new(last))),
        Written { old: Some(old), new: None, last: None } => Some(Event::Deleted(Deleted::unseen(old))),
        // Nobody had heard of it.
        Written { old: None, new: None, .. } => None,
    }
}

/// What a replacement means for listeners. What is gone comes first, as in client-go; what has not changed is not
/// told.
fn replaced<K>(written: Vec<Written<K>>, initial: bool) -> Vec<Event<K>> {
    let (gone, there): (Vec<_>, Vec<_>) = written.into_iter().partition(|written| written.new.is_none());
    let unchanged = |written: &Written<K>| match (&written.old, &written.new) {
        (Some(old), Some(new)) => old.is_same(new),
        _ => false,
    };
    let there = there.into_iter().filter(|written| !unchanged(written)).filter_map(changed);
    let there = there.map(|event| match event {
        Event::Added { object, .. } => Event::Added { object, initial },
        other => other,
    });
    gone.into_iter().filter_map(changed).chain(there).collect()
}

/// The key under which the store has an object.
fn key_text(of: &ObjectKey) -> String {
    key(&of.namespace, &of.name)
}
