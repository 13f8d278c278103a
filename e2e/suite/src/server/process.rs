//! The process of a server: started, heard, ended.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use kube_informer_e2e_locate::{Program, Sources};
use serde::Deserialize;
use tokio::sync::oneshot;

use super::{Options, ServerError, folder};

/// Says which program to run; if it is not set, it is the one that `cargo xtask e2e-server` built.
const PROGRAM_VARIABLE: &str = "KUBE_INFORMER_E2E_SERVER";

/// A server that is not ready after this time has failed; alone on a machine it takes seconds.
const START_PATIENCE: Duration = Duration::from_secs(120);

/// A server that has not stopped after this time is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked whether a server has stopped.
const POLL: Duration = Duration::from_millis(20);

/// How much of the end of a log is shown.
const LOG_END: u64 = 4 << 10;

/// The longest line that a server says when it is ready.
const MAX_LINE: u64 = 64 << 10;

/// What a server says when it is ready.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Ready {
    pub(super) url: String,
    pub(super) kubeconfig: PathBuf,
    pub(super) etcd: String,
    pub(super) pki: PathBuf,
    pub(super) version: String,
}

/// Where a server and its etcd are to be; on free ports by default.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    arguments: Vec<String>,
    guest: bool,
}

impl Place {
    /// Where it was.
    pub(super) fn again(ready: &Ready, guest: bool) -> Self {
        let port = ready.url.rsplit(':').next().unwrap_or("0");
        let mut place = if guest {
            Self::beside(ready)
        } else {
            let address = ready.etcd.trim_start_matches("http://");
            Self { arguments: vec![format!("--etcd-listen={address}")], guest }
        };
        place.arguments.push(format!("--port={port}"));
        place
    }

    /// With the data of a snapshot of etcd, at its revision and so many more.
    pub(super) fn restored(mut self, snapshot: &Path, bump: u64) -> Self {
        self.arguments.push(format!("--restore={}", snapshot.display()));
        self.arguments.push(format!("--restore-bump-revision={bump}"));
        self
    }

    /// On the etcd of another server, with its keys.
    pub(super) fn beside(ready: &Ready) -> Self {
        let etcd = format!("--etcd-endpoint={}", ready.etcd);
        Self { arguments: vec![etcd, format!("--pki={}", ready.pki.display())], guest: true }
    }

    /// The etcd is that of another server.
    pub(super) fn is_guest(&self) -> bool {
        self.guest
    }
}

/// A process that is killed when dropped. It also ends when its stdin is closed, so when this process ends.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    log: PathBuf,
}

impl Process {
    /// Starts a server, and returns when it can be used.
    pub(super) async fn start(
        folder: &Path,
        options: &Options,
        place: &Place,
    ) -> Result<(Self, Ready), ServerError> {
        let program = binary()?;
        let log = log_of(folder);
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .map_err(|error| ServerError::Folder { folder: folder.to_owned(), error })?;
        let temporary = format!("--temporary={}", !folder::kept());
        let ours = ["--stop-with-stdin".to_owned(), temporary, format!("--dir={}", folder.display())];
        let arguments =
            options.command_line(ours.into_iter().chain(place.arguments.iter().cloned()).collect());
        let mut child = Command::new(&program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .map_err(|error| ServerError::Run { program, error })?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let process = Self { child, stdin, log };
        let ready = process.ready(stdout).await?;
        Ok((process, ready))
    }

    async fn ready(&self, stdout: Option<ChildStdout>) -> Result<Ready, ServerError> {
        // A thread of its own: it must hold up neither the runtime nor its end.
        let (heard, line) = oneshot::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            if let Some(stdout) = stdout {
                let _ = BufReader::new(stdout.take(MAX_LINE)).read_line(&mut line);
            }
            let _ = heard.send(line);
        });
        let line = match tokio::time::timeout(START_PATIENCE, line).await {
            Ok(line) => line.unwrap_or_default(),
            Err(_) => return Err(self.late("be ready", START_PATIENCE)),
        };
        if line.is_empty() {
            return Err(ServerError::Ended { log: end_of(&self.log) });
        }
        serde_json::from_str(&line).map_err(|error| ServerError::NotUnderstood { said: line, error })
    }

    /// Stops the server in good order.
    pub(super) async fn stop(mut self) -> Result<(), ServerError> {
        drop(self.stdin.take());
        let ended = async {
            while matches!(self.child.try_wait(), Ok(None)) {
                tokio::time::sleep(POLL).await;
            }
        };
        let in_time = tokio::time::timeout(STOP_PATIENCE, ended).await.is_ok();
        if in_time { Ok(()) } else { Err(self.late("stop", STOP_PATIENCE)) }
    }

    fn late(&self, what: &'static str, patience: Duration) -> ServerError {
        ServerError::Late { what, patience, log: end_of(&self.log) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program to run.
pub(crate) fn binary() -> Result<PathBuf, ServerError> {
    match std::env::var_os(PROGRAM_VARIABLE) {
        Some(program) if !program.is_empty() => Ok(program.into()),
        _ => Ok(Sources::read(Program::ApiServer)?.built()?),
    }
}

pub(super) fn log_of(folder: &Path) -> PathBuf {
    folder.join("server.log")
}

/// The end of a log, as far as it can be read.
fn end_of(log: &Path) -> String {
    let mut end = Vec::new();
    if let Ok(mut file) = File::open(log) {
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let _ = file.seek(SeekFrom::Start(length.saturating_sub(LOG_END)));
        let _ = file.take(LOG_END).read_to_end(&mut end);
    }
    String::from_utf8_lossy(&end).into_owned()
}
