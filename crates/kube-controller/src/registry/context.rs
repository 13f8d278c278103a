//! What controllers are built with.

use kube_informer::{ObjectOrMetadataInformerFactory, SharedInformerFactory};
use tokio_util::sync::CancellationToken;

use super::{ClientBuilder, RestMapper};
use crate::manager::ManagerHandle;
use crate::metrics::Metrics;

/// What controllers are built with, and share. Clones are the same.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ControllerContext {
    /// What the controller is called.
    pub name: String,
    /// A client for each controller.
    pub clients: ClientBuilder,
    /// Informers by type. Those that are asked for while controllers are built are started with the others; who asks later
    /// has to start them.
    pub informers: SharedInformerFactory,
    /// Informers by resource: of the type where it is known, of the metadata elsewhere.
    pub object_or_metadata: ObjectOrMetadataInformerFactory,
    /// What resources the server has.
    pub mapper: RestMapper,
    /// Where queues are shown.
    pub metrics: Metrics,
    /// Is told when the informers have been started.
    pub informers_started: InformersStarted,
    /// The manager that runs them, if there is one. Controllers that work in tasks of their own have them ask
    /// [`may_act`](ManagerHandle::may_act) before anything that two must not do.
    pub manager: Option<ManagerHandle>,
}

/// Whether the informers have been started. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct InformersStarted(CancellationToken);

impl InformersStarted {
    /// Waits until they have been started.
    pub async fn wait(&self) {
        self.0.cancelled().await;
    }

    /// They have been started.
    pub fn is_done(&self) -> bool {
        self.0.is_cancelled()
    }

    pub(super) fn done(&self) {
        self.0.cancel();
    }
}
