//! The server itself: started in a moment, used through real HTTP or without sockets, gone when dropped.

mod builder;
mod connection;
mod in_process;
mod objects;

pub use builder::TestServerBuilder;
pub use objects::SeedError;

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use kube_client::Client;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::access::Access;
use crate::cluster::Cluster;
use crate::faults::{Fault, InjectedFault};
use crate::kinds::Catalog;
use crate::log::RequestRecord;
use crate::storage::{Saved, TableId};

/// The token of the server's own client, which may do everything.
const ADMIN_TOKEN: &str = "kube-testserver-admin";

/// A Kubernetes API server in this process.
///
/// It listens on a free port of 127.0.0.1, keeps everything in memory, and stops when it is dropped. Many can
/// run side by side; they share nothing.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use kube_testserver::TestServer;
///
/// let server = TestServer::start().await?;
/// let client = server.client()?;
/// let version = client.apiserver_version().await?;
/// assert_eq!(version.major, "1");
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Debug)]
pub struct TestServer {
    cluster: Arc<Cluster>,
    address: SocketAddr,
    tasks: TaskTracker,
    stop: CancellationToken,
    _stop_on_drop: DropGuard,
}

/// The objects of a [`TestServer`] and its version, at one moment.
#[derive(Clone)]
pub struct Backup {
    saved: Saved,
    catalog: Arc<Catalog>,
    custom_tables: HashMap<(String, String), TableId>,
}

/// Shows the version, never contents: there may be secrets.
impl fmt::Debug for Backup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backup").field("resource_version", &self.saved.version()).finish_non_exhaustive()
    }
}

/// Counts for people, tests and benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStats {
    /// Objects of all kinds.
    pub objects: usize,
    /// What they weigh, in bytes, without the allocator's overhead.
    pub object_bytes: usize,
    /// Changes in the history of all kinds.
    pub history_changes: usize,
    /// What only the history keeps, in bytes.
    pub history_bytes: usize,
    /// Open watches.
    pub watches: usize,
    /// Watches that were cut off because their client did not keep up.
    pub watches_cut_off: u64,
    /// Requests so far.
    pub requests: u64,
}

impl TestServer {
    /// Starts a server with default settings.
    pub async fn start() -> std::io::Result<Self> {
        Self::builder().start().await
    }

    /// Settings for a server.
    pub fn builder() -> TestServerBuilder {
        TestServerBuilder::default()
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server's address as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client over HTTP that may do everything.
    pub fn client(&self) -> Result<Client, kube_client::Error> {
        self.client_with_token(ADMIN_TOKEN)
    }

    /// A client over HTTP that sends this bearer token.
    pub fn client_with_token(&self, token: &str) -> Result<Client, kube_client::Error> {
        Client::try_from(in_process::config(self.address, token))
    }

    /// The configuration of [`client`](Self::client), to be changed before a client is made of it.
    pub fn client_config(&self) -> kube_client::Config {
        in_process::config(self.address, ADMIN_TOKEN)
    }

    /// A client without sockets: requests are handed over inside the process.
    ///
    /// Everything else is the same, faults included. Tests in paused time need it: a runtime that waits for a
    /// socket looks idle, and paused time runs away from it.
    pub fn in_process_client(&self) -> Client {
        self.in_process_client_with_token(ADMIN_TOKEN)
    }

    /// A client without sockets that sends this bearer token. See [`in_process_client`](Self::in_process_client).
    pub fn in_process_client_with_token(&self, token: &str) -> Client {
        in_process::client(&self.cluster, token, &self.stop)
    }

    /// A kubeconfig for this server, for `kubectl` and every other client.
    pub fn kubeconfig(&self) -> String {
        in_process::kubeconfig(&self.url(), ADMIN_TOKEN)
    }

    /// Makes something go wrong from now on, with requests for resources that would otherwise be answered: discovery and
    /// refused requests (401, 403, 404) are left alone.
    pub fn inject(&self, fault: Fault) -> InjectedFault {
        self.cluster.faults.inject(fault)
    }

    /// Takes all faults away.
    pub fn clear_faults(&self) {
        self.cluster.faults.clear();
    }

    /// Users, tokens and rules.
    pub fn access(&self) -> &Access {
        &self.cluster.access
    }

    /// The version of the last write to anything.
    pub fn resource_version(&self) -> u64 {
        self.cluster.store.version()
    }

    /// Forgets all history, as etcd's compaction does: older versions can no longer be listed or watched from.
    /// Returns the version up to which everything is forgotten.
    pub fn compact(&self) -> u64 {
        self.cluster.store.compact()
    }

    /// Saves all objects and the version, as a snapshot of etcd does, to [`restore`](Self::restore) them later.
    pub fn backup(&self) -> Backup {
        let _definitions = self.cluster.definitions.lock();
        let custom_tables = self.cluster.custom_tables.lock().clone();
        Backup { saved: self.cluster.store.save(), catalog: self.cluster.catalog(), custom_tables }
    }

    /// Sets all objects and the version back to a backup of this server, and breaks all watches, as a restart of etcd and of the
    /// API server on an older snapshot does. The versions that follow are given for the second time, unless `bump` is large
    /// enough: it is added to the version, as `etcdutl snapshot restore --bump-revision` does. Versions before the restored one
    /// are too old to watch from. Returns the version.
    pub fn restore(&self, backup: &Backup, bump: u64) -> u64 {
        let _definitions = self.cluster.definitions.lock();
        let version = self.cluster.store.restore(&backup.saved, bump);
        self.cluster.custom_tables.lock().clone_from(&backup.custom_tables);
        self.cluster.change_catalog(|catalog| *catalog = Catalog::clone(&backup.catalog));
        self.cluster.recent.clear();
        version
    }

    /// Ends all watches in good order, as a server does that is about to restart. Returns how many.
    pub fn stop_watches(&self) -> usize {
        self.cluster.store.end_watches(None)
    }

    /// Ends all watches of one resource: `pods`, `deployments.apps`. Returns how many.
    pub fn stop_watches_of(&self, resource: &str) -> usize {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        match self.cluster.catalog().find_plural(group, plural) {
            Some(resource) => self.cluster.store.end_watches(Some(resource.table)),
            None => 0,
        }
    }

    /// The latest requests, oldest first; 10,000 are remembered.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.cluster.log.records()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.cluster.log.clear();
    }

    /// Counts of objects, history, watches and requests.
    pub fn stats(&self) -> ServerStats {
        let store = self.cluster.store.stats();
        ServerStats {
            objects: store.objects,
            object_bytes: store.object_bytes,
            history_changes: store.history_changes,
            history_bytes: store.history_bytes,
            watches: self.cluster.store.watchers(),
            watches_cut_off: self.cluster.store.watchers_cut(),
            requests: self.cluster.log.count(),
        }
    }

    /// Stops the server, breaks all connections, and returns when every task of it has ended.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}
