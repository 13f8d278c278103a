//! The cluster's memory: every object, one version counter for all of them, and a bounded history.
//!
//! Each resource has a [table](TableId): its objects by `namespace/name`, and its latest changes. A write
//! adds one to the cluster's version, replaces the object and appends to the history, in one step under
//! one lock. Everything else follows from the history: a watch is a position in it, a list at an older
//! version is the present with the changes since then undone, and a watcher that falls out of it is
//! cut off. Nothing is kept per watcher.

mod history;
mod object;
mod page;
#[cfg(test)]
mod tests;

pub(crate) use history::{Batch, Change, ChangeKind, WatchSlot};
pub(crate) use object::{Draft, Labels, Stored, object_key};
pub(crate) use page::{Page, PageQuery};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::RwLock;
use tokio::sync::watch;

use history::History;

/// How much of the past a [`Store`] keeps, for each table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HistoryLimits {
    /// Changes.
    pub(crate) changes: usize,
    /// Bytes of objects that are in the history only.
    pub(crate) bytes: usize,
}

/// The place of a resource's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableId(u32);

/// What a write expects to find.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expect {
    Absent,
    /// The object at exactly this version.
    Version(u64),
}

/// What a write found instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    Exists,
    Missing,
    Changed,
}

/// A version that the history no longer reaches back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooOld {
    /// The oldest version that could still be asked for.
    pub(crate) oldest: u64,
}

/// Counts for people and benchmarks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoreStats {
    pub(crate) objects: usize,
    pub(crate) object_bytes: usize,
    pub(crate) history_changes: usize,
    pub(crate) history_bytes: usize,
}

/// The objects of all tables at one version.
#[derive(Clone)]
pub(crate) struct Saved {
    version: u64,
    tables: Vec<BTreeMap<Arc<str>, Arc<Stored>>>,
}

impl Saved {
    pub(crate) fn version(&self) -> u64 {
        self.version
    }
}

/// All objects of a cluster.
#[derive(Debug)]
pub(crate) struct Store {
    limits: HistoryLimits,
    inner: RwLock<Inner>,
    /// The cluster's version, for those who wait for it.
    version: watch::Sender<u64>,
}

#[derive(Debug)]
struct Inner {
    version: u64,
    tables: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    objects: BTreeMap<Arc<str>, Arc<Stored>>,
    object_bytes: usize,
    history: History,
}

impl Store {
    pub(crate) fn new(limits: HistoryLimits) -> Self {
        // Real clusters never show version 0 to a client: 0 means "any" in a request.
        let inner = Inner { version: 1, tables: Vec::new() };
        Self { limits, inner: RwLock::new(inner), version: watch::Sender::new(1) }
    }

    pub(crate) fn add_table(&self) -> TableId {
        let mut inner = self.inner.write();
        let id = TableId(u32::try_from(inner.tables.len()).unwrap_or(u32::MAX));
        let created_at = inner.version;
        // Definitions come and go: what is left of those that went is freed when the next one comes.
        for table in &mut inner.tables {
            table.history.forget_if_unused();
        }
        inner.tables.push(Table {
            objects: BTreeMap::new(),
            object_bytes: 0,
            history: History::new(self.limits, created_at),
        });
        id
    }

    /// Ends all watches of a table, after they have been told of its last change.
    pub(crate) fn close_table(&self, table: TableId) {
        self.inner.write().table_mut(table).history.close();
    }

    /// The version of the last write to anything.
    pub(crate) fn version(&self) -> u64 {
        self.inner.read().version
    }

    /// Waits until the cluster has reached `version`.
    pub(crate) async fn reach(&self, version: u64) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.version.subscribe().wait_for(|current| *current >= version).await;
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    pub(crate) fn get(&self, table: TableId, key: &str) -> Option<Arc<Stored>> {
        self.inner.read().table(table).objects.get(key).cloned()
    }

    /// The object as it was at an earlier version.
    pub(crate) fn get_at(
        &self,
        table: TableId,
        key: &str,
        version: u64,
    ) -> Result<Option<Arc<Stored>>, TooOld> {
        let inner = self.inner.read();
        let target = inner.table(table);
        let mut found = target.objects.get(key);
        for change in target.history.back_to(version)? {
            if **change.new.key() == *key {
                found = change.old.as_ref();
            }
        }
        Ok(found.cloned())
    }

    pub(crate) fn len(&self, table: TableId) -> usize {
        self.inner.read().table(table).objects.len()
    }

    /// Creates or replaces an object.
    pub(crate) fn put(&self, table: TableId, draft: Draft, expect: Expect) -> Result<Arc<Stored>, Mismatch> {
        let mut inner = self.inner.write();
        let old = inner.table(table).objects.get(&draft.key).cloned();
        check(old.as_deref(), expect)?;
        let version = inner.next_version();
        let new = Arc::new(Stored::encode(draft, version));
        let target = inner.table_mut(table);
        target.object_bytes += new.size();
        target.object_bytes -= old.as_ref().map_or(0, |old| old.size());
        target.objects.insert(Arc::clone(new.key()), Arc::clone(&new));
        let kind = if old.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        target.history.push(Change { kind, version, old, new: Arc::clone(&new) });
        // Before the lock is released, so that nobody sees versions in another order.
        self.version.send_replace(version);
        Ok(new)
    }

    /// Removes an object; returns its last state at the version of its removal.
    pub(crate) fn remove(&self, table: TableId, key: &str, expect: Expect) -> Result<Arc<Stored>, Mismatch> {
        let mut inner = self.inner.write();
        let old = inner.table(table).objects.get(key).cloned();
        check(old.as_deref(), expect)?;
        let Some(old) = old else { return Err(Mismatch::Missing) };
        let version = inner.next_version();
        let target = inner.table_mut(table);
        target.objects.remove(key);
        target.object_bytes -= old.size();
        let last = Arc::new(old.at_version(version));
        let change = Change { kind: ChangeKind::Deleted, version, old: Some(old), new: Arc::clone(&last) };
        target.history.push(change);
        // Before the lock is released, so that nobody sees versions in another order.
        self.version.send_replace(version);
        Ok(last)
    }

    /// Objects in the order of their keys, at the present or at an older version.
    pub(crate) fn page(&self, table: TableId, query: &PageQuery<'_>) -> Result<Page, TooOld> {
        let inner = self.inner.read();
        let target = inner.table(table);
        page::page(&target.objects, &target.history, inner.version, query)
    }

    /// The changes after `position`, at most `max` of them.
    pub(crate) fn changes(&self, table: TableId, position: u64, max: usize) -> Result<Batch, TooOld> {
        let inner = self.inner.read();
        inner.table(table).history.since(position, max, inner.version)
    }

    /// The changes that a watcher has not taken, at most `max` of them.
    pub(crate) fn changes_for(&self, table: TableId, slot: &WatchSlot, max: usize) -> Result<Batch, TooOld> {
        let inner = self.inner.read();
        // Read with the lock held: a compaction moves watchers that are up to date.
        inner.table(table).history.since(slot.position.load(Ordering::Relaxed), max, inner.version)
    }

    /// A receiver that wakes on each change of a table.
    pub(crate) fn watch_table(&self, table: TableId) -> watch::Receiver<u64> {
        self.inner.read().table(table).history.subscribe()
    }

    /// Makes a watcher known, so that it can be cut off or stopped; one that is too old already is not.
    pub(crate) fn register(&self, table: TableId, slot: &Arc<WatchSlot>) -> Result<(), TooOld> {
        self.inner.write().table_mut(table).history.register(slot)
    }

    /// Ends all watches of a table, as a server does that shuts down in good order.
    pub(crate) fn end_watches(&self, table: Option<TableId>) -> usize {
        let mut inner = self.inner.write();
        match table {
            Some(table) => inner.table_mut(table).history.end_watches(),
            None => inner.tables.iter_mut().map(|table| table.history.end_watches()).sum(),
        }
    }

    /// Forgets all history, as etcd's compaction does.
    pub(crate) fn compact(&self) -> u64 {
        let mut inner = self.inner.write();
        let version = inner.version;
        for table in &mut inner.tables {
            table.history.compact(version);
        }
        version
    }

    /// Copies all objects, without their history.
    pub(crate) fn save(&self) -> Saved {
        let inner = self.inner.read();
        let tables = inner.tables.iter().map(|table| table.objects.clone()).collect();
        Saved { version: inner.version, tables }
    }

    /// Sets all tables and the version back to what was saved, adds `bump` to the version, and cuts all watches. History before
    /// that is gone. Tables that were added since are empty.
    pub(crate) fn restore(&self, saved: &Saved, bump: u64) -> u64 {
        let mut inner = self.inner.write();
        let version = saved.version.saturating_add(bump);
        inner.version = version;
        for (at, table) in inner.tables.iter_mut().enumerate() {
            table.objects = saved.tables.get(at).cloned().unwrap_or_default();
            table.object_bytes = table.objects.values().map(|object| object.size()).sum();
            table.history.restart(version);
        }
        self.version.send_replace(version);
        version
    }

    pub(crate) fn stats(&self) -> StoreStats {
        let inner = self.inner.read();
        let mut stats = StoreStats::default();
        for table in &inner.tables {
            stats.objects += table.objects.len();
            stats.object_bytes += table.object_bytes;
            let (changes, bytes) = table.history.size();
            stats.history_changes += changes;
            stats.history_bytes += bytes;
        }
        stats
    }

    /// How many watchers were cut off because they did not keep up.
    pub(crate) fn watchers_cut(&self) -> u64 {
        self.inner.read().tables.iter().map(|table| table.history.watchers_cut()).sum()
    }

    /// How many watches are open.
    pub(crate) fn watchers(&self) -> usize {
        self.inner.read().tables.iter().map(|table| table.history.watchers()).sum()
    }
}

impl Inner {
    /// Table ids are only handed out by `add_table` and tables are never removed.
    fn table(&self, id: TableId) -> &Table {
        &self.tables[id.0 as usize]
    }

    fn table_mut(&mut self, id: TableId) -> &mut Table {
        &mut self.tables[id.0 as usize]
    }

    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }
}

fn check(found: Option<&Stored>, expect: Expect) -> Result<(), Mismatch> {
    match (found, expect) {
        (None, Expect::Absent) => Ok(()),
        (Some(_), Expect::Absent) => Err(Mismatch::Exists),
        (None, Expect::Version(_)) => Err(Mismatch::Missing),
        (Some(found), Expect::Version(version)) if found.version() == version => Ok(()),
        (Some(_), Expect::Version(_)) => Err(Mismatch::Changed),
    }
}
