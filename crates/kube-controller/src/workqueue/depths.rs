//! How many keys wait, by priority.

use std::collections::BTreeMap;

/// So many priorities are counted one by one; the others together.
const MAX_PRIORITIES: usize = 25;

/// How many keys wait, by priority.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Depths {
    /// The first priorities that were used. They stay, so that a series does not come and go.
    counted: BTreeMap<i32, usize>,
    others: usize,
}

impl Depths {
    pub(super) fn add(&mut self, priority: i32) {
        if self.counted.len() < MAX_PRIORITIES {
            *self.counted.entry(priority).or_default() += 1;
        } else {
            *self.of(priority) += 1;
        }
    }

    pub(super) fn remove(&mut self, priority: i32) {
        let count = self.of(priority);
        *count = count.saturating_sub(1);
    }

    /// The label of each priority, and how many wait.
    pub(crate) fn labelled(&self) -> impl Iterator<Item = (String, usize)> + '_ {
        let others = (self.counted.len() == MAX_PRIORITIES)
            .then(|| ("exceeded_cardinality_limit".to_owned(), self.others));
        self.counted.iter().map(|(priority, count)| (priority.to_string(), *count)).chain(others)
    }

    pub(crate) fn total(&self) -> usize {
        self.counted.values().sum::<usize>() + self.others
    }

    fn of(&mut self, priority: i32) -> &mut usize {
        self.counted.get_mut(&priority).unwrap_or(&mut self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_priorities_than_can_be_shown_are_counted_together() {
        let mut depths = Depths::default();
        for priority in 0..30 {
            depths.add(priority);
        }
        depths.remove(29);
        depths.remove(3);
        let shown: Vec<_> = depths.labelled().collect();
        assert_eq!(shown.len(), 26);
        assert_eq!(shown[3], ("3".to_owned(), 0), "an empty one stays");
        assert_eq!(shown[25], ("exceeded_cardinality_limit".to_owned(), 4));
        assert_eq!(depths.total(), 28);
    }
}
