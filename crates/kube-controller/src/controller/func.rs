//! Requests from a function of the program.

use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube_informer::panics;
use kube_informer::redact::error_text;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::source::{Start, Started, Starting};
use super::{Enqueuer, RequestKey};

/// What a function that is a [source](super::Source::func) can say and ask.
#[derive(Debug)]
pub struct Running {
    progress: watch::Sender<Progress>,
    stop: CancellationToken,
}

impl Running {
    /// Everything that was there from the start has been added: the controller may begin.
    pub fn ready(&self) {
        self.progress.send_replace(Progress::Ready);
    }

    /// Cancelled when the controller is to stop.
    pub fn token(&self) -> &CancellationToken {
        &self.stop
    }
}

type Call<R> = Box<
    dyn FnOnce(Enqueuer<R>, Running) -> BoxFuture<'static, Result<(), Box<dyn Error + Send + Sync>>> + Send,
>;

pub(super) struct FuncSource<R: RequestKey> {
    pub(super) call: Call<R>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Progress {
    Starting,
    Ready,
    Failed { why: String, panicked: bool },
}

impl<R: RequestKey> Start<R> for FuncSource<R> {
    fn start(self: Box<Self>, starting: Starting<'_, R>) -> Result<Arc<dyn Started>, String> {
        let Starting { queue, stop, .. } = starting;
        let (progress, seen) = watch::channel(Progress::Starting);
        let running = Running { progress: progress.clone(), stop };
        let call = self.call;
        let task = tokio::spawn(async move {
            let ended = AssertUnwindSafe(async move { call(queue, running).await }).catch_unwind().await;
            progress.send_replace(match ended {
                Ok(Ok(())) => Progress::Ready,
                Ok(Err(error)) => Progress::Failed { why: error_text(&*error), panicked: false },
                Err(panic) => {
                    let why = format!("it panicked: {}", panics::message(panic));
                    Progress::Failed { why, panicked: true }
                }
            });
        });
        Ok(Arc::new(Func { progress: seen, _task: AbortOnDropHandle::new(task) }))
    }
}

struct Func {
    progress: watch::Receiver<Progress>,
    /// Ends the function with the controller.
    _task: AbortOnDropHandle<()>,
}

impl Func {
    /// Waits until it is ready, or has failed.
    async fn until(&self, reached: impl Fn(&Progress) -> bool) -> Progress {
        let mut progress = self.progress.clone();
        match progress.wait_for(|progress| reached(progress)).await {
            Ok(progress) => progress.clone(),
            // The task is gone, and has said nothing of an error.
            Err(_) => Progress::Ready,
        }
    }
}

impl Started for Func {
    fn synced(&self) -> BoxFuture<'_, Result<(), String>> {
        async {
            match self.until(|progress| *progress != Progress::Starting).await {
                Progress::Failed { why, .. } => Err(why),
                Progress::Starting | Progress::Ready => Ok(()),
            }
        }
        .boxed()
    }

    fn trouble(&self) -> Option<String> {
        let starting = *self.progress.borrow() == Progress::Starting;
        starting.then(|| "its function has neither returned nor said that it is ready".to_owned())
    }

    fn failed(&self) -> BoxFuture<'_, String> {
        async {
            match self.until(|progress| matches!(progress, Progress::Failed { .. })).await {
                Progress::Failed { why, .. } => why,
                // It has ended, and all was well.
                Progress::Starting | Progress::Ready => std::future::pending().await,
            }
        }
        .boxed()
    }

    /// The function has been told by its token, and gets the time that reconciles get; what it adds is refused.
    fn close(&self) {}

    fn panics(&self) -> (u64, Option<String>) {
        match &*self.progress.borrow() {
            Progress::Failed { why, panicked: true } => (1, Some(why.clone())),
            _ => (0, None),
        }
    }

    fn is_synced(&self) -> bool {
        *self.progress.borrow() == Progress::Ready
    }
}
