//! How an informer is doing.

use std::collections::BTreeMap;
use std::time::Instant;

use super::step::{Quarantine, StepKind};
use crate::fanout::ListenerStatus;
use crate::reflector::{Note, Reason};
use crate::source::SourceError;
use crate::store::Version;

/// What an informer is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It has not been started.
    #[default]
    Created,
    /// It follows the server, or tries to.
    Running,
    /// It has been stopped.
    Stopped,
}

/// How an informer is doing. Times are those of tokio's clock.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct InformerStatus {
    /// What it is doing.
    pub phase: Phase,
    /// The copy has held everything that the server had at some moment after the start.
    pub synced: bool,
    /// How many objects there are.
    pub objects: usize,
    /// The version up to which the copy is current; empty before the first list.
    pub resource_version: String,
    /// How often everything was listed anew.
    pub lists: u64,
    /// Why everything was asked for again, and how often; the first list aside.
    pub relists: BTreeMap<Reason, u64>,
    /// Why a watch was opened anew, and how often.
    pub restarts: BTreeMap<Reason, u64>,
    /// Changes so far.
    pub changes: u64,
    /// When something last changed.
    pub last_event: Option<Instant>,
    /// When the server last said that nothing more has changed.
    pub last_bookmark: Option<Instant>,
    /// When something last arrived, whatever it meant.
    pub last_heard: Option<Instant>,
    /// Bytes that have arrived.
    pub received_bytes: u64,
    /// Changes that wait for the store.
    pub queued: usize,
    /// What is wrong; none while all is well.
    pub trouble: Option<Trouble>,
    /// The latest error, also after it is over, and when it was.
    pub last_error: Option<(Instant, SourceError)>,
    /// Errors so far.
    pub errors: u64,
    /// Objects that could not be decoded, and why. Their last good state, if there was one, is in the store.
    pub quarantined: BTreeMap<String, String>,
    /// How each of the followed namespaces is doing; one entry if all are followed together.
    pub scopes: Vec<ScopeStatus>,
    /// How each listener is doing.
    pub listeners: Vec<ListenerStatus>,
}

/// How following one namespace, or all of them together, is doing.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ScopeStatus {
    /// The namespace; none for all.
    pub namespace: Option<String>,
    /// It has been listed.
    pub synced: bool,
    /// The version up to which it is current; empty before the first list.
    pub resource_version: String,
    /// What is wrong; none while all is well.
    pub trouble: Option<Trouble>,
}

/// What is wrong with following.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Trouble {
    /// The latest error.
    pub error: SourceError,
    /// Since when nothing has worked.
    pub since: Instant,
    /// How many errors there have been since it last worked.
    pub times: u64,
}

/// What a step did, as far as the status tells it.
pub(super) struct Took {
    pub(super) kind: StepKind,
    pub(super) version: String,
    pub(super) events: u64,
    pub(super) objects: usize,
    pub(super) quarantine: Quarantine,
}

impl InformerStatus {
    pub(super) fn new(namespaces: impl IntoIterator<Item = Option<String>>) -> Self {
        let scope = |namespace| ScopeStatus { namespace, ..ScopeStatus::default() };
        Self { scopes: namespaces.into_iter().map(scope).collect(), ..Self::default() }
    }

    /// Takes in what happened while following.
    pub(super) fn note(&mut self, scope: usize, note: &Note<'_>, now: Instant) {
        match note {
            Note::Failed(error) => self.failed(scope, error, now),
            Note::Listed { reason: Some(reason) } => *self.relists.entry(*reason).or_default() += 1,
            Note::Watching { reason } => {
                self.worked(scope);
                if let Some(reason) = reason {
                    *self.restarts.entry(*reason).or_default() += 1;
                }
            }
            Note::Heard { bytes } => {
                self.received_bytes += *bytes as u64;
                self.last_heard = Some(now);
            }
            Note::Listed { reason: None } => {}
        }
    }

    /// Takes in what a step did.
    pub(super) fn took(&mut self, scope: usize, took: Took, now: Instant) {
        self.reached(scope, &took.version, took.kind == StepKind::Everything);
        self.quarantine(scope, took.quarantine);
        self.objects = took.objects;
        match took.kind {
            StepKind::Bookmark => self.last_bookmark = Some(now),
            StepKind::Everything => self.last_event = Some(now),
            StepKind::Changes => {
                self.last_event = Some(now);
                self.changes += took.events;
            }
        }
    }

    pub(super) fn failed(&mut self, scope: usize, error: &SourceError, now: Instant) {
        self.errors += 1;
        self.last_error = Some((now, error.clone()));
        if let Some(scope) = self.scopes.get_mut(scope) {
            let (since, times) = scope.trouble.as_ref().map_or((now, 0), |known| (known.since, known.times));
            scope.trouble = Some(Trouble { error: error.clone(), since, times: times + 1 });
        }
        self.sum_up();
    }

    /// What was wrong is over.
    fn worked(&mut self, scope: usize) {
        if let Some(scope) = self.scopes.get_mut(scope) {
            scope.trouble = None;
        }
        self.sum_up();
    }

    /// The copy is current up to a version; `listed` if that is so because everything was listed.
    fn reached(&mut self, scope: usize, version: &str, listed: bool) {
        if let Some(scope) = self.scopes.get_mut(scope) {
            scope.trouble = None;
            scope.synced |= listed;
            if !version.is_empty() {
                version.clone_into(&mut scope.resource_version);
            }
        }
        self.lists += u64::from(listed);
        self.sum_up();
    }

    fn quarantine(&mut self, scope: usize, quarantine: Quarantine) {
        if quarantine.anew {
            match self.scopes.get(scope).and_then(|scope| scope.namespace.as_deref()) {
                Some(namespace) => {
                    self.quarantined
                        .retain(|key, _| key.split_once('/').is_some_and(|(of, _)| of != namespace));
                }
                None => self.quarantined.clear(),
            }
        }
        for (key, why) in quarantine.objects {
            match why {
                Some(why) => self.quarantined.insert(key, why),
                None => self.quarantined.remove(&key),
            };
        }
    }

    /// What is true of all scopes together.
    fn sum_up(&mut self) {
        self.synced = self.scopes.iter().all(|scope| scope.synced);
        self.trouble = self.scopes.iter().find_map(|scope| scope.trouble.clone());
        self.resource_version = oldest(self.scopes.iter().map(|scope| scope.resource_version.as_str()));
    }
}

/// The version up to which all are current; empty if one of several does not say.
pub(super) fn oldest<'a>(versions: impl ExactSizeIterator<Item = &'a str>) -> String {
    if versions.len() == 1 {
        return versions.last().unwrap_or_default().to_owned();
    }
    let parsed: Option<Vec<Version>> = versions.map(|version| version.parse().ok()).collect();
    parsed
        .and_then(|versions| versions.into_iter().min())
        .map(|version| version.to_string())
        .unwrap_or_default()
}
