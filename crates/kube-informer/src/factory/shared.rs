//! What a factory needs of an informer, whatever its type.

use std::any::Any;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube_core::Resource;

use super::{NotSynced, Synced};
use crate::informer::{InformerStatus, Phase, SharedInformer, Trouble};
use crate::source::SourceError;

pub(super) trait AnyInformer: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn name(&self) -> &str;
    fn start(&self);
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

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        SharedInformer::shutdown(self).boxed()
    }

    fn not_synced(&self) -> Option<NotSynced> {
        let status = self.watch_status();
        let status = status.borrow();
        let cause = status.trouble.as_ref().map(|trouble| trouble.error.clone());
        (!status.synced).then(|| NotSynced { resource: self.resource(), cause })
    }

    fn settled(&self) -> BoxFuture<'_, Result<Synced, NotSynced>> {
        async move {
            let mut status = self.watch_status();
            let seen = status.wait_for(|status| status.synced || hopeless(status)).await;
            let not_synced = |cause| NotSynced { resource: self.resource(), cause };
            // The sender lives in the informer, which is held here, so waiting cannot fail.
            let Ok(status) = seen else { return Err(not_synced(None)) };
            if status.synced && status.objects == 0 && !status.quarantined.is_empty() {
                return Err(not_synced(Some(undecodable(&status))));
            }
            if !status.synced {
                return Err(not_synced(status.trouble.as_ref().map(|trouble| trouble.error.clone())));
            }
            let (objects, quarantined) = (status.objects, status.quarantined.len());
            Ok(Synced { resource: self.resource(), objects, quarantined })
        }
        .boxed()
    }
}

/// Nothing that time alone would change.
fn hopeless(status: &InformerStatus) -> bool {
    /// An answer that makes no sense may be an accident; so many in a row are not.
    const GARBLED: u64 = 3;
    let lasting = |trouble: &Trouble| {
        matches!(trouble.error.code, 401 | 403 | 404) || (trouble.error.garbled && trouble.times >= GARBLED)
    };
    status.phase == Phase::Stopped || status.trouble.as_ref().is_some_and(lasting)
}

/// What is wrong when there are objects, and none of them can be decoded.
fn undecodable(status: &InformerStatus) -> SourceError {
    let example = status.quarantined.iter().next();
    let example = example.map(|(key, why)| format!("{key}: {why}")).unwrap_or_default();
    let count = status.quarantined.len();
    SourceError::garbled(format!("none of {count} objects fits its type; {example}"))
}
