//! What a control plane's other programs do, for those who want it: garbage collection, removal of deleted
//! namespaces, and the end of pods. Each is a task that follows the store as a controller would.

mod feed;
mod garbage;
mod namespaces;
mod pods;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cluster::Cluster;

/// Starts what the options ask for.
pub(crate) fn start(cluster: &Arc<Cluster>, tasks: &TaskTracker, stop: &CancellationToken) {
    if cluster.options.garbage_collection {
        tasks.spawn(until_stopped(stop.clone(), garbage::collect(Arc::clone(cluster))));
    }
    if cluster.options.namespace_deletion {
        tasks.spawn(until_stopped(stop.clone(), namespaces::remove(Arc::clone(cluster))));
    }
    if cluster.options.pod_termination {
        tasks.spawn(until_stopped(stop.clone(), pods::terminate(Arc::clone(cluster))));
    }
}

async fn until_stopped(stop: CancellationToken, work: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = work => {}
    }
}
