//! A set of places of which copies are cheap.

use std::sync::Arc;

/// So many places are in one piece of memory at most.
const PIECE: usize = 256;
/// So many are in each piece of a set that is made at once: there is room for more.
const FIRST: usize = PIECE / 4 * 3;

/// Places, in order. There is always at least one.
#[derive(Clone, Debug)]
pub(super) enum Set {
    /// In an index of what is different for every object there are many sets, each with one place.
    One(u32),
    Many(Arc<Many>),
}

#[derive(Clone, Debug)]
pub(super) struct Many {
    /// Each in order, none empty, and each behind the one before.
    pieces: Vec<Arc<Vec<u32>>>,
    len: usize,
}

impl Set {
    /// A set of places that are in order; none if there are none.
    pub(super) fn of(places: &[u32]) -> Option<Self> {
        match places {
            [] => None,
            [place] => Some(Set::One(*place)),
            _ => {
                let pieces = places.chunks(FIRST).map(|piece| Arc::new(piece.to_vec())).collect();
                Some(Set::Many(Arc::new(Many { pieces, len: places.len() })))
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Set::One(_) => 1,
            Set::Many(many) => many.len,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + use<'_> {
        let (one, many) = match self {
            Set::One(place) => (Some(*place), None),
            Set::Many(many) => (None, Some(many)),
        };
        one.into_iter()
            .chain(many.into_iter().flat_map(|many| &many.pieces).flat_map(|piece| piece.iter().copied()))
    }

    pub(super) fn insert(&mut self, place: u32) {
        match self {
            Set::One(there) if *there == place => {}
            Set::One(there) => {
                let both = vec![(*there).min(place), (*there).max(place)];
                *self = Set::Many(Arc::new(Many { pieces: vec![Arc::new(both)], len: 2 }));
            }
            Set::Many(many) => Arc::make_mut(many).insert(place),
        }
    }

    /// Takes a place out; true if it was the last one, and the set is to be forgotten.
    pub(super) fn remove(&mut self, place: u32) -> bool {
        match self {
            Set::One(there) => *there == place,
            Set::Many(many) => {
                let many = Arc::make_mut(many);
                many.remove(place);
                many.len == 0
            }
        }
    }
}

impl Many {
    /// The piece that has a place, or would have it.
    fn piece(&self, place: u32) -> usize {
        let behind = self.pieces.partition_point(|piece| piece.first().is_some_and(|first| *first <= place));
        behind.saturating_sub(1)
    }

    fn insert(&mut self, place: u32) {
        let at = self.piece(place);
        let Some(piece) = self.pieces.get_mut(at) else {
            self.pieces.push(Arc::new(vec![place]));
            self.len = 1;
            return;
        };
        let Err(within) = piece.binary_search(&place) else { return };
        self.len += 1;
        let piece = Arc::make_mut(piece);
        // What comes in order fills pieces to the end.
        if piece.len() == PIECE && within == PIECE {
            self.pieces.insert(at + 1, Arc::new(vec![place]));
            return;
        }
        piece.insert(within, place);
        if piece.len() > PIECE {
            let upper = piece.split_off(PIECE / 2);
            self.pieces.insert(at + 1, Arc::new(upper));
        }
    }

    fn remove(&mut self, place: u32) {
        let at = self.piece(place);
        let Some(piece) = self.pieces.get_mut(at) else { return };
        let Ok(within) = piece.binary_search(&place) else { return };
        let piece = Arc::make_mut(piece);
        piece.remove(within);
        self.len -= 1;
        if piece.is_empty() {
            self.pieces.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_does_what_an_ordinary_set_does_and_copies_stay_as_they_were() {
        let (mut set, mut model) = (Set::One(7), BTreeSet::from([7]));
        let mut copies = Vec::new();
        let mut random = 7_u64;
        for step in 0..40_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = (random >> 33) as u32 % 3_000;
            let shrink = (step / 10_000) % 2 == 1;
            if random.is_multiple_of(if shrink { 1 } else { 3 }) {
                model.remove(&place);
                if set.remove(place) {
                    assert!(model.is_empty());
                    (set, model) = (Set::One(place), BTreeSet::from([place]));
                }
            } else {
                set.insert(place);
                model.insert(place);
            }
            assert_eq!(set.len(), model.len());
            if step % 2_000 == 0 {
                copies.push((set.clone(), model.clone()));
            }
        }
        copies.push((set, model));
        for (copy, model) in &copies {
            assert!(copy.iter().eq(model.iter().copied()));
        }
    }

    #[test]
    fn a_set_that_is_made_at_once_is_like_any_other() {
        assert!(Set::of(&[]).is_none());
        for len in [1, 2, FIRST, FIRST + 1, 1_000] {
            let places: Vec<u32> = (0..len as u32).map(|at| at * 2).collect();
            let mut set = Set::of(&places).unwrap();
            assert!(set.len() == len && set.iter().eq(places.iter().copied()));
            places.iter().for_each(|place| set.insert(place + 1));
            assert!(set.len() == 2 * len && set.iter().eq(0..2 * len as u32));
        }
    }

    #[test]
    fn what_comes_in_order_fills_its_pieces() {
        let mut set = Set::One(0);
        (1..1_000).for_each(|place| set.insert(place));
        let Set::Many(many) = &set else { panic!("many places") };
        assert_eq!(many.pieces.len(), 4);
        (0..999).for_each(|place| assert!(!set.remove(place)));
        assert!(set.remove(999));
    }
}
