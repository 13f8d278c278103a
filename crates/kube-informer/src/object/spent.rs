//! Objects that are over.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::Object;

/// So many wait to be let go of at most; of more than that, whoever has them last lets go.
const MOST: usize = 256;

/// So many are kept back: until then those who are told of them have mostly heard.
const BACK: usize = 64;

/// Objects that have been replaced, and that those who make new ones let go of.
///
/// The memory of an object that was decoded is in a hundred pieces. Where those who let go are others than those who
/// decode, allocators carry the pieces from the one to the other, and they are far away by then. If who decodes lets go
/// of an old object before each new one, then the new one is made in the memory of the old one.
///
/// Only while much is decoded: at other times nothing is kept here.
pub(crate) struct Spent<K>(Mutex<Waiting<K>>);

struct Waiting<K> {
    objects: VecDeque<Object<K>>,
    /// Somebody is decoding, and will be back.
    wanted: bool,
}

impl<K> Spent<K> {
    /// Keeps objects that have been replaced, if somebody is going to let go of them.
    pub(crate) fn put<'a>(&self, objects: impl Iterator<Item = &'a Object<K>>)
    where
        K: 'a,
    {
        let mut waiting = self.0.lock();
        if waiting.wanted {
            let room = MOST.saturating_sub(waiting.objects.len());
            waiting.objects.extend(objects.take(room).cloned());
        }
    }

    /// Lets go of those that have waited longest: somebody is about to decode.
    pub(crate) fn let_go(&self) {
        let mut waiting = self.0.lock();
        waiting.wanted = true;
        // More than come, so that they do not pile up.
        let over = waiting.objects.len().saturating_sub(BACK).min(2);
        let gone: [Option<Object<K>>; 2] =
            std::array::from_fn(|at| if at < over { waiting.objects.pop_front() } else { None });
        drop(waiting);
        drop(gone);
    }

    /// Lets go of all: nothing is decoded for the time being.
    pub(crate) fn rest(&self) {
        let mut waiting = self.0.lock();
        waiting.wanted = false;
        let gone = std::mem::take(&mut waiting.objects);
        drop(waiting);
        drop(gone);
    }
}

impl<K> Default for Spent<K> {
    fn default() -> Self {
        Self(Mutex::new(Waiting { objects: VecDeque::new(), wanted: false }))
    }
}
