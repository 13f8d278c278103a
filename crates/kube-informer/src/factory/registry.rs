//! One informer for each question, shared by everybody who asks it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{join_all, try_join_all};
use kube_core::Resource;
use parking_lot::{Mutex, MutexGuard};

use super::shared::{is_started, not_synced, settled};
use super::{FactoryError, NotSynced, Synced};
use crate::informer::{Inform, InformerStatus, SharedInformer};

/// The informers of a factory, by what was asked for.
pub(super) struct Registry<Q> {
    state: Mutex<State<Q>>,
}

/// The informers at one moment.
pub(super) struct State<Q> {
    /// Each with its number.
    informers: HashMap<Q, (u64, Arc<dyn Inform>)>,
    /// Informers that were stopped by somebody, and replaced.
    ending: Vec<Arc<dyn Inform>>,
    /// How many have been made so far.
    made: u64,
    /// What is asked for from now on is refused.
    shut_down: bool,
}

impl<Q: Clone + Eq + Hash> Registry<Q> {
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

    /// The informer for a question, made with a number of its own if there is none, or if it was stopped; or one that was
    /// made for another question.
    pub(super) fn get_or_make<K: Resource + Send + Sync + 'static>(
        &self,
        question: Q,
        instead: impl FnOnce(&State<Q>) -> Option<SharedInformer<K>>,
        make: impl FnOnce(u64) -> Result<SharedInformer<K>, FactoryError>,
    ) -> Result<SharedInformer<K>, FactoryError> {
        let mut state = self.open()?;
        let known = state.find(&question);
        let known = known.and_then(|any| any.as_any().downcast_ref::<SharedInformer<K>>()).cloned();
        if let Some(informer) = known.or_else(|| instead(&state)) {
            return Ok(informer);
        }
        let number = state.number();
        let informer = make(number)?;
        state.insert(question, number, Arc::new(informer.clone()));
        Ok(informer)
    }

    /// The same, whatever its type.
    pub(super) fn get_or_make_any(
        &self,
        question: Q,
        instead: impl FnOnce(&State<Q>) -> Option<Arc<dyn Inform>>,
        make: impl FnOnce(u64) -> Result<Arc<dyn Inform>, FactoryError>,
    ) -> Result<Arc<dyn Inform>, FactoryError> {
        let mut state = self.open()?;
        if let Some(known) = state.find(&question).cloned().or_else(|| instead(&state)) {
            return Ok(known);
        }
        let number = state.number();
        let informer = make(number)?;
        state.insert(question, number, Arc::clone(&informer));
        Ok(informer)
    }

    fn open(&self) -> Result<MutexGuard<'_, State<Q>>, FactoryError> {
        let state = self.state.lock();
        if state.shut_down { Err(FactoryError::ShutDown) } else { Ok(state) }
    }

    /// Starts what has not been started.
    pub(super) fn start(&self) {
        let state = self.state.lock();
        if !state.shut_down {
            state.informers.values().for_each(|(_, informer)| informer.start());
        }
    }

    /// Waits until all have synced, or until it is known which ones cannot.
    pub(super) async fn wait_for_cache_sync(&self) -> Result<Vec<Synced>, FactoryError> {
        let informers: Vec<_> =
            self.informers().into_iter().filter(|informer| is_started(&**informer)).collect();
        match try_join_all(informers.iter().map(|informer| settled(&**informer))).await {
            Ok(synced) => Ok(synced),
            // One is enough to know that it is in vain; others of which it is known too are named with it.
            Err(first) => {
                let known =
                    informers.iter().filter_map(|informer| settled(&**informer).now_or_never()?.err());
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
        self.informers().iter().filter_map(|informer| not_synced(&**informer)).collect()
    }

    /// How each informer is doing, and each view of it, with the name of its resource.
    pub(super) fn status(&self) -> Vec<(String, InformerStatus)> {
        let status = |informer: &Arc<dyn Inform>| (informer.resource(), informer.status());
        let informers = self.informers();
        let all = informers.iter().flat_map(|informer| {
            std::iter::once(status(informer)).chain(informer.views().iter().map(status).collect::<Vec<_>>())
        });
        all.collect()
    }

    /// Stops one informer, and returns when every task of it has ended; false if there was none.
    pub(super) async fn shutdown_of(&self, question: &Q) -> bool {
        self.shutdown_where(|known, _| known == question).await
    }

    /// Stops the informer of which something is true, and returns when every task of it has ended; false if there is none.
    pub(super) async fn shutdown_where(&self, is_it: impl Fn(&Q, &dyn Inform) -> bool) -> bool {
        let found = self.state.lock().first(&is_it);
        let Some((question, informer)) = found else { return false };
        // It stays until it has ended, so that whoever shuts down everything meanwhile waits for it too.
        informer.shutdown().await;
        let mut state = self.state.lock();
        if state.informers.get(&question).is_some_and(|(_, current)| Arc::ptr_eq(current, &informer)) {
            state.informers.remove(&question);
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

    fn informers(&self) -> Vec<Arc<dyn Inform>> {
        let mut informers: Vec<_> =
            self.state.lock().informers.values().map(|(_, informer)| Arc::clone(informer)).collect();
        informers.sort_by(|one, two| one.name().cmp(two.name()));
        informers
    }
}

impl<Q: Clone + Eq + Hash> State<Q> {
    /// The informer for a question, unless it was stopped.
    pub(super) fn find(&self, question: &Q) -> Option<&Arc<dyn Inform>> {
        self.informers.get(question).map(|(_, informer)| informer).filter(|informer| !informer.is_stopped())
    }

    /// The first that was made of those of which something is true, unless they were stopped.
    pub(super) fn oldest(&self, is_it: impl Fn(&dyn Inform) -> bool) -> Option<&Arc<dyn Inform>> {
        let running = self.informers.values().filter(|(_, informer)| !informer.is_stopped());
        let found = running.filter(|(_, informer)| is_it(&**informer)).min_by_key(|(number, _)| *number);
        found.map(|(_, informer)| informer)
    }

    fn first(&self, is_it: impl Fn(&Q, &dyn Inform) -> bool) -> Option<(Q, Arc<dyn Inform>)> {
        let mut all = self.informers.iter();
        let (question, (_, informer)) = all.find(|(question, (_, informer))| is_it(question, &**informer))?;
        Some((question.clone(), Arc::clone(informer)))
    }

    fn number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    fn insert(&mut self, question: Q, number: u64, informer: Arc<dyn Inform>) {
        let replaced = self.informers.insert(question, (number, informer));
        self.ending.extend(replaced.map(|(_, informer)| informer));
        self.ending.retain(|informer| !informer.has_ended());
    }
}
