//! The real client-go, in a process that plays many scenarios at once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kube_informer_e2e_locate::{Program, Sources};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdout};
use tokio::sync::{mpsc, oneshot};

use crate::command::{Answer, Command, Heard};
use crate::log::Log;
use crate::scenario::Way;

/// So many commands wait at most for the process to read them.
const WAITING_COMMANDS: usize = 1024;

/// A process. Dropped, it is killed.
#[derive(Debug)]
pub struct ClientGo {
    _child: Child,
    commands: mpsc::Sender<Vec<u8>>,
    next: AtomicU64,
    heard: Arc<Hearing>,
}

/// Those who wait for lines.
#[derive(Debug, Default)]
struct Hearing {
    answers: Mutex<HashMap<u64, oneshot::Sender<Result<Answer, String>>>>,
    logs: Mutex<HashMap<String, Arc<Log>>>,
}

#[derive(Serialize)]
struct Numbered<'a> {
    number: u64,
    run: &'a str,
    #[serde(flatten)]
    command: &'a Command,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    number: u64,
    #[serde(default)]
    answer: Option<Answer>,
    #[serde(default)]
    error: String,
    #[serde(default)]
    run: String,
    #[serde(default)]
    handler: String,
    #[serde(default)]
    event: Option<Heard>,
}

impl ClientGo {
    /// Where the program is.
    pub fn program() -> Result<PathBuf, String> {
        let built = Sources::read(Program::ClientGo).and_then(|sources| sources.built());
        built.map_err(|error| error.to_string())
    }

    /// Starts a process that asks for objects in this way.
    pub fn start(way: Way) -> Result<Arc<Self>, String> {
        let program = Self::program()?;
        let stream = way == Way::Stream;
        let mut child = tokio::process::Command::new(&program)
            .arg("judge")
            .env("KUBE_FEATURE_WatchListClient", stream.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the process has no stdin or stdout".to_owned());
        };
        let (commands, mut lines) = mpsc::channel::<Vec<u8>>(WAITING_COMMANDS);
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                if stdin.write_all(&line).await.is_err() {
                    return;
                }
            }
        });
        let heard = Arc::new(Hearing::default());
        tokio::spawn(hear(stdout, Arc::clone(&heard)));
        Ok(Arc::new(Self { _child: child, commands, next: AtomicU64::new(1), heard }))
    }

    /// What the handlers of a run hear goes to this log.
    pub fn listen(&self, run: &str, log: &Arc<Log>) {
        self.heard.logs.lock().insert(run.to_owned(), Arc::clone(log));
    }

    /// Does what it is told, and answers.
    pub async fn call(&self, run: &str, command: Command) -> Result<Answer, String> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.heard.answers.lock().insert(number, answer);
        let mut line =
            serde_json::to_vec(&Numbered { number, run, command: &command }).map_err(|e| e.to_string())?;
        line.push(b'\n');
        let gone = || "the process of client-go has ended".to_owned();
        self.commands.send(line).await.map_err(|_| gone())?;
        let answer = answered.await.map_err(|_| gone())?;
        if command.what == "end" {
            self.heard.logs.lock().remove(run);
        }
        answer
    }
}

/// Hears what the process says, until its end.
async fn hear(stdout: ChildStdout, hearing: Arc<Hearing>) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(text)) = lines.next_line().await {
        // A line that is not understood answers nobody: whoever waits says what it waited for.
        let Ok(line) = serde_json::from_str::<Line>(&text) else { continue };
        if let Some(event) = line.event {
            let log = hearing.logs.lock().get(&line.run).cloned();
            if let Some(log) = log {
                log.heard(&line.handler, event);
            }
        } else if let Some(answer) = hearing.answers.lock().remove(&line.number) {
            let outcome = if line.error.is_empty() {
                Ok(line.answer.unwrap_or(Answer::Done(None)))
            } else {
                Err(line.error)
            };
            let _ = answer.send(outcome);
        }
    }
    hearing.answers.lock().clear();
}
