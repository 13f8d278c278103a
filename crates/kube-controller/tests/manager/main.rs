//! The manager: what starts when, who leads, how it ends, and what its pages show.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod certificates;
mod ending;
mod leading;
mod limits;
mod pages;
mod secure;
mod starting;

use std::sync::Arc;
use std::time::Duration;

use kube_controller::manager::{
    BoxError, Group, Manager, ManagerBuilder, ManagerError, Runnable, Running, Task,
};
use kube_testserver::TestServer;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// What happened, one after the other.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, what: impl Into<String>) {
        self.0.lock().push(what.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    fn has(&self, what: &str) -> bool {
        self.0.lock().iter().any(|one| one == what)
    }
}

/// Says when it starts and ends, and takes its time for both.
struct Part {
    name: &'static str,
    group: Group,
    log: Log,
    ready_after: Duration,
    ends_after: Duration,
}

impl Part {
    fn new(name: &'static str, group: Group, log: &Log) -> Self {
        Self { name, group, log: log.clone(), ready_after: Duration::ZERO, ends_after: Duration::ZERO }
    }

    fn ready_after(mut self, time: Duration) -> Self {
        self.ready_after = time;
        self
    }

    fn ends_after(mut self, time: Duration) -> Self {
        self.ends_after = time;
        self
    }
}

impl Runnable for Part {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn group(&self) -> Group {
        self.group
    }

    fn ready(&self) -> Running<'static> {
        let time = self.ready_after;
        Box::pin(async move {
            tokio::time::sleep(time).await;
            Ok(())
        })
    }

    fn warm_up(&mut self, _: CancellationToken) -> Running<'_> {
        Box::pin(async {
            self.log.add(format!("{} warms up", self.name));
            Ok(())
        })
    }

    fn run(self: Box<Self>, stop: CancellationToken) -> Running<'static> {
        Box::pin(async move {
            self.log.add(format!("{} starts", self.name));
            stop.cancelled().await;
            tokio::time::sleep(self.ends_after).await;
            self.log.add(format!("{} ends", self.name));
            Ok(())
        })
    }
}

/// A manager that runs, and what stops it.
struct Run {
    stop: CancellationToken,
    task: JoinHandle<Result<(), ManagerError>>,
}

impl Run {
    fn of(manager: Manager) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(manager.run(stop.clone()));
        Self { stop, task }
    }

    async fn end(self) -> Result<(), ManagerError> {
        self.stop.cancel();
        self.task.await.unwrap()
    }

    async fn ended(self) -> Result<(), ManagerError> {
        self.task.await.unwrap()
    }
}

async fn manager(settings: impl FnOnce(ManagerBuilder) -> ManagerBuilder) -> Manager {
    settings(Manager::builder()).build().await.unwrap()
}

async fn plain() -> Manager {
    manager(|settings| settings).await
}

fn failing(name: &'static str, group: Group) -> Task {
    Task::new(name, move |_| async move { Err(BoxError::from("the tea is cold")) }).group(group)
}

async fn server() -> TestServer {
    TestServer::builder().seed(7).start().await.unwrap()
}

/// Lets everything happen that needs no time to speak of.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}
