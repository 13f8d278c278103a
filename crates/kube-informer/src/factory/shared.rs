//! What a factory needs of an informer, whatever its type.

use std::any::Any;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube_core::Resource;

use super::{NotSynced, Synced};
use crate::informer::{InformerStatus, Phase, ScopeStatus, SharedInformer, Trouble};
use crate::source::SourceError;

pub(super) trait AnyInformer: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn name(&self) -> &str;
    fn start(&self);
    /// It has been started, though it may have been stopped since.
    fn is_started(&self) -> bool;
    /// It has been stopped, and no task of it runs any more.
    fn has_ended(&self) -> bool;
    fn shutdown(&self) -> BoxFuture<'_, ()>;
    /// What is wrong so far; none if it has synced.
    fn not_synced(&self) -> Option<NotSynced>;
    /// Waits until the informer has synced, or until it is known that it cannot.
    fn settled(&self) -> BoxFuture<'_, Result<Synced, NotSynced>>;
}

impl<K: Resource + Send + Sync + 'static> AnyInformer for SharedInformer<K> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn name(&self) -> &str {
        SharedInformer::name(self)
    }

    fn start(&self) {
        SharedInformer::start(self);
    }

    fn is_started(&self) -> bool {
        self.watch_status().borrow().phase != Phase::Created
    }

    fn has_ended(&self) -> bool {
        SharedInformer::has_ended(self)
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        SharedInformer::shutdown(self).boxed()
    }

    fn not_synced(&self) -> Option<NotSynced> {
        let status = self.watch_status();
        let status = status.borrow();
        (!status.synced).then(|| not_synced(self, &status, cause(&status)))
    }

    fn settled(&self) -> BoxFuture<'_, Result<Synced, NotSynced>> {
        async move {
            let mut status = self.watch_status();
            let seen = status.wait_for(|status| status.synced || is_hopeless(status)).await;
            // The sender lives in the informer, which is held here, so waiting cannot fail.
            let Ok(status) = seen else { return Err(not_synced(self, &self.status(), None)) };
            if status.synced && status.objects == 0 && !status.quarantined.is_empty() {
                return Err(not_synced(self, &status, Some(undecodable(&status))));
            }
            if !status.synced {
                return Err(not_synced(self, &status, cause(&status)));
            }
            let (objects, quarantined) = (status.objects, status.quarantined.len());
            Ok(Synced { resource: self.resource(), objects, quarantined })
        }
        .boxed()
    }
}

fn not_synced<K: Resource + Send + Sync + 'static>(
    informer: &SharedInformer<K>,
    status: &InformerStatus,
    cause: Option<SourceError>,
) -> NotSynced {
    let confined = status.scopes.iter().any(|scope| scope.namespace.is_some());
    NotSynced { resource: informer.resource(), cause, confined }
}

/// An answer that makes no sense may be an accident, and a request that is not understood is put in other words; so many
/// in a row are not.
const TOO_OFTEN: u64 = 3;

/// Trouble that time alone does not change.
fn is_lasting(trouble: &Trouble) -> bool {
    let often = trouble.times >= TOO_OFTEN;
    match trouble.error.code {
        401 | 403 | 404 => !trouble.list_is_next,
        400 | 405 | 422 => often,
        _ => trouble.error.garbled && often,
    }
}

/// Nothing that time alone would change.
pub(crate) fn is_hopeless(status: &InformerStatus) -> bool {
    let lasting = |scope: &ScopeStatus| scope.trouble.as_ref().is_some_and(is_lasting);
    status.phase == Phase::Stopped || status.scopes.iter().any(lasting)
}

/// What is wrong: what lasts, if something does.
pub(crate) fn cause(status: &InformerStatus) -> Option<SourceError> {
    let troubles = || status.scopes.iter().filter_map(|scope| scope.trouble.as_ref());
    let worst = troubles().find(|trouble| is_lasting(trouble)).or_else(|| troubles().next());
    worst.map(|trouble| trouble.error.clone())
}

/// What is wrong when there are objects, and none of them can be decoded.
fn undecodable(status: &InformerStatus) -> SourceError {
    let example = status.quarantined.iter().next();
    let example = example.map(|(key, why)| format!("{key}: {why}")).unwrap_or_default();
    let count = status.quarantined.len();
    SourceError::garbled(format!("none of {count} objects fits its type; {example}"))
}
