//! A controller as a manager runs it.

use tokio_util::sync::CancellationToken;

use super::{Controller, RequestKey};
use crate::manager::{Group, ManagerHandle, Runnable, Running};

/// Leader-only unless the controller [needs no leader](super::ControllerBuilder::needs_leader); listens before, if it
/// [wants to](super::ControllerBuilder::warms_up).
impl<R: RequestKey> Runnable for Controller<R> {
    fn name(&self) -> String {
        Controller::name(self).to_owned()
    }

    fn group(&self) -> Group {
        if self.needs_leader() { Group::LeaderOnly } else { Group::Others }
    }

    fn managed_by(&mut self, manager: &ManagerHandle) {
        if self.needs_leader() {
            // The first one counts: it runs once.
            let _ = self.shared.leader.set(manager.clone());
        }
    }

    fn warm_up(&mut self, stop: CancellationToken) -> Running<'_> {
        Box::pin(async move {
            if self.warms_up() {
                Controller::warm_up(self, stop).await?;
            }
            Ok(())
        })
    }

    fn run(self: Box<Self>, stop: CancellationToken) -> Running<'static> {
        Box::pin(async move { Ok(Controller::run(*self, stop).await?) })
    }
}
