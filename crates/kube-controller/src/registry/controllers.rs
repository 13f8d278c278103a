//! Building and running the chosen controllers.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Request;
use kube_client::Client;
use kube_informer::factory::{FactoryBuilder, Metadata, Typed};
use kube_informer::redact::error_text;
use kube_informer::{MetadataSharedInformerFactory, ObjectOrMetadataInformerFactory, SharedInformerFactory};
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    ClientBuilder, ControllerContext, ControllerDescriptor, ControllerRegistry, InformersStarted,
    NewController, RestMapper, Selection,
};
use crate::manager::{BoxError, HealthChecks, Manager, ManagerHandle, Runnable, Running};
use crate::metrics::Metrics;
use crate::random::Random;

/// How long controllers have to end, unless it is said otherwise.
pub const DEFAULT_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the API server is waited for before controllers are built.
pub const SERVER_PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait before the API server is asked again.
const SERVER_RETRY: Duration = Duration::from_secs(1);

/// Builds and runs controllers; see [the module](super) for how.
#[derive(Debug)]
pub struct Controllers {
    settings: ControllersBuilder,
    manager: Option<ManagerHandle>,
}

/// Settings for [`Controllers`].
#[must_use = "a builder does nothing until `build`"]
pub struct ControllersBuilder {
    clients: ClientBuilder,
    registry: ControllerRegistry,
    chosen: Selection,
    metrics: Metrics,
    informer_metrics: Option<kube_informer::Metrics>,
    healthz: HealthChecks,
    typed: Box<dyn FnOnce(FactoryBuilder<Typed>) -> FactoryBuilder<Typed> + Send>,
    metadata: Box<dyn FnOnce(FactoryBuilder<Metadata>) -> FactoryBuilder<Metadata> + Send>,
    start_interval: Duration,
    shutdown_timeout: Duration,
    seed: u64,
}

/// Why controllers cannot run, or run no more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControllersError {
    /// There is no client.
    #[error("no client for {name}: {}", error_text(&**cause))]
    Client {
        /// For whom.
        name: String,
        /// Why not.
        #[source]
        cause: BoxError,
    },
    /// The API server does not answer, or not well.
    #[error("the API server is not healthy after {SERVER_PATIENCE:?}: {why}")]
    Server {
        /// What it said last.
        why: String,
    },
    /// A controller cannot be built.
    #[error("controller {name} cannot be built: {}", error_text(&**cause))]
    Build {
        /// Which.
        name: String,
        /// Why not.
        #[source]
        cause: BoxError,
    },
    /// A controller has failed.
    #[error("controller {name}: {}", error_text(&**cause))]
    Failed {
        /// Which.
        name: String,
        /// Why.
        #[source]
        cause: BoxError,
    },
    /// Some controllers had not ended in time, and were aborted.
    #[error("controllers still running {after:?} after the stop, and aborted: {}", .names.join(", "))]
    StillRunning {
        /// Which.
        names: Vec<String>,
        /// How much time there was.
        after: Duration,
    },
    /// Several things went wrong; the first is why all of them were stopped.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; then "))]
    Several(Vec<ControllersError>),
}

impl Controllers {
    /// Settings for the controllers of a registry that were chosen.
    pub fn builder(
        clients: ClientBuilder,
        registry: ControllerRegistry,
        chosen: Selection,
    ) -> ControllersBuilder {
        ControllersBuilder {
            clients,
            registry,
            chosen,
            metrics: Metrics::default(),
            informer_metrics: None,
            healthz: HealthChecks::default(),
            typed: Box::new(|builder| builder),
            metadata: Box::new(|builder| builder),
            start_interval: Duration::ZERO,
            shutdown_timeout: DEFAULT_SHUTDOWN_TIMEOUT,
            seed: 0,
        }
    }

    /// Builds the controllers and runs them until `stop` is cancelled or one of them fails.
    pub async fn run(self, stop: CancellationToken) -> Result<(), ControllersError> {
        let mut settings = self.settings;
        let informers_client = settings.client("shared-informers")?;
        if stop.run_until_cancelled(healthy(&informers_client)).await.transpose()?.is_none() {
            return Ok(());
        }
        let mut context = settings.context(informers_client)?;
        context.manager = self.manager.clone();
        let (factory, started) = (context.object_or_metadata.clone(), context.informers_started.clone());
        let ControllersBuilder { registry, chosen, .. } = &mut settings;
        let chosen: Vec<ControllerDescriptor> =
            std::mem::take(&mut registry.all).into_iter().filter(|one| chosen.has(&one.name)).collect();
        let timing = (settings.start_interval, settings.shutdown_timeout);
        let (seed, healthz) = (settings.seed, settings.healthz.clone());
        let outcome = async {
            let mut built = Vec::new();
            for ControllerDescriptor { name, build, .. } in chosen {
                let context = ControllerContext { name: name.clone(), ..context.clone() };
                match build(context).await {
                    Ok(Some(controller)) => built.push((name, controller)),
                    Ok(None) => {}
                    Err(cause) => return Err(ControllersError::Build { name, cause }),
                }
            }
            show_health(&healthz, &mut built);
            factory.start();
            started.done();
            run_all(built, &stop, timing, seed, self.manager).await
        }
        .await;
        factory.shutdown().await;
        outcome
    }
}

impl Runnable for Controllers {
    fn name(&self) -> String {
        "controllers".to_owned()
    }

    fn managed_by(&mut self, manager: &ManagerHandle) {
        self.manager = Some(manager.clone());
    }

    fn run(self: Box<Self>, stop: CancellationToken) -> Running<'static> {
        Box::pin(async move { Ok(Controllers::run(*self, stop).await?) })
    }
}

impl ControllersBuilder {
    /// Shows queues, informers and the health of each controller on the pages of a manager.
    pub fn managed_by(mut self, manager: &Manager) -> Self {
        self.metrics = manager.metrics().clone();
        self.informer_metrics = Some(manager.informer_metrics().clone());
        self.healthz = manager.healthz().clone();
        self
    }

    /// Changes the settings of the informers by type: to make types known for those who ask by resource, or to have them
    /// told again.
    pub fn typed_informers(
        mut self,
        change: impl FnOnce(FactoryBuilder<Typed>) -> FactoryBuilder<Typed> + Send + 'static,
    ) -> Self {
        self.typed = Box::new(change);
        self
    }

    /// Changes the settings of the informers of metadata.
    pub fn metadata_informers(
        mut self,
        change: impl FnOnce(FactoryBuilder<Metadata>) -> FactoryBuilder<Metadata> + Send + 'static,
    ) -> Self {
        self.metadata = Box::new(change);
        self
    }

    /// Each controller starts after this time and a random part of it again, so that not all of them fall upon the server
    /// at once; at once by default.
    pub fn start_interval(mut self, interval: Duration) -> Self {
        self.start_interval = interval;
        self
    }

    /// How long controllers have to end; ten seconds by default.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.shutdown_timeout = timeout;
        self
    }

    /// Where the random part of the start comes from.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The controllers, not yet built.
    pub fn build(self) -> Controllers {
        Controllers { settings: self, manager: None }
    }

    fn client(&self, name: &str) -> Result<Client, ControllersError> {
        let failed = |cause| ControllersError::Client { name: name.to_owned(), cause };
        self.clients.client(name).map_err(failed)
    }

    fn context(&mut self, client: Client) -> Result<ControllerContext, ControllersError> {
        let mut typed = SharedInformerFactory::builder(client);
        let mut metadata = MetadataSharedInformerFactory::builder(self.client("metadata-informers")?);
        if let Some(metrics) = &self.informer_metrics {
            typed = typed.metrics(metrics);
            metadata = metadata.metrics(metrics);
        }
        let typed = std::mem::replace(&mut self.typed, Box::new(|same| same))(typed).build();
        let metadata = std::mem::replace(&mut self.metadata, Box::new(|same| same))(metadata).build();
        Ok(ControllerContext {
            name: String::new(),
            clients: self.clients.clone(),
            informers: typed.clone(),
            object_or_metadata: ObjectOrMetadataInformerFactory::new(typed, metadata),
            mapper: RestMapper::new(self.client("controller-discovery")?),
            metrics: self.metrics.clone(),
            informers_started: InformersStarted::default(),
            manager: None,
        })
    }
}

/// Each controller has a check of its name, before any of them runs.
fn show_health(healthz: &HealthChecks, built: &mut [(String, NewController)]) {
    for (name, controller) in built {
        match controller.health.take() {
            Some(check) => healthz.add(name.clone(), check),
            None => healthz.add(name.clone(), || Ok(())),
        }
    }
}

/// Runs controllers until they are told to stop or one fails; the timing is the start interval and the time to end.
async fn run_all(
    built: Vec<(String, NewController)>,
    stop: &CancellationToken,
    (start_interval, shutdown_timeout): (Duration, Duration),
    seed: u64,
    manager: Option<ManagerHandle>,
) -> Result<(), ControllersError> {
    let mut random = Random::new(seed);
    let (mut tasks, mut names) = (JoinSet::new(), BTreeMap::<Id, String>::new());
    let told = stop.child_token();
    for (name, controller) in built {
        let (pause, told) = (start_interval.mul_f64(1.0 + random.fraction()), told.clone());
        let manager = manager.clone();
        let work = async move {
            if told.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
                (controller.run)(told).await?;
            }
            Ok::<(), BoxError>(())
        };
        // When another may lead, the manager ends them all.
        let task = tasks.spawn(async move {
            match manager {
                Some(manager) => manager.while_leading(work).await.unwrap_or(Ok(())),
                None => work.await,
            }
        });
        names.insert(task.id(), name);
    }
    let mut failed = None;
    let mut deadline = None;
    loop {
        let late = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            ended = tasks.join_next_with_id() => {
                let (id, outcome) = match ended {
                    Some(Ok((id, outcome))) => (id, outcome),
                    Some(Err(error)) => (error.id(), Err(panicked(error))),
                    None if told.is_cancelled() => break,
                    // They have all done what they had to do.
                    None => {
                        stop.cancelled().await;
                        break;
                    }
                };
                let name = names.remove(&id).unwrap_or_default();
                if let Err(cause) = outcome && failed.is_none() {
                    failed = Some(ControllersError::Failed { name, cause });
                    told.cancel();
                }
            }
            () = told.cancelled(), if deadline.is_none() => {
                deadline = Some(Instant::now() + shutdown_timeout);
            }
            () = late => {
                tasks.shutdown().await;
                let (names, after) = (names.into_values().collect(), shutdown_timeout);
                let late = ControllersError::StillRunning { names, after };
                return Err(match failed {
                    Some(failed) => ControllersError::Several(vec![failed, late]),
                    None => late,
                });
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

fn panicked(error: tokio::task::JoinError) -> BoxError {
    format!("it has panicked: {}", crate::manager::panic_message(error)).into()
}

/// Waits until the API server says that it is well.
async fn healthy(client: &Client) -> Result<(), ControllersError> {
    let deadline = Instant::now() + SERVER_PATIENCE;
    let mut why = "no answer".to_owned();
    loop {
        let attempt = async {
            let request = Request::get("/healthz").body(Vec::new())?;
            Ok::<_, BoxError>(client.request_text(request).await?)
        };
        match tokio::time::timeout_at(deadline, attempt).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => why = error_text(&*error),
            Err(_) => return Err(ControllersError::Server { why }),
        }
        if Instant::now() + SERVER_RETRY >= deadline {
            return Err(ControllersError::Server { why });
        }
        tokio::time::sleep(SERVER_RETRY).await;
    }
}

impl std::fmt::Debug for ControllersBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControllersBuilder")
            .field("chosen", &self.chosen)
            .field("start_interval", &self.start_interval)
            .field("shutdown_timeout", &self.shutdown_timeout)
            .finish_non_exhaustive()
    }
}
