//! One try to get or keep the lease, and giving it away.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::Instant;

use super::lock::Lock;
use super::record::{Record, Turn};
use super::timing::Timing;
use super::{ElectionError, Shared};
use crate::clock::Clock;

/// Somebody who would like to lead.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) lock: Lock,
    pub(super) record: Record,
    pub(super) timing: Timing,
    pub(super) clock: Clock,
    pub(super) shared: Arc<Shared>,
    pub(super) hooks: Hooks,
    /// A coordinator decides who leads.
    pub(super) coordinated: bool,
    /// The leader that was told of last.
    pub(super) reported: Option<String>,
}

/// Somebody who wants to know.
pub(super) type Hook<T> = Option<Box<dyn Fn(&T) + Send + Sync>>;

/// Those who want to know.
#[derive(Default)]
pub(super) struct Hooks {
    pub(super) on_new_leader: Hook<str>,
    pub(super) on_stopped: Option<Box<dyn Fn() + Send + Sync>>,
    pub(super) on_error: Hook<ElectionError>,
}

/// What came of a try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The lease is ours, by what was sent then.
    Holds { sent: Instant },
    /// Somebody else has it.
    HeldBy(String),
    /// It is ours and must not be renewed: this one shall have it next.
    EndOfTerm(String),
    /// It is not known.
    Failed,
}

impl Candidate {
    pub(super) async fn attempt(&mut self) -> Attempt {
        let tried = if self.coordinated { self.try_coordinated().await } else { self.try_once().await };
        match tried {
            Ok(attempt) => {
                self.shared.change(|status| status.last_error = None);
                attempt
            }
            Err(error) => {
                self.failed(&error);
                Attempt::Failed
            }
        }
    }

    async fn try_once(&mut self) -> Result<Attempt, ElectionError> {
        let sent = Instant::now();
        if let Some(renewal) = self.record.renewal(sent, self.clock.now()) {
            match self.lock.update(&renewal).await {
                Ok(written) => return Ok(self.holds(written, sent)),
                // What the lease says now decides.
                Err(error) if error.is_conflict() => {}
                Err(error) => self.failed(&error),
            }
            self.shared.count_slow_path();
        }
        match self.lock.read().await? {
            None => self.record.missing(),
            Some(lease) => self.record.saw(lease, Instant::now()),
        }
        self.report();
        let sent = Instant::now();
        let written = match self.record.takeover(sent, self.clock.now()) {
            Some(lease) if lease.metadata.resource_version.is_some() => self.lock.update(&lease).await?,
            Some(lease) => self.lock.create(lease).await?,
            None => return Ok(Attempt::HeldBy(self.record.holder().unwrap_or_default().to_owned())),
        };
        Ok(self.holds(written, sent))
    }

    /// Reads each time: the coordinator may have decided otherwise.
    async fn try_coordinated(&mut self) -> Result<Attempt, ElectionError> {
        match self.lock.read().await? {
            None => self.record.missing(),
            Some(lease) => self.record.saw(lease, Instant::now()),
        }
        self.report();
        let sent = Instant::now();
        match self.record.turn(sent, self.clock.now()) {
            Turn::Ours(lease) => {
                let written = self.lock.update(&lease).await?;
                Ok(self.holds(written, sent))
            }
            Turn::EndOfTerm(next) => Ok(Attempt::EndOfTerm(next)),
            Turn::Theirs(other) => Ok(Attempt::HeldBy(other)),
            Turn::Nobodys => Ok(Attempt::Failed),
        }
    }

    /// Gives the lease away if it is ours, for as long as the renew deadline at most.
    pub(super) async fn release(&mut self) {
        let until = Instant::now() + self.timing.renew_deadline;
        loop {
            match tokio::time::timeout_at(until, self.release_once()).await {
                Ok(Ok(())) | Err(_) => return,
                // Somebody wrote meanwhile; perhaps it is ours still.
                Ok(Err(error)) if error.is_conflict() => {}
                Ok(Err(error)) => {
                    self.failed(&error);
                    if Instant::now() + self.timing.retry_period >= until {
                        return;
                    }
                    tokio::time::sleep(self.timing.retry_period).await;
                }
            }
        }
    }

    async fn release_once(&mut self) -> Result<(), ElectionError> {
        match self.lock.read().await? {
            None => self.record.missing(),
            Some(lease) => self.record.saw(lease, Instant::now()),
        }
        if let Some(released) = self.record.release(self.clock.now()) {
            let written = self.lock.update(&released).await?;
            self.record.saw(written, Instant::now());
        }
        self.report();
        Ok(())
    }

    fn holds(&mut self, written: Lease, sent: Instant) -> Attempt {
        self.record.wrote(written, sent);
        self.shared.change(|status| status.last_renewed = Some(sent));
        self.report();
        Attempt::Holds { sent }
    }

    /// Tells who holds the lease, if that has changed.
    fn report(&mut self) {
        let holder = self.record.holder();
        if self.shared.status.borrow().holder.as_deref() != holder {
            self.shared.change(|status| status.holder = holder.map(str::to_owned));
        }
        if let Some(holder) = holder
            && self.reported.as_deref() != Some(holder)
        {
            self.reported = Some(holder.to_owned());
            if let Some(on_new_leader) = &self.hooks.on_new_leader {
                on_new_leader(holder);
            }
        }
    }

    fn failed(&self, error: &ElectionError) {
        self.shared.change(|status| status.last_error = Some(error.to_string()));
        if let Some(on_error) = &self.hooks.on_error {
            on_error(error);
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}
