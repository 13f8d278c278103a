//! The programs of the cluster, run by one manager: sample-controller, the controllers of controller-manager, the nodes.

use std::sync::Arc;
use std::time::Duration;

use controller_manager::Options;
use kube_client::Client;
use kube_controller::controller::BuildError;
use kube_controller::events::EventRecorder;
use kube_controller::manager::{self, AddError, Manager, ManagerError, Task};
use kube_controller::registry::{ClientBuilder, Controllers, RegistryError};
use kube_informer::SharedInformerFactory;
use kube_informer::factory::FactoryError;
use kube_informer::informer::InformerError;
use sample_controller::NoController;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::{Clock, nodes};

/// Which controllers of controller-manager run.
const CONTROLLERS: &str = "deployment,replicaset,garbagecollector";

/// How long all of them have to end.
const GRACE: Duration = Duration::from_secs(5);

/// Programs that run.
pub(super) struct Programs {
    stop: CancellationToken,
    task: AbortOnDropHandle<Result<(), ManagerError>>,
}

/// Why the programs cannot run, or have ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramsError {
    #[error(transparent)]
    Sample(#[from] NoController),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Informers(#[from] FactoryError),
    #[error(transparent)]
    Informer(#[from] InformerError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Manager(#[from] manager::BuildError),
    #[error(transparent)]
    Add(#[from] AddError),
    #[error(transparent)]
    Ended(#[from] ManagerError),
    #[error(transparent)]
    Panicked(#[from] JoinError),
    #[error("they have ended though nobody told them to")]
    EndedAlone,
}

impl Programs {
    pub(super) async fn start(
        client: &Client,
        factory: SharedInformerFactory,
        clock: &Clock,
    ) -> Result<Self, ProgramsError> {
        let manager = Manager::builder().grace(GRACE).build().await?;

        let (recorder, writer) = EventRecorder::new(client.clone(), sample_controller::NAME, "demo");
        let now = Arc::clone(clock);
        let writer = writer.clock(move || now());
        manager.add(Task::new("writer of events", |stop| async move {
            writer.run(stop).await;
            Ok(())
        }))?;
        manager.add(sample_controller::controller(client.clone(), &factory, recorder)?)?;
        manager.add(nodes::controller(client.clone(), &factory, clock)?)?;
        manager.add(factory)?;

        let now = Arc::clone(clock);
        // What it reports are races with others, which it tries again; what is for good ends the manager.
        let registry = controller_manager::registry(&Options::new(move || now()))?;
        let chosen = registry.select(CONTROLLERS)?;
        let controllers = Controllers::builder(ClientBuilder::shared(client.clone()), registry, chosen)
            .typed_informers(controller_manager::known_kinds)
            .shutdown_timeout(GRACE)
            .build();
        manager.add(controllers)?;

        let stop = CancellationToken::new();
        let task = AbortOnDropHandle::new(tokio::spawn(manager.run(stop.clone())));
        Ok(Self { stop, task })
    }

    /// Waits until one of them fails.
    pub(super) async fn failed(&mut self) -> ProgramsError {
        match (&mut self.task).await {
            Ok(Ok(())) => ProgramsError::EndedAlone,
            Ok(Err(error)) => error.into(),
            Err(error) => error.into(),
        }
    }

    /// Tells all of them to end, and waits until they have.
    pub(super) async fn stop(self) -> Result<(), ProgramsError> {
        self.stop.cancel();
        // It may have been waited for already, if it has failed.
        if !self.task.is_finished() {
            self.task.await??;
        }
        Ok(())
    }
}
