//! Scenario files: what is done, step by step, and what may differ.
//!
//! A file is YAML. `about` says in a sentence what it is about, `family` what it belongs to, and `steps` what is done.
//! After each step the driver waits until the store and every handler have come to what is on the server, so that
//! everything that a step causes is heard before the next; the steps of `together` are done without waiting between.
//!
//! Few things are free everywhere: the order of the objects of an initial list, and of what a resync tells. What else
//! may differ is named in `allow`, and what does differ on purpose is pinned for both sides: in `differs` what handlers
//! hear, in `asks` what informers ask of the server (requests that were refused do not count).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

/// Texts by name.
pub type Texts = BTreeMap<String, String>;

/// One scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// The name of its file.
    #[serde(skip)]
    pub name: String,
    /// What it is about.
    pub about: String,
    /// What it belongs to.
    pub family: String,
    /// How the objects are asked for at first; both ways unless it says.
    #[serde(default = "Way::both")]
    pub ways: Vec<Way>,
    /// Settings of the embedded server; if there are any, it is not played on a real one.
    #[serde(default)]
    pub server: Option<ServerSettings>,
    /// What may differ, and why.
    #[serde(default)]
    pub allow: BTreeMap<Freedom, String>,
    /// What handlers hear differently.
    #[serde(default)]
    pub differs: BTreeMap<String, Pinned>,
    /// What informers ask of the server differently.
    #[serde(default)]
    pub asks: BTreeMap<String, Pinned>,
    /// What is done.
    pub steps: Vec<Step>,
}

/// How the objects are asked for at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// As a stream of initial events.
    Stream,
    /// As a list.
    List,
}

impl Way {
    /// Both ways.
    pub fn both() -> Vec<Self> {
        vec![Way::Stream, Way::List]
    }
}

/// Settings of the embedded server.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServerSettings {
    /// It refuses to send initial events.
    #[serde(default)]
    pub no_watch_list: bool,
    /// It has no lists in memory.
    #[serde(default)]
    pub no_watch_cache: bool,
    /// Milliseconds between bookmarks.
    #[serde(default)]
    pub bookmarks: Option<u64>,
}

/// What may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Freedom {
    /// The order in which a relist tells of several objects; what is gone comes first in any case.
    RelistOrder,
    /// Whether objects that have not changed are told again.
    UnchangedAgain,
    /// How much client-go still tells a handler that was removed, or whose informer was stopped.
    AfterRemoval,
    /// What an informer asks of the server.
    Asked,
}

/// What one handler hears, or one informer asks: of client-go, and of ours.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pinned {
    /// Why they differ.
    pub why: String,
    /// All of client-go.
    pub client_go: Vec<String>,
    /// All of ours.
    pub ours: Vec<String>,
}

/// One step.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Makes an informer.
    Informer(Informer),
    /// Adds a handler.
    Handler(Handler),
    /// Starts an informer.
    Start(String),
    /// Stops an informer, and waits for its end.
    Stop(String),
    /// Tells an informer to stop, and does not wait.
    Cancel(String),
    /// Removes a handler.
    Remove(String),
    /// Lets a held handler go on.
    Release(String),
    /// Adds an index.
    Index(AddIndex),
    /// Makes an object.
    Create(Object),
    /// Makes several: `a-0`, `a-1`, …
    CreateMany(Many),
    /// Changes an object.
    Update(Object),
    /// Writes an object as it is.
    Touch(Object),
    /// Deletes an object.
    Delete(Object),
    /// Takes its finalizers from an object.
    Finalize(Object),
    /// Several steps, without waiting between them.
    Together(Vec<Step>),
    /// Waits until an informer has synced.
    WaitSynced(String),
    /// Waits until a handler has synced.
    WaitHandlerSynced(String),
    /// Waits until a handler has heard so much in all.
    WaitHeard(Count),
    /// Waits until a handler has been told everything again so often.
    WaitRounds(Count),
    /// Waits until the version of an informer is that of the last write, or a later one.
    WaitVersion(String),
    /// Waits until everything has been asked for so often.
    WaitLists(Count),
    /// Asks a question; the answers are compared.
    Ask(Box<Question>),
    /// From now on something goes wrong.
    Fault(Box<FaultStep>),
    /// Waits until it has.
    WaitFault(Count),
    /// It does no longer.
    Clear(String),
    /// Ends the watches of an informer and refuses all of its requests, and waits until it has been refused.
    Offline(String),
    /// Takes that back.
    Online(String),
    /// Ends all watches in good order, and waits until all have asked again.
    StopWatches(Nothing),
    /// Forgets all history.
    Compact(Nothing),
}

/// What a step needs that needs nothing: `{}`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl Step {
    /// The steps that it is made of: itself, or those that are done together.
    fn parts(&self) -> &[Step] {
        match self {
            Step::Together(steps) => steps,
            one => std::slice::from_ref(one),
        }
    }

    /// Whether it refuses requests.
    fn refuses(&self) -> bool {
        match self {
            Step::Together(steps) => steps.iter().any(Step::refuses),
            Step::Fault(fault) => fault.kind == FaultKind::Reply,
            Step::Offline(_) => true,
            _ => false,
        }
    }

    /// Whether only the embedded server can do it.
    pub fn needs_embedded(&self) -> bool {
        match self {
            Step::Together(steps) => steps.iter().any(Step::needs_embedded),
            Step::Ask(question) => question.what == "lists",
            Step::WaitLists(_)
            | Step::Fault(_)
            | Step::WaitFault(_)
            | Step::Clear(_)
            | Step::Offline(_)
            | Step::Online(_)
            | Step::StopWatches(_)
            | Step::Compact(_) => true,
            _ => false,
        }
    }
}

/// An informer to make.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Informer {
    /// Its name.
    pub name: String,
    /// `configmaps`, `secrets`, `clusterroles` or `widgets`.
    #[serde(default = "configmaps")]
    pub resource: String,
    /// How objects come.
    #[serde(default)]
    pub mode: Mode,
    /// Empty for all.
    #[serde(default)]
    pub namespace: String,
    /// Labels that objects must have.
    #[serde(default)]
    pub labels: Texts,
    /// Fields that objects must have: `metadata.name`, `metadata.namespace`.
    #[serde(default)]
    pub fields: Texts,
    /// Milliseconds; 0 for never.
    #[serde(default)]
    pub resync: u64,
    /// What is done to objects.
    #[serde(default)]
    pub transform: String,
    /// Indexes by a label, or by `words`.
    #[serde(default)]
    pub indexes: Vec<String>,
}

/// How objects come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// As values of their type.
    #[default]
    Typed,
    /// As values of no type.
    Dynamic,
    /// Their metadata alone.
    Metadata,
}

/// A handler to add.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handler {
    /// Its name.
    pub name: String,
    /// The informer; the one that the scenario has made, unless it says.
    #[serde(default)]
    pub of: String,
    /// Milliseconds; nothing for the informer's own, 0 for never.
    #[serde(default)]
    pub resync: Option<u64>,
    /// Labels of objects that it wants to hear of.
    #[serde(default)]
    pub filter: Texts,
    /// It waits inside its first call until it is released.
    #[serde(default)]
    pub held: bool,
    /// It panics when an object of this name is added.
    #[serde(default)]
    pub panics: String,
    /// It adds another one inside its first call.
    #[serde(default)]
    pub adds: Option<Box<Handler>>,
    /// It cannot be added.
    #[serde(default)]
    pub refused: bool,
}

/// An index to add.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddIndex {
    /// The informer.
    #[serde(default)]
    pub of: String,
    /// A label, or `words`.
    pub name: String,
    /// It cannot be added.
    #[serde(default)]
    pub refused: bool,
}

/// An object, or what is to change about it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// Its namespace.
    #[serde(default = "one")]
    pub namespace: String,
    /// Its resource.
    #[serde(default = "configmaps")]
    pub resource: String,
    /// Its labels; those that are not named stay.
    #[serde(default)]
    pub labels: Texts,
    /// Words for an index.
    #[serde(default)]
    pub words: String,
    /// It has a finalizer.
    #[serde(default)]
    pub finalizer: bool,
}

/// Several objects.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Many {
    /// What their names begin with.
    pub prefix: String,
    /// How many.
    pub count: usize,
}

/// So many of something.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// Of what.
    pub of: String,
    /// How many.
    #[serde(default = "once")]
    pub count: u64,
}

/// A question.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// `synced`, `handler-synced`, `stopped`, `version`, `store`, `by-index`, `index-values`, `list`, `get`, `lists`.
    pub what: String,
    /// The informer; the one that the scenario has made, unless it says.
    #[serde(default)]
    pub of: String,
    /// The handler, the index or the object.
    #[serde(default)]
    pub name: String,
    /// Where to look.
    #[serde(default)]
    pub namespace: String,
    /// What to look for.
    #[serde(default)]
    pub labels: String,
    /// What to look for in an index.
    #[serde(default)]
    pub value: String,
    /// What the answers are, if they differ on purpose.
    #[serde(default)]
    pub differs: Option<Answers>,
}

/// Answers that differ on purpose.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Answers {
    /// Why.
    pub why: String,
    /// The answer of client-go.
    pub client_go: String,
    /// Our answer.
    pub ours: String,
}

/// Something that goes wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FaultStep {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: FaultKind,
    /// The HTTP code, where there is one.
    #[serde(default)]
    pub code: u16,
    /// After so many events of a watch, or bytes of an answer.
    #[serde(default)]
    pub after: u64,
    /// `list` or `watch`; both unless it says.
    #[serde(default)]
    pub on: Option<String>,
    /// So many requests are let pass.
    #[serde(default)]
    pub skip: u64,
    /// How often; always unless it says.
    #[serde(default)]
    pub times: Option<u64>,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The answer is an error.
    Reply,
    /// An error inside a watch, which ends with it.
    ErrorInStream,
    /// The connection breaks.
    Cut,
    /// Half of an event, then the end.
    Truncated,
    /// A line that is no event.
    Garbage,
    /// A very large event.
    Oversized,
    /// A watch ends before its first event.
    CloseAtOnce,
}

fn configmaps() -> String {
    "configmaps".to_owned()
}

fn one() -> String {
    "one".to_owned()
}

fn once() -> u64 {
    1
}

impl Scenario {
    /// Whether it can be played on a real server.
    pub fn is_for_real(&self) -> bool {
        self.server.is_none() && !self.steps.iter().any(Step::needs_embedded)
    }

    /// Whether requests are refused, at a moment that no informer knows.
    pub fn refuses(&self) -> bool {
        self.steps.iter().any(Step::refuses)
    }

    /// The step in which a handler is removed, or its informer is stopped.
    pub fn removed_in(&self, handler: &str) -> Option<usize> {
        let of = self.steps.iter().flat_map(Step::parts).find_map(|step| match step {
            Step::Handler(added) if added.name == handler => Some(added.of.as_str()),
            _ => None,
        });
        let removes = |step: &Step| match step {
            Step::Remove(name) => name == handler,
            // Where there is one informer only, handlers need not name it.
            Step::Stop(name) | Step::Cancel(name) => of.is_some_and(|of| of.is_empty() || of == name),
            _ => false,
        };
        self.steps.iter().position(|step| step.parts().iter().any(removes))
    }

    /// Reads one.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let scenario: Self =
            serde_saphyr::from_str(text).map_err(|error| format!("{name}: {}", error.without_snippet()))?;
        Ok(Self { name: name.to_owned(), ..scenario })
    }

    /// Reads all in the folder of scenarios, in the order of their names.
    pub fn all() -> Result<Vec<Self>, String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = here.parent().unwrap_or(here).join("scenarios");
        let cannot = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
        let mut all = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                all.push(Self::parse(&name, &std::fs::read_to_string(&path).map_err(cannot)?)?);
            }
        }
        all.sort_by(|one: &Self, two| one.name.cmp(&two.name));
        Ok(all)
    }
}
