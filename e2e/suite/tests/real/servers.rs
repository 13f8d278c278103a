//! The same test on a real server and on the embedded one.

use kube_client::{Client, Config};
use kube_informer_e2e::{Options, Proxy, RealServer};
use kube_testserver::{TestServer, TestServerBuilder};

use crate::{shared, start};

/// Which server a test is to run on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which {
    Real,
    Embedded,
}

/// Runs tests on both: each takes [`Which`].
macro_rules! on_both_servers {
    ($($test:ident,)+) => {
        mod on_a_real_server {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    if !kube_informer_e2e::skip() {
                        super::$test(crate::servers::Which::Real).await;
                    }
                }
            )+
        }

        mod on_the_embedded_server {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test(crate::servers::Which::Embedded).await;
                }
            )+
        }
    };
}
pub(crate) use on_both_servers;

/// A server for a test.
#[derive(Debug)]
pub(crate) enum Server {
    /// One that many tests use.
    Shared(&'static RealServer),
    Own(Box<RealServer>),
    Embedded(TestServer),
}

impl Which {
    /// A server that the test leaves as it was.
    pub(crate) async fn shared(self) -> Server {
        match self {
            Self::Real => Server::Shared(shared().await),
            Self::Embedded => Server::embedded(TestServer::builder()).await,
        }
    }

    /// A server that has no memory of what was: a compaction is felt at once.
    pub(crate) async fn without_watch_cache(self) -> Server {
        match self {
            Self::Real => Server::Own(Box::new(start(Options::new().without_watch_cache()).await)),
            Self::Embedded => Server::embedded(TestServer::builder().watch_cache(false)).await,
        }
    }

    /// A server that deletes what is in a namespace that is deleted.
    pub(crate) async fn with_namespace_deletion(self) -> Server {
        match self {
            Self::Real => {
                Server::Own(Box::new(start(Options::new().controllers("namespace-controller")).await))
            }
            Self::Embedded => Server::embedded(TestServer::builder().namespace_deletion(true)).await,
        }
    }
}

impl Server {
    async fn embedded(builder: TestServerBuilder) -> Self {
        Self::Embedded(builder.start().await.unwrap())
    }

    fn real(&self) -> Result<&RealServer, &TestServer> {
        match self {
            Self::Shared(server) => Ok(server),
            Self::Own(server) => Ok(server),
            Self::Embedded(server) => Err(server),
        }
    }

    /// A client of an admin. It tries nothing twice.
    pub(crate) async fn client(&self) -> Client {
        let config = match self.real() {
            Ok(real) => real.config_at(real.url()).await.unwrap(),
            Err(embedded) => embedded.client_config(),
        };
        client(config)
    }

    /// `127.0.0.1:PORT`.
    pub(crate) fn address(&self) -> String {
        match self.real() {
            Ok(real) => real.address().to_owned(),
            Err(embedded) => embedded.address().to_string(),
        }
    }

    /// A proxy before it, and the settings of a client that goes through it.
    pub(crate) async fn proxy(&self) -> (Proxy, Config) {
        match self.real() {
            Ok(real) => {
                let proxy = Proxy::start(real.address()).await.unwrap();
                let config = real.config_at(&proxy.url()).await.unwrap();
                (proxy, config)
            }
            Err(embedded) => {
                let proxy = Proxy::start(embedded.address().to_string()).await.unwrap();
                let mut config = embedded.client_config();
                config.cluster_url = format!("http://{}", proxy.address()).parse().unwrap();
                (proxy, config)
            }
        }
    }

    /// Forgets everything but the present.
    pub(crate) async fn compact(&self) {
        match self.real() {
            Ok(real) => drop(real.compact().await.unwrap()),
            Err(embedded) => drop(embedded.compact()),
        }
    }
}

pub(crate) fn client(mut config: Config) -> Client {
    // What goes wrong is what tests are about.
    config.default_retry = false;
    Client::try_from(config).unwrap()
}
