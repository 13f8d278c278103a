//! The replay server in a process of its own.

use std::process::Stdio;

use http::Request;
use kube_client::{Client, Config};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::Error;

/// A running replay server.
#[derive(Debug)]
pub(crate) struct Replay {
    child: Child,
    url: String,
}

impl Replay {
    pub(crate) async fn start(pods: u64, widgets: u64) -> Result<Self, Error> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["replay", &pods.to_string(), &widgets.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = child.stdout.take().ok_or("the replay server has no output")?;
        let url =
            BufReader::new(output).lines().next_line().await?.ok_or("the replay server did not start")?;
        Ok(Self { child, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Everything is as it was at the start.
    pub(crate) async fn reset(&self) -> Result<(), Error> {
        Control::new(&self.url)?.tell("/bench/reset").await
    }

    pub(crate) async fn stop(mut self) -> Result<(), Error> {
        drop(self.child.stdin.take());
        self.child.wait().await?;
        Ok(())
    }
}

/// Says what is to happen on a replay server.
pub(crate) struct Control(Client);

impl Control {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        let mut config = Config::new(url.parse()?);
        config.default_retry = false;
        Ok(Self(Client::try_from(config)?))
    }

    pub(crate) async fn tell(&self, path: &str) -> Result<(), Error> {
        self.0.request_text(Request::post(path).body(Vec::new())?).await?;
        Ok(())
    }

    /// When the server started, and when it was last asked for all objects: nanoseconds of the wall clock.
    pub(crate) async fn times(&self) -> Result<(u64, u64), Error> {
        let text = self.0.request_text(Request::get("/bench/state").body(Vec::new())?).await?;
        let state: serde_json::Value = serde_json::from_str(&text)?;
        let number = |name: &str| state[name].as_u64().ok_or("the replay server did not say when");
        Ok((number("started")?, number("asked")?))
    }
}
