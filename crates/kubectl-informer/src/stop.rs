//! When the program ends: Ctrl-C, SIGTERM, or the time that was given.

use std::time::Duration;

/// Waits until the program is to end. Signals are heeded from the call on, time counts from the first poll.
pub(crate) fn end(duration: Option<Duration>) -> impl Future<Output = ()> {
    let signal = signal();
    async move {
        let time = async {
            match duration {
                Some(duration) => tokio::time::sleep(duration).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = signal => {}
            () = time => {}
        }
    }
}

/// Waits until somebody wants the program to stop: Ctrl-C or SIGTERM. They are heeded from the call on, not from the first
/// poll: whoever was told that the program runs may stop it.
#[cfg(unix)]
pub(crate) fn signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    async fn received(signal: std::io::Result<Signal>) {
        match signal {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    }
    let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    async {
        tokio::select! {
            biased;
            () = received(interrupt) => {}
            () = received(terminate) => {}
        }
    }
}

/// Waits until somebody wants the program to stop: Ctrl-C.
#[cfg(not(unix))]
pub(crate) async fn signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Reads `5` or `0.5` as seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    match seconds_or_never(text)? {
        Duration::ZERO => Err("must be more than 0".to_owned()),
        duration => Ok(duration),
    }
}

/// Reads `5`, `0.5` or `0` as seconds.
pub(crate) fn seconds_or_never(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "must not be less than 0, nor for ever".to_owned())
}
