//! The side of the queue that sources see.

use std::fmt;

use kube_informer::fanout::Event;

use crate::workqueue::{AddOptions, LOW_PRIORITY, Rules, WorkQueue};

use super::RequestKey;

/// Adds requests to the queue of a controller. Clones are the same.
#[derive(Clone)]
pub struct Enqueuer<R: RequestKey> {
    queue: WorkQueue<R>,
    rules: Rules,
    /// The priority of what is added without saying one.
    priority: i32,
}

impl<R: RequestKey> Enqueuer<R> {
    pub(super) fn new(queue: WorkQueue<R>, rules: Rules) -> Self {
        Self { queue, rules, priority: 0 }
    }

    /// Adds a request. What is there from the start, and what is told again though it has not changed, has a
    /// [low priority](LOW_PRIORITY) if the queue knows priorities. False if the controller has been stopped.
    pub fn add(&self, request: R) -> bool {
        self.queue.add_with(request, AddOptions::new().priority(self.priority))
    }

    /// Adds a request as the options say. False if the controller has been stopped.
    pub fn add_with(&self, request: R, options: AddOptions) -> bool {
        self.queue.add_with(request, options)
    }

    /// The priority of what is [added](Self::add) here.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// The same, for what comes of an event.
    pub(super) fn for_event<K>(&self, event: &Event<K>) -> Self {
        let can_wait = match event {
            Event::Added { initial, .. } => *initial,
            Event::Updated { old, new, resync } => {
                *resync || (old.resource_version() == new.resource_version() && old.uid() == new.uid())
            }
            _ => false,
        };
        let low = can_wait && self.rules == Rules::Merged;
        Self { priority: if low { LOW_PRIORITY } else { 0 }, ..self.clone() }
    }
}

impl<R: RequestKey> fmt::Debug for Enqueuer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enqueuer").field("queue", &self.queue).field("priority", &self.priority).finish()
    }
}
