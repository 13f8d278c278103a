//! Which events matter.
//!
//! A predicate says of an event whether it is worth a reconcile. It makes no informer smaller: what it refuses is in the
//! copy all the same. Use a selector of the informer's for that.
//!
//! ```
//! use k8s_openapi::api::apps::v1::Deployment;
//! use kube_controller::controller::predicate::{self, Predicate};
//!
//! let spec_or_labels: Predicate<Deployment> = predicate::generation_changed().or(predicate::labels_changed());
//! let of_mine = predicate::label_selector("app in (web, db)")?.and(spec_or_labels);
//! # drop(of_mine);
//! # Ok::<(), kube_informer::selector::SelectorError>(())
//! ```
//!
//! An update whose two sides have different uids is an object that was deleted and made anew while nobody looked. To
//! those that ask what has changed, everything has.

use std::fmt;
use std::sync::Arc;

use kube_core::{Resource, SelectorExt};
use kube_informer::Object;
use kube_informer::fanout::{Deleted, Event};
use kube_informer::selector::{SelectorError, parse_labels};

/// Says which events matter. Clones are the same.
pub struct Predicate<K>(Arc<Accepts<K>>);

type Accepts<K> = dyn Fn(&Event<K>) -> bool + Send + Sync;

impl<K: 'static> Predicate<K> {
    /// A function of the whole event.
    pub fn new(accepts: impl Fn(&Event<K>) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(accepts))
    }

    /// A function of the object: as it is now, or was last.
    pub fn of_object(accepts: impl Fn(&Object<K>) -> bool + Send + Sync + 'static) -> Self {
        Self::new(move |event| accepts(event.object()))
    }

    /// Whether the event matters.
    pub fn accepts(&self, event: &Event<K>) -> bool {
        (self.0)(event)
    }

    /// What both accept.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::new(move |event| self.accepts(event) && other.accepts(event))
    }

    /// What one of them accepts, or both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::new(move |event| self.accepts(event) || other.accepts(event))
    }
}

/// What the predicate does not accept.
impl<K: 'static> std::ops::Not for Predicate<K> {
    type Output = Self;

    fn not(self) -> Self {
        Self::new(move |event| !self.accepts(event))
    }
}

/// Updates that changed the object as the server counts it. What is told again without a change does not matter.
pub fn resource_version_changed<K: 'static>() -> Predicate<K> {
    changed(|old: &Object<K>, new: &Object<K>| old.resource_version() != new.resource_version())
}

/// Updates that changed what is wanted of the object. Status, metadata and resyncs do not matter. Only for kinds that
/// count their `generation`, and have a status that is written by itself.
pub fn generation_changed<K: Resource + 'static>() -> Predicate<K> {
    changed(|old: &Object<K>, new: &Object<K>| old.metadata().generation != new.metadata().generation)
}

/// Updates that changed an annotation.
pub fn annotations_changed<K: Resource + 'static>() -> Predicate<K> {
    changed(|old: &Object<K>, new: &Object<K>| {
        let (old, new) = (old.metadata(), new.metadata());
        old.annotations.iter().flatten().ne(new.annotations.iter().flatten())
    })
}

/// Updates that changed a label.
pub fn labels_changed<K: Resource + 'static>() -> Predicate<K> {
    changed(|old: &Object<K>, new: &Object<K>| !old.labels().iter().eq(new.labels().iter()))
}

/// Objects with these labels: `app in (web, db), !canary`. Of an update, as it is now.
pub fn label_selector<K: Resource + 'static>(selector: &str) -> Result<Predicate<K>, SelectorError> {
    let selector = parse_labels(selector)?;
    Ok(Predicate::of_object(move |object: &Object<K>| {
        let labels =
            object.labels().iter().map(|(label, value)| (label.to_owned(), value.to_owned())).collect();
        selector.matches(&labels)
    }))
}

/// What is told again at a resync, and nothing else. With others: `generation_changed().or(resync())`.
pub fn resync<K: 'static>() -> Predicate<K> {
    Predicate::new(|event| matches!(event, Event::Updated { resync: true, .. }))
}

/// Updates for which it holds, and everything that is no update.
fn changed<K: 'static>(
    holds: impl Fn(&Object<K>, &Object<K>) -> bool + Send + Sync + 'static,
) -> Predicate<K> {
    Predicate::new(move |event: &Event<K>| match event {
        Event::Updated { old, new, .. } => old.uid() != new.uid() || holds(old, new),
        _ => true,
    })
}

type OnAdd<K> = Box<dyn Fn(&Object<K>, bool) -> bool + Send + Sync>;
type OnUpdate<K> = Box<dyn Fn(&Object<K>, &Object<K>) -> bool + Send + Sync>;
type OnDelete<K> = Box<dyn Fn(&Deleted<K>) -> bool + Send + Sync>;

/// A predicate made of closures, one for each sort of event. What has none matters. `into()` makes it a [`Predicate`].
#[must_use = "a predicate does nothing until it is given to a watch"]
pub struct PredicateFuncs<K> {
    add: Option<OnAdd<K>>,
    update: Option<OnUpdate<K>>,
    delete: Option<OnDelete<K>>,
}

impl<K: 'static> PredicateFuncs<K> {
    /// Everything matters.
    pub fn new() -> Self {
        Self { add: None, update: None, delete: None }
    }

    /// Which new objects matter; the flag says whether they were there from the start.
    pub fn on_add(mut self, accepts: impl Fn(&Object<K>, bool) -> bool + Send + Sync + 'static) -> Self {
        self.add = Some(Box::new(accepts));
        self
    }

    /// Which changes matter.
    pub fn on_update(
        mut self,
        accepts: impl Fn(&Object<K>, &Object<K>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.update = Some(Box::new(accepts));
        self
    }

    /// Which deletions matter.
    pub fn on_delete(mut self, accepts: impl Fn(&Deleted<K>) -> bool + Send + Sync + 'static) -> Self {
        self.delete = Some(Box::new(accepts));
        self
    }
}

impl<K: 'static> From<PredicateFuncs<K>> for Predicate<K> {
    fn from(funcs: PredicateFuncs<K>) -> Self {
        Self::new(move |event| match event {
            Event::Added { object, initial } => funcs.add.as_ref().is_none_or(|call| call(object, *initial)),
            Event::Updated { old, new, .. } => funcs.update.as_ref().is_none_or(|call| call(old, new)),
            Event::Deleted(gone) => funcs.delete.as_ref().is_none_or(|call| call(gone)),
            _ => true,
        })
    }
}

impl<K: 'static> Default for PredicateFuncs<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Clone for Predicate<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> fmt::Debug for Predicate<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predicate").finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for PredicateFuncs<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PredicateFuncs").finish_non_exhaustive()
    }
}
