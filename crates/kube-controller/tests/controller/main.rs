//! Controllers, on the embedded server where there is one, in paused time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod building;
mod ending;
mod kinds;
mod managed;
mod metrics;
mod plain;
mod predicates;
mod priorities;
mod results;
mod sharing;
mod sources;
mod syncing;

use std::sync::Arc;
use std::time::Duration;

use kube_controller::Controller;
use kube_controller::controller::{
    Action, Context, ControllerBuilder, ControllerError, ControllerHandle, ReconcileError, RequestKey,
};
use kube_testserver::TestServer;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

type Result<T = (), E = ReconcileError> = std::result::Result<T, E>;

/// Lets everybody come to rest: paused time moves when nobody has anything to do.
async fn settle() {
    tokio::time::sleep(MS).await;
}

/// Lines that are written down by many.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, line: impl Into<String>) {
        self.0.lock().push(line.into());
    }

    /// What was written since the last time.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }

    /// The same, in alphabetical order.
    fn sorted(&self) -> Vec<String> {
        let mut lines = self.take();
        lines.sort();
        lines
    }
}

/// A controller that runs.
struct Playing<R: RequestKey> {
    handle: ControllerHandle<R>,
    stop: CancellationToken,
    task: JoinHandle<Result<(), ControllerError>>,
}

impl<R: RequestKey> Playing<R> {
    fn new(controller: Controller<R>) -> Self {
        let (handle, stop) = (controller.handle(), CancellationToken::new());
        let task = tokio::spawn(controller.run(stop.clone()));
        Self { handle, stop, task }
    }

    async fn end(self) -> Result<(), ControllerError> {
        self.stop.cancel();
        tokio::time::timeout(60 * S, self.task).await.unwrap().unwrap()
    }
}

/// A controller of texts that are sent to it.
fn texts(name: &str) -> (mpsc::Sender<String>, ControllerBuilder<String>) {
    let (sender, receiver) = mpsc::channel(100);
    (sender, ControllerBuilder::new(name).channel("texts", receiver))
}

/// Writes down each request, and is content.
fn write_down<R: RequestKey>(
    log: &Log,
) -> impl Fn(R, Context) -> futures::future::Ready<Result<Action>> + Send + Sync + use<R> {
    let log = log.clone();
    move |request, _| {
        log.add(request.to_string());
        futures::future::ready(Ok(Action::done()))
    }
}

async fn server(yaml: &str) -> TestServer {
    let server = TestServer::start().await.unwrap();
    server.seed(yaml).unwrap();
    server
}

/// ConfigMaps of these names.
fn configs(names: &[&str]) -> String {
    let each =
        names.iter().map(|name| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}"));
    each.collect::<Vec<_>>().join("\n---\n")
}
