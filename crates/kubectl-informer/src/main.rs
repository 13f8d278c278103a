//! `kubectl informer`: what happens in a cluster, line by line, and an API server to try things on.

mod connect;
mod demo;
mod diff;
mod embedded;
mod follow;
mod json;
mod line;
mod output;
mod paint;
mod private_file;
mod seen;
mod serve;
mod stop;
mod trouble;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Without a command it runs `demo`, which needs nothing.

Examples:
  kubectl-informer                                  a small cluster in this process, and all that happens in it
  kubectl-informer watch pods,deploy -n shop        the pods and deployments of a namespace of your cluster
  kubectl-informer watch events -A -o json          all events, as JSON
  kubectl-informer serve --kubeconfig-out ./config  an API server to try things on";

#[derive(Debug, Parser)]
#[command(
    name = "kubectl-informer",
    version,
    about = "Shows what happens in a Kubernetes cluster, and runs an API server to try things on",
    after_help = EXAMPLES
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a small cluster in this process, with controllers at work, and print every change
    Demo(demo::DemoArguments),
    /// Print every change of resources of a cluster, until Ctrl-C
    Watch(watch::WatchArguments),
    /// Run a Kubernetes API server on 127.0.0.1 until Ctrl-C, for kubectl and every other client
    Serve(serve::ServeArguments),
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Some(Command::Serve(arguments)) => serve::run(arguments).await,
        Some(Command::Watch(arguments)) => watch::run(arguments).await,
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
