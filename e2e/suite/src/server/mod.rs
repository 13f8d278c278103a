//! A real kube-apiserver with its etcd, as a process of its own.

mod error;
mod etcd;
mod folder;
mod options;
mod process;

pub use error::ServerError;
pub use options::Options;
pub(crate) use process::binary;

use std::path::{Path, PathBuf};

use kube_client::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube_client::{Client, Config};

use tokio::sync::{Semaphore, SemaphorePermit};

use folder::Folder;
use process::{Place, Process, Ready};

/// So many servers run at once in one process; more wait for their turn. Each takes about 300 MB, and a core while it
/// starts. A second one on the same etcd does not count.
const MAX_SERVERS: usize = 4;

static TURNS: Semaphore = Semaphore::const_new(MAX_SERVERS);

/// A real kube-apiserver on loopback.
///
/// Dropped, it is killed, and its folder is removed. One that is never dropped, or whose test process dies, stops when
/// the process ends, and removes its folder itself.
#[derive(Debug)]
pub struct RealServer {
    // Dropped in this order: first the process, then its files.
    process: Option<Process>,
    folder: Folder,
    options: Options,
    ready: Ready,
    /// The etcd is that of another server.
    guest: bool,
    _turn: Option<SemaphorePermit<'static>>,
}

impl RealServer {
    /// Starts a server, and returns when it can be used.
    pub async fn start(options: Options) -> Result<Self, ServerError> {
        // It is never closed, so there is always a turn.
        let turn = TURNS.acquire().await.ok();
        let server = Self::start_at(options, Place::default()).await?;
        Ok(Self { _turn: turn, ..server })
    }

    async fn start_at(options: Options, place: Place) -> Result<Self, ServerError> {
        let folder = Folder::new()?;
        let (process, ready) = Process::start(folder.path(), &options, &place).await?;
        Ok(Self { process: Some(process), folder, options, ready, guest: place.is_guest(), _turn: None })
    }

    /// `https://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.ready.url
    }

    /// The address, for example for a [`Proxy`](crate::Proxy).
    pub fn address(&self) -> &str {
        self.ready.url.trim_start_matches("https://")
    }

    /// What the server says it is, for example `v1.36.4`.
    pub fn version(&self) -> &str {
        &self.ready.version
    }

    /// The path of a kubeconfig for a cluster admin.
    pub fn kubeconfig(&self) -> &Path {
        &self.ready.kubeconfig
    }

    /// The folder with the keys of the cluster.
    pub fn keys(&self) -> &Path {
        &self.ready.pki
    }

    /// What the server has written to its log.
    pub fn log(&self) -> PathBuf {
        process::log_of(self.folder.path())
    }

    /// Every request, one after the other, if the server was started with [`Options::audit_log`].
    pub fn audit_log(&self) -> PathBuf {
        self.folder.path().join("audit.log")
    }

    /// A client of a cluster admin. It belongs to the runtime in which it is made, and tries nothing twice.
    pub async fn client(&self) -> Result<Client, ServerError> {
        self.client_at(self.url()).await
    }

    /// A client of a cluster admin that goes through another address.
    pub async fn client_at(&self, url: &str) -> Result<Client, ServerError> {
        Ok(Client::try_from(self.config_at(url).await?)?)
    }

    /// A client of the user with this token, one of [`Options::token`].
    pub async fn client_for_token(&self, token: &str) -> Result<Client, ServerError> {
        self.client_for_token_at(token, self.url()).await
    }

    /// A client of the user with this token that goes through another address.
    pub async fn client_for_token_at(&self, token: &str, url: &str) -> Result<Client, ServerError> {
        let mut config = self.config_at(url).await?;
        config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
        Ok(Client::try_from(config)?)
    }

    /// The settings of such clients, to be changed. A cluster admin; nothing is tried twice.
    pub async fn config_at(&self, url: &str) -> Result<Config, ServerError> {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig())?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.cluster_url = url.parse()?;
        // What goes wrong is what tests are about.
        config.default_retry = false;
        Ok(config)
    }

    /// Kills the server, and its etcd with it, as a machine that loses its power would.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Kills the server if it runs, and starts it again: at the same address, with the same data.
    pub async fn restart(&mut self) -> Result<(), ServerError> {
        self.kill();
        let place = Place::again(&self.ready, self.guest);
        let (process, ready) = Process::start(self.folder.path(), &self.options, &place).await?;
        (self.process, self.ready) = (Some(process), ready);
        Ok(())
    }

    /// A snapshot of etcd, as operators take them for a backup.
    pub async fn snapshot(&self) -> Result<Vec<u8>, ServerError> {
        etcd::snapshot(&self.ready.etcd).await
    }

    /// Kills the server if it runs, and starts it again at the same address with the data of a snapshot. `bump` is added to the
    /// snapshot's revision, and all older revisions are compacted, as with `etcdutl snapshot restore --bump-revision
    /// --mark-compacted`; with 0 the revisions after the snapshot are given for the second time.
    pub async fn restore(&mut self, snapshot: &[u8], bump: u64) -> Result<(), ServerError> {
        self.kill();
        let file = self.folder.path().join("snapshot.db");
        std::fs::write(&file, snapshot)
            .map_err(|error| ServerError::Folder { folder: file.clone(), error })?;
        let place = Place::again(&self.ready, self.guest).restored(&file, bump);
        let (process, ready) = Process::start(self.folder.path(), &self.options, &place).await?;
        (self.process, self.ready) = (Some(process), ready);
        Ok(())
    }

    /// Another API server with the same data and the same users, with options of its own. It ends with this one's etcd.
    pub async fn second_on_same_etcd(&self, options: Options) -> Result<Self, ServerError> {
        Self::start_at(options, Place::beside(&self.ready)).await
    }

    /// Makes etcd forget everything but the present, and returns the present's revision.
    ///
    /// A running server with a watch cache goes on answering from it: for a 410 it has to be restarted, or to run
    /// [without](Options::without_watch_cache).
    pub async fn compact(&self) -> Result<i64, ServerError> {
        etcd::compact(&self.ready.etcd).await
    }

    /// What etcd has for a key, for example `/registry/configmaps/default/a`.
    pub async fn stored(&self, key: &str) -> Result<Vec<u8>, ServerError> {
        etcd::get(&self.ready.etcd, key).await
    }

    /// Writes to etcd, behind the server's back.
    pub async fn store(&self, key: &str, value: &[u8]) -> Result<(), ServerError> {
        etcd::put(&self.ready.etcd, key, value).await
    }

    /// Stops the server in good order.
    pub async fn stop(mut self) -> Result<(), ServerError> {
        match self.process.take() {
            Some(process) => process.stop().await,
            None => Ok(()),
        }
    }
}
