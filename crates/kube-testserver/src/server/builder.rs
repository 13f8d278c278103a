//! Settings for a server.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{ADMIN_TOKEN, TestServer, connection, objects};
use crate::cluster::{Cluster, Options};
use crate::{lifecycle, system};

/// Settings for a server; made by [`TestServer::builder`].
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until `start`"]
pub struct TestServerBuilder {
    options: Options,
    port: u16,
}

impl TestServerBuilder {
    /// Listens on this port of 127.0.0.1; by default on any free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// The seed of uids, generated names and faults with a probability; 0 by default. Two servers with the same
    /// seed and the same requests in the same order answer alike.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// The time at which the cluster starts, in seconds since 1970; by default the machine's time. From there on
    /// tokio's clock moves it, which tests may pause.
    pub fn start_time(mut self, unix_seconds: i64) -> Self {
        let (first, last) = (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
        self.options.epoch = jiff::Timestamp::from_second(unix_seconds.clamp(first, last)).ok();
        self
    }

    /// How many changes of each kind are remembered; 100,000 by default. A watch or a list from further back is
    /// answered with 410, and a watcher that falls behind so far is cut off.
    pub fn history(mut self, changes: usize) -> Self {
        self.options.history.changes = changes;
        self
    }

    /// How many bytes of past objects are remembered for each kind; 256 MiB by default.
    pub fn history_bytes(mut self, bytes: usize) -> Self {
        self.options.history.bytes = bytes;
        self
    }

    /// How often watches that want bookmarks get one, if there was any write since; 60 s by default.
    pub fn bookmark_interval(mut self, interval: Duration) -> Self {
        self.options.bookmark_interval = interval;
        self
    }

    /// How long a read waits for a version that has not happened yet, before it is answered with 504; 3 s by
    /// default.
    pub fn freshness_timeout(mut self, timeout: Duration) -> Self {
        self.options.freshness_timeout = timeout;
        self
    }

    /// The largest body of a request; 3 MiB by default.
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.options.body_limit = bytes;
        self
    }

    /// The connections that may be open at the same time; 16,384 by default. Beyond that, the one that has waited
    /// longest for a request is closed for a new one; if all are being answered, the new one gets 429.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.options.max_connections = connections.clamp(1, Semaphore::MAX_PERMITS);
        self
    }

    /// Answers in protobuf whoever asks for it, as Kubernetes does for built-in kinds; on by default. Off, the server
    /// has JSON only.
    pub fn protobuf(mut self, on: bool) -> Self {
        self.options.encodings.protobuf = on;
        self
    }

    /// Lists at resource version 0 ignore `limit`, as with Kubernetes' watch cache; on by default.
    pub fn watch_cache(mut self, on: bool) -> Self {
        self.options.watch_cache = on;
        self
    }

    /// Watches may ask for initial events (`sendInitialEvents`); on by default. Off, such a watch is refused with
    /// 422, as by servers that do not know it.
    pub fn watch_list(mut self, on: bool) -> Self {
        self.options.watch_list = on;
        self
    }

    /// Deletes objects whose owners are gone, and honours foreground and orphan deletion; off by default, as in
    /// a control plane without its controller-manager.
    pub fn garbage_collection(mut self, on: bool) -> Self {
        self.options.garbage_collection = on;
        self
    }

    /// Empties and removes namespaces that were deleted; off by default, as in a control plane without its
    /// controller-manager: there they stay in phase Terminating.
    pub fn namespace_deletion(mut self, on: bool) -> Self {
        self.options.namespace_deletion = on;
        self
    }

    /// Removes pods when their grace period is over, as a kubelet does; off by default.
    pub fn pod_termination(mut self, on: bool) -> Self {
        self.options.pod_termination = on;
        self
    }

    /// Writing into a namespace that does not exist creates it; off by default.
    pub fn create_namespaces(mut self, on: bool) -> Self {
        self.options.create_namespaces = on;
        self
    }

    /// Makes the objects that a real API server makes for itself: the service `kubernetes` with its endpoints and address,
    /// flow schemas and priority levels, and component statuses; off by default, so that a test begins with an empty
    /// server.
    pub fn system_objects(mut self, on: bool) -> Self {
        self.options.system_objects = on;
        self
    }

    /// Starts the server. It is ready when this returns.
    pub async fn start(self) -> std::io::Result<TestServer> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))).await?;
        let address = listener.local_addr()?;
        let cluster = Arc::new(Cluster::new(self.options));
        cluster.access.add_user(ADMIN_TOKEN, "kubernetes-admin", ["system:masters"]);
        objects::create_system_namespaces(&cluster);
        if cluster.options.system_objects {
            system::create(&cluster, address);
        }
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        tasks.spawn(connection::accept(Arc::clone(&cluster), listener, tasks.clone(), stop.clone()));
        lifecycle::start(&cluster, &tasks, &stop);
        tasks.close();
        Ok(TestServer { cluster, address, tasks, _stop_on_drop: stop.clone().drop_guard(), stop })
    }
}
