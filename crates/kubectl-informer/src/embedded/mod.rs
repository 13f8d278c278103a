//! A small cluster in this process, and what happens in it: an API server, sample-controller, controllers of
//! kube-controller-manager, nodes that run pods, and somebody who makes Foos, scales them and deletes them again.

#![allow(clippy::disallowed_names, reason = "here a foo is a Foo")]

mod nodes;
mod programs;
mod sight;
mod story;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube_client::Client;
use kube_informer::SharedInformerFactory;
use kube_testserver::{SeedError, TestServer, TestServerBuilder};

use programs::{Programs, ProgramsError};
use sight::Sight;
use story::Story;

/// How long one looks at what a step has led to, unless it is said otherwise.
pub(crate) const DEFAULT_PAUSE: Duration = Duration::from_secs(2);

/// The time of day.
type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A server, the programs of a cluster, and what happens there.
pub(crate) struct Embedded {
    server: TestServer,
    client: Client,
    programs: Programs,
    story: Story,
}

/// Why there is no embedded cluster, or not any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmbeddedError {
    #[error("cannot listen on 127.0.0.1: {0}; does this machine let programs do so?")]
    Listen(std::io::Error),
    #[error("cannot make a client for the embedded server: {0}")]
    Client(kube_client::Error),
    #[error("the embedded server does not take what belongs into it: {0}")]
    Seed(#[from] SeedError),
    #[error("the controllers of the embedded cluster: {0}")]
    Programs(#[from] ProgramsError),
    #[error("the embedded cluster came to a halt: {0}")]
    Halted(kube_client::Error),
}

impl Embedded {
    /// Starts all of it. Nothing happens before it [lives](Self::live).
    pub(crate) async fn start(pause: Duration) -> Result<Self, EmbeddedError> {
        let server = server().start().await.map_err(EmbeddedError::Listen)?;
        let mut config = server.client_config();
        // Informers and controllers try again by themselves.
        config.default_retry = false;
        let client = Client::try_from(config).map_err(EmbeddedError::Client)?;
        #[expect(clippy::disallowed_methods, reason = "a program has a clock")]
        let clock: Clock = Arc::new(Timestamp::now);
        Self::on(server, client, clock, pause).await
    }

    async fn on(
        server: TestServer,
        client: Client,
        clock: Clock,
        pause: Duration,
    ) -> Result<Self, EmbeddedError> {
        // Before the garbage collector asks what kinds there are.
        server.seed(sample_controller::DEFINITION)?;
        nodes::seed(&server)?;
        // One set of informers for all that are not a program of their own.
        let factory =
            SharedInformerFactory::builder(client.clone()).default_resync(sample_controller::RESYNC).build();
        let sight = Sight::new(&factory)?;
        let programs = Programs::start(&client, factory, &clock).await?;
        let story = Story::new(client.clone(), sight, pause);
        Ok(Self { server, client, programs, story })
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Lets things happen, and says what is done before it is done, until something fails.
    pub(crate) async fn live(&mut self, say: impl AsyncFn(String)) -> EmbeddedError {
        tokio::select! {
            biased;
            error = self.programs.failed() => error.into(),
            error = self.story.tell(say) => EmbeddedError::Halted(error),
        }
    }

    /// Stops the programs, then the server, and says what it did. An error if a program would not end.
    pub(crate) async fn stop(self) -> Result<String, EmbeddedError> {
        let ended = self.programs.stop().await;
        let stats = self.server.stats();
        self.server.shutdown().await;
        ended?;
        Ok(format!("the server answered {} requests and held {} objects", stats.requests, stats.objects))
    }
}

/// Garbage is collected by the controllers here, and pods are ended by the nodes here.
fn server() -> TestServerBuilder {
    TestServer::builder().namespace_deletion(true)
}
