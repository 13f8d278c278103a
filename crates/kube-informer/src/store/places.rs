//! A numbered list of which copies are cheap: what two copies have in common, they share.
//!
//! It has no gaps: what is taken out is replaced by the last one. A change copies one short run of values and the nodes
//! above it, unless nobody else has them.

use std::sync::Arc;

/// So many values are in one piece of memory, unless it is said otherwise.
const VALUES: usize = 32;
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
pub(super) struct Places<T, const RUN: usize = VALUES> {
    root: Arc<Node<T, RUN>>,
    /// How many levels of branches there are above the twigs.
    height: u32,
    len: usize,
}

/// Nodes are few, and mostly near; runs are many, and mostly not: so a run has nothing in it but values, and to find one
/// in it takes one look.
#[derive(Debug)]
enum Node<T, const RUN: usize> {
    Branch([Option<Arc<Node<T, RUN>>>; FANOUT]),
    Twigs([Option<Arc<Run<T, RUN>>>; FANOUT]),
}

/// Values, and nothing behind the last one.
#[derive(Debug)]
struct Run<T, const RUN: usize>([T; RUN]);

impl<T, const RUN: usize> Places<T, RUN> {
    pub(super) fn new() -> Self {
        Self::sparse(0)
    }

    /// So many values, all of them zero, which take no memory until something is put among them.
    pub(super) fn sparse(len: usize) -> Self {
        let mut height = 0;
        while capacity::<RUN>(height) < len {
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
                    node = children[child::<RUN>(place, height)].as_deref()?;
                    height = height.checked_sub(1)?;
                }
                Node::Twigs(runs) => return runs[child::<RUN>(place, 0)].as_deref().map(|run| &run.0),
            }
        }
    }

    /// All values, in pieces, in their order.
    pub(super) fn runs(&self) -> Runs<'_, T, RUN> {
        Runs { waiting: vec![&self.root], runs: [].iter(), left: self.len }
    }
}

impl<T: Clone + Default + Near, const RUN: usize> Places<T, RUN> {
    /// Puts a value in a place, if there is one.
    pub(super) fn set(&mut self, place: usize, value: T) {
        if place < self.len
            && let Some(there) = self.get_mut(place)
        {
            *there = value;
        }
    }

    /// Puts a value behind the last one; returns its place.
    pub(super) fn push(&mut self, value: T) -> u32 {
        if self.len == capacity::<RUN>(self.height) {
            let mut children = [const { None }; FANOUT];
            children[0] = Some(Arc::clone(&self.root));
            self.root = Arc::new(Node::Branch(children));
            self.height += 1;
        }
        let place = self.len;
        self.len += 1;
        if let Some(there) = self.get_mut(place) {
            *there = value;
        }
        // There are never more objects than that in memory.
        u32::try_from(place).unwrap_or(u32::MAX)
    }

    /// Puts a value in a place that has one; returns that one.
    pub(super) fn replace(&mut self, place: u32, value: T) -> Option<T> {
        self.get(place as usize)?;
        self.get_mut(place as usize).map(|there| std::mem::replace(there, value))
    }

    /// Takes out the value of a place, and puts the last one there.
    pub(super) fn swap_remove(&mut self, place: u32) -> Option<T> {
        let last = self.len.checked_sub(1)?;
        if place as usize > last {
            return None;
        }
        let moved = self.get_mut(last).map(std::mem::take)?;
        self.len = last;
        if place as usize == last {
            return Some(moved);
        }
        self.get_mut(place as usize).map(|there| std::mem::replace(there, moved))
    }

    /// A place, to be changed: what is shared on the way to it is copied.
    fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        let (mut node, mut height) = (Arc::make_mut(&mut self.root), self.height);
        loop {
            match node {
                Node::Branch(children) => {
                    let below = &mut children[child::<RUN>(place, height)];
                    height = height.checked_sub(1)?;
                    node = Arc::make_mut(below.get_or_insert_with(|| Arc::new(Node::empty(height))));
                }
                Node::Twigs(runs) => {
                    let run = runs[child::<RUN>(place, 0)].get_or_insert_default();
                    return Arc::make_mut(run).0.get_mut(place % RUN);
                }
            }
        }
    }
}

impl<T, const RUN: usize> Node<T, RUN> {
    fn empty(height: u32) -> Self {
        match height {
            0 => Node::Twigs([const { None }; FANOUT]),
            _ => Node::Branch([const { None }; FANOUT]),
        }
    }
}

impl<T: Default, const RUN: usize> Default for Run<T, RUN> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| T::default()))
    }
}

impl<T, const RUN: usize> Clone for Places<T, RUN> {
    fn clone(&self) -> Self {
        Self { root: Arc::clone(&self.root), height: self.height, len: self.len }
    }
}

impl<T, const RUN: usize> Clone for Node<T, RUN> {
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

impl<T: Clone + Near, const RUN: usize> Clone for Run<T, RUN> {
    fn clone(&self) -> Self {
        bring_near(&self.0);
        Self(self.0.clone())
    }
}

/// How many values fit below so many levels of branches and one of twigs.
fn capacity<const RUN: usize>(height: u32) -> usize {
    RUN.saturating_mul(FANOUT.saturating_pow(height.saturating_add(1)))
}

/// Which child of a node leads to a place, if so many levels are below the node.
#[inline]
fn child<const RUN: usize>(place: usize, height: u32) -> usize {
    ((place / RUN) >> (height * FANOUT.trailing_zeros())) % FANOUT
}

/// All values, in pieces.
#[derive(Debug)]
pub(super) struct Runs<'a, T, const RUN: usize = VALUES> {
    /// The next one last.
    waiting: Vec<&'a Arc<Node<T, RUN>>>,
    /// Those of the twigs that this is at.
    runs: std::slice::Iter<'a, Option<Arc<Run<T, RUN>>>>,
    left: usize,
}

impl<'a, T, const RUN: usize> Iterator for Runs<'a, T, RUN> {
    type Item = &'a [T];

    fn next(&mut self) -> Option<&'a [T]> {
        while self.left > 0 {
            if let Some(run) = self.runs.find_map(Option::as_deref) {
                let whole = &run.0[..self.left.min(RUN)];
                self.left -= whole.len();
                return Some(whole);
            }
            match &**self.waiting.pop()? {
                Node::Branch(children) => self.waiting.extend(children.iter().flatten().rev()),
                Node::Twigs(runs) => self.runs = runs.iter(),
            }
        }
        None
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

    fn contents(places: &Places<usize>) -> Vec<usize> {
        places.runs().flatten().copied().collect()
    }

    #[test]
    fn it_does_what_an_ordinary_list_does_and_copies_stay_as_they_were() {
        let (mut places, mut model) = (Places::<usize>::new(), Vec::new());
        let mut copies = Vec::new();
        let mut random = 7_u64;
        for step in 1..60_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let shrink = (step / 10_000) % 3 == 2;
            let at = (random >> 33) as usize % (model.len() + 1);
            match (random >> 20) % 4 {
                0 if at < model.len() => {
                    let old = std::mem::replace(&mut model[at], step);
                    assert_eq!(places.replace(at as u32, step), Some(old));
                }
                1 | 2 if shrink && at < model.len() => {
                    assert_eq!(places.swap_remove(at as u32), Some(model.swap_remove(at)));
                }
                _ if shrink => {}
                _ => {
                    assert_eq!(places.push(step) as usize, model.len());
                    model.push(step);
                }
            }
            assert_eq!(places.get(at), model.get(at));
            assert_eq!(places.len(), model.len());
            if step % 5_000 == 0 {
                copies.push((places.clone(), model.clone()));
            }
        }
        for (copy, model) in &copies {
            assert!(contents(copy) == *model, "a copy of {} has changed", model.len());
        }
        assert!(contents(&places) == model && model.len() > VALUES * FANOUT);
    }

    #[test]
    fn what_is_not_there_is_not_found_and_not_taken() {
        let mut places = Places::<usize>::new();
        assert_eq!(places.get(0), None);
        assert_eq!((places.swap_remove(0), places.replace(0, 1)), (None, None));
        places.push(5);
        assert_eq!(places.get(1), None);
        assert_eq!((places.swap_remove(1), places.replace(1, 1)), (None, None));
        assert_eq!(places.swap_remove(0), Some(5));
        assert_eq!(contents(&places), [0_usize; 0]);
    }
}
