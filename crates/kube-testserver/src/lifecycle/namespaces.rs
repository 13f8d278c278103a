//! Deleted namespaces: everything in them is deleted, and when they are empty they go.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::feed::Feed;
use crate::cluster::Cluster;
use crate::selector::Selector;
use crate::storage::PageQuery;
use crate::verbs::{Change, DeleteOptions, Endpoint, WriteOptions, delete_object, update_object};

pub(super) async fn remove(cluster: Arc<Cluster>) {
    let Some(namespaces) = cluster.builtin("", "namespaces") else { return };
    let mut feed = Feed::new(namespaces.table);
    let mut versions = cluster.store.subscribe();
    let mut terminating = BTreeSet::new();
    loop {
        versions.borrow_and_update();
        for seen in feed.take(&cluster.store) {
            let name = seen.object.name().to_owned();
            let marked =
                seen.object.object().get("metadata").is_some_and(|m| m.get("deletionTimestamp").is_some());
            if marked && !seen.deleted {
                terminating.insert(name);
            } else {
                terminating.remove(&name);
            }
        }
        for name in &terminating {
            if empty(&cluster, name) {
                finalize(&cluster, name);
            }
        }
        if versions.changed().await.is_err() {
            return;
        }
    }
}

/// Deletes everything in a namespace; true if nothing is left.
fn empty(cluster: &Arc<Cluster>, namespace: &str) -> bool {
    let mut left = 0;
    let catalog = cluster.catalog();
    let all = Selector::default();
    let query = PageQuery { namespace, selector: &all, at: None, after: None, limit: None };
    for resource in catalog.iter().filter(|resource| resource.namespaced) {
        let Ok(page) = cluster.store.page(resource.table, &query) else { continue };
        for item in page.items {
            // What somebody else deletes at the same moment is gone as well.
            let _ = delete_object(cluster, resource, namespace, item.name(), &DeleteOptions::default());
            left += usize::from(cluster.store.get(resource.table, item.key()).is_some());
        }
    }
    left == 0
}

fn finalize(cluster: &Arc<Cluster>, name: &str) {
    let Some(namespaces) = cluster.builtin("", "namespaces") else { return };
    let options =
        WriteOptions { endpoint: Endpoint::Finalize, ..WriteOptions::internal("namespace-controller") };
    // Fails only if the namespace is not there any more.
    let _ = update_object(cluster, &namespaces, "", name, &options, |live| {
        let mut object: Value = live.clone();
        object["spec"]["finalizers"] = json!([]);
        Ok(Change::from(object))
    });
}
