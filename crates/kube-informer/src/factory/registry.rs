//! One informer for each question, shared by everybody who asks it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use futures::future::join_all;
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
    /// How many have been made so far.
    made: u64,
    /// What is asked for from now on is refused.
    shut_down: bool,
}

impl<Q: Eq + Hash> Registry<Q> {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State { informers: HashMap::new(), made: 0, shut_down: false }) }
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
        state.informers.insert(question, Arc::new(informer.clone()));
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
        let informers = self.informers();
        let (mut synced, mut failed) = (Vec::new(), Vec::new());
        for outcome in join_all(informers.iter().map(|informer| informer.settled())).await {
            match outcome {
                Ok(one) => synced.push(one),
                Err(one) => failed.push(one),
            }
        }
        if failed.is_empty() { Ok(synced) } else { Err(FactoryError::NotSynced(failed)) }
    }

    /// What has not synced, with what is wrong so far.
    pub(super) fn not_synced(&self) -> Vec<NotSynced> {
        self.informers().iter().filter_map(|informer| informer.not_synced()).collect()
    }

    /// Stops one informer, and returns when every task of it has ended; false if there was none.
    pub(super) async fn shutdown_of(&self, question: &Q) -> bool {
        let informer = self.state.lock().informers.remove(question);
        match informer {
            Some(informer) => {
                informer.shutdown().await;
                true
            }
            None => false,
        }
    }

    /// Stops all informers, and returns when every task of them has ended. What is asked for afterwards is refused.
    pub(super) async fn shutdown(&self) {
        self.state.lock().shut_down = true;
        let informers = self.informers();
        join_all(informers.iter().map(|informer| informer.shutdown())).await;
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
