//! A handler that is attached to informers on their bad days.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube_client::Resource;
use kube_informer::SharedInformer;
use kube_informer::fanout::Event;
use kube_informer_e2e::in_store;
use parking_lot::Mutex;

use crate::PATIENCE;

/// What a listener knows, checked as it hears it: nothing twice, nothing out of order, nothing without a beginning.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<BTreeMap<String, u64>>>, Arc<Mutex<Vec<String>>>);

impl Heard {
    fn hear<K>(&self, event: &Event<K>) {
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
            _ => before.is_some(),
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
        let same = || {
            let known = self.0.lock();
            let there = in_store(informer);
            known.len() == there.len() && there.keys().all(|key| known.contains_key(key))
        };
        let wait = async {
            while !same() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("it hears everything");
        self.1.lock().clone()
    }
}

/// Adds a handler that checks what it hears.
pub(crate) fn listen<K: Resource + Send + Sync + 'static>(informer: &SharedInformer<K>) -> Heard {
    let heard = Heard::default();
    let told = heard.clone();
    informer.add_event_handler(move |event: Event<K>| told.hear(&event)).unwrap();
    heard
}
