//! A row of places of which copies are cheap: what two copies have in common, they share.
//!
//! What was never put anywhere takes no memory. A change copies one short run of values and the nodes above it, unless
//! nobody else has them.

use std::sync::Arc;

/// So many values are in one piece of memory.
pub(super) const RUN: usize = 64;
/// Children of a node.
const FANOUT: usize = 64;

/// Something that knows what is to be brought near before it is copied.
pub(super) trait Near {
    /// Reads a little of what is at the other end of its pointers.
    ///
    /// A count of references is changed one after the other, each time from far away; to read all of them first brings
    /// them near at the same time.
    fn near(&self) -> usize;
}

/// Brings near what values point to.
pub(super) fn bring_near<'a, T: Near + 'a>(values: impl IntoIterator<Item = &'a T>) {
    std::hint::black_box(values.into_iter().fold(0_usize, |sum, value| sum.wrapping_add(value.near())));
}

#[derive(Debug)]
pub(super) struct Places<T> {
    root: Arc<Node<T>>,
    /// How many levels of branches there are above the twigs.
    height: u32,
    len: usize,
}

/// Nodes are few, and mostly near; runs are many, and mostly not: so a run has nothing in it but values, and to find one
/// in it takes one look.
#[derive(Debug)]
enum Node<T> {
    Branch([Option<Arc<Node<T>>>; FANOUT]),
    Twigs([Option<Arc<Run<T>>>; FANOUT]),
}

/// Values, and nothing behind the last one.
#[derive(Debug)]
struct Run<T>([T; RUN]);

impl<T> Places<T> {
    /// So many places, with nothing in them.
    pub(super) fn new(len: usize) -> Self {
        let mut height = 0;
        while capacity(height) < len {
            height += 1;
        }
        Self { root: Arc::new(Node::empty(height)), height, len }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<&T> {
        self.run(place)?.get(place % RUN)
    }

    /// The piece of memory that has a place; none if nothing was ever put there.
    #[inline]
    pub(super) fn run(&self, place: usize) -> Option<&[T; RUN]> {
        if place >= self.len {
            return None;
        }
        let (mut node, mut height) = (&*self.root, self.height);
        loop {
            match node {
                Node::Branch(children) => {
                    node = children[child(place, height)].as_deref()?;
                    height = height.checked_sub(1)?;
                }
                Node::Twigs(runs) => return runs[child(place, 0)].as_deref().map(|run| &run.0),
            }
        }
    }

    /// All values, in pieces, in their order. Of what nothing was ever put into there may be nothing.
    pub(super) fn runs(&self) -> Runs<'_, T> {
        Runs { waiting: vec![&self.root], runs: [].iter() }
    }

    /// The same, each with the place of the first value in it.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (u32, &[T; RUN])> {
        let first = (0..self.len).step_by(RUN);
        first.filter_map(|first| Some((u32::try_from(first).ok()?, self.run(first)?)))
    }
}

impl<T: Clone + Default + Near> Places<T> {
    /// Puts a value in a place, if there is one; returns what was there.
    pub(super) fn replace(&mut self, place: usize, value: T) -> Option<T> {
        if place >= self.len {
            return None;
        }
        self.get_mut(place).map(|there| std::mem::replace(there, value))
    }

    /// Takes out what is in a place, if anything was ever put near it.
    pub(super) fn take(&mut self, place: usize) -> Option<T> {
        self.get(place)?;
        self.get_mut(place).map(std::mem::take)
    }

    /// A place, to be changed: what is shared on the way to it is copied.
    fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        let (mut node, mut height) = (Arc::make_mut(&mut self.root), self.height);
        loop {
            match node {
                Node::Branch(children) => {
                    let below = &mut children[child(place, height)];
                    height = height.checked_sub(1)?;
                    node = Arc::make_mut(below.get_or_insert_with(|| Arc::new(Node::empty(height))));
                }
                Node::Twigs(runs) => {
                    let run = runs[child(place, 0)].get_or_insert_default();
                    return Arc::make_mut(run).0.get_mut(place % RUN);
                }
            }
        }
    }
}

impl<T> Node<T> {
    fn empty(height: u32) -> Self {
        match height {
            0 => Node::Twigs([const { None }; FANOUT]),
            _ => Node::Branch([const { None }; FANOUT]),
        }
    }
}

impl<T: Default> Default for Run<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| T::default()))
    }
}

impl<T> Clone for Places<T> {
    fn clone(&self) -> Self {
        Self { root: Arc::clone(&self.root), height: self.height, len: self.len }
    }
}

impl<T> Clone for Node<T> {
    fn clone(&self) -> Self {
        match self {
            Node::Branch(children) => Node::Branch(copy_of(children)),
            Node::Twigs(runs) => Node::Twigs(copy_of(runs)),
        }
    }
}

fn copy_of<N>(below: &[Option<Arc<N>>; FANOUT]) -> [Option<Arc<N>>; FANOUT] {
    std::hint::black_box(below.iter().flatten().map(Arc::strong_count).sum::<usize>());
    below.clone()
}

impl<T: Clone + Near> Clone for Run<T> {
    fn clone(&self) -> Self {
        bring_near(&self.0);
        Self(self.0.clone())
    }
}

/// How many values fit below so many levels of branches and one of twigs.
fn capacity(height: u32) -> usize {
    RUN.saturating_mul(FANOUT.saturating_pow(height.saturating_add(1)))
}

/// Which child of a node leads to a place, if so many levels are below the node.
#[inline]
fn child(place: usize, height: u32) -> usize {
    ((place / RUN) >> (height * FANOUT.trailing_zeros())) % FANOUT
}

/// All values, in pieces.
#[derive(Debug)]
pub(super) struct Runs<'a, T> {
    /// The next one last.
    waiting: Vec<&'a Arc<Node<T>>>,
    /// Those of the twigs that this is at.
    runs: std::slice::Iter<'a, Option<Arc<Run<T>>>>,
}

impl<'a, T> Iterator for Runs<'a, T> {
    type Item = &'a [T; RUN];

    fn next(&mut self) -> Option<&'a [T; RUN]> {
        loop {
            if let Some(run) = self.runs.find_map(Option::as_deref) {
                return Some(&run.0);
            }
            match &**self.waiting.pop()? {
                Node::Branch(children) => self.waiting.extend(children.iter().flatten().rev()),
                Node::Twigs(runs) => self.runs = runs.iter(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Near for usize {
        fn near(&self) -> usize {
            *self
        }
    }

    /// More than one level of nodes has room for.
    const MANY: usize = RUN * FANOUT * 3;

    fn contents(places: &Places<usize>) -> Vec<(u32, usize)> {
        let values = places.numbered().flat_map(|(first, run)| (first..).zip(run.iter().copied()));
        values.filter(|(_, value)| *value != 0).collect()
    }

    #[test]
    fn it_does_what_an_ordinary_row_does_and_copies_stay_as_they_were() {
        let (mut places, mut model) = (Places::<usize>::new(MANY), vec![0; MANY]);
        let mut copies = Vec::new();
        let mut random = 7_u64;
        for step in 1..60_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (random >> 33) as usize % MANY;
            if random.is_multiple_of(3) {
                assert_eq!(places.take(at).unwrap_or(0), std::mem::take(&mut model[at]));
            } else {
                assert_eq!(places.replace(at, step), Some(std::mem::replace(&mut model[at], step)));
            }
            assert_eq!(places.get(at).copied().unwrap_or(0), model[at]);
            if step % 5_000 == 0 {
                copies.push((places.clone(), model.clone()));
            }
        }
        copies.push((places, model));
        for (copy, model) in &copies {
            let model = (0_u32..).zip(model.iter().copied()).filter(|(_, value)| *value != 0);
            assert!(contents(copy).into_iter().eq(model.clone()));
            assert!(
                copy.runs().flatten().copied().filter(|value| *value != 0).eq(model.map(|(_, value)| value))
            );
        }
    }

    #[test]
    fn where_nothing_was_put_there_is_nothing() {
        let mut places = Places::<usize>::new(MANY);
        assert_eq!((places.take(0), places.get(0), places.runs().count()), (None, None, 0));
        assert_eq!((places.replace(MANY, 1), places.take(MANY), places.get(MANY)), (None, None, None));
        places.replace(MANY - 1, 5);
        assert_eq!((places.get(MANY - 1), places.get(MANY - 2), places.get(0)), (Some(&5), Some(&0), None));
        assert_eq!((places.runs().count(), contents(&places)), (1, vec![(MANY as u32 - 1, 5)]));
        assert_eq!((places.take(MANY - 1), contents(&places)), (Some(5), vec![]));
    }
}
