//! Why a real server cannot be used.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use kube_informer_e2e_locate::LocateError;

/// Why a real server cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// There is no program.
    #[error(transparent)]
    Locate(#[from] LocateError),
    /// Its files cannot be written.
    #[error("cannot use the folder {folder}: {error}")]
    Folder {
        /// Which folder.
        folder: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The program cannot be run.
    #[error("cannot run {program}: {error}")]
    Run {
        /// Which program.
        program: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The program ended before it was ready.
    #[error("the real API server ended before it was ready; the end of its log:\n{log}")]
    Ended {
        /// The end of what it wrote.
        log: String,
    },
    /// The program is not ready in time, or does not end in time.
    #[error("the real API server took longer than {patience:?} to {what}; the end of its log:\n{log}")]
    Late {
        /// What it was to do.
        what: &'static str,
        /// How long was waited.
        patience: Duration,
        /// The end of what it wrote.
        log: String,
    },
    /// The program said something else than where it is.
    #[error("the real API server said {said:?} instead of where it is: {error}")]
    NotUnderstood {
        /// What it said.
        said: String,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// The kubeconfig that it wrote is of no use.
    #[error("the kubeconfig of the real API server is of no use: {0}")]
    Kubeconfig(#[from] kube_client::config::KubeconfigError),
    /// An address is none.
    #[error("this is no address: {0}")]
    Address(#[from] http::uri::InvalidUri),
    /// A request could not be made, or was not answered well.
    #[error("a request failed: {0}")]
    Request(#[from] kube_client::Error),
    /// etcd said something else than what it was asked for.
    #[error("etcd did not say what it was asked for: {0}")]
    Etcd(String),
}
