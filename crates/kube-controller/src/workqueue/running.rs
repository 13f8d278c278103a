//! What is being worked on.

use std::time::Duration;

use tokio::time::Instant;

use super::slab::Id;

/// What is being worked on, and since when: as many as there are workers, each at a seat that it remembers.
#[derive(Debug, Default)]
pub(super) struct Running {
    seats: Vec<(Instant, Id)>,
}

/// Where somebody sits among those who are being worked on.
pub(super) type Seat = u32;

impl Running {
    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    pub(super) fn insert(&mut self, id: Id, now: Instant) -> Seat {
        self.seats.push((now, id));
        (self.seats.len() - 1) as Seat
    }

    /// Says since when it sat there, and who sits there now in its place, if somebody does.
    pub(super) fn remove(&mut self, seat: Seat) -> Option<(Instant, Option<Id>)> {
        if seat as usize >= self.seats.len() {
            return None;
        }
        let (since, _) = self.seats.swap_remove(seat as usize);
        Some((since, self.seats.get(seat as usize).map(|(_, moved)| *moved)))
    }

    /// The oldest first.
    pub(super) fn ids(&self) -> Vec<Id> {
        let mut sorted = self.seats.clone();
        sorted.sort_unstable();
        sorted.into_iter().map(|(_, id)| id).collect()
    }

    /// How long each has been there.
    pub(super) fn needed(&self, now: Instant) -> impl Iterator<Item = Duration> + '_ {
        self.seats.iter().map(move |(since, _)| now.saturating_duration_since(*since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_goes_leaves_a_seat_to_the_last_and_says_so() {
        let (start, mut running) = (Instant::now(), Running::default());
        let at = |second| start + Duration::from_secs(second);
        let seats: Vec<Seat> = (0..3).map(|id| running.insert(id, at(10 - u64::from(id)))).collect();
        assert_eq!(seats, [0, 1, 2]);
        assert_eq!(running.ids(), [2, 1, 0], "the oldest first");
        assert_eq!(running.remove(0), Some((at(10), Some(2))));
        assert_eq!(running.remove(1), Some((at(9), None)), "it was the last");
        assert_eq!(running.remove(1), None);
        assert_eq!(running.needed(at(20)).collect::<Vec<_>>(), [Duration::from_secs(12)]);
        assert_eq!((running.remove(0), running.len()), (Some((at(8), None)), 0));
    }
}
