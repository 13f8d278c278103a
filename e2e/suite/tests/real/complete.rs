//! Whether a handler was told everything that was written: what is missing must have happened before a list, which shows
//! only what is left of it.

use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use kube_informer::reflector::{ListRequest, WatchRequest};
use kube_informer::source::{
    ListPart, ListStream, ListWatch, Scope, SourceError, Want, WatchPart, WatchStream,
};
use kube_wire::Event;
use parking_lot::Mutex;

/// A source that notes between which versions its reader may have missed something.
pub(crate) struct Noted<S>(pub(crate) S, pub(crate) Arc<Mutex<Notes>>);

/// Where the reader of a source is, and how it came there.
#[derive(Default)]
pub(crate) struct Notes {
    at: u64,
    /// Lists: after which version the reader had missed things, and up to which.
    pub(crate) lists: Vec<(u64, u64)>,
}

impl Notes {
    fn listed(&mut self, version: u64) {
        self.lists.push((self.at, version));
        self.at = version;
    }
}

impl<K: Send + Sync + 'static, S: ListWatch<K>> ListWatch<K> for Noted<S> {
    fn scope(&self) -> Scope {
        self.0.scope()
    }

    fn list<'a>(
        &'a self,
        request: &'a ListRequest,
        want: &'a Arc<Want<K>>,
    ) -> BoxFuture<'a, Result<ListStream<K>, SourceError>> {
        Box::pin(async move {
            let notes = Arc::clone(&self.1);
            let parts = self.0.list(request, want).await?.inspect(move |part| {
                if let Ok(ListPart::End(meta)) = part
                    && meta.continue_token.is_empty()
                {
                    notes.lock().listed(meta.resource_version.parse().unwrap());
                }
            });
            Ok(parts.boxed())
        })
    }

    fn watch<'a>(
        &'a self,
        request: &'a WatchRequest,
        want: &'a Arc<Want<K>>,
    ) -> BoxFuture<'a, Result<WatchStream<K>, SourceError>> {
        Box::pin(async move {
            let (notes, mut initial) = (Arc::clone(&self.1), request.initial_events);
            let parts = self.0.watch(request, want).await?.inspect(move |part| {
                let Ok(WatchPart::Event(event)) = part else { return };
                match event {
                    Event::Bookmark { resource_version, initial_events_end: true } if initial => {
                        initial = false;
                        notes.lock().listed(resource_version.parse().unwrap());
                    }
                    Event::Bookmark { resource_version, .. } if !initial => {
                        notes.lock().at = resource_version.parse().unwrap();
                    }
                    Event::Added(object) | Event::Modified(object) | Event::Deleted(object) if !initial => {
                        notes.lock().at = object.resource_version().parse().unwrap();
                    }
                    _ => {}
                }
            });
            Ok(parts.boxed())
        })
    }
}

/// What was written to one object, or heard of it: its version, or that it is gone.
pub(crate) type Change = Option<u64>;

/// Everything of one object that was written, but not heard, though no list can be the reason; and what was heard, but
/// not written.
pub(crate) fn amiss(written: &[Change], heard: &[Change], lists: &[(u64, u64)]) -> Vec<String> {
    let (mut amiss, mut heard) = (Vec::new(), heard.iter().peekable());
    let mut before = 0;
    for (number, change) in written.iter().enumerate() {
        // When it went is not known, only between which changes.
        let after = written[number..].iter().find_map(|change| *change).unwrap_or(u64::MAX);
        let excused = match change {
            Some(version) => lists.iter().any(|(from, to)| from < version && version <= to),
            None => lists.iter().any(|(from, to)| *from < after && before < *to),
        };
        before = change.unwrap_or(before);
        if heard.next_if_eq(&change).is_none() && !excused {
            amiss.push(format!("not heard of {change:?} before {after}"));
        }
    }
    amiss.extend(heard.map(|change| format!("not written, or not then: {change:?}")));
    amiss
}

#[test]
fn what_was_missed_without_a_list_is_amiss() {
    let written = [Some(1), Some(3), None, Some(7), Some(9)];
    let of = |heard: &[Change], lists: &[(u64, u64)]| amiss(&written, heard, lists).len();
    assert_eq!(of(&written, &[]), 0);
    assert_eq!(of(&[Some(1), None, Some(7), Some(9)], &[]), 1, "a state is missing");
    assert_eq!(of(&[Some(1), None, Some(7), Some(9)], &[(1, 4)]), 0, "and a list is the reason");
    assert_eq!(of(&[Some(1), None, Some(7), Some(9)], &[(3, 8), (0, 2)]), 1, "and a list is not");
    assert_eq!(of(&[Some(1), Some(3), Some(7), Some(9)], &[]), 1, "nobody saw it go");
    assert_eq!(of(&[Some(1), Some(3), Some(7), Some(9)], &[(4, 5)]), 0, "behind a list");
    assert_eq!(of(&[Some(1), Some(3), Some(7), Some(9)], &[(0, 3), (7, 8)]), 1, "a list before or after");
    assert_eq!(of(&[Some(1), Some(3), None, Some(7), Some(9), Some(9)], &[]), 1, "told twice");
    assert_ne!(of(&[Some(3), Some(1), None, Some(7), Some(9)], &[(0, 10)]), 0, "told too late");
    assert_eq!(of(&[], &[(0, 10)]), 0);
}
