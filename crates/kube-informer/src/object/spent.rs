//! Objects that are over, and that new ones are made of.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Object;
use super::packed::View;

/// Objects of about so many bytes, as they arrive, wait at most. What does not wait is let go of by whoever has it last.
const MOST_BYTES: usize = 4 << 20;

/// And no more than so many.
const MOST: usize = 1_024;

/// And no more than one for so many that are there.
const SHARE: usize = 8;

/// But so many, however few are there.
const FEW: usize = 16;

/// How many of the oldest are looked at for one that nobody else has.
const LOOKS: usize = 4;

/// Something that new objects can be made of, when nobody else has it.
pub(crate) enum Used<K> {
    /// An object that has been replaced.
    Object(Object<K>),
    /// The value of an object that rests packed: it was decoded for those who are told of it.
    Value(Arc<View<K>>),
}

/// What will be over soon, and what is: objects that have been replaced, and values that listeners are told.
///
/// The memory of an object that was decoded is in a hundred pieces. Where those who let go are others than those who
/// decode, allocators carry the pieces from the one to the other, and they are far away by then. So who decodes gets an
/// old object for each new one, and most of the new one is written over the old one, without asking the allocator. Where
/// types or encodings do not allow that, who decodes lets go of it, which is better than that others do.
///
/// Those who are told of a change have the old object until then, so it waits here for its turn. They hear in the order of
/// what happens, and so it is over in that order, unless somebody keeps it.
///
/// There is one for each source. Only while objects arrive: at other times nothing is kept here.
pub(crate) struct Spent<K>(Mutex<Waiting<K>>);

struct Waiting<K> {
    used: VecDeque<Used<K>>,
    /// Objects arrive.
    wanted: bool,
    /// How large those are that have arrived lately.
    bytes: usize,
    /// How many there are that are not over.
    there: usize,
}

impl<K> Spent<K> {
    /// Says whether objects arrive. If not, it lets go of all.
    pub(crate) fn want(&self, wanted: bool) {
        let mut waiting = self.0.lock();
        waiting.wanted = wanted;
        let gone = if wanted { VecDeque::new() } else { std::mem::take(&mut waiting.used) };
        drop(waiting);
        drop(gone);
    }

    /// Keeps what will be over, if objects arrive that are made of it. So many are there now.
    pub(crate) fn put(&self, used: impl Iterator<Item = Used<K>>, there: usize) {
        let mut waiting = self.0.lock();
        waiting.there = there;
        if waiting.wanted {
            let room = waiting.most().saturating_sub(waiting.used.len());
            waiting.used.extend(used.take(room));
        }
    }

    /// Somebody is about to decode an object of so many bytes: what it can be made of is the one that has waited longest and
    /// that nobody else has.
    pub(crate) fn take_spare(&self, bytes: usize) -> Option<Box<K>> {
        let mut waiting = self.0.lock();
        // A large one is remembered for a while.
        waiting.bytes = bytes.max(waiting.bytes - waiting.bytes / 8);
        let most = waiting.most();
        let too_many = waiting.used.len().saturating_sub(most);
        let mut over: Vec<Used<K>> = waiting.used.drain(..too_many).collect();
        let alone = waiting.used.iter().take(LOOKS).position(Used::is_alone);
        let spare = alone.and_then(|alone| {
            // Somebody keeps those before it.
            over.extend(waiting.used.drain(..alone));
            waiting.used.pop_front()
        });
        if spare.is_none() && waiting.used.len() >= most {
            over.extend(waiting.used.pop_front());
        }
        drop(waiting);
        drop(over);
        spare.and_then(Used::into_value)
    }
}

impl<K> Used<K> {
    /// Nobody else has it.
    fn is_alone(&self) -> bool {
        match self {
            Used::Object(object) => object.stored().count() == 1,
            Used::Value(view) => Arc::strong_count(view) == 1,
        }
    }

    fn into_value(self) -> Option<Box<K>> {
        match self {
            Used::Object(object) => object.into_value(),
            Used::Value(view) => Arc::into_inner(view).map(View::into_value),
        }
    }
}

impl<K> Waiting<K> {
    /// How many may wait.
    fn most(&self) -> usize {
        (MOST_BYTES / self.bytes.max(1)).min(MOST).min((self.there / SHARE).max(FEW))
    }
}

impl<K> Default for Spent<K> {
    fn default() -> Self {
        Self(Mutex::new(Waiting { used: VecDeque::new(), wanted: false, bytes: 0, there: 0 }))
    }
}
