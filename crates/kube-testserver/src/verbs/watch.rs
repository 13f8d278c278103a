//! Watches: a position in a table's history, and the bytes that follow from it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Call;
use super::read::{parse_selector, wait_for};
use crate::cluster::Cluster;
use crate::faults::{StreamFault, error_for};
use crate::http::{Body, CHUNK_BYTES, ListOptions, invalid_options, reply};
use crate::represent::View;
use crate::selector::{FieldSelector, Selector};
use crate::status::ApiError;
use crate::storage::{Change, ChangeKind, PageQuery, Stored, TableId, WatchSlot};

/// How many changes a watch takes from the history at a time.
const BATCH: usize = 256;

/// How long a watch lasts that does not say: between this and twice this, as in Kubernetes.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1800);

/// No watch lasts longer, whatever it says.
const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// Watches end with a bookmark this long before their time-out.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

pub(crate) async fn watch(call: Call) -> Result<Response<Body>, ApiError> {
    let options = ListOptions::parse(&call.query, true)?;
    let mut selector = parse_selector(&call.resource, &options)?;
    if !call.name.is_empty() {
        selector.fields = FieldSelector::name(&call.name);
    }
    let asked = options.version_number()?;
    let send_initial_events = options.send_initial_events == Some(true);
    if options.send_initial_events.is_some() && !call.cluster.options.watch_list {
        return Err(invalid_options(
            "ListOptions",
            "FieldValueForbidden",
            "sendInitialEvents",
            "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
        ));
    }
    if send_initial_events && let Some(version) = asked {
        wait_for(&call.cluster, version).await?;
    }

    let cluster = Arc::clone(&call.cluster);
    let table = call.resource.table;
    let slot = Arc::new(WatchSlot { cut: call.cut.clone(), ..WatchSlot::default() });
    // Subscribed and registered before the first look, so that nothing falls between.
    let receiver = cluster.store.watch_table(table);
    let start = match asked {
        Some(version) if version > 0 && !send_initial_events => Start::From(version),
        _ if options.send_initial_events == Some(false) => Start::From(cluster.store.version()),
        _ => Start::WithObjects,
    };
    let follows = match start {
        Start::From(version) => {
            slot.position.store(version, Ordering::Relaxed);
            // One that is too old is not registered: it is told so in its first event, and must not be cut off before.
            let _ = cluster.store.register(table, &slot);
            None
        }
        Start::WithObjects => {
            slot.position.store(cluster.store.version(), Ordering::Relaxed);
            let _ = cluster.store.register(table, &slot);
            let query = PageQuery {
                namespace: &call.namespace,
                selector: &selector,
                at: None,
                after: None,
                limit: None,
            };
            let stale =
                call.plan.stale_by.map(|writes| cluster.store.version().saturating_sub(writes).max(1));
            let page = cluster.store.page(table, &PageQuery { at: stale, ..query });
            // A past that is forgotten cannot be shown.
            let page = page.or_else(|_| cluster.store.page(table, &query));
            let page = page.map_err(|old| too_old(&cluster, 0, old.oldest))?;
            slot.position.store(page.version, Ordering::Relaxed);
            Some(page)
        }
    };
    let now = Instant::now();
    let timeout = match options.timeout_seconds {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds).min(MAX_TIMEOUT),
        _ => DEFAULT_TIMEOUT + Duration::from_millis(cluster.timeout_random.next() % 1_800_000),
    };
    let mut faults = call.plan.stream.clone();
    // Taken from the back, earliest last.
    faults.sort_by_key(|fault| std::cmp::Reverse(fault.after_events()));
    let stream_type = call.encoding.stream_type();
    let watch = Watch {
        view: call.view(),
        namespace: call.namespace,
        selector,
        table,
        initial_end: (send_initial_events && options.bookmarks && !call.plan.no_initial_events_end)
            .then(|| follows.as_ref().map_or(0, |page| page.version)),
        initial: follows.map(|page| page.items.into_iter()),
        bookmarks: options.bookmarks,
        next_bookmark: now + cluster.options.bookmark_interval.min(MAX_TIMEOUT),
        last_bookmark: (timeout > LAST_BOOKMARK).then(|| now + timeout - LAST_BOOKMARK),
        deadline: now + timeout,
        events: 0,
        opened: cluster.store.version(),
        told: slot.position.load(Ordering::Relaxed),
        faults,
        receiver,
        slot,
        cluster,
        done: call.plan.close_at_once,
    };
    let chunks = futures::stream::unfold(watch, |mut watch| async move {
        let chunk = watch.next_chunk().await?;
        Some((chunk, watch))
    });
    Ok(reply::with_type(200, stream_type, Body::stream(chunks)))
}

/// Where a watch begins.
enum Start {
    /// With the changes after a version.
    From(u64),
    /// With the objects that are there.
    WithObjects,
}

/// The error of a watch from a version that the history no longer has: in the words of the watch cache, or of etcd.
fn too_old(cluster: &Cluster, asked: u64, oldest: u64) -> ApiError {
    if cluster.options.watch_cache {
        ApiError::expired(format!("too old resource version: {asked} ({oldest})"))
    } else {
        ApiError::expired("The resourceVersion for the provided watch is too old.")
    }
}

struct Watch {
    cluster: Arc<Cluster>,
    table: TableId,
    view: View,
    /// Empty for all namespaces.
    namespace: String,
    selector: Selector,
    /// Objects that were there when the watch began and have not been sent.
    initial: Option<std::vec::IntoIter<Arc<Stored>>>,
    /// The version to name when the initial objects are all sent.
    initial_end: Option<u64>,
    bookmarks: bool,
    next_bookmark: Instant,
    /// When to send the one bookmark before the deadline; none once it is sent.
    last_bookmark: Option<Instant>,
    deadline: Instant,
    /// Events sent, bookmarks not counted: what faults are placed by.
    events: u64,
    /// The cluster's version when the watch was opened.
    opened: u64,
    /// Where the watch began, what it caught up with first, or its last bookmark: the next bookmark must say more.
    told: u64,
    faults: Vec<StreamFault>,
    receiver: watch::Receiver<u64>,
    slot: Arc<WatchSlot>,
    done: bool,
}

impl Watch {
    /// The next bytes; none at the end of the stream.
    async fn next_chunk(&mut self) -> Option<Bytes> {
        loop {
            if self.done || self.slot.end.is_cancelled() || Instant::now() >= self.deadline {
                return None;
            }
            let mut out = Vec::new();
            if let Some(fault) = self.due_fault() {
                self.faults.pop();
                self.strike(fault, &mut out);
                return Some(out.into());
            }
            let all = if self.initial.is_some() {
                self.take_initial(&mut out);
                false
            } else {
                self.receiver.borrow_and_update();
                self.take_changes(&mut out)
            };
            if !out.is_empty() {
                return Some(out.into());
            }
            if self.done || !all || self.due_fault().is_some() {
                continue;
            }
            if let Some(chunk) = self.wait().await {
                return Some(chunk);
            }
        }
    }

    fn due_fault(&self) -> Option<StreamFault> {
        self.faults.last().copied().filter(|fault| fault.after_events() <= self.events)
    }

    fn take_initial(&mut self, out: &mut Vec<u8>) {
        while out.len() < CHUNK_BYTES && !self.done && self.due_fault().is_none() {
            let Some(object) = self.initial.as_mut().and_then(Iterator::next) else {
                self.initial = None;
                if let Some(version) = self.initial_end.take() {
                    self.write_bookmark(version, true, out);
                }
                return;
            };
            self.write_event("ADDED", &object, Shared::No, out);
        }
    }

    /// Takes what has happened; true if there is nothing more.
    fn take_changes(&mut self, out: &mut Vec<u8>) -> bool {
        let batch = match self.cluster.store.changes_for(self.table, &self.slot, BATCH) {
            Ok(batch) => batch,
            Err(old) => {
                let position = self.slot.position.load(Ordering::Relaxed);
                self.view.write_error(&too_old(&self.cluster, position, old.oldest), out);
                self.done = true;
                return true;
            }
        };
        for change in &batch.changes {
            self.write_change(change, out);
            self.slot.position.fetch_max(change.version, Ordering::Relaxed);
            if change.version <= self.opened {
                self.told = self.told.max(change.version);
            }
            if self.done || self.due_fault().is_some() || out.len() >= CHUNK_BYTES {
                return false;
            }
        }
        if let Some(version) = batch.complete_to {
            self.slot.position.fetch_max(version, Ordering::Relaxed);
        }
        self.done = batch.closed;
        batch.complete_to.is_some()
    }

    /// Waits for a change; returns a bookmark if one is due first.
    async fn wait(&mut self) -> Option<Bytes> {
        let last_bookmark = self.last_bookmark.unwrap_or(self.deadline);
        tokio::select! {
            // Time before changes: where there are always changes, bookmarks would never come.
            biased;
            () = self.slot.end.cancelled() => return None,
            () = tokio::time::sleep_until(self.deadline) => {
                self.done = true;
                return None;
            }
            () = tokio::time::sleep_until(last_bookmark), if self.bookmarks && self.last_bookmark.is_some() => {
                self.last_bookmark = None;
            }
            () = tokio::time::sleep_until(self.next_bookmark), if self.bookmarks => {
                self.next_bookmark = Instant::now() + self.cluster.options.bookmark_interval.min(MAX_TIMEOUT);
            }
            // The sender lives in the store, so this never fails.
            _ = self.receiver.changed() => return None,
        }
        // Catch up first: a bookmark says that everything before it has been sent.
        let mut out = Vec::new();
        self.receiver.borrow_and_update();
        let all = self.take_changes(&mut out);
        let position = self.slot.position.load(Ordering::Relaxed);
        if out.is_empty() && all && !self.done && self.initial_end.is_none() && position > self.told {
            self.write_bookmark(position, false, &mut out);
        }
        (!out.is_empty()).then(|| out.into())
    }

    fn write_change(&mut self, change: &Change, out: &mut Vec<u8>) {
        if !self.namespace.is_empty() && change.new.namespace() != self.namespace {
            return;
        }
        let was = change.old.as_ref().is_some_and(|old| self.selector.matches(old));
        let is = change.kind != ChangeKind::Deleted && self.selector.matches(&change.new);
        match (was, is) {
            (false, false) => {}
            (false, true) => self.write_event("ADDED", &change.new, Shared::Yes, out),
            (true, true) => self.write_event("MODIFIED", &change.new, Shared::Yes, out),
            (true, false) if change.kind == ChangeKind::Deleted => {
                self.write_event("DELETED", &change.new, Shared::Yes, out);
            }
            (true, false) => {
                // It left the selector: for this watch it is gone, in its last matching state.
                if let Some(old) = &change.old {
                    self.write_event("DELETED", &old.at_version(change.version), Shared::No, out);
                }
            }
        }
    }

    fn write_event(&mut self, kind: &str, object: &Stored, shared: Shared, out: &mut Vec<u8>) {
        self.events += 1;
        self.view.set_time(self.cluster.clock.now());
        let written = match shared {
            Shared::No => self.view.write_event(kind, object, out),
            Shared::Yes => self.view.write_shared_event(kind, object, &self.cluster.recent, out),
        };
        if let Err(error) = written {
            self.view.write_error(&error, out);
            self.done = true;
        }
    }

    fn write_bookmark(&mut self, version: u64, initial_events_end: bool, out: &mut Vec<u8>) {
        self.view.write_bookmark(version, initial_events_end, out);
        self.told = self.told.max(version);
    }

    fn strike(&mut self, fault: StreamFault, out: &mut Vec<u8>) {
        match fault {
            StreamFault::Error { code, .. } => {
                self.view.write_error(&error_for(code), out);
                self.done = true;
            }
            StreamFault::Truncated { .. } => {
                self.view.write_half_event(out);
                self.done = true;
            }
            StreamFault::Garbage { .. } => self.view.write_garbage(out),
            StreamFault::Oversized { bytes, .. } => {
                self.view.write_large_event(self.slot.position.load(Ordering::Relaxed), bytes, out);
            }
        }
    }
}

/// Whether other watches send the same object.
#[derive(Clone, Copy)]
enum Shared {
    No,
    Yes,
}
