//! `serve`: the API server as a program.

use std::path::{Path, PathBuf};

use clap::Args;
use kube_testserver::{SeedError, TestServer};

use crate::{paint, private_file, stop};

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Listen on this port of 127.0.0.1 [default: any free port]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Write a kubeconfig for the server to this file, which only you may read; links are not followed
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,
    /// Create the objects in this YAML or JSON file first; may be given several times
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    seeds: Vec<PathBuf>,
    /// Leave deleted namespaces, orphans and stopping pods alone, as an API server without controllers does
    #[arg(long)]
    bare: bool,
}

/// Why the server could not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("cannot listen on 127.0.0.1:{port}: {source}; choose another --port, or none for a free one")]
    Listen { port: u16, source: std::io::Error },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}: {source}", path.display())]
    Seed { path: PathBuf, source: SeedError },
    #[error("cannot write the kubeconfig to {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
}

pub(crate) async fn run(arguments: ServeArguments) -> Result<(), Box<dyn std::error::Error>> {
    let stop = stop::signal();
    let controllers = !arguments.bare;
    let server = TestServer::builder()
        .port(arguments.port)
        .system_objects(true)
        .garbage_collection(controllers)
        .namespace_deletion(controllers)
        .pod_termination(controllers)
        .start()
        .await
        .map_err(|source| ServeError::Listen { port: arguments.port, source })?;
    for path in &arguments.seeds {
        let count = seed(&server, path)?;
        paint::say(&format!("{count} objects from {}", path.display()));
    }
    if let Some(path) = &arguments.kubeconfig_out {
        private_file::write(path, &server.kubeconfig())
            .map_err(|source| ServeError::Write { path: path.clone(), source })?;
    }
    paint::say(&format!("a Kubernetes API server listens on {}", server.url()));
    match &arguments.kubeconfig_out {
        Some(path) => {
            paint::say(&format!("  export KUBECONFIG={}", path.display()));
            paint::say("  kubectl get namespaces");
        }
        None => paint::say(&format!("  kubectl --server {} get namespaces", server.url())),
    }
    paint::note("Ctrl-C stops it; nothing is kept.");
    stop.await;
    server.shutdown().await;
    Ok(())
}

fn seed(server: &TestServer, path: &Path) -> Result<usize, ServeError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| ServeError::Read { path: path.to_owned(), source })?;
    server.seed(&text).map_err(|source| ServeError::Seed { path: path.to_owned(), source })
}
