//! Objects of a snapshot that are looked at, and not taken.

use std::fmt;
use std::sync::Arc;

use kube_core::{Resource, Selector};

use super::Snapshot;
use super::places::bring_near;
use super::set::Set;
use super::snapshot::Place;
use crate::object::{Matcher, Object, ObjectRef, Remembering};

/// So many objects are brought near at the same time before handles to them are made.
const NEAR: usize = 32;

/// Objects of one moment: all, or those of a namespace or of an index, with some labels.
///
/// It holds the moment, and no object: which objects they are is found out while going through them, and none is touched
/// that nobody looks at. A handle that outlives it is made by [`ObjectRef::to_object`], or of all by
/// [`to_vec`](Self::to_vec).
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_core::Selector;
/// use kube_informer::lister::Lister;
/// use kube_informer::store::Store;
///
/// let pods = Lister::new(Store::<Pod>::new(), &());
/// for pod in pods.select(&Selector::default()).iter() {
///     println!("{} on {:?}", pod.key(), pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()));
/// }
/// ```
#[must_use = "nothing is selected before it is gone through"]
pub struct Selected<K> {
    snapshot: Arc<Snapshot<K>>,
    places: Candidates,
    matcher: Matcher,
}

enum Candidates {
    All,
    /// None if there is nothing.
    Some(Option<Set>),
}

impl<K: Resource> Selected<K> {
    pub(super) fn some(snapshot: Arc<Snapshot<K>>, places: Option<Set>) -> Self {
        Self { snapshot, places: Candidates::Some(places), matcher: Matcher::everything() }
    }

    /// The objects with these labels: all, or those of a namespace.
    pub(crate) fn new(snapshot: Arc<Snapshot<K>>, namespace: Option<&str>, selector: &Selector) -> Self {
        let places = match namespace {
            None => Candidates::All,
            Some(namespace) => {
                let index = snapshot.indexes().first();
                Candidates::Some(index.and_then(|index| index.get(namespace)).cloned())
            }
        };
        Self { places, snapshot, matcher: Matcher::new(selector) }
    }

    /// The objects, in no order.
    pub fn iter(&self) -> impl Iterator<Item = ObjectRef<'_, K>> {
        let (all, some) = self.candidates();
        let mut remembering = self.remembering();
        let all = all.into_iter().flat_map(Snapshot::all);
        let some = some.into_iter().flat_map(Set::iter).filter_map(|place| self.snapshot.at(place));
        all.chain(some).filter(move |place| is_wanted(&mut remembering, place)).filter_map(Place::borrow)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.places {
            _ if !self.matcher.matches_all() => self.iter().count(),
            Candidates::All => self.snapshot.len(),
            Candidates::Some(places) => places.as_ref().map_or(0, Set::len),
        }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// A handle to each.
    pub fn to_vec(&self) -> Vec<Object<K>> {
        let (all, some) = self.candidates();
        let mut remembering = self.remembering();
        let mut found = Vec::with_capacity(if remembering.is_some() { 0 } else { self.len() });
        let mut take = |near: &mut Vec<&Place<K>>| {
            bring_near(near.iter().copied());
            found.extend(near.drain(..).filter_map(Place::object));
        };
        let mut near = Vec::with_capacity(NEAR);
        let some = some.into_iter().flat_map(Set::iter).filter_map(|place| self.snapshot.at(place));
        for place in all.into_iter().flat_map(Snapshot::all).chain(some) {
            if is_wanted(&mut remembering, place) {
                near.push(place);
                if near.len() == NEAR {
                    take(&mut near);
                }
            }
        }
        take(&mut near);
        found
    }

    fn candidates(&self) -> (Option<&Snapshot<K>>, Option<&Set>) {
        match &self.places {
            Candidates::All => (Some(&*self.snapshot), None),
            Candidates::Some(places) => (None, places.as_ref()),
        }
    }

    /// None if everything is wanted.
    fn remembering(&self) -> Option<Remembering<'_>> {
        let candidates = match &self.places {
            Candidates::All => self.snapshot.len(),
            Candidates::Some(places) => places.as_ref().map_or(0, Set::len),
        };
        (!self.matcher.matches_all()).then(|| self.matcher.remembering(candidates))
    }
}

/// Whether an object has the labels.
#[inline]
fn is_wanted<K: Resource>(remembering: &mut Option<Remembering<'_>>, place: &Place<K>) -> bool {
    let Some(object) = &place.value else { return false };
    remembering.as_mut().is_none_or(|some| some.matches(place.labels(), || object.labels()))
}

impl<K> fmt::Debug for Selected<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selected").field("of", &self.snapshot).finish_non_exhaustive()
    }
}
