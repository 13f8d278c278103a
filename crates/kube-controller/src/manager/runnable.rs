//! What a manager runs.

use std::fmt;
use std::pin::Pin;

use kube_informer::factory::{InformerFactory, Mode};
use kube_informer::informer::InformerStatus;
use kube_informer::kube_core::GroupVersionResource;
use kube_informer::{Cache, ObjectOrMetadataInformerFactory};
use tokio_util::sync::CancellationToken;

use super::ManagerHandle;
use super::health::behind;

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Something that goes on until it ends, or fails.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send + 'a>>;

/// Names what is behind: what has not synced, and why.
pub type Behind = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// When something starts and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// First to start, last to end: what others need to be reached, such as servers of webhooks.
    Servers,
    /// Caches and factories of informers: ready when they have synced.
    Caches,
    /// Everything that may run in many processes at once.
    Others,
    /// What only a leader may do; the default.
    LeaderOnly,
}

/// Something that a [`Manager`](super::Manager) runs.
///
/// It has to end soon when `stop` is cancelled, and must leave no task behind. To end earlier is fine; to fail ends the
/// manager. [`Task`] makes one of a closure; factories of informers and [`Cache`]s are some.
pub trait Runnable: Send + 'static {
    /// What it is called in errors.
    fn name(&self) -> String;

    /// When it starts and ends.
    fn group(&self) -> Group {
        Group::LeaderOnly
    }

    /// Is told who runs it, before anything else. Who is leader-only and works in tasks of its own keeps this, and has
    /// them ask [`may_act`](ManagerHandle::may_act) before anything that two must not do. Nothing by default.
    fn managed_by(&mut self, manager: &ManagerHandle) {
        let _ = manager;
    }

    /// Ends when it is ready, after it was started: the next group waits for that. At once by default. Of no meaning for
    /// what is leader-only.
    fn ready(&self) -> Running<'static> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// What `/readyz` asks from when this is added until the manager has ended: the program is ready when it names nothing.
    /// Factories and caches name the informers that have been asked for and have not synced, or have stopped. Nothing is
    /// asked by default.
    fn behind(&self) -> Option<Behind> {
        None
    }

    /// Prepares itself while somebody else may lead: reads, and writes nothing. Only what is leader-only is asked for it.
    /// Nothing by default.
    fn warm_up(&mut self, stop: CancellationToken) -> Running<'_> {
        drop(stop);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Runs until it is done, or until `stop` is cancelled.
    fn run(self: Box<Self>, stop: CancellationToken) -> Running<'static>;
}

/// A closure that a manager runs.
///
/// ```
/// use kube_controller::manager::{Group, Task};
///
/// let task = Task::new("heartbeat", |stop| async move {
///     stop.cancelled().await;
///     Ok(())
/// })
/// .group(Group::Others);
/// ```
#[must_use = "a task does nothing until it is added"]
pub struct Task {
    name: String,
    group: Group,
    work: Box<dyn FnOnce(CancellationToken) -> Running<'static> + Send>,
}

impl Task {
    /// Runs a closure; leader-only, unless [it is said otherwise](Self::group).
    pub fn new<F>(name: impl Into<String>, work: impl FnOnce(CancellationToken) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let work = Box::new(|stop: CancellationToken| -> Running<'static> { Box::pin(work(stop)) });
        Self { name: name.into(), group: Group::LeaderOnly, work }
    }

    /// When it starts and ends.
    pub fn group(mut self, group: Group) -> Self {
        self.group = group;
        self
    }
}

impl Runnable for Task {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn group(&self) -> Group {
        self.group
    }

    fn run(self: Box<Self>, stop: CancellationToken) -> Running<'static> {
        (self.work)(stop)
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("name", &self.name).field("group", &self.group).finish_non_exhaustive()
    }
}

/// `pods`, `deployments.apps`.
fn in_full(resource: &GroupVersionResource) -> String {
    match resource.group.as_str() {
        "" => resource.resource.clone(),
        group => format!("{}.{group}", resource.resource),
    }
}

/// Names the informers that have not synced, or have stopped: each resource once for the same reason.
fn informers_behind(all: &[(String, InformerStatus)]) -> Vec<String> {
    let mut names: Vec<String> = all.iter().filter_map(|(name, status)| behind(name, status)).collect();
    names.dedup();
    names
}

/// Ready when all informers that were asked for until then have synced.
impl<M: Mode> Runnable for InformerFactory<M> {
    fn name(&self) -> String {
        "informers".to_owned()
    }

    fn group(&self) -> Group {
        Group::Caches
    }

    fn ready(&self) -> Running<'static> {
        let factory = self.clone();
        Box::pin(async move {
            factory.start();
            factory.wait_for_cache_sync().await?;
            Ok(())
        })
    }

    fn behind(&self) -> Option<Behind> {
        let factory = self.clone();
        Some(Box::new(move || informers_behind(&factory.status())))
    }

    fn run(self: Box<Self>, stop: CancellationToken) -> Running<'static> {
        Box::pin(async move {
            self.start();
            stop.cancelled().await;
            self.shutdown().await;
            Ok(())
        })
    }
}

/// Ready when all informers of both factories that were asked for until then have synced.
impl Runnable for ObjectOrMetadataInformerFactory {
    fn name(&self) -> String {
        "informers of objects and metadata".to_owned()
    }

    fn group(&self) -> Group {
        Group::Caches
    }

    fn ready(&self) -> Running<'static> {
        let factory = self.clone();
        Box::pin(async move {
            factory.start();
            factory.wait_for_cache_sync().await?;
            Ok(())
        })
    }

    fn behind(&self) -> Option<Behind> {
        let factory = self.clone();
        Some(Box::new(move || informers_behind(&factory.status())))
    }

    fn run(self: Box<Self>, stop: CancellationToken) -> Running<'static> {
        Box::pin(async move {
            self.start();
            stop.cancelled().await;
            self.shutdown().await;
            Ok(())
        })
    }
}

/// Ready when all kinds that were asked for until then have synced.
impl Runnable for Cache {
    fn name(&self) -> String {
        "cache".to_owned()
    }

    fn group(&self) -> Group {
        Group::Caches
    }

    fn ready(&self) -> Running<'static> {
        let cache = self.clone();
        Box::pin(async move {
            cache.start()?;
            cache.synced().await?;
            Ok(())
        })
    }

    fn behind(&self) -> Option<Behind> {
        let cache = self.clone();
        Some(Box::new(move || {
            let all = cache.status().into_iter();
            all.filter_map(|(resource, status)| behind(&in_full(&resource), &status)).collect()
        }))
    }

    fn run(self: Box<Self>, stop: CancellationToken) -> Running<'static> {
        Box::pin(async move {
            self.start()?;
            stop.cancelled().await;
            self.shutdown().await;
            Ok(())
        })
    }
}
