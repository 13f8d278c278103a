//! `kubectl informer`: a Kubernetes API server to try things on, and a look at what happens in it.

mod demo;
mod paint;
mod serve;
mod world;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(
    name = "kubectl-informer",
    version,
    about = "Runs a Kubernetes API server in this process and shows what happens in it",
    after_help = "Without a command it runs `demo`."
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a server with a small changing cluster inside, and print every change
    Demo(demo::DemoArguments),
    /// Run a Kubernetes API server on 127.0.0.1 until Ctrl-C, for kubectl and every other client
    Serve(serve::ServeArguments),
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Some(Command::Serve(arguments)) => serve::run(arguments).await,
        Some(Command::Demo(arguments)) => demo::run(arguments).await,
        None => demo::run(demo::DemoArguments::default()).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            paint::complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Waits until somebody wants the program to stop: Ctrl-C or SIGTERM.
async fn stop_signal() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}
