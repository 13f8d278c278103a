//! Objects that are over.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::Object;

/// Objects of about so many bytes, as they arrive, wait to be let go of at most; of more than that, whoever has them last
/// lets go.
const MOST_BYTES: usize = 1 << 20;

/// And no more than so many.
const MOST: usize = 256;

/// One in so many of them is kept back: until then those who are told of them have mostly heard.
const BACK: usize = 4;

/// Objects that have been replaced, and that those who make new ones let go of.
///
/// The memory of an object that was decoded is in a hundred pieces. Where those who let go are others than those who
/// decode, allocators carry the pieces from the one to the other, and they are far away by then. If who decodes lets go
/// of an old object before each new one, then the new one is made in the memory of the old one.
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

    /// Lets go of those that have waited longest: somebody is about to decode one of so many bytes.
    pub(crate) fn let_go(&self, bytes: usize) {
        let mut waiting = self.0.lock();
        // A large one is remembered for a while.
        waiting.bytes = bytes.max(waiting.bytes - waiting.bytes / 8);
        // More than come, so that they do not pile up; and all that are too many for their size.
        let (most, there) = (waiting.most(), waiting.objects.len());
        let over = there.saturating_sub(most / BACK).min(2).max(there.saturating_sub(most));
        let gone: Vec<Object<K>> = waiting.objects.drain(..over).collect();
        drop(waiting);
        drop(gone);
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
