//! One informer for each question, shared by everybody who asks it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{join_all, try_join_all};
use kube_core::Resource;
use parking_lot::Mutex;

use super::shared::AnyInformer;
use super::{FactoryError, NotSynced, Synced};
use crate::informer::SharedInformer;

/// The informers of a factory, by what was asked for.
pub(super) struct Registry<Q> {
    state: Mutex<State<Q>>,
}

struct State<Q> {
    informers: HashMap<Q, Arc<dyn AnyInformer>>,
    /// Informers that were stopped by somebody, and replaced.
    ending: Vec<Arc<dyn AnyInformer>>,
    /// How many have been made so far.
    made: u64,
    /// What is asked for from now on is refused.
    shut_down: bool,
}

impl<Q: Eq + Hash> Registry<Q> {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                informers: HashMap::new(),
                ending: Vec::new(),
                made: 0,
                shut_down: false,
            }),
        }
    }

    /// The informer for a question, made with a number of its own if there is none, or if it was stopped.
    pub(super) fn get_or_make<K: Resource + Send + Sync + 'static>(
        &self,
        question: Q,
        make: impl FnOnce(u64) -> Result<SharedInformer<K>, FactoryError>,
    ) -> Result<SharedInformer<K>, FactoryError> {
        let mut state = self.state.lock();
        if state.shut_down {
            return Err(FactoryError::ShutDown);
        }
        let known = state.informers.get(&question);
        let known = known.and_then(|any| any.as_any().downcast_ref::<SharedInformer<K>>());
        if let Some(informer) = known.filter(|informer| !informer.is_stopped()) {
            return Ok(informer.clone());
        }
        state.made += 1;
        let informer = make(state.made)?;
        let replaced = state.informers.insert(question, Arc::new(informer.clone()));
        state.ending.extend(replaced);
        state.ending.retain(|informer| !informer.has_ended());
        Ok(informer)
    }

    /// Starts what has not been started.
    pub(super) fn start(&self) {
        let state = self.state.lock();
        if !state.shut_down {
            state.informers.values().for_each(|informer| informer.start());
        }
    }

    /// Waits until all have synced, or until it is known which ones cannot.
    pub(super) async fn wait_for_cache_sync(&self) -> Result<Vec<Synced>, FactoryError> {
        let informers: Vec<_> =
            self.informers().into_iter().filter(|informer| informer.is_started()).collect();
        match try_join_all(informers.iter().map(|informer| informer.settled())).await {
            Ok(synced) => Ok(synced),
            // One is enough to know that it is in vain; others of which it is known too are named with it.
            Err(first) => {
                let known = informers.iter().filter_map(|informer| informer.settled().now_or_never()?.err());
                let mut failed: Vec<NotSynced> = known.collect();
                if !failed.contains(&first) {
                    failed.push(first);
                }
                Err(FactoryError::NotSynced(failed))
            }
        }
    }

    /// What has not synced, with what is wrong so far.
    pub(super) fn not_synced(&self) -> Vec<NotSynced> {
        self.informers().iter().filter_map(|informer| informer.not_synced()).collect()
    }

    /// Stops one informer, and returns when every task of it has ended; false if there was none.
    pub(super) async fn shutdown_of(&self, question: &Q) -> bool {
        let Some(informer) = self.state.lock().informers.get(question).cloned() else { return false };
        // It stays until it has ended, so that whoever shuts down everything meanwhile waits for it too.
        informer.shutdown().await;
        let mut state = self.state.lock();
        if state.informers.get(question).is_some_and(|current| Arc::ptr_eq(current, &informer)) {
            state.informers.remove(question);
        }
        true
    }

    /// Stops all informers, and returns when every task of them has ended. What is asked for afterwards is refused.
    pub(super) async fn shutdown(&self) {
        let ending = {
            let mut state = self.state.lock();
            state.shut_down = true;
            state.ending.clone()
        };
        let informers = self.informers();
        join_all(informers.iter().chain(&ending).map(|informer| informer.shutdown())).await;
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.informers().iter().map(|informer| informer.name().to_owned()).collect()
    }

    fn informers(&self) -> Vec<Arc<dyn AnyInformer>> {
        let mut informers: Vec<_> = self.state.lock().informers.values().cloned().collect();
        informers.sort_by(|one, two| one.name().cmp(two.name()));
        informers
    }
}
