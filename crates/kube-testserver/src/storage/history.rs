//! The latest changes of one table, and the watchers that read them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{HistoryLimits, Stored, TooOld};

/// One write.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) kind: ChangeKind,
    pub(crate) version: u64,
    /// The object before; none when it was created.
    pub(crate) old: Option<Arc<Stored>>,
    /// The object after; for a deletion its last state, at the version of the deletion.
    pub(crate) new: Arc<Stored>,
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

/// What a watcher gets when it asks.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) changes: Vec<Arc<Change>>,
    /// The cluster's version, if these changes are all there are up to it.
    pub(crate) complete_to: Option<u64>,
    /// Nothing will follow.
    pub(crate) closed: bool,
}

/// A watcher, as the history knows it.
#[derive(Debug, Default)]
pub(crate) struct WatchSlot {
    /// The version up to which the watcher has taken changes.
    pub(crate) position: AtomicU64,
    /// Asks the watch to end its stream in good order.
    pub(crate) end: CancellationToken,
    /// Breaks the connection, even when the client does not read.
    pub(crate) cut: CancellationToken,
}

#[derive(Debug)]
pub(super) struct History {
    limits: HistoryLimits,
    changes: VecDeque<Arc<Change>>,
    /// Bytes of objects that only the history keeps.
    bytes: usize,
    /// Changes up to and including this version are gone.
    forgotten: u64,
    latest: watch::Sender<u64>,
    closed: bool,
    watchers: Vec<Weak<WatchSlot>>,
    /// When to look for watchers that are gone; doubles, so that registering stays cheap.
    sweep_at: usize,
    watchers_cut: u64,
}

impl History {
    pub(super) fn new(limits: HistoryLimits, created_at: u64) -> Self {
        Self {
            limits,
            changes: VecDeque::new(),
            bytes: 0,
            // Nothing is missing: before the table was there, it was empty.
            forgotten: 0,
            latest: watch::Sender::new(created_at),
            closed: false,
            watchers: Vec::new(),
            sweep_at: 16,
            watchers_cut: 0,
        }
    }

    pub(super) fn push(&mut self, change: Change) {
        let version = change.version;
        self.bytes += kept_bytes(&change);
        self.changes.push_back(Arc::new(change));
        while self.changes.len() > self.limits.changes || self.bytes > self.limits.bytes {
            let Some(gone) = self.changes.pop_front() else { break };
            self.bytes -= kept_bytes(&gone);
            self.forgotten = gone.version;
        }
        self.cut_slow_watchers();
        self.latest.send_replace(version);
    }

    pub(super) fn since(&self, position: u64, max: usize, now: u64) -> Result<Batch, TooOld> {
        if position < self.forgotten {
            return Err(TooOld { oldest: self.forgotten });
        }
        let start = self.changes.partition_point(|change| change.version <= position);
        let changes: Vec<_> = self.changes.iter().skip(start).take(max).cloned().collect();
        let all = start + changes.len() == self.changes.len();
        Ok(Batch { changes, complete_to: all.then_some(now), closed: self.closed && all })
    }

    /// The changes after `version`, newest first: what has to be undone to be there again.
    pub(super) fn back_to(&self, version: u64) -> Result<impl Iterator<Item = &Change>, TooOld> {
        if version < self.forgotten {
            return Err(TooOld { oldest: self.forgotten });
        }
        Ok(self
            .changes
            .iter()
            .rev()
            .map(|change| &**change)
            .take_while(move |change| change.version > version))
    }

    pub(super) fn compact(&mut self, version: u64) {
        self.changes.clear();
        self.bytes = 0;
        self.forgotten = version;
        // Watchers that have taken everything are not behind: nothing of theirs was dropped.
        let latest = *self.latest.borrow();
        self.watchers.retain(|watcher| {
            watcher.upgrade().is_some_and(|watcher| {
                if watcher.position.load(Ordering::Relaxed) >= latest {
                    watcher.position.fetch_max(version, Ordering::Relaxed);
                }
                true
            })
        });
        self.cut_slow_watchers();
    }

    /// Forgets everything and cuts all watchers, as a server that starts at a version with no history before it.
    pub(super) fn restart(&mut self, version: u64) {
        self.changes.clear();
        self.bytes = 0;
        self.forgotten = version;
        self.closed = false;
        for watcher in self.watchers.drain(..).filter_map(|watcher| watcher.upgrade()) {
            watcher.cut.cancel();
            watcher.end.cancel();
        }
        self.latest.send_replace(version);
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
        self.latest.send_modify(|_| {});
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }

    /// Frees what nobody will ask for again: the history of a closed table that nobody watches.
    pub(super) fn forget_if_unused(&mut self) {
        if self.closed && self.watchers() == 0 {
            self.changes = VecDeque::new();
            self.bytes = 0;
            self.forgotten = u64::MAX;
        }
    }

    pub(super) fn register(&mut self, slot: &Arc<WatchSlot>) -> Result<(), TooOld> {
        if slot.position.load(Ordering::Relaxed) < self.forgotten {
            return Err(TooOld { oldest: self.forgotten });
        }
        if self.watchers.len() >= self.sweep_at {
            self.watchers.retain(|watcher| watcher.strong_count() > 0);
            self.sweep_at = 16.max(self.watchers.len() * 2);
        }
        self.watchers.push(Arc::downgrade(slot));
        Ok(())
    }

    pub(super) fn end_watches(&mut self) -> usize {
        let ended = self.watchers();
        for watcher in self.watchers.drain(..) {
            if let Some(watcher) = watcher.upgrade() {
                watcher.end.cancel();
            }
        }
        ended
    }

    pub(super) fn size(&self) -> (usize, usize) {
        (self.changes.len(), self.bytes)
    }

    pub(super) fn watchers(&self) -> usize {
        self.watchers.iter().filter(|watcher| watcher.strong_count() > 0).count()
    }

    pub(super) fn watchers_cut(&self) -> u64 {
        self.watchers_cut
    }

    fn cut_slow_watchers(&mut self) {
        let forgotten = self.forgotten;
        if forgotten == 0 {
            return;
        }
        let mut cut = 0;
        self.watchers.retain(|watcher| {
            watcher.upgrade().is_some_and(|watcher| {
                let keep = watcher.position.load(Ordering::Relaxed) >= forgotten;
                if !keep {
                    watcher.cut.cancel();
                    watcher.end.cancel();
                    cut += 1;
                }
                keep
            })
        });
        self.watchers_cut += cut;
    }
}

/// The live object is counted by its table; the history pays for what it alone keeps.
fn kept_bytes(change: &Change) -> usize {
    let old = change.old.as_ref().map_or(0, |old| old.size());
    match change.kind {
        ChangeKind::Added => size_of::<Change>(),
        ChangeKind::Modified => size_of::<Change>() + old,
        ChangeKind::Deleted => size_of::<Change>() + old + change.new.size(),
    }
}
