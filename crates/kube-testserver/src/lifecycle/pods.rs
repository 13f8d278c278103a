//! Pods that were told to stop: gone when their grace period is over.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::feed::Feed;
use crate::cluster::Cluster;
use crate::verbs::{DeleteOptions, delete_object};

pub(super) async fn terminate(cluster: Arc<Cluster>) {
    let Some(pods) = cluster.builtin("", "pods") else { return };
    let mut feed = Feed::new(pods.table);
    let mut changes = cluster.store.watch_table(pods.table);
    // When each pod's time is over, and its uid: another pod may come by the same name.
    let mut stopping: BTreeMap<(String, String), (Timestamp, String)> = BTreeMap::new();
    loop {
        changes.borrow_and_update();
        for seen in feed.take(&cluster.store) {
            let key = (seen.object.namespace().to_owned(), seen.object.name().to_owned());
            let object = seen.object.object();
            let text =
                |field: &str| object.get("metadata").and_then(|metadata| metadata.get(field)?.as_str());
            match text("deletionTimestamp").and_then(|ends| ends.parse().ok()) {
                Some(ends) if !seen.deleted => {
                    stopping.insert(key, (ends, text("uid").unwrap_or("").to_owned()))
                }
                _ => stopping.remove(&key),
            };
        }
        let now = cluster.clock.now();
        let (over, still): (BTreeMap<_, _>, _) =
            stopping.into_iter().partition(|(_, (ends, _))| *ends <= now);
        stopping = still;
        for ((namespace, name), (_, uid)) in over {
            let at_once =
                DeleteOptions { grace_period_seconds: Some(0), uid: Some(uid), ..DeleteOptions::default() };
            // One that a finalizer holds is looked at again when it changes.
            let _ = delete_object(&cluster, &pods, &namespace, &name, &at_once);
        }
        let next = stopping.values().map(|(ends, _)| ends).min().map(|ends| ends.duration_since(now));
        let wait = next.and_then(|wait| wait.try_into().ok());
        tokio::select! {
            biased;
            changed = changes.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {}
        }
    }
}
