//! Waiting to lead, leading, and what ends it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use kube_client::Client;
use kube_informer::panics;
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::attempt::{Attempt, Candidate};
use super::leading::Term;
use super::news::News;
use super::{HealthCheck, LeaderElectorBuilder, LeaderStatus, Leading};
use crate::random::Random;

/// A candidate for a Lease; see [the module](super) for what it promises.
#[derive(Debug)]
pub struct LeaderElector {
    candidate: Candidate,
    random: Random,
    name: String,
    release_on_cancel: bool,
    news: Option<News>,
}

/// Why a run has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The elector was told to stop, before it led or while it did.
    Cancelled,
    /// The work has ended by itself.
    Ended,
    /// The work has panicked. The message, if it is a literal of the program; a formatted one may have values of objects in
    /// it, and the text says that it is withheld.
    Panicked(String),
    /// Leadership was lost.
    Lost(Loss),
}

/// Why leadership was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// The lease could not be renewed in time.
    NotRenewed,
    /// Somebody else has it.
    TakenBy(String),
    /// A coordinator wants this one to lead next.
    EndOfTerm(String),
}

/// What happens to a leader.
enum Happened {
    WorkEnded(Result<(), JoinError>),
    Late,
    Tried(Attempt),
}

impl LeaderElector {
    /// Settings for a candidate for the Lease of this name.
    pub fn builder(
        client: Client,
        namespace: impl Into<String>,
        name: impl Into<String>,
    ) -> LeaderElectorBuilder {
        LeaderElectorBuilder::new(client, namespace.into(), name.into())
    }

    pub(super) fn new(
        candidate: Candidate,
        random: Random,
        name: String,
        release_on_cancel: bool,
        news: Option<News>,
    ) -> Self {
        Self { candidate, random, name, release_on_cancel, news }
    }

    /// Waits until this candidate leads, starts the work as a task of its own, and renews the lease until the work has
    /// ended, `stop` is cancelled, or leadership is lost. The work has always ended when this returns.
    ///
    /// When this is dropped, the work is aborted and the lease is left to run out; nobody is told of it then.
    pub async fn run<W>(&mut self, stop: &CancellationToken, work: impl FnOnce(Leading) -> W) -> Outcome
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let outcome = self.run_once(stop, work).await;
        if let Some(on_stopped) = &self.candidate.hooks.on_stopped {
            on_stopped();
        }
        outcome
    }

    async fn run_once<W>(&mut self, stop: &CancellationToken, work: impl FnOnce(Leading) -> W) -> Outcome
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let Some(sent) = self.acquire(stop).await else { return Outcome::Cancelled };
        if let Some(news) = &self.news {
            news.became_leader();
        }
        let outcome = self.lead(stop, sent, work).await;
        // At the end of a term the lease is still ours, and the work has ended.
        let lost = matches!(outcome, Outcome::Lost(Loss::NotRenewed | Loss::TakenBy(_)));
        if self.release_on_cancel && !lost {
            self.candidate.release().await;
        }
        if let Some(news) = &self.news {
            news.stopped_leading();
        }
        outcome
    }

    /// The same again and again: a candidate that has lost is a candidate. Returns when `stop` is cancelled, or when the
    /// work has ended by itself.
    pub async fn run_again<W>(
        &mut self,
        stop: &CancellationToken,
        mut work: impl FnMut(Leading) -> W,
    ) -> Outcome
    where
        W: Future<Output = ()> + Send + 'static,
    {
        loop {
            match self.run(stop, &mut work).await {
                Outcome::Lost(_) => {}
                other => return other,
            }
        }
    }

    /// How this one is doing.
    pub fn status(&self) -> LeaderStatus {
        self.candidate.shared.status.borrow().clone()
    }

    /// How this one is doing, from now on.
    pub fn watch_status(&self) -> watch::Receiver<LeaderStatus> {
        self.candidate.shared.status.subscribe()
    }

    /// A check that fails when the work still runs so long after the lease was over.
    pub fn health_check(&self, tolerance: Duration) -> HealthCheck {
        HealthCheck { shared: Arc::clone(&self.candidate.shared), name: self.name.clone(), tolerance }
    }

    /// Tries until the lease is ours; says when what made it ours was sent. None if it was told to stop.
    async fn acquire(&mut self, stop: &CancellationToken) -> Option<Instant> {
        while !stop.is_cancelled() {
            let attempt = {
                let mut attempt = pin!(self.candidate.attempt());
                tokio::select! {
                    biased;
                    () = stop.cancelled() => {
                        if self.release_on_cancel {
                            // What is on its way may make the lease ours.
                            attempt.await;
                        }
                        None
                    }
                    attempt = &mut attempt => Some(attempt),
                }
            };
            match attempt {
                None if self.release_on_cancel => {
                    self.candidate.release().await;
                    return None;
                }
                // An answer that took too long is as good as none.
                Some(Attempt::Holds { sent })
                    if Instant::now() < sent + self.candidate.timing.renew_deadline =>
                {
                    return Some(sent);
                }
                _ => {}
            }
            let pause = self.candidate.timing.jittered(&mut self.random);
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        None
    }

    async fn lead<W>(
        &mut self,
        stop: &CancellationToken,
        mut sent: Instant,
        work: impl FnOnce(Leading) -> W,
    ) -> Outcome
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let timing = self.candidate.timing;
        let term = Term::begin(&self.candidate.shared, sent + timing.fence());
        let mut task = AbortOnDropHandle::new(tokio::spawn(work(term.leading())));
        let mut stopping = false;
        loop {
            let next = Instant::now() + timing.retry_period;
            let happened = {
                let mut attempt = pin!(async {
                    sleep_until(next).await;
                    self.candidate.attempt().await
                });
                loop {
                    tokio::select! {
                        biased;
                        ended = &mut task => break Happened::WorkEnded(ended),
                        () = sleep_until(sent + timing.renew_deadline) => break Happened::Late,
                        () = stop.cancelled(), if !stopping => {
                            // The lease is kept until the work has ended.
                            stopping = true;
                            term.stop();
                        }
                        attempt = &mut attempt => break Happened::Tried(attempt),
                    }
                }
            };
            match happened {
                Happened::WorkEnded(ended) => return outcome(ended, stopping),
                Happened::Tried(Attempt::Holds { sent: renewed }) => {
                    sent = renewed;
                    term.extend(sent + timing.fence());
                }
                Happened::Tried(Attempt::Failed) => {}
                Happened::Tried(Attempt::HeldBy(other)) => {
                    term.end();
                    end(&mut task, Instant::now()).await;
                    return Outcome::Lost(Loss::TakenBy(other));
                }
                Happened::Tried(Attempt::EndOfTerm(next)) => {
                    term.stop();
                    end(&mut task, sent + timing.fence()).await;
                    return Outcome::Lost(Loss::EndOfTerm(next));
                }
                Happened::Late => {
                    term.stop();
                    end(&mut task, sent + timing.fence()).await;
                    return Outcome::Lost(Loss::NotRenewed);
                }
            }
        }
    }
}

/// Waits until the work has ended, and aborts it at that time.
async fn end(task: &mut AbortOnDropHandle<()>, at: Instant) {
    tokio::select! {
        biased;
        _ = &mut *task => {}
        () = sleep_until(at) => {
            task.abort();
            let _ = task.await;
        }
    }
}

fn outcome(ended: Result<(), JoinError>, stopping: bool) -> Outcome {
    match ended.map_err(JoinError::try_into_panic) {
        Err(Ok(panic)) => Outcome::Panicked(panics::message(panic)),
        _ if stopping => Outcome::Cancelled,
        _ => Outcome::Ended,
    }
}
