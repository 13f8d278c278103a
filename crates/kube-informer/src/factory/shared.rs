//! What a factory needs of an informer, whatever its type.

use std::any::Any;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube_core::Resource;

use super::NotSynced;
use crate::informer::{InformerStatus, Phase, SharedInformer};

pub(super) trait AnyInformer: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn name(&self) -> &str;
    fn start(&self);
    fn shutdown(&self) -> BoxFuture<'_, ()>;
    /// Waits until the informer has synced, or until it is known that it cannot.
    fn settled(&self) -> BoxFuture<'_, Result<(), NotSynced>>;
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

    fn settled(&self) -> BoxFuture<'_, Result<(), NotSynced>> {
        async move {
            let mut status = self.watch_status();
            // The sender lives in the informer, which is held here, so waiting cannot fail.
            let seen = status.wait_for(|status| status.synced || is_hopeless(status)).await;
            match seen {
                Ok(status) if status.synced => Ok(()),
                Ok(status) => Err(NotSynced {
                    resource: self.name().to_owned(),
                    cause: status.trouble.as_ref().map(|trouble| trouble.error.clone()),
                }),
                Err(_) => Err(NotSynced { resource: self.name().to_owned(), cause: None }),
            }
        }
        .boxed()
    }
}

/// Nothing that time alone would change.
fn is_hopeless(status: &InformerStatus) -> bool {
    let refused = |code: u16| matches!(code, 401 | 403 | 404);
    status.phase == Phase::Stopped
        || status.trouble.as_ref().is_some_and(|trouble| refused(trouble.error.code))
}
