//! Everything that makes up one cluster: what the listener and in-process clients share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, ReentrantMutex, RwLock};

use crate::access::Access;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::http::Encodings;
use crate::kinds::{Catalog, Resource, builtin_resources};
use crate::log::RequestLog;
use crate::random::Random;
use crate::represent::Recent;
use crate::storage::{HistoryLimits, Store, TableId};

/// What a server is told when it is built.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) seed: u64,
    pub(crate) epoch: Option<jiff::Timestamp>,
    pub(crate) history: HistoryLimits,
    pub(crate) bookmark_interval: Duration,
    /// How long a read waits for a version that has not happened yet.
    pub(crate) freshness_timeout: Duration,
    pub(crate) body_limit: usize,
    pub(crate) max_connections: usize,
    pub(crate) encodings: Encodings,
    /// Lists at version 0 ignore `limit`, as Kubernetes' watch cache does.
    pub(crate) watch_cache: bool,
    /// Watches may ask for initial events.
    pub(crate) watch_list: bool,
    pub(crate) garbage_collection: bool,
    pub(crate) namespace_deletion: bool,
    pub(crate) pod_termination: bool,
    /// Writing into a namespace that does not exist creates it.
    pub(crate) create_namespaces: bool,
    /// The objects that a real server makes for itself are there.
    pub(crate) system_objects: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            epoch: None,
            history: HistoryLimits { changes: 100_000, bytes: 256 << 20 },
            bookmark_interval: Duration::from_secs(60),
            freshness_timeout: Duration::from_secs(3),
            body_limit: 3 << 20,
            max_connections: 16_384,
            encodings: Encodings { protobuf: true },
            watch_cache: true,
            watch_list: true,
            garbage_collection: false,
            namespace_deletion: false,
            pod_termination: false,
            create_namespaces: false,
            system_objects: false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) options: Options,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    /// Faults draw from their own generator, so that they do not depend on how many uids were made.
    pub(crate) fault_random: Random,
    /// So do the time-outs of watches that name none.
    pub(crate) timeout_random: Random,
    pub(crate) access: Access,
    pub(crate) faults: Arc<Faults>,
    pub(crate) log: RequestLog,
    /// What was sent to watches lately, for other watches.
    pub(crate) recent: Arc<Recent>,
    catalog: RwLock<Arc<Catalog>>,
    /// Held while a definition, or an object of a custom resource, is written: so that what is stored and what is
    /// served change together, and no object slips in behind the deletion of its definition.
    pub(crate) definitions: ReentrantMutex<()>,
    /// The tables of custom resources; a definition that is deleted and created again gets a new one.
    pub(crate) custom_tables: Mutex<HashMap<(String, String), TableId>>,
}

impl Cluster {
    pub(crate) fn new(options: Options) -> Self {
        let store = Store::new(options.history);
        let mut catalog = Catalog::default();
        for resource in builtin_resources(&store) {
            catalog.add(Arc::new(resource));
        }
        Self {
            clock: Clock::start(options.epoch),
            random: Random::new(options.seed),
            fault_random: Random::new(!options.seed),
            timeout_random: Random::new(options.seed.rotate_left(32)),
            store,
            access: Access::default(),
            faults: Arc::default(),
            log: RequestLog::default(),
            recent: Arc::default(),
            catalog: RwLock::new(Arc::new(catalog)),
            definitions: ReentrantMutex::new(()),
            custom_tables: Mutex::default(),
            options,
        }
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read())
    }

    /// Changes what is served; readers keep the catalog they have.
    pub(crate) fn change_catalog(&self, change: impl FnOnce(&mut Catalog)) {
        let mut slot = self.catalog.write();
        let mut next = Catalog::clone(&slot);
        change(&mut next);
        *slot = Arc::new(next);
    }

    /// A built-in resource, which is always there.
    pub(crate) fn builtin(&self, group: &str, plural: &str) -> Option<Arc<Resource>> {
        self.catalog().find_plural(group, plural).cloned()
    }
}
