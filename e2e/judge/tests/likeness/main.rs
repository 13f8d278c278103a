//! Our server beside the real one: what kubectl prints, what requests are answered, and what kube's watchers hear must be
//! the same, but for what is named with its reason.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
mod kubectl;
mod requests;
mod watchers;

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube_informer_e2e::{Options, RealServer, skip};
use kube_testserver::TestServer;

/// Nothing here takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the questions are.
fn folder() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap().join("likeness")
}

/// A real server and ours.
struct Both {
    real: RealServer,
    ours: TestServer,
    real_kubeconfig: PathBuf,
    our_kubeconfig: PathBuf,
    /// For files of this test; goes with it.
    folder: PathBuf,
}

impl Both {
    /// Starts both, with lists in memory or without: without, the real server forgets what etcd has forgotten.
    async fn start(name: &str, cache: bool) -> Self {
        let options = if cache { Options::new() } else { Options::new().without_watch_cache() };
        let real = RealServer::start(options.rbac()).await.unwrap_or_else(|error| panic!("{error}"));
        let ours = TestServer::builder().watch_cache(cache).system_objects(true).start().await.unwrap();
        let folder = std::env::temp_dir().join(format!("kube-informer-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let our_kubeconfig = folder.join("kubeconfig");
        std::fs::write(&our_kubeconfig, ours.kubeconfig()).unwrap();
        Self { real_kubeconfig: real.kubeconfig().to_owned(), real, ours, our_kubeconfig, folder }
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_prints_the_same_on_both_servers() {
    if !skip() && !kube_informer_e2e_judge::skip() {
        kubectl::compare(&Both::start("kubectl", true).await).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_answered_the_same_by_both_servers() {
    if !skip() {
        requests::compare(&Both::start("requests", true).await, "requests.yaml").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_programs_ask_is_answered_the_same_by_both_servers() {
    if !skip() {
        requests::compare(&Both::start("programs", true).await, "programs.yaml").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_forgotten_is_refused_in_the_same_way_by_both_servers() {
    if !skip() {
        let both = Both::start("expired", false).await;
        requests::compare(&both, "expired.yaml").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_of_kube_hear_the_same_from_both_servers() {
    if !skip() {
        watchers::compare(&Both::start("watchers", false).await).await;
    }
}
