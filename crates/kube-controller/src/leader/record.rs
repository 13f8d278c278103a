//! What a lease says, and what to make of it. No requests happen here.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

/// How long a lease is respected that was given away, in seconds. Nobody holds it, so this hardly matters.
const RELEASED_SECONDS: i32 = 1;

/// What a candidate knows about the lease, and what it would write.
#[derive(Debug)]
pub(super) struct Record {
    identity: String,
    lease_seconds: i32,
    labels: BTreeMap<String, String>,
    observed: Option<Observed>,
}

/// The lease as it was last seen.
#[derive(Debug)]
struct Observed {
    lease: Lease,
    /// When it was first seen to say what it says, by our clock; for what we wrote, when that was sent.
    at: Instant,
}

/// What one may do with a lease that a coordinator gives away.
#[derive(Debug, PartialEq)]
pub(super) enum Turn {
    /// It was given to us: this is to be written.
    Ours(Box<Lease>),
    /// It was given to us, and shall be given to this one: it must not be renewed.
    EndOfTerm(String),
    /// Somebody else has it.
    Theirs(String),
    /// Nobody has it, or it was not renewed in time: the coordinator decides.
    Nobodys,
}

impl Record {
    pub(super) fn new(identity: String, lease_seconds: i32, labels: BTreeMap<String, String>) -> Self {
        Self { identity, lease_seconds, labels, observed: None }
    }

    /// Who holds the lease as far as is known; none if nobody does.
    pub(super) fn holder(&self) -> Option<&str> {
        let spec = self.observed.as_ref()?.lease.spec.as_ref()?;
        spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())
    }

    pub(super) fn is_mine(&self) -> bool {
        self.holder() == Some(&self.identity)
    }

    /// The lease was read.
    pub(super) fn saw(&mut self, lease: Lease, now: Instant) {
        let at = match &self.observed {
            Some(observed) if observed.lease.spec == lease.spec => observed.at,
            _ => now,
        };
        self.observed = Some(Observed { lease, at });
    }

    /// The lease was written as we wanted it.
    pub(super) fn wrote(&mut self, lease: Lease, sent: Instant) {
        self.observed = Some(Observed { lease, at: sent });
    }

    /// There is no lease.
    pub(super) fn missing(&mut self) {
        self.observed = None;
    }

    /// What to write without reading first: ours, and nobody can have taken it.
    pub(super) fn renewal(&self, now: Instant, time: Timestamp) -> Option<Lease> {
        let versioned = self.observed.as_ref()?.lease.metadata.resource_version.is_some();
        (versioned && self.is_mine() && !self.is_over(now)).then(|| self.claim(time))
    }

    /// What to write after reading; none while somebody else holds the lease.
    pub(super) fn takeover(&self, now: Instant, time: Timestamp) -> Option<Lease> {
        let free = self.holder().is_none() || self.is_mine() || self.is_over(now);
        free.then(|| self.claim(time))
    }

    /// What to do after reading, where a coordinator decides who leads.
    pub(super) fn turn(&self, now: Instant, time: Timestamp) -> Turn {
        match self.holder() {
            Some(other) if !self.is_mine() => Turn::Theirs(other.to_owned()),
            Some(_) if !self.is_over(now) => match self.preferred() {
                Some(other) => Turn::EndOfTerm(other.to_owned()),
                None => Turn::Ours(Box::new(self.claim(time))),
            },
            _ => Turn::Nobodys,
        }
    }

    /// Who shall have the lease next, if that is decided.
    fn preferred(&self) -> Option<&str> {
        let spec = self.observed.as_ref()?.lease.spec.as_ref()?;
        spec.preferred_holder.as_deref().filter(|holder| !holder.is_empty())
    }

    /// What to write to give the lease away; none if it is not ours.
    pub(super) fn release(&self, time: Timestamp) -> Option<Lease> {
        let mut lease = self.observed.as_ref().filter(|_| self.is_mine())?.lease.clone();
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(RELEASED_SECONDS);
        spec.renew_time = Some(MicroTime(time));
        spec.acquire_time = Some(MicroTime(time));
        Some(lease)
    }

    /// The lease was not renewed for as long as it says, by our clock.
    fn is_over(&self, now: Instant) -> bool {
        let Some(Observed { lease, at }) = &self.observed else { return true };
        let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or(0);
        now.saturating_duration_since(*at) >= Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
    }

    /// The lease with us as its holder; what we do not know in it is kept.
    fn claim(&self, time: Timestamp) -> Lease {
        let (known, mine) = (self.observed.as_ref(), self.is_mine());
        let mut lease = known.map(|observed| observed.lease.clone()).unwrap_or_default();
        if !self.labels.is_empty() {
            lease.metadata.labels.get_or_insert_default().extend(self.labels.clone());
        }
        let spec: &mut LeaseSpec = lease.spec.get_or_insert_default();
        if !mine {
            spec.acquire_time = Some(MicroTime(time));
            spec.lease_transitions =
                Some(if known.is_some() { spec.lease_transitions.unwrap_or(0).saturating_add(1) } else { 0 });
        }
        spec.holder_identity = Some(self.identity.clone());
        spec.lease_duration_seconds = Some(self.lease_seconds);
        spec.renew_time = Some(MicroTime(time));
        lease
    }
}

#[cfg(test)]
mod tests;
