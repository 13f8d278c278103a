//! Writes of which it is not known whether the server has done them.
//!
//! A write whose future was dropped, or whose answer was lost, may have been done. It is noted as uncertain, and a read that would have
//! to show it asks the server what is there, and waits for that.

use futures::{StreamExt, TryStreamExt, stream};
use kube_core::params::{GetParams, ListParams};
use kube_core::{DynamicObject, Resource};
use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::CacheError;
use super::client::ClientKind;
use super::live::read;
use super::server::Patience;
use super::written::{ANY, Notes, Of, Written, namespace_in};
use crate::reflector::Failure;
use crate::source::SourceError;
use crate::store::Version;

/// How many uncertain writes are asked about at once.
const QUESTIONS_AT_ONCE: usize = 8;

/// A write that is under way. Dropped without [`settled`](Self::settled), it is uncertain.
pub(super) struct InFlight<'a> {
    notes: &'a Mutex<Notes>,
    /// None if nothing is to be noted.
    of: Option<Of>,
}

impl<'a> InFlight<'a> {
    pub(super) fn new(notes: &'a Mutex<Notes>, of: Option<Of>) -> Self {
        Self { notes, of }
    }

    /// What came of it is known, and noted.
    pub(super) fn settled(mut self) {
        self.of = None;
    }

    /// The same for a write that failed: it is known that it was not done, if the server has refused it, or the connection. That is
    /// what came of the last try; a client that tries again by itself, as kube-client's does after 504 with `default_retry`, does not
    /// tell what came of the tries before.
    pub(super) fn failed(self, error: &CacheError) {
        let CacheError::Server { cause, .. } = error else { return };
        if (400..500).contains(&cause.code) || cause.failure == Failure::ConnectionRefused {
            self.settled();
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Some(of) = self.of.take() {
            self.notes.lock().doubt(of);
        }
    }
}

/// What a list says about itself.
#[derive(Deserialize)]
struct Listed {
    metadata: ListedMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedMeta {
    resource_version: String,
}

impl<K: Resource + DeserializeOwned + Send + Sync + 'static> ClientKind<K> {
    /// Finds out what came of uncertain writes, and notes what is to be waited for.
    pub(super) async fn settle(
        &self,
        of: impl Fn(&String) -> bool,
        patience: &Patience,
    ) -> Result<(), CacheError> {
        let uncertain = stream::iter(self.uncertain(of)).map(Ok);
        uncertain
            .try_for_each_concurrent(QUESTIONS_AT_ONCE, |(key, number)| {
                self.settle_one(key, number, patience)
            })
            .await
    }

    async fn settle_one(&self, key: String, number: u64, patience: &Patience) -> Result<(), CacheError> {
        let failed = match tokio::time::timeout(patience.left(), self.ask_about(&key)).await {
            Ok(Ok(())) => None,
            Ok(Err(CacheError::Server { cause, .. })) => Some(cause),
            Ok(Err(error)) => return Err(error),
            Err(_) => Some(SourceError::silent("the object")),
        };
        if let Some(cause) = failed {
            let wanted = format!("by a write to {key:?} of which it is not known whether it was done");
            return Err(self.write_not_seen(&key, wanted, Some(cause)));
        }
        // Unless it has become uncertain once more meanwhile.
        self.notes().lock().settle(&self.of(key), number);
        Ok(())
    }

    /// Asks the server what is there under a key, and notes it.
    async fn ask_about(&self, key: &str) -> Result<(), CacheError> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let request = self.request(namespace).await?;
        if name.is_empty() || name == ANY {
            // Whatever the names, what was done is done at this version.
            let list = self.text(request.list(&ListParams::default().limit(1))).await?;
            let list: Listed = read(&list).map_err(|cause| self.refused(cause))?;
            if let Ok(version) = list.metadata.resource_version.parse::<Version>() {
                self.note(key.to_owned(), Written::Version(version));
            }
            return Ok(());
        }
        let before = self.before(key);
        match self.text(request.get(name, &GetParams::default())).await {
            Ok(said) => {
                let object: DynamicObject = read(&said).map_err(|cause| self.refused(cause))?;
                if let Some(before) = before {
                    before.answered(&object.metadata, false);
                }
                self.note_written(key.to_owned(), &object.metadata, &said);
            }
            Err(CacheError::Server { cause, .. }) if cause.code == 404 => {
                // What the copy has under this key will go; another one may come.
                let there =
                    self.followed().and_then(|entry| entry.informer().store().snapshot().get_key(key));
                if let Some(there) = there {
                    let uid = there.uid().to_owned();
                    self.note(key.to_owned(), Written::Gone { uid, deleted_at: None, written_at: None });
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn write_not_seen(&self, key: &str, wanted: String, cause: Option<SourceError>) -> CacheError {
        let seen = self.followed().and_then(|entry| entry.reached(namespace_in(key)));
        self.not_seen_in_time(wanted, seen, cause)
    }
}
