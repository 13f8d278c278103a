//! Kinds that begin to be followed, are watched over, and end.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use kube_core::GroupVersionResource;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::entry::{About, Entry, Extent, is_gone, is_scope_gone, is_vain};
use super::gone::{Gone, Looks};
use super::server::{Patience, Server};
use super::{Cache, CacheError, CacheOptions, Phase, Shared};
use crate::informer::{InformerStatus, Phase as InformerPhase, SharedInformer};
use crate::object::Raw;

/// How long to wait before the server is asked again whether a kind that is there has namespaces; twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest such wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl Cache {
    /// What is followed of a kind, from now on if it was not before.
    pub(super) async fn entry(
        &self,
        about: &About,
        whole: bool,
        patience: Patience,
    ) -> Result<Arc<Entry>, CacheError> {
        about.check()?;
        if let Some(entry) = self.known(about, whole)? {
            return Ok(entry);
        }
        let namespaced = patience.wait(&about.name(), self.shared.server.is_namespaced(about)).await?;
        loop {
            // Somebody may have been faster.
            if let Some(entry) = self.known(about, whole)? {
                return Ok(entry);
            }
            if let Some(entry) = self.shared.follow(about, whole, namespaced)? {
                return Ok(entry);
            }
        }
    }

    fn known(&self, about: &About, whole: bool) -> Result<Option<Arc<Entry>>, CacheError> {
        let entry = self.shared.state.lock().entries.get(&about.resource).cloned();
        if let Some(entry) = &entry {
            if let Some(namespaced) = about.namespaced {
                entry.learn(namespaced, &self.shared.options)?;
            }
            if whole {
                entry.whole()?;
            }
        }
        Ok(entry)
    }

    /// Whether objects of a kind have namespaces. Most do, so those of which nobody knows have some.
    pub(super) async fn is_namespaced(&self, about: &About) -> Result<bool, CacheError> {
        if let Some(namespaced) = about.namespaced {
            return Ok(namespaced);
        }
        if let Some(entry) = self.followed(&about.resource) {
            return Ok(entry.is_namespaced());
        }
        let said = self.patience().wait(&about.name(), self.shared.server.is_namespaced(about)).await?;
        Ok(said.unwrap_or(true))
    }

    pub(super) async fn remove(&self, resource: &GroupVersionResource) -> bool {
        let Some(entry) = self.shared.state.lock().entries.remove(resource) else { return false };
        // Whoever shuts down the cache meanwhile waits for it too.
        self.shared.tasks.track_future(entry.informer().shutdown()).await;
        true
    }
}

impl Shared {
    /// Begins to follow a kind; none if somebody else has.
    fn follow(
        &self,
        about: &About,
        whole: bool,
        namespaced: Option<bool>,
    ) -> Result<Option<Arc<Entry>>, CacheError> {
        let options = self.options.lock();
        let mut state = self.state.lock();
        if state.phase == Phase::ShutDown {
            return Err(CacheError::ShutDown);
        }
        if state.entries.contains_key(&about.resource) {
            return Ok(None);
        }
        if namespaced == Some(false) && options.confines(&about.resource) {
            return Err(CacheError::ClusterScoped { resource: about.name() });
        }
        state.made += 1;
        state.idle.remove(&about.resource);
        let entry = Entry::new(&self.server.client, about.clone(), namespaced, whole, &options, state.made);
        for (name, function) in state.indexes.get(&about.resource).into_iter().flatten() {
            entry.add_index(name, Arc::clone(function));
        }
        let entry = Arc::new(entry);
        state.entries.insert(about.resource.clone(), Arc::clone(&entry));
        if state.phase == Phase::Running {
            self.run(&entry);
        }
        Ok(Some(entry))
    }

    pub(super) fn run(&self, entry: &Arc<Entry>) {
        entry.informer().start();
        let watch = Watch {
            server: Arc::clone(&self.server),
            options: Arc::clone(&self.options),
            entry: Arc::downgrade(entry),
            informer: entry.informer().clone(),
            extent: entry.watch_extent(),
            seed: entry.seed,
        };
        let (cache_ends, kind_ends) = (self.stop.clone(), entry.informer().ends());
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = cache_ends.cancelled() => {}
                () = kind_ends.cancelled() => {}
                () = watch.run() => {}
            }
        });
    }

    /// Stops what nobody needs.
    pub(super) async fn stop_idle(&self, time: Duration) {
        let idle: Vec<Arc<Entry>> = {
            let mut state = self.state.lock();
            // Who holds an informer of the cache holds the entry too.
            let is_idle = |entry: &Arc<Entry>| Arc::strong_count(entry) == 1 && entry.is_idle(time);
            let idle: Vec<_> = state.entries.extract_if(|_, entry| is_idle(entry)).collect();
            state.idle.extend(idle.iter().map(|(resource, _)| resource.clone()));
            idle.into_iter().map(|(_, entry)| entry).collect()
        };
        join_all(idle.iter().map(|entry| entry.informer().shutdown())).await;
    }
}

/// Watches over a kind that the server may not know yet, or not any more: what is there then is there no more, nobody is
/// asked for it until it is back, and what it is when it comes is learnt.
struct Watch {
    server: Arc<Server>,
    options: Arc<Mutex<CacheOptions>>,
    entry: Weak<Entry>,
    informer: SharedInformer<Raw>,
    extent: watch::Receiver<Extent>,
    seed: u64,
}

impl Watch {
    async fn run(self) {
        let mut status = self.informer.watch_status();
        let mut pause = FIRST_PAUSE;
        let (mut looks, mut lists) = (Looks::new(self.seed), 0);
        loop {
            let is_certain = || self.extent.borrow().certain;
            let to_do = |status: &InformerStatus| {
                has_ended(status)
                    || is_gone(status)
                    || (!is_certain() && (is_missing(status) || is_there(status)))
            };
            let there = match status.wait_for(to_do).await {
                Ok(status) if !has_ended(&status) => !is_missing(&status),
                _ => return,
            };
            if is_gone(&status.borrow()) {
                self.informer.forget(is_scope_gone);
                self.doubt();
                if self.informer.rest(is_vain) {
                    let listed = self.informer.look(|status| status.lists);
                    if std::mem::replace(&mut lists, listed) != listed {
                        // It was there since it was last looked for.
                        looks = Looks::new(self.seed);
                    }
                    self.until_it_is_back(&mut looks, &mut status).await;
                    continue;
                }
            }
            if !is_certain() {
                self.learn().await;
            }
            if is_certain() || !there {
                pause = FIRST_PAUSE;
                // The next time that the server is asked for its objects, it may have them.
                if status.changed().await.is_err() {
                    return;
                }
            } else {
                tokio::time::sleep(pause).await;
                pause = LONGEST_PAUSE.min(pause * 2);
            }
        }
    }

    /// Waits until a kind that is not asked for is there again, or until somebody asks for something else of it.
    async fn until_it_is_back(&self, looks: &mut Looks, status: &mut watch::Receiver<InformerStatus>) {
        let Some(about) = self.entry.upgrade().map(|entry| entry.about().clone()) else { return };
        let config = self.options.lock().config.clone();
        let gone = Gone { server: &self.server, about: &about, config: &config, seed: self.seed };
        tokio::select! {
            biased;
            _ = status.wait_for(|status| status.phase != InformerPhase::Resting) => {}
            said = gone.until_it_is_back(looks) => {
                if let (Some(namespaced), Some(entry)) = (said, self.entry.upgrade()) {
                    // One that has been stopped meanwhile has nothing to learn, and nothing to do.
                    drop(entry.learn(namespaced, &self.options));
                }
                drop(self.informer.wake());
            }
        }
    }

    fn doubt(&self) {
        if let Some(entry) = self.entry.upgrade() {
            entry.doubt();
        }
    }

    /// Asks the server whether the kind has namespaces.
    async fn learn(&self) {
        let Some(about) = self.entry.upgrade().map(|entry| entry.about().clone()) else { return };
        let patience = Patience::new(self.options.lock().sync_timeout);
        let said = patience.wait(&about.name(), async { Ok(self.server.ask(&about).await?) }).await;
        let Some(entry) = self.entry.upgrade() else { return };
        match said {
            // One that has been stopped meanwhile has nothing to learn.
            Ok(Some(namespaced)) => drop(entry.learn(namespaced, &self.options)),
            Ok(None) => {}
            Err(error) => entry.not_learnt(error),
        }
    }
}

fn has_ended(status: &InformerStatus) -> bool {
    status.phase == InformerPhase::Stopped
}

/// The server has such a kind: some of it, though perhaps not all, has been listed.
fn is_there(status: &InformerStatus) -> bool {
    status.scopes.iter().any(|scope| scope.synced)
}

/// The server has said that there is no such kind, and nothing else since.
fn is_missing(status: &InformerStatus) -> bool {
    status.scopes.iter().any(|scope| scope.trouble.as_ref().is_some_and(|trouble| trouble.error.code == 404))
}
