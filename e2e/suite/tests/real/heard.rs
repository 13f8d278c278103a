//! A handler that is attached to informers on their bad days.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube_client::Resource;
use kube_informer::SharedInformer;
use kube_informer::fanout::{Event, Handle};
use kube_informer_e2e::{Versions, in_store};
use parking_lot::Mutex;

use crate::PATIENCE;

/// What a listener knows, checked as it hears it: nothing twice, nothing out of order, nothing without a beginning.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<BTreeMap<String, u64>>>, Arc<Mutex<Vec<String>>>);

impl Heard {
    /// A handler of what is heard here.
    pub(crate) fn handler<K: 'static>(&self) -> impl Handle<K> + use<K> {
        let told = self.clone();
        move |event: Event<K>| told.hear(&event)
    }

    pub(crate) fn hear<K>(&self, event: &Event<K>) {
        let (mut known, key) = (self.0.lock(), event.object().key().to_owned());
        let version: u64 = event.object().resource_version().parse().unwrap();
        let before = match event {
            Event::Deleted(_) => known.remove(&key),
            _ => known.insert(key.clone(), version),
        };
        let fits = match event {
            Event::Added { .. } => before.is_none(),
            Event::Updated { old, .. } => {
                before == old.resource_version().parse().ok() && before < Some(version)
            }
            _ => before.is_some_and(|before| before <= version),
        };
        if !fits {
            self.1.lock().push(format!("{key} {before:?} {event:?}"));
        }
    }

    /// Waits until it knows what the informer has; returns what did not fit.
    pub(crate) async fn all_of<K: Resource + Send + Sync + 'static>(
        &self,
        informer: &SharedInformer<K>,
    ) -> Vec<String> {
        self.all(|| in_store(informer)).await
    }

    /// Waits until it knows what is there, in the version in which it is there; returns what did not fit.
    pub(crate) async fn all(&self, there: impl Fn() -> Versions) -> Vec<String> {
        let known = || -> Versions {
            self.0.lock().iter().map(|(key, version)| (key.clone(), version.to_string())).collect()
        };
        let wait = async {
            while known() != there() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let all = tokio::time::timeout(PATIENCE, wait).await.is_ok();
        assert!(all, "it hears everything: it knows {:?}, there is {:?}", known(), there());
        self.1.lock().clone()
    }
}

/// Adds a handler that checks what it hears.
pub(crate) fn listen<K: Resource + Send + Sync + 'static>(informer: &SharedInformer<K>) -> Heard {
    let heard = Heard::default();
    informer.add_event_handler(heard.handler()).unwrap();
    heard
}
