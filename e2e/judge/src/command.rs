//! What players are told, and what they say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a player is told to do.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Command {
    /// A word: see `run.go` and `answers.go` of `e2e/clientgo`.
    #[serde(rename = "do")]
    pub what: &'static str,
    /// The server, to begin with.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kubeconfig: String,
    /// The informer that it is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// The name of what is made or asked for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The informer to make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub informer: Option<InformerSpec>,
    /// The handler to add.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handler: Option<HandlerSpec>,
    /// Where to look.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// What to look for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub labels: String,
    /// What to look for in an index.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
}

/// An informer to make.
#[derive(Clone, Debug, Default, Serialize)]
pub struct InformerSpec {
    /// `typed`, `dynamic` or `metadata`.
    pub mode: &'static str,
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The API version.
    pub version: &'static str,
    /// The plural name of the resource.
    pub resource: &'static str,
    /// Empty for all.
    pub namespace: String,
    /// A selector; empty for all.
    pub labels: String,
    /// A selector; empty for all.
    pub fields: String,
    /// How often everything is told again, in milliseconds; 0 for never.
    pub resync: u64,
    /// What is done to objects: `drop-labels`, `drop-version`, `count`; empty for nothing.
    pub transform: String,
    /// Indexes by a label, or by the words of the annotation `words`.
    pub indexes: Vec<String>,
}

/// A handler to add.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HandlerSpec {
    /// Its name in the log.
    pub name: String,
    /// How often it is told everything again, in milliseconds; nothing for the informer's own, 0 for never.
    pub resync: Option<u64>,
    /// A label selector for what it hears; empty for everything.
    pub filter: String,
    /// It waits inside its first call until it is released.
    pub held: bool,
    /// It panics when an object of this name is added.
    pub panics: String,
    /// It adds another inside its first call.
    pub adds: Option<Box<HandlerSpec>>,
}

/// One call of a handler.
#[derive(Clone, Debug, Deserialize)]
pub struct Heard {
    /// What it was called for.
    pub kind: Kind,
    /// Of an add: the object was there from the start.
    #[serde(default)]
    pub initial: bool,
    /// Of a delete: nobody saw it go.
    #[serde(default)]
    pub unknown: bool,
    /// The object, as it is or was last.
    pub object: Seen,
    /// Of an update: what was there before.
    #[serde(default)]
    pub old: Option<Seen>,
    /// What the store had when the handler was called.
    #[serde(default)]
    pub store: Option<Seen>,
}

/// What a handler is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A new object.
    Add,
    /// A changed object.
    Update,
    /// An object that is gone.
    Delete,
}

/// What is compared of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Seen {
    /// `namespace/name`, or the name.
    pub key: String,
    /// The uid.
    #[serde(default)]
    pub uid: String,
    /// The resource version.
    #[serde(default)]
    pub version: String,
    /// The number of the write that made it so.
    #[serde(default)]
    pub write: String,
    /// Its labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// A plus for each call of the counting transform.
    #[serde(default)]
    pub count: String,
    /// It is being deleted.
    #[serde(default)]
    pub deleting: bool,
}

impl Seen {
    /// The number of the write that made it so; 0 if it does not say.
    pub fn write(&self) -> u64 {
        self.write.parse().unwrap_or(0)
    }
}

/// What a player answers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// Yes or no.
    Bool(bool),
    /// A resource version.
    Text(String),
    /// Objects, in no order.
    Objects(Vec<Seen>),
    /// Texts, in no order.
    Texts(Vec<String>),
    /// It was done.
    Done(Option<()>),
}
