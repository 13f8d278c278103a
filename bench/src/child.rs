//! The measured server, in a process of its own, so that its memory is its own.

use std::process::Stdio;

use kube_client::{Client, Config};
use kube_testserver::TestServer;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::{Error, memory};

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    url: String,
}

impl Server {
    pub(crate) async fn start() -> Result<Self, Error> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = child.stdout.take().ok_or("the server has no output")?;
        let url = BufReader::new(output).lines().next_line().await?.ok_or("the server did not start")?;
        Ok(Self { child, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A client with connections of its own.
    pub(crate) fn client(&self) -> Result<Client, Error> {
        let mut config = Config::new(self.url.parse()?);
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }

    /// The memory that the server's process holds, in bytes; none where the system does not tell.
    pub(crate) fn resident(&self) -> Option<usize> {
        memory::resident(self.child.id()?)
    }

    pub(crate) async fn stop(mut self) -> Result<(), Error> {
        drop(self.child.stdin.take());
        self.child.wait().await?;
        Ok(())
    }
}

/// Runs a server until standard input ends.
pub(crate) async fn serve() -> Result<(), Error> {
    let server = TestServer::builder().create_namespaces(true).start().await?;
    crate::report::say(&server.url());
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    server.shutdown().await;
    Ok(())
}
