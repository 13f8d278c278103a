//! Events about the lease, for people.

use k8s_openapi::Resource;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ObjectReference;

use crate::events::{Event, EventRecorder};

/// Tells people who leads.
#[derive(Debug)]
pub(super) struct News {
    recorder: EventRecorder,
    lease: ObjectReference,
    identity: String,
}

impl News {
    pub(super) fn new(recorder: EventRecorder, namespace: &str, name: &str, identity: &str) -> Self {
        let lease = ObjectReference {
            api_version: Some(Lease::API_VERSION.to_owned()),
            kind: Some(Lease::KIND.to_owned()),
            namespace: Some(namespace.to_owned()),
            name: Some(name.to_owned()),
            ..ObjectReference::default()
        };
        Self { recorder, lease, identity: identity.to_owned() }
    }

    pub(super) fn became_leader(&self) {
        self.tell("Lead", "became leader");
    }

    pub(super) fn stopped_leading(&self) {
        self.tell("Stop", "stopped leading");
    }

    /// Where events have no room, this one is not worth waiting for.
    fn tell(&self, action: &str, what: &str) {
        let note = format!("{} {what}", self.identity);
        self.recorder.record(&self.lease, Event::normal("LeaderElection", action, note));
    }
}
