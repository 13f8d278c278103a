//! Labels that many objects share.
//!
//! What one template has made has the same labels, so most objects have the labels of some other object. They are kept
//! once, for all kinds, for as long as somebody has them; and each set has a number, so that a selector has to look at it
//! once.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Weak};

use parking_lot::Mutex;

use crate::hash::KeyedHash;

/// The number of a set of labels. Those with the same number are the same, but for the [last](LabelsId::LAST); 0 is for
/// none at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelsId(u64);

impl LabelsId {
    /// No number has more bits.
    pub(crate) const BITS: u32 = 40;
    /// The number of all sets that come when all other numbers have been given away.
    pub(super) const LAST: Self = Self((1 << Self::BITS) - 1);

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Whether no other set has it.
    #[inline]
    pub(super) fn is_of_one_set(self) -> bool {
        self != Self::LAST
    }

    /// One of so many places, a power of two.
    #[inline]
    pub(super) fn place(self, places: usize) -> usize {
        self.0 as usize & (places - 1)
    }
}

/// Labels and their values.
pub(crate) struct LabelSet {
    id: LabelsId,
    /// Label, value, label, value, …
    text: Box<str>,
    /// Where each of them ends.
    ends: Box<[u32]>,
}

impl LabelSet {
    /// The set of these labels, which are in order; none if there are none.
    #[expect(clippy::needless_pass_by_value, reason = "those who call it have made it for this")]
    pub(super) fn of<'a>(labels: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Option<Arc<Self>> {
        labels.clone().next()?;
        let hashed = HASH.labels(labels.clone());
        // The upper bits: the lower ones find the set within its part.
        let known = &KNOWN[(hashed >> 60) as usize % PARTS];
        Some(known.lock().find(hashed, &labels))
    }

    fn new<'a>(labels: &(impl Iterator<Item = (&'a str, &'a str)> + Clone)) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let parts = || labels.clone().flat_map(|(label, value)| [label, value]);
        let mut text = String::with_capacity(parts().map(str::len).sum());
        // What arrives has a limit that is far from 4 GiB.
        let ends = parts().map(|part| {
            text.push_str(part);
            u32::try_from(text.len()).unwrap_or(u32::MAX)
        });
        let ends = ends.collect();
        Self {
            id: LabelsId(NEXT.fetch_add(1, Ordering::Relaxed).min(LabelsId::LAST.0)),
            text: text.into(),
            ends,
        }
    }

    pub(super) fn id(&self) -> LabelsId {
        self.id
    }

    pub(super) fn get(&self, label: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == label).map(|(_, value)| value)
    }

    /// Labels and values, in the order of labels.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.ends.as_chunks::<2>().0.iter().map(move |[label, value]| {
            let both = (self.part(start, *label), self.part(*label, *value));
            start = *value;
            both
        })
    }

    /// Whether these are the labels.
    fn is<'a>(&self, labels: impl Iterator<Item = (&'a str, &'a str)>) -> bool {
        let mut own = self.iter();
        let same = |(label, value): (&str, &str)| own.next().is_some_and(|own| own == (label, value));
        labels.into_iter().all(same) && own.next().is_none()
    }

    fn part(&self, start: u32, end: u32) -> &str {
        self.text.get(start as usize..end as usize).unwrap_or("")
    }
}

/// Shows nothing of what is in it.
impl fmt::Debug for LabelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabelSet").field("id", &self.id).finish_non_exhaustive()
    }
}

/// In so many parts, so that those who decode at the same time do not wait for each other.
const PARTS: usize = 16;

/// With fewer than these it is not worth looking for those that nobody has any more.
const FEW: usize = 64;

static HASH: LazyLock<KeyedHash> = LazyLock::new(KeyedHash::any);

static KNOWN: [Mutex<Known>; PARTS] =
    [const { Mutex::new(Known { sets: LazyLock::new(HashMap::new), full: FEW }) }; PARTS];

/// Sets that somebody has, and some that nobody has any more.
struct Known {
    /// By their hash. Of two that have the same, one is known, and the other shared by nobody.
    sets: LazyLock<HashMap<u64, Weak<LabelSet>>>,
    /// With so many sets those that nobody has are forgotten.
    full: usize,
}

impl Known {
    fn find<'a>(
        &mut self,
        hashed: u64,
        labels: &(impl Iterator<Item = (&'a str, &'a str)> + Clone),
    ) -> Arc<LabelSet> {
        let known = self.sets.get(&hashed).and_then(Weak::upgrade);
        if let Some(known) = known
            && known.is(labels.clone())
        {
            return known;
        }
        if self.sets.len() >= self.full {
            self.sets.retain(|_, set| set.strong_count() > 0);
            self.full = (self.sets.len() * 2).max(FEW);
            self.sets.shrink_to(self.full);
        }
        let set = Arc::new(LabelSet::new(labels));
        self.sets.insert(hashed, Arc::downgrade(&set));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(labels: &[(&str, &str)]) -> Option<Arc<LabelSet>> {
        LabelSet::of(labels.iter().copied())
    }

    #[test]
    fn objects_with_the_same_labels_share_them() {
        let one = set(&[("app", "web"), ("tier", "")]).unwrap();
        let two = set(&[("app", "web"), ("tier", "")]).unwrap();
        assert!(Arc::ptr_eq(&one, &two) && one.id() == two.id());
        assert_eq!(one.iter().collect::<Vec<_>>(), [("app", "web"), ("tier", "")]);
        assert_eq!((one.get("tier"), one.get("no")), (Some(""), None));
        for other in [&[("app", "web")][..], &[("app", "webtier"), ("", "")], &[("appweb", ""), ("tier", "")]]
        {
            assert_ne!(set(other).unwrap().id(), one.id(), "{other:?}");
        }
        assert!(set(&[]).is_none());
    }

    #[test]
    fn labels_that_nobody_has_are_forgotten() {
        let held: Vec<_> = (0..100).map(|number| set(&[("held", &number.to_string())])).collect();
        for number in 0..100_000 {
            set(&[("passing", &number.to_string())]);
        }
        let kept: usize = KNOWN.iter().map(|known| known.lock().sets.len()).sum();
        assert!(kept < 10_000, "{kept} sets");
        assert_eq!(set(&[("held", "7")]).map(|set| set.id()), held[7].as_ref().map(|set| set.id()));
    }
}
