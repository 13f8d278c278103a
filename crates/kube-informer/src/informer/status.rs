//! How an informer is doing.

use std::collections::BTreeMap;

use crate::fanout::ListenerStatus;
use crate::source::SourceError;

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

/// How an informer is doing.
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
    /// Changes so far.
    pub changes: u64,
    /// What is wrong; none while all is well.
    pub trouble: Option<Trouble>,
    /// Errors so far.
    pub errors: u64,
    /// Objects that could not be decoded, and why. Their last good state, if there was one, is in the store.
    pub quarantined: BTreeMap<String, String>,
    /// How each listener is doing.
    pub listeners: Vec<ListenerStatus>,
}

/// What is wrong with following.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Trouble {
    /// The latest error.
    pub error: SourceError,
    /// How many errors there have been since it last worked.
    pub times: u64,
}
