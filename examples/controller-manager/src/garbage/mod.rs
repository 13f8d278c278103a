//! The garbage collector: what is owned by something that is gone goes too.
//!
//! [`graph`] knows who owns what, of all kinds of the server, from informers of their metadata. From it come two kinds of
//! things to do: look whether an object has an owner left, and let go of the dependents of one that is to leave them behind.
//! Before anything is deleted the server is asked, for the graph may be behind it.
//!
//! - **Background**: the owner goes at once, its dependents after it.
//! - **Foreground**: the owner stays until its last dependent that blocks it is gone.
//! - **Orphan**: the dependents lose the reference, then the owner goes.

pub mod graph;

mod collect;
mod monitors;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube_client::Client;
use kube_controller::manager::BoxError;
use kube_controller::registry::{ControllerContext, ControllerDescriptor, NewController};
use kube_controller::workqueue::WorkQueue;
use kube_core::GroupVersionResource;
use parking_lot::Mutex;

use crate::Options;
use crate::worker::work;
use graph::{Graph, Todo};
use monitors::Monitor;

/// How many objects are looked at at once.
const WORKERS: usize = 20;

/// How often the server is asked what kinds it has.
pub const RESYNC: Duration = Duration::from_secs(30);

/// The first look at all kinds may take so long; then it begins, whether all of them have been seen or not.
const INITIAL_PATIENCE: Duration = Duration::from_secs(30);

/// The garbage collector, by name.
pub fn descriptor(options: Options) -> ControllerDescriptor {
    let build = |context: ControllerContext| async move {
        let options = options.led_by(&context);
        build(context, options).await
    };
    ControllerDescriptor::new("garbage-collector-controller", build).alias("garbagecollector")
}

async fn build(context: ControllerContext, options: Options) -> Result<NewController, BoxError> {
    let queue = |name: &str| WorkQueue::builder().name(name).metrics(&context.metrics).build();
    let collector = Arc::new(Collector {
        client: context.clients.client(&context.name)?,
        to_delete: queue("garbage_collector_attempt_to_delete"),
        to_orphan: queue("garbage_collector_attempt_to_orphan"),
        graph: Mutex::default(),
        absent: Mutex::default(),
        monitors: Mutex::default(),
        context,
    });
    collector.follow_all().await?;
    Ok(NewController::new(move |stop| async move {
        let ready = tokio::time::timeout(INITIAL_PATIENCE, collector.synced());
        if stop.run_until_cancelled(ready).await.is_none() {
            return Ok(());
        }
        let (deleting, orphaning) = (Arc::clone(&collector), Arc::clone(&collector));
        let delete = work(&collector.to_delete, WORKERS, &stop, &options, move |uid| {
            let collector = Arc::clone(&deleting);
            async move { collector.attempt_to_delete(&uid).await }
        });
        let orphan = work(&collector.to_orphan, WORKERS, &stop, &options, move |uid| {
            let collector = Arc::clone(&orphaning);
            async move { collector.attempt_to_orphan(&uid).await }
        });
        let follow = async {
            while let Some(()) = stop.run_until_cancelled(tokio::time::sleep(RESYNC)).await {
                if let Some(Err(error)) = stop.run_until_cancelled(collector.follow_all()).await {
                    options.report(&format!("what kinds there are: {error}"));
                }
            }
        };
        tokio::join!(delete, orphan, follow);
        Ok(())
    }))
}

struct Collector {
    context: ControllerContext,
    client: Client,
    /// Uids of objects that may have no owner left.
    to_delete: WorkQueue<String>,
    /// Uids of owners that leave their dependents behind.
    to_orphan: WorkQueue<String>,
    graph: Mutex<Graph>,
    /// Owners of which the server has said that they are not there.
    absent: Mutex<std::collections::HashSet<graph::Identity>>,
    monitors: Mutex<BTreeMap<GroupVersionResourceKey, Monitor>>,
}

/// Group, version and plural.
type GroupVersionResourceKey = (String, String, String);

fn key(resource: &GroupVersionResource) -> GroupVersionResourceKey {
    (resource.group.clone(), resource.version.clone(), resource.resource.clone())
}

impl Collector {
    fn take(&self, todo: Vec<Todo>) {
        for one in todo {
            match one {
                Todo::Delete(uid) => self.to_delete.add(uid),
                Todo::Orphan(uid) => self.to_orphan.add(uid),
            };
        }
    }
}
