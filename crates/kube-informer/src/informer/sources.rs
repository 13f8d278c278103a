//! What an informer follows: one source, or one for each namespace, which may change while it runs.

use std::sync::Arc;

use kube_core::Resource;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::builder::Settings;
use super::{InformerError, Phase, Shared, process};
use crate::source::{ListWatch, Scope, is_segment};
use crate::store::Write;

/// The sources of an informer that has not been stopped.
pub(super) struct Sources<K> {
    settings: Settings<K>,
    followed: Vec<Followed<K>>,
    next_id: u64,
    started: bool,
    /// None of them is asked for anything: they have been stopped, until something is followed again.
    resting: bool,
}

/// A source that is followed, or is to be.
pub(super) struct Followed<K> {
    /// Tells what comes from it from what comes from others.
    pub(super) id: u64,
    pub(super) source: Arc<dyn ListWatch<K>>,
    pub(super) scope: Scope,
    /// What is known already is not what is wanted, though its version may be the same.
    pub(super) anew: bool,
    pub(super) stop: CancellationToken,
}

impl<K: Resource + Send + Sync + 'static> Sources<K> {
    pub(super) fn new(settings: Settings<K>, sources: Vec<Arc<dyn ListWatch<K>>>) -> Self {
        let mut new = Self { settings, followed: Vec::new(), next_id: 0, started: false, resting: false };
        new.followed = sources.into_iter().map(|source| new.follow(source, false)).collect();
        new
    }

    pub(super) fn scopes(&self) -> impl Iterator<Item = (u64, Scope)> {
        self.followed.iter().map(|one| (one.id, one.scope.clone()))
    }

    /// Starts to follow, if that has not been done.
    pub(super) fn start(&mut self, shared: &Arc<Shared<K>>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        process::started(shared);
        for one in &self.followed {
            process::run(shared, &self.settings, one);
        }
    }

    /// Asks no more. What is known of each source is kept, and said, until something is followed again.
    pub(super) fn rest(&mut self, shared: &Shared<K>) {
        self.resting = true;
        for one in &self.followed {
            one.stop.cancel();
        }
        shared.status.send_modify(|status| status.enter(Phase::Resting));
    }

    /// Follows again what it followed before it rested, if it rests.
    pub(super) fn wake(&mut self, shared: &Arc<Shared<K>>) -> Result<(), InformerError> {
        if !self.resting {
            return Ok(());
        }
        let sources = self.followed.iter().map(|one| Arc::clone(&one.source)).collect();
        self.change(shared, sources, false)
    }

    /// Follows these sources, and none else.
    pub(super) fn change(
        &mut self,
        shared: &Arc<Shared<K>>,
        sources: Vec<Arc<dyn ListWatch<K>>>,
        anew: bool,
    ) -> Result<(), InformerError> {
        disjoint(&sources.iter().map(ListWatch::scope).collect::<Vec<_>>())?;
        let rested = std::mem::take(&mut self.resting);
        let mut before = std::mem::take(&mut self.followed);
        let first_new = self.next_id + 1;
        for source in sources {
            let same = before.iter().position(|one| !anew && !rested && Arc::ptr_eq(&one.source, &source));
            let one = match same {
                Some(at) => before.swap_remove(at),
                None => self.follow(source, anew),
            };
            self.followed.push(one);
        }
        for gone in before {
            gone.stop.cancel();
        }
        let mut stage = shared.stage.lock();
        let scopes: Vec<(u64, Scope)> = self.scopes().collect();
        stage.cover(&scopes, &shared.store);
        let covered = |namespace: &str| scopes.iter().any(|(_, scope)| scope.covers(namespace));
        let gone = shared.store.list().into_iter().filter(|object| !covered(object.namespace()));
        let gone = gone.map(|object| Write::RemoveKey(object.key().to_owned())).collect();
        stage.write(&shared.store, gone);
        // A marker that says who is due may have waited in the queue of a source that has gone.
        stage.fanout.tell_again(Instant::now().into_std(), &shared.store.snapshot());
        let objects = shared.store.snapshot().len();
        shared.status.send_modify(|status| {
            status.cover(&scopes, objects);
            if rested {
                status.enter(Phase::Running);
            }
        });
        stage.complete_if_listed();
        drop(stage);
        if self.started {
            for one in self.followed.iter().filter(|one| one.id >= first_new) {
                process::run(shared, &self.settings, one);
            }
        }
        Ok(())
    }

    fn follow(&mut self, source: Arc<dyn ListWatch<K>>, anew: bool) -> Followed<K> {
        self.next_id += 1;
        let (id, scope) = (self.next_id, source.scope());
        Followed { id, source, scope, anew, stop: CancellationToken::new() }
    }
}

/// The scopes make sense, and no two cover the same objects.
pub(super) fn disjoint(scopes: &[Scope]) -> Result<(), InformerError> {
    let mut named = scopes.iter().filter_map(|scope| scope.namespace.as_ref());
    if let Some(namespace) = named.find(|namespace| !is_segment(namespace)) {
        return Err(InformerError::BadNamespace { namespace: namespace.clone() });
    }
    for (at, one) in scopes.iter().enumerate() {
        let Some(other) = scopes[..at].iter().find(|other| other.overlaps(one)) else { continue };
        return Err(match (&one.namespace, &other.namespace) {
            (Some(namespace), Some(_)) => InformerError::SameNamespace { namespace: namespace.clone() },
            _ => InformerError::Overlap,
        });
    }
    Ok(())
}
