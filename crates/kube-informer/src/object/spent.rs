//! Objects that are over.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::Object;

/// Objects of about so many bytes, as they arrive, wait to be let go of at most; of more than that, whoever has them last
/// lets go.
const MOST_BYTES: usize = 1 << 20;

/// And no more than so many.
const MOST: usize = 256;

/// Objects that have been replaced, and that new ones are made of.
///
/// The memory of an object that was decoded is in a hundred pieces. Where those who let go are others than those who
/// decode, allocators carry the pieces from the one to the other, and they are far away by then. So who decodes gets an
/// old object for each new one, and most of the new one is written over the old one, without asking the allocator.
///
/// Only while objects arrive: at other times nothing is kept here.
pub(crate) struct Spent<K>(Mutex<Waiting<K>>);

struct Waiting<K> {
    objects: VecDeque<Object<K>>,
    /// Objects arrive.
    wanted: bool,
    /// How large those are that have arrived lately.
    bytes: usize,
}

impl<K> Spent<K> {
    /// Says whether objects arrive. If not, it lets go of all.
    pub(crate) fn want(&self, wanted: bool) {
        let mut waiting = self.0.lock();
        waiting.wanted = wanted;
        let gone = if wanted { VecDeque::new() } else { std::mem::take(&mut waiting.objects) };
        drop(waiting);
        drop(gone);
    }

    /// Keeps objects that have been replaced, if others arrive that are made in their place.
    pub(crate) fn put<'a>(&self, objects: impl Iterator<Item = &'a Object<K>>)
    where
        K: 'a,
    {
        let mut waiting = self.0.lock();
        if waiting.wanted {
            let room = waiting.most().saturating_sub(waiting.objects.len());
            waiting.objects.extend(objects.take(room).cloned());
        }
    }

    /// Lets go of those that have waited longest: somebody is about to decode one of so many bytes. Returns one that it can
    /// be made of.
    pub(crate) fn let_go(&self, bytes: usize) -> Option<Box<K>> {
        let mut waiting = self.0.lock();
        // A large one is remembered for a while.
        waiting.bytes = bytes.max(waiting.bytes - waiting.bytes / 8);
        let (most, there) = (waiting.most(), waiting.objects.len());
        let over = match there * 4 / most.max(1) {
            // Those who are told of them may not have heard yet.
            0 | 1 => 0,
            2 => 1,
            // More than come, so that they do not pile up; and all that are too many for their size.
            _ => there.saturating_sub(most).max(2).min(there),
        };
        let oldest = if over > 0 { waiting.objects.pop_front() } else { None };
        let others: Vec<Object<K>> = waiting.objects.drain(..over.saturating_sub(1)).collect();
        drop(waiting);
        oldest.into_iter().chain(others).find_map(Object::into_value)
    }
}

impl<K> Waiting<K> {
    /// How many may wait.
    fn most(&self) -> usize {
        (MOST_BYTES / self.bytes.max(1)).min(MOST)
    }
}

impl<K> Default for Spent<K> {
    fn default() -> Self {
        Self(Mutex::new(Waiting { objects: VecDeque::new(), wanted: false, bytes: 0 }))
    }
}
