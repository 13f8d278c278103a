//! What is printed, by a thread of its own: a reader that is slow or stops reading slows the events down, and never
//! keeps the program from ending.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::paint;

/// How many lines wait for a slow reader before those who print are held back.
const WAITING_LINES: usize = 64;

/// How long the last lines may take at the end.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Where a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    Stdout,
    Stderr,
}

/// Prints lines, in the order in which they come.
#[derive(Debug)]
pub(crate) struct Output {
    lines: mpsc::Sender<(To, String)>,
    ended: oneshot::Receiver<()>,
}

impl Output {
    pub(crate) fn start() -> Self {
        let (lines, waiting) = mpsc::channel(WAITING_LINES);
        let (end, ended) = oneshot::channel();
        std::thread::spawn(move || {
            if let Err(error) = print(waiting) {
                if error.kind() == ErrorKind::BrokenPipe {
                    // The reader has gone away (`| head`): there is nobody left to tell, and that is not an error.
                    std::process::exit(0);
                }
                paint::complain(&format!("cannot write: {error}"));
                std::process::exit(1);
            }
            let _ = end.send(());
        });
        Self { lines, ended }
    }

    pub(crate) async fn print(&self, to: To, line: String) {
        // The thread ends only with the program or when the sender is gone.
        let _ = self.lines.send((to, line)).await;
    }

    /// Prints the last line, and waits until it has been printed, if somebody reads.
    pub(crate) async fn finish(self, last: Option<(To, String)>) {
        let _ = tokio::time::timeout(LAST_LINES, async {
            if let Some((to, line)) = last {
                self.print(to, line).await;
            }
            drop(self.lines);
            let _ = self.ended.await;
        })
        .await;
    }
}

fn print(mut lines: mpsc::Receiver<(To, String)>) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout());
    while let Some((to, line)) = lines.blocking_recv() {
        match to {
            To::Stdout => writeln!(out, "{line}")?,
            To::Stderr => {
                out.flush()?;
                // Whoever closed it does not want to know.
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
        if lines.is_empty() {
            out.flush()?;
        }
    }
    out.flush()
}
