//! Requests for one Lease.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube_client::Client;
use kube_client::api::{Api, PostParams};

use super::ElectionError;

/// Requests for one Lease, none of which takes longer than so much.
#[derive(Clone, Debug)]
pub(super) struct Lock {
    api: Api<Lease>,
    namespace: String,
    name: String,
    timeout: Duration,
}

impl Lock {
    pub(super) fn new(client: Client, namespace: String, name: String, timeout: Duration) -> Self {
        Self { api: Api::namespaced(client, &namespace), namespace, name, timeout }
    }

    /// The lease; none if there is none.
    pub(super) async fn read(&self) -> Result<Option<Lease>, ElectionError> {
        self.within("read", self.api.get_opt(&self.name)).await
    }

    pub(super) async fn create(&self, mut lease: Lease) -> Result<Lease, ElectionError> {
        lease.metadata.name = Some(self.name.clone());
        lease.metadata.namespace = Some(self.namespace.clone());
        self.within("create", self.api.create(&PostParams::default(), &lease)).await
    }

    /// Writes the lease if it is still as it was when it was read.
    pub(super) async fn update(&self, lease: &Lease) -> Result<Lease, ElectionError> {
        self.within("update", self.api.replace(&self.name, &PostParams::default(), lease)).await
    }

    async fn within<T>(
        &self,
        action: &'static str,
        request: impl Future<Output = Result<T, kube_client::Error>>,
    ) -> Result<T, ElectionError> {
        let lease = || format!("{}/{}", self.namespace, self.name);
        match tokio::time::timeout(self.timeout, request).await {
            Ok(answer) => answer.map_err(|source| ElectionError::Request {
                action,
                lease: lease(),
                source: Box::new(source),
            }),
            Err(_) => Err(ElectionError::NoAnswer { action, lease: lease(), after: self.timeout }),
        }
    }
}
