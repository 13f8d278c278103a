//! How an informer is doing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::step::{Quarantine, StepKind};
use crate::fanout::ListenerStatus;
use crate::reflector::{Note, Reason};
use crate::source::{Scope, SourceError};
use crate::store::{IndexStatus, Version};

/// What an informer is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It has not been started.
    #[default]
    Created,
    /// It follows the server, or tries to.
    Running,
    /// The server has no such kind, or not any more, as [`trouble`](InformerStatus::trouble) says: it is not asked, until it
    /// has. Only kinds of a [cache](crate::cache) do that; other informers go on to ask.
    Resting,
    /// It has been stopped, or its runtime has ended, as [`trouble`](InformerStatus::trouble) says then. The copy is as it was then,
    /// and is not updated any more.
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
    /// The epoch of the version: it grows each time the server's versions begin again, as after a restore from a backup.
    pub epoch: u64,
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
    /// What is wrong; none while all is well. Of an informer that has stopped by itself, why it has.
    pub trouble: Option<Trouble>,
    /// Why the informer has stopped, if it was not told to.
    end: Option<Trouble>,
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
    /// How the functions of the indexes that were added are doing, in the order in which they were added.
    pub indexes: Vec<IndexStatus>,
}

/// How following one namespace, or all of them together, is doing.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ScopeStatus {
    /// The number of its source.
    source: u64,
    /// The namespace; none for all.
    pub namespace: Option<String>,
    /// The namespaces that are not among all.
    pub except: BTreeSet<String>,
    /// It has been listed.
    pub synced: bool,
    /// The version up to which it is current; empty before the first list.
    pub resource_version: String,
    /// The epoch of the version. While it is before that of the [informer](InformerStatus::epoch), this scope has not been listed
    /// since the server's versions began again.
    pub epoch: u64,
    /// The epoch is proven to have ended, and the next one has not begun: the versions of the copy mean nothing.
    pub(crate) epoch_is_due: bool,
    /// What is wrong; none while all is well.
    pub trouble: Option<Trouble>,
}

impl ScopeStatus {
    /// What it covers.
    pub(crate) fn scope(&self) -> Scope {
        Scope { namespace: self.namespace.clone(), except: self.except.clone(), ..Scope::default() }
    }
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
    /// How often in a row the server was asked and had this answer. A watch and the [list](Self::list_is_next) that comes
    /// after it at once are one question.
    pub same: u64,
    /// It was a watch that was to begin with everything: a list, which comes next, may do better.
    pub list_is_next: bool,
}

/// What a step did, as far as the status tells it.
pub(super) struct Took {
    pub(super) kind: StepKind,
    pub(super) version: String,
    pub(super) events: u64,
    pub(super) objects: usize,
    pub(super) epoch: u64,
    pub(super) scope_epoch: u64,
    pub(super) epoch_is_due: bool,
    pub(super) quarantine: Quarantine,
}

impl InformerStatus {
    /// Has these scopes from now on, each with the number of its source; what is known of those that stay is kept.
    pub(super) fn cover(&mut self, scopes: &[(u64, Scope)], objects: usize) {
        let mut before = std::mem::take(&mut self.scopes);
        let due = before.iter().filter(|status| status.epoch_is_due).map(ScopeStatus::scope);
        let due: Vec<Scope> = due.collect();
        let status = scopes.iter().map(|(source, scope)| {
            let known = before.iter().position(|status| status.source == *source);
            match known {
                Some(at) => before.swap_remove(at),
                None => {
                    let epoch_is_due = due.iter().any(|due| due.overlaps(scope));
                    let Scope { namespace, except, .. } = scope.clone();
                    let source = *source;
                    ScopeStatus { source, namespace, except, epoch_is_due, ..ScopeStatus::default() }
                }
            }
        });
        self.scopes = status.collect();
        self.objects = objects;
        let namespace = |key: &str| key.split_once('/').map_or_else(String::new, |(of, _)| of.to_owned());
        self.quarantined.retain(|key, _| scopes.iter().any(|(_, scope)| scope.covers(&namespace(key))));
        self.sum_up();
    }

    /// Takes in what happened while following.
    pub(super) fn note(&mut self, source: u64, note: &Note<'_>, now: Instant) {
        match note {
            Note::Failed { error, list_is_next } => self.failed(Some(source), error, *list_is_next, now),
            Note::Listed { reason: Some(reason) } => *self.relists.entry(*reason).or_default() += 1,
            Note::Watching { reason } => {
                self.worked(source);
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
    pub(super) fn took(&mut self, source: u64, took: Took, now: Instant) {
        (self.objects, self.epoch) = (took.objects, took.epoch);
        self.reached(source, &took.version, took.scope_epoch, took.kind == StepKind::Everything);
        self.epoch_is_due(source, took.epoch_is_due);
        self.quarantine(source, took.quarantine);
        match took.kind {
            StepKind::Bookmark => self.last_bookmark = Some(now),
            StepKind::Again => {}
            StepKind::Everything => self.last_event = Some(now),
            StepKind::Changes => {
                self.last_event = Some(now);
                self.changes += took.events;
            }
        }
    }

    /// Notes whether the epoch of a source is proven to have ended.
    pub(super) fn epoch_is_due(&mut self, source: u64, is_due: bool) {
        if let Some(scope) = self.scope(source) {
            scope.epoch_is_due = is_due;
        }
    }

    /// Something went wrong with a source; with all of them if none is named.
    pub(super) fn failed(
        &mut self,
        source: Option<u64>,
        error: &SourceError,
        list_is_next: bool,
        now: Instant,
    ) {
        self.errors += 1;
        self.last_error = Some((now, error.clone()));
        let is_it = |scope: &&mut ScopeStatus| source.is_none_or(|source| scope.source == source);
        for scope in self.scopes.iter_mut().filter(is_it) {
            let known = scope.trouble.as_ref();
            let (since, times) = known.map_or((now, 0), |known| (known.since, known.times));
            let same = known.filter(|known| known.error.code == error.code).map_or(0, |known| known.same);
            scope.trouble = Some(Trouble {
                error: error.clone(),
                since,
                times: times + 1,
                same: same + u64::from(!list_is_next),
                list_is_next,
            });
        }
        self.sum_up();
    }

    /// Something went wrong that stops the informer.
    pub(super) fn end(&mut self, error: SourceError, now: Instant) {
        self.errors += 1;
        self.last_error = Some((now, error.clone()));
        self.end = Some(Trouble { error, since: now, times: 1, same: 1, list_is_next: false });
        self.sum_up();
    }

    /// Why the informer has stopped, if it was not told to.
    pub(crate) fn end_cause(&self) -> Option<&SourceError> {
        self.end.as_ref().map(|end| &end.error)
    }

    /// Changes the phase. `Stopped` is final.
    pub(super) fn enter(&mut self, phase: Phase) {
        if self.phase != Phase::Stopped {
            self.phase = phase;
        }
    }

    /// The hook that is told of errors went wrong itself. Nothing is wrong with a source.
    pub(super) fn hook_failed(&mut self, error: SourceError, now: Instant) {
        self.errors += 1;
        self.last_error = Some((now, error));
    }

    /// What was wrong is over.
    fn worked(&mut self, source: u64) {
        if let Some(scope) = self.scope(source) {
            scope.trouble = None;
        }
        self.sum_up();
    }

    /// The copy is current up to a version; `listed` if that is so because everything was listed.
    fn reached(&mut self, source: u64, version: &str, epoch: u64, listed: bool) {
        if let Some(scope) = self.scope(source) {
            (scope.trouble, scope.epoch) = (None, epoch);
            scope.synced |= listed;
            if !version.is_empty() {
                version.clone_into(&mut scope.resource_version);
            }
        }
        self.lists += u64::from(listed);
        self.sum_up();
    }

    fn quarantine(&mut self, source: u64, quarantine: Quarantine) {
        if quarantine.anew
            && let Some(status) = self.scopes.iter().find(|scope| scope.source == source)
        {
            let scope = status.scope();
            // What has no name may be anywhere.
            let elsewhere = |key: &str| key.split_once('/').is_some_and(|(of, _)| !scope.covers(of));
            self.quarantined.retain(|key, _| elsewhere(key));
        }
        for (key, why) in quarantine.objects {
            match why {
                Some(why) => self.quarantined.insert(key, why),
                None => self.quarantined.remove(&key),
            };
        }
    }

    fn scope(&mut self, source: u64) -> Option<&mut ScopeStatus> {
        self.scopes.iter_mut().find(|scope| scope.source == source)
    }

    /// What is true of all scopes together.
    fn sum_up(&mut self) {
        self.synced |= !self.scopes.is_empty() && self.scopes.iter().all(|scope| scope.synced);
        self.trouble =
            self.end.clone().or_else(|| self.scopes.iter().find_map(|scope| scope.trouble.clone()));
        let is_current = self.scopes.iter().all(|scope| scope.epoch == self.epoch);
        let versions = self.scopes.iter().map(|scope| scope.resource_version.as_str());
        self.resource_version = if is_current { oldest(versions) } else { String::new() };
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
