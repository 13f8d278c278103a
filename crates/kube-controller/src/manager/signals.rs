//! Ending when the system asks for it.

use tokio_util::sync::CancellationToken;

/// A token that the first SIGTERM or SIGINT (Ctrl-C) cancels; a second one ends the process at once, with status 1.
///
/// To be called once in a program. Fails where signals cannot be listened to.
pub fn stop_on_signal() -> std::io::Result<CancellationToken> {
    let mut signals = Signals::new()?;
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move {
        signals.next().await;
        stopped.cancel();
        signals.next().await;
        std::process::exit(1);
    });
    Ok(stop)
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // Nobody will ever ask.
            std::future::pending::<()>().await;
        }
    }
}
