//! A program that runs, and what it says. Whatever it does, a test that waits for it ends.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kube_testserver::TestServer;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, timeout_at};

/// Nothing takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Process {
    child: Child,
    said: UnboundedReceiver<String>,
    kubeconfig: PathBuf,
}

impl Process {
    /// Starts a program that finds a server by its kubeconfig.
    pub(crate) fn start(program: &str, server: &TestServer, arguments: &[&str]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = format!("kubeconfig-{}-{number}.yaml", std::process::id());
        let kubeconfig = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
        std::fs::write(&kubeconfig, server.kubeconfig()).unwrap();
        let mut child = Command::new(program)
            .args(arguments)
            .env("KUBECONFIG", &kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, said) = unbounded_channel();
        hear(child.stdout.take().unwrap(), sender.clone());
        hear(child.stderr.take().unwrap(), sender);
        Self { child, said, kubeconfig }
    }

    /// Waits until it says this, on stdout or on stderr.
    pub(crate) async fn says(&mut self, what: &str) -> String {
        let (until, mut heard) = (Instant::now() + PATIENCE, Vec::new());
        loop {
            match timeout_at(until, self.said.recv()).await {
                Ok(Some(line)) if line.contains(what) => return line,
                Ok(Some(line)) => heard.push(line),
                Ok(None) => panic!("it never said {what:?}, but {heard:?}"),
                Err(_) => panic!("it does not say {what:?}, but {heard:?}"),
            }
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until it has ended.
    pub(crate) async fn code(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "it does not end");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

/// Hands over each line, until there are no more.
fn hear(from: impl Read + Send + 'static, sender: UnboundedSender<String>) {
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
}
