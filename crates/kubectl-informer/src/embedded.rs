//! An API server in this process, with a small changing cluster inside.

use std::time::Duration;

use kube_client::Client;
use kube_testserver::TestServer;

use crate::world::World;

/// How often something happens in the cluster.
const STEP: Duration = Duration::from_millis(700);

/// A server and the world in it.
pub(crate) struct Embedded {
    server: TestServer,
    client: Client,
}

/// Why there is no embedded cluster.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmbeddedError {
    #[error("cannot listen on 127.0.0.1: {0}; does this machine let programs do so?")]
    Listen(std::io::Error),
    #[error("cannot make a client for the embedded server: {0}")]
    Client(kube_client::Error),
    #[error("the embedded cluster came to a halt: {0}")]
    Halted(kube_client::Error),
}

impl Embedded {
    pub(crate) async fn start() -> Result<Self, EmbeddedError> {
        let server = TestServer::builder()
            .garbage_collection(true)
            .namespace_deletion(true)
            .pod_termination(true)
            .start()
            .await
            .map_err(EmbeddedError::Listen)?;
        let client = server.client().map_err(EmbeddedError::Client)?;
        Ok(Self { server, client })
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Lets things happen, until one of them fails.
    pub(crate) async fn live(&self) -> EmbeddedError {
        let mut world = World::new(self.client());
        loop {
            if let Err(error) = world.step().await {
                return EmbeddedError::Halted(error);
            }
            tokio::time::sleep(STEP).await;
        }
    }

    /// Stops the server, and says what it did.
    pub(crate) async fn stop(self) -> String {
        let stats = self.server.stats();
        self.server.shutdown().await;
        format!("the server answered {} requests and held {} objects", stats.requests, stats.objects)
    }
}
