//! A client for each controller.

use std::fmt;
use std::sync::Arc;

use http::HeaderValue;
use kube_client::{Client, Config};

use crate::Metrics;
use crate::manager::BoxError;

/// Makes clients, one for each controller, so that the server can tell them apart. Clones are the same.
#[derive(Clone)]
pub struct ClientBuilder(Arc<Make>);

type Make = dyn Fn(&str) -> Result<Client, BoxError> + Send + Sync;

impl ClientBuilder {
    /// Asks this for a client for a controller of a name.
    pub fn new(make: impl Fn(&str) -> Result<Client, BoxError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// Clients that say `program/controller` as their user agent, and leave it to their users to try again.
    pub fn from_config(config: Config, program: impl Into<String>) -> Self {
        Self::counted(config, program, &Metrics::default())
    }

    /// The same, and their requests are counted.
    pub fn counted(config: Config, program: impl Into<String>, metrics: &Metrics) -> Self {
        let (program, requests) = (program.into(), metrics.requests(&config.cluster_url));
        Self::new(move |name| {
            let mut config = config.clone();
            // Informers and queues know better when to try again.
            config.default_retry = false;
            config.headers.retain(|(header, _)| header != http::header::USER_AGENT);
            let agent = HeaderValue::from_str(&format!("{program}/{name}"))?;
            config.headers.push((http::header::USER_AGENT, agent));
            Ok(kube_client::client::ClientBuilder::try_from(config)?.with_layer(&requests).build())
        })
    }

    /// The same client for all.
    pub fn shared(client: Client) -> Self {
        Self::new(move |_| Ok(client.clone()))
    }

    /// A client for the controller of this name.
    pub fn client(&self, name: &str) -> Result<Client, BoxError> {
        (self.0)(name)
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").finish_non_exhaustive()
    }
}
