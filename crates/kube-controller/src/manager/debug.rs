//! How each informer and queue is doing, as JSON.

use std::time::Instant;

use kube_informer::informer::{InformerStatus, Trouble};
use kube_informer::metrics::ShownInformer;
use serde_json::{Value, json};

use super::http::Page;
use crate::metrics::{Metrics, QueueStatus};

/// The pages, by path.
pub(super) fn page(path: &str, informers: &kube_informer::Metrics, queues: &Metrics) -> Page {
    match path {
        "/debug/informers" => Page::json(&shown(informers)),
        "/debug/queues" => Page::json(&queues.queues().iter().map(queue).collect()),
        "/" | "/debug" | "/debug/" => Page::json(&json!(["/debug/informers", "/debug/queues"])),
        _ => Page::not_found(),
    }
}

fn shown(metrics: &kube_informer::Metrics) -> Value {
    let now = tokio::time::Instant::now().into_std();
    metrics.informers().iter().map(|shown| informer(shown, now)).collect()
}

fn informer(shown: &ShownInformer, now: Instant) -> Value {
    let InformerStatus { scopes, listeners, .. } = &shown.status;
    let status = &shown.status;
    let ago = |then: Option<Instant>| then.map(|then| now.saturating_duration_since(then).as_secs_f64());
    let counts = |counts: &std::collections::BTreeMap<kube_informer::reflector::Reason, u64>| -> Value {
        counts.iter().map(|(reason, count)| (reason.as_str().to_owned(), json!(count))).collect()
    };
    let trouble = |trouble: &Option<Trouble>| {
        trouble.as_ref().map(|trouble| {
            json!({
                "error": trouble.error.to_string(),
                "forSeconds": now.saturating_duration_since(trouble.since).as_secs_f64(),
                "times": trouble.times,
            })
        })
    };
    let scopes: Value = scopes
        .iter()
        .map(|scope| {
            json!({
                "namespace": scope.namespace,
                "except": scope.except,
                "synced": scope.synced,
                "resourceVersion": scope.resource_version,
                "trouble": trouble(&scope.trouble),
            })
        })
        .collect();
    let listeners: Value = listeners
        .iter()
        .map(|listener| {
            json!({
                "name": listener.name,
                "pending": listener.pending,
                "oldestPendingSeconds": listener.oldest_pending.map(|age| age.as_secs_f64()),
                "coalescing": listener.coalescing,
                "coalesced": listener.coalesced,
                "told": listener.told,
                "panics": listener.panics,
                "lastPanic": listener.last_panic,
                "synced": listener.synced,
            })
        })
        .collect();
    let indexes: Value =
        status.indexes.iter().map(|index| json!({"name": index.name, "panics": index.panics})).collect();
    json!({
        "name": shown.name,
        "resource": shown.resource,
        "phase": format!("{:?}", status.phase),
        "synced": status.synced,
        "objects": status.objects,
        "resourceVersion": status.resource_version,
        "lists": status.lists,
        "relists": counts(&status.relists),
        "restarts": counts(&status.restarts),
        "changes": status.changes,
        "errors": status.errors,
        "lastError": status.last_error.as_ref().map(|(_, error)| error.to_string()),
        "secondsSinceLastEvent": ago(status.last_event),
        "secondsSinceLastBookmark": ago(status.last_bookmark),
        "secondsSinceLastByte": ago(status.last_heard),
        "receivedBytes": status.received_bytes,
        "queued": status.queued,
        "quarantined": status.quarantined,
        "trouble": trouble(&status.trouble),
        "scopes": scopes,
        "listeners": listeners,
        "indexes": indexes,
    })
}

fn queue(queue: &QueueStatus) -> Value {
    json!({
        "name": queue.name,
        "depth": queue.depth,
        "adds": queue.adds,
        "retries": queue.retries,
        "unfinishedSeconds": queue.unfinished.as_secs_f64(),
        "longestSeconds": queue.longest.as_secs_f64(),
    })
}
