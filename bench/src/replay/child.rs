//! The replay server in a process of its own.

use std::process::Stdio;

use http::Request;
use kube_client::Client;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{Set, client};
use crate::Error;

/// A running replay server.
#[derive(Debug)]
pub(crate) struct Replay {
    child: Child,
    url: String,
}

impl Replay {
    pub(crate) async fn start(set: Set, objects: u64, tls: bool) -> Result<Self, Error> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["replay", set.name(), &objects.to_string()])
            .args(tls.then_some("--tls"))
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

    /// Forgets all commands: nothing has changed, and nothing was missed.
    pub(crate) async fn reset(&self) -> Result<(), Error> {
        Control::new(&self.url)?.send("/bench/reset").await
    }

    pub(crate) async fn stop(mut self) -> Result<(), Error> {
        drop(self.child.stdin.take());
        self.child.wait().await?;
        Ok(())
    }
}

/// Sends commands to a replay server.
pub(crate) struct Control(Client);

/// What a replay server says of itself.
#[derive(Debug, Deserialize)]
pub(crate) struct Described {
    /// When it started: nanoseconds of the wall clock.
    pub(crate) started: u64,
    pub(crate) kinds: Vec<Served>,
}

/// How much a replay server has of a kind.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Served {
    pub(crate) kind: String,
    pub(crate) path: String,
    pub(crate) count: usize,
    /// When a reader last asked for all objects.
    pub(crate) asked: u64,
    /// How many of a hundred updates are of this kind.
    updates: usize,
    changed: std::collections::HashMap<String, usize>,
}

impl Served {
    /// How many of `all` updates are of this kind.
    pub(crate) fn updates(&self, all: usize) -> usize {
        all * self.updates / 100
    }

    /// How many objects a relist finds changed if this percentage of all is.
    pub(crate) fn changed(&self, percent: u64) -> Result<usize, Error> {
        let changed = self.changed.get(&percent.to_string()).copied();
        changed.ok_or_else(|| {
            format!("the replay server changes 1 or 50 % of all objects, not {percent}").into()
        })
    }
}

impl Control {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        Ok(Self(client(url)?))
    }

    pub(crate) async fn send(&self, path: &str) -> Result<(), Error> {
        self.0.request_text(Request::post(path).body(Vec::new())?).await?;
        Ok(())
    }

    pub(crate) async fn describe(&self) -> Result<Described, Error> {
        let text = self.0.request_text(Request::get("/bench/state").body(Vec::new())?).await?;
        Ok(serde_json::from_str(&text)?)
    }
}
