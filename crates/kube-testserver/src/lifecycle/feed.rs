//! The changes of one table, for readers inside the process.

use std::sync::Arc;

use crate::selector::Selector;
use crate::storage::{ChangeKind, PageQuery, Store, Stored, TableId};

/// How many changes are taken at a time.
const BATCH: usize = 1024;

/// A position in a table's history.
#[derive(Debug)]
pub(super) struct Feed {
    table: TableId,
    /// None before the first read, and after the history went on without this reader.
    position: Option<u64>,
}

/// One change.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) object: Arc<Stored>,
    pub(super) deleted: bool,
}

impl Feed {
    pub(super) fn new(table: TableId) -> Self {
        Self { table, position: None }
    }

    pub(super) fn table(&self) -> TableId {
        self.table
    }

    /// What has happened since the last call; everything there is if that is not known.
    pub(super) fn take(&mut self, store: &Store) -> Vec<Seen> {
        let mut seen = Vec::new();
        loop {
            let Some(position) = self.position else {
                let all = Selector::default();
                let query = PageQuery { namespace: "", selector: &all, at: None, after: None, limit: None };
                let Ok(page) = store.page(self.table, &query) else { return seen };
                self.position = Some(page.version);
                seen.extend(page.items.into_iter().map(|object| Seen { object, deleted: false }));
                return seen;
            };
            let Ok(batch) = store.changes(self.table, position, BATCH) else {
                self.position = None;
                continue;
            };
            self.position =
                batch.changes.last().map(|change| change.version).max(batch.complete_to).or(self.position);
            seen.extend(batch.changes.iter().map(|change| Seen {
                object: Arc::clone(&change.new),
                deleted: change.kind == ChangeKind::Deleted,
            }));
            if batch.complete_to.is_some() {
                return seen;
            }
        }
    }
}
