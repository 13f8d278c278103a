//! What is called with events: closures, a trait, a filter.

use std::fmt;

use super::{Deleted, Event};
use crate::object::Object;

/// Is called with every event, one after the other. It may block: while there are events for it, it has one of the threads that
/// tokio keeps for that (512 by default), and a handler waits only while all of them are held.
///
/// [`EventHandler`] makes one of closures; a closure that takes an [`Event`] is one itself.
pub trait Handle<K>: Send + 'static {
    /// Takes one event.
    fn handle(&mut self, event: Event<K>);

    /// Takes one event that others hear of too. Whoever only looks at it may spare the copy.
    fn handle_shared(&mut self, event: &Event<K>) {
        self.handle(event.clone());
    }
}

impl<K, F: FnMut(Event<K>) + Send + 'static> Handle<K> for F {
    fn handle(&mut self, event: Event<K>) {
        self(event);
    }
}

type OnAdd<K> = Box<dyn FnMut(&Object<K>, bool) + Send>;
type OnUpdate<K> = Box<dyn FnMut(&Object<K>, &Object<K>) + Send>;
type OnDelete<K> = Box<dyn FnMut(&Deleted<K>) + Send>;
type OnResync<K> = Box<dyn FnMut(&Object<K>) + Send>;

/// A handler made of closures, for the events that matter.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::fanout::EventHandler;
///
/// let handler = EventHandler::<Pod>::new()
///     .on_add(|pod, initial| println!("ADDED {} {initial}", pod.key()))
///     .on_update(|old, new| println!("UPDATED {} {}", old.resource_version(), new.resource_version()))
///     .on_delete(|gone| println!("DELETED {}", gone.object().key()));
/// # drop(handler);
/// ```
#[must_use = "a handler does nothing until it is added"]
pub struct EventHandler<K> {
    add: Option<OnAdd<K>>,
    update: Option<OnUpdate<K>>,
    delete: Option<OnDelete<K>>,
    resync: Option<OnResync<K>>,
}

impl<K> EventHandler<K> {
    /// A handler that does nothing.
    pub fn new() -> Self {
        Self { add: None, update: None, delete: None, resync: None }
    }

    /// Is called with new objects, and whether they were there from the start.
    pub fn on_add(mut self, call: impl FnMut(&Object<K>, bool) + Send + 'static) -> Self {
        self.add = Some(Box::new(call));
        self
    }

    /// Is called with what was seen last, and what is there now; also for a resync, unless
    /// [`on_resync`](Self::on_resync) is set.
    pub fn on_update(mut self, call: impl FnMut(&Object<K>, &Object<K>) + Send + 'static) -> Self {
        self.update = Some(Box::new(call));
        self
    }

    /// Is called with objects that are gone.
    pub fn on_delete(mut self, call: impl FnMut(&Deleted<K>) + Send + 'static) -> Self {
        self.delete = Some(Box::new(call));
        self
    }

    /// Is called with objects that have not changed, for a resync.
    pub fn on_resync(mut self, call: impl FnMut(&Object<K>) + Send + 'static) -> Self {
        self.resync = Some(Box::new(call));
        self
    }
}

impl<K: Send + Sync + 'static> Handle<K> for EventHandler<K> {
    fn handle(&mut self, event: Event<K>) {
        self.handle_shared(&event);
    }

    fn handle_shared(&mut self, event: &Event<K>) {
        match event {
            Event::Added { object, initial } => {
                if let Some(call) = &mut self.add {
                    call(object, *initial);
                }
            }
            Event::Updated { new, resync: true, .. } if self.resync.is_some() => {
                if let Some(call) = &mut self.resync {
                    call(new);
                }
            }
            Event::Updated { old, new, .. } => {
                if let Some(call) = &mut self.update {
                    call(old, new);
                }
            }
            Event::Deleted(gone) => {
                if let Some(call) = &mut self.delete {
                    call(gone);
                }
            }
        }
    }
}

impl<K> Default for EventHandler<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for EventHandler<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventHandler").finish_non_exhaustive()
    }
}

/// A handler that hears only of some objects. One that comes to be among them is added for it, one that leaves
/// them is deleted.
#[derive(Debug)]
pub struct Filtered<F, H> {
    filter: F,
    handler: H,
}

impl<F, H> Filtered<F, H> {
    /// Passes on what the filter accepts.
    pub fn new(filter: F, handler: H) -> Self {
        Self { filter, handler }
    }
}

impl<K, F, H> Handle<K> for Filtered<F, H>
where
    F: Fn(&Object<K>) -> bool + Send + 'static,
    H: Handle<K>,
{
    fn handle(&mut self, event: Event<K>) {
        let event = match event {
            Event::Updated { old, new, resync } => match ((self.filter)(&old), (self.filter)(&new)) {
                (true, true) => Event::Updated { old, new, resync },
                (false, true) => Event::Added { object: new, initial: false },
                (true, false) => Event::Deleted(Deleted::new(old)),
                (false, false) => return,
            },
            // By what the handler knows of it, whatever it was when it went.
            Event::Deleted(gone) if (self.filter)(gone.before()) => Event::Deleted(gone),
            Event::Added { object, initial } if (self.filter)(&object) => Event::Added { object, initial },
            Event::Deleted(_) | Event::Added { .. } => return,
        };
        self.handler.handle(event);
    }
}
