//! One worker: takes a request, reconciles it, and decides when it comes again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use kube_informer::panics;
use tokio::time::Instant;

use super::action::Again;
use super::figures::Ended;
use super::shared::Shared;
use super::status::LastFailure;
use super::{Action, Context, ErrorKind, Failure, ReconcileError, RequestKey};
use crate::workqueue::{AddOptions, Work};

/// Counts the reconciles of the process, so that each has a name of its own.
static NUMBER: AtomicU64 = AtomicU64::new(1);

/// Works until the queue is shut down and nothing is left, or until another may lead.
pub(super) async fn run<R: RequestKey>(shared: Arc<Shared<R>>) {
    while let Some(work) = shared.queue.get().await {
        match shared.leader.get() {
            None => one(&shared, work).await,
            Some(leader) => {
                let request = R::clone(&work);
                if leader.while_leading(one(&shared, work)).await.is_none() {
                    shared.unfinished.lock().dropped.push(request);
                    return;
                }
            }
        }
        // Ten thousand requests that need no waiting must not hold a thread for as long as they take.
        tokio::task::consume_budget().await;
    }
}

async fn one<R: RequestKey>(shared: &Shared<R>, work: Work<R>) {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let request = R::clone(&work);
    let failures = shared.queue.num_requeues(&request);
    let _active = shared.figures.begin();
    let _listed = Listed::new(shared, number, request.clone());
    let started = Instant::now();
    let result = reconcile(shared, request.clone(), number, work.priority(), failures).await;
    let ended = match &result {
        Ok(Action { again: Again::WhenItChanges, .. }) => Ended::Success,
        Ok(Action { again: Again::RateLimited, .. }) => Ended::Requeue,
        Ok(Action { again: Again::After(_), .. }) => Ended::RequeueAfter,
        Err(_) => Ended::Error,
    };
    shared.figures.ended(ended, started.elapsed());
    let comes_again = match result {
        Ok(action) => again(shared, &work, action),
        Err(error) => {
            note(shared, &request, &error, failures);
            if error.is_terminal() {
                shared.queue.forget(&request);
                true
            } else {
                shared
                    .queue
                    .add_with(request.clone(), AddOptions::new().rate_limited().priority(work.priority()))
            }
        }
    };
    if !comes_again {
        shared.unfinished.lock().dropped.push(request);
    }
}

/// Puts a request where its action says; false if that is no longer possible.
fn again<R: RequestKey>(shared: &Shared<R>, work: &Work<R>, action: Action) -> bool {
    let options = AddOptions::new().priority(action.priority.unwrap_or(work.priority()));
    match action.again {
        Again::WhenItChanges => {
            shared.queue.forget(work);
            true
        }
        Again::RateLimited => shared.queue.add_with(R::clone(work), options.rate_limited()),
        Again::After(delay) => {
            shared.queue.forget(work);
            shared.queue.add_with(R::clone(work), options.after(delay))
        }
    }
}

async fn reconcile<R: RequestKey>(
    shared: &Shared<R>,
    request: R,
    number: u64,
    priority: i32,
    failures: u32,
) -> Result<Action, ReconcileError> {
    let stop = shared.stop.child_token();
    // What the reconciler has left behind learns that it is over.
    let _over = stop.clone().drop_guard();
    let context = Context { controller: Arc::clone(&shared.name), number, priority, failures, stop };
    let call = async { shared.reconciler.call(request, context).await };
    let limited = async {
        match shared.timeout {
            None => call.await,
            Some(limit) => match tokio::time::timeout(limit, call).await {
                Ok(result) => result,
                Err(_) => Err(ReconcileError::timed_out(limit)),
            },
        }
    };
    if !shared.recover_panics {
        return limited.await;
    }
    match AssertUnwindSafe(limited).catch_unwind().await {
        Ok(result) => result,
        Err(panic) => Err(ReconcileError::panicked(&panics::message(panic))),
    }
}

/// Counts and tells a failure.
fn note<R: RequestKey>(shared: &Shared<R>, request: &R, error: &ReconcileError, failures: u32) {
    let figures = &shared.figures;
    match error.kind() {
        ErrorKind::Terminal => figures.terminal.add(),
        ErrorKind::Panic => figures.panics.add(),
        ErrorKind::Timeout => figures.timeouts.add(),
        ErrorKind::Retry => {}
    }
    let (text, message) = (request.to_string(), error.to_string());
    let last = LastFailure { request: text, message, kind: error.kind(), at: Instant::now() };
    *shared.last_failure.lock() = Some(last);
    if let Some(hook) = &shared.on_error {
        let failure = Failure { request, error, failures };
        // A hook that panics must not take the worker with it; the failure is in the status.
        panics::drop_quietly(catch_unwind(AssertUnwindSafe(|| hook(&failure))));
    }
}

/// A request that is being worked on, for those who ask what still runs.
struct Listed<'a, R: RequestKey> {
    shared: &'a Shared<R>,
    number: u64,
}

impl<'a, R: RequestKey> Listed<'a, R> {
    fn new(shared: &'a Shared<R>, number: u64, request: R) -> Self {
        shared.active.lock().insert(number, request);
        Self { shared, number }
    }
}

impl<R: RequestKey> Drop for Listed<'_, R> {
    fn drop(&mut self) {
        self.shared.active.lock().remove(&self.number);
    }
}
