//! What was seen of an object, whatever its type: the common ground of lines and JSON.

use std::sync::Arc;

use kube_client::core::ApiResource;
use kube_informer::fanout::Event;
use serde::Serialize;
use serde_json::Value;

use crate::diff::{Change, changes};
use crate::paint::harmless;

/// A kind of objects, for people.
#[derive(Clone, Debug)]
pub(crate) struct What {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// `pods`, `deployments.apps`.
    pub(crate) resource: String,
}

impl What {
    pub(crate) fn new(resource: &ApiResource) -> Self {
        let ApiResource { group, plural, api_version, kind, .. } = resource;
        // Discovery says what a resource is called, and what it says is printed.
        let resource = if group.is_empty() { plural.clone() } else { format!("{plural}.{group}") };
        let resource = harmless(&resource).into_owned();
        Self { api_version: api_version.clone(), kind: kind.clone(), resource }
    }

    /// `apps/v1 Deployment`.
    pub(crate) fn label(&self) -> String {
        harmless(&format!("{} {}", self.api_version, self.kind)).into_owned()
    }
}

/// An event, without the type of its object.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) what: Arc<What>,
    /// `namespace/name`, or the name alone.
    pub(crate) key: String,
    pub(crate) happened: Happened,
    /// As it is, or was last.
    pub(crate) object: Value,
}

#[derive(Debug)]
pub(crate) enum Happened {
    Added { initial: bool },
    Modified(Vec<Change>),
    Deleted { final_state_unknown: bool },
}

impl Happened {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Happened::Added { .. } => "ADDED",
            Happened::Modified(_) => "MODIFIED",
            Happened::Deleted { .. } => "DELETED",
        }
    }
}

impl Seen {
    /// None for what is only told again.
    pub(crate) fn new<K: Serialize>(what: &Arc<What>, event: &Event<K>) -> Option<Self> {
        let object = whole(what, &**event.object());
        let happened = match event {
            Event::Added { initial, .. } => Happened::Added { initial: *initial },
            Event::Updated { resync: true, .. } => return None,
            Event::Updated { old, .. } => Happened::Modified(changes(&whole(what, &**old), &object)),
            Event::Deleted(gone) => Happened::Deleted { final_state_unknown: gone.final_state_unknown() },
            _ => return None,
        };
        Some(Self { what: Arc::clone(what), key: event.object().key().to_owned(), happened, object })
    }
}

/// The object as JSON, with its type, which servers leave out in lists.
fn whole<K: Serialize>(what: &What, object: &K) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Value::Object(map) = &mut value {
        map.entry("apiVersion").or_insert_with(|| what.api_version.clone().into());
        map.entry("kind").or_insert_with(|| what.kind.clone().into());
    }
    value
}
