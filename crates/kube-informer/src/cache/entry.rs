//! One kind in a cache: one watch, or one for each namespace, and one copy, whatever types it is read as.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kube_client::Client;
use kube_core::{ApiResource, GroupVersionResource};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::CacheError;
use super::options::CacheOptions;
use super::part::Part;
use super::server::Patience;
use crate::factory::{cause_in, impossible, in_words, is_scope_hopeless};
use crate::fanout::Zone;
use crate::informer::{InformerBuilder, InformerStatus, Phase, ScopeStatus, SharedInformer};
use crate::object::Raw;
use crate::random::Random;
use crate::source::{KubeSource, ListWatch, keep_bytes, resource_name};
use crate::store::{IndexFunction, Version};

/// What a kind is.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) resource: GroupVersionResource,
    pub(super) api: ApiResource,
    /// Whether its objects have namespaces, as far as its type says.
    pub(super) namespaced: Option<bool>,
}

impl About {
    /// There may be such a kind.
    pub(super) fn check(&self) -> Result<(), CacheError> {
        let refused = |why: &str| {
            Err(CacheError::NotAResource { given: in_words(&self.resource), why: why.to_owned() })
        };
        impossible(&self.resource).map_or(Ok(()), refused)
    }

    /// The server speaks of the same resource.
    pub(super) fn is_it(&self, other: &ApiResource) -> bool {
        self.is_beside(other) && other.plural == self.resource.resource
    }

    /// The server speaks of a resource of the same group and version.
    pub(super) fn is_beside(&self, other: &ApiResource) -> bool {
        (&other.group, &other.version) == (&self.resource.group, &self.resource.version)
    }

    /// `deployments.apps`, or `pods` in the core group.
    pub(super) fn name(&self) -> String {
        resource_name(&self.resource.resource, &self.resource.group)
    }
}

/// A kind that is followed, or is to be.
pub(super) struct Entry {
    about: About,
    extent: watch::Sender<Extent>,
    client: Client,
    informer: SharedInformer<Raw>,
    parts: Arc<ArcSwap<Vec<Part>>>,
    pace: Pace,
    /// Makes what it does by chance repeatable.
    pub(super) seed: u64,
    state: Mutex<State>,
    /// When it was last read.
    used: Mutex<Instant>,
}

/// Whether the objects of a kind have namespaces.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    pub(super) namespaced: bool,
    /// The type or the server says so; else it is a guess.
    pub(super) certain: bool,
    /// They have none, and are to be kept by namespace.
    refused: bool,
    /// Why the server does not say it.
    trouble: Option<CacheError>,
}

/// How far a namespace of a kind has come.
pub(super) struct Progress {
    /// The epoch of the version.
    pub(super) epoch: u64,
    /// The version up to which it is current; none if that is not known.
    pub(super) reached: Option<Version>,
    /// The epoch is proven to have ended, and the next one has not begun.
    pub(super) epoch_is_due: bool,
}

/// By how much the periods of a kind differ from what was asked for: kinds are not all told again at the same time.
struct Pace(f64);

impl Pace {
    /// Between nine and eleven tenths, as controller-runtime has it.
    fn drawn(seed: u64) -> Self {
        Self(0.9 + 0.2 * Random::new(seed).fraction())
    }

    /// When what is told again.
    fn zones(&self, parts: &[Part]) -> Vec<Zone> {
        let stretched = |period: Duration| Duration::try_from_secs_f64(period.as_secs_f64() * self.0);
        let period = |part: &Part| stretched(part.resync).unwrap_or(Duration::MAX);
        Zone::split(parts.iter().map(|part| (part.scope(), period(part))))
    }
}

struct State {
    /// Whole objects are followed, not their metadata alone.
    whole: bool,
    sources: Vec<Arc<dyn ListWatch<Raw>>>,
}

impl Entry {
    pub(super) fn new(
        client: &Client,
        about: About,
        namespaced: Option<bool>,
        whole: bool,
        options: &CacheOptions,
        number: u64,
    ) -> Self {
        // Most kinds have namespaces.
        let (certain, namespaced) = (namespaced.is_some(), namespaced.unwrap_or(true));
        let parts = options.parts(&about.resource, namespaced);
        // What is changed may be changed as whole objects.
        let whole = whole || parts.iter().any(|part| part.transform.is_some());
        let sources: Vec<_> = parts.iter().map(|part| source(client, &about.api, part, whole)).collect();
        let seed = options.seed.wrapping_add(number);
        let pace = Pace::drawn(seed);
        let zones = pace.zones(&parts);
        let parts = Arc::new(ArcSwap::from_pointee(parts));
        let current = Arc::clone(&parts);
        let transform_in = move |namespace: &str| {
            let parts: arc_swap::Guard<Arc<Vec<Part>>> = current.load();
            parts.iter().find(|part| part.covers(namespace)).and_then(|part| part.transform.clone())
        };
        let mut builder = InformerBuilder::of(sources.clone())
            .making(keep_bytes(transform_in))
            .resync_zones(zones)
            .config(options.config.clone())
            .seed(seed);
        if let Some(metrics) = &options.metrics {
            builder = builder.metrics(metrics);
        }
        Self {
            about,
            extent: watch::Sender::new(Extent { namespaced, certain, refused: false, trouble: None }),
            client: client.clone(),
            informer: builder.build(),
            parts,
            pace,
            seed,
            state: Mutex::new(State { whole, sources }),
            used: Mutex::new(Instant::now()),
        }
    }

    pub(super) fn informer(&self) -> &SharedInformer<Raw> {
        &self.informer
    }

    pub(super) fn about(&self) -> &About {
        &self.about
    }

    /// As far as anybody knows.
    pub(super) fn is_namespaced(&self) -> bool {
        self.extent.borrow().namespaced
    }

    /// It is known to have no namespaces.
    pub(super) fn is_certainly_cluster_scoped(&self) -> bool {
        let extent = self.extent.borrow();
        extent.certain && !extent.namespaced
    }

    pub(super) fn watch_extent(&self) -> watch::Receiver<Extent> {
        self.extent.subscribe()
    }

    /// Nobody knows any more whether the kind has namespaces, unless its type says so.
    pub(super) fn doubt(&self) {
        if self.about.namespaced.is_none() {
            self.extent.send_modify(|extent| extent.certain = false);
        }
    }

    /// Somebody knows whether the kind has namespaces.
    pub(super) fn learn(&self, namespaced: bool, options: &Mutex<CacheOptions>) -> Result<(), CacheError> {
        let before = self.extent.borrow().clone();
        if before.certain {
            return Ok(());
        }
        if before.namespaced != namespaced {
            self.extent.send_modify(|extent| extent.namespaced = namespaced);
            self.change(options)?;
        }
        // Whoever waits may read what is there only after it is followed as what it is.
        self.extent.send_modify(|extent| (extent.certain, extent.trouble) = (true, None));
        Ok(())
    }

    /// The server does not say whether the kind has namespaces.
    pub(super) fn not_learnt(&self, why: CacheError) {
        self.extent.send_modify(|extent| extent.trouble = Some(why));
    }

    /// Some part of it covers a namespace.
    pub(super) fn covers(&self, namespace: &str) -> bool {
        !self.is_namespaced() || self.parts.load().iter().any(|part| part.covers(namespace))
    }

    /// How far a namespace has come, or everything, if the namespace is not followed.
    pub(super) fn progress(&self, namespace: &str) -> Progress {
        let known = self.informer.look(|status| {
            let scope = status.scopes.iter().find(|scope| is_in(scope, namespace))?;
            let reached = scope.resource_version.parse().ok();
            Some(Progress { epoch: scope.epoch, reached, epoch_is_due: scope.epoch_is_due })
        });
        known.unwrap_or_else(|| {
            let snapshot = self.informer.store().snapshot();
            let reached = snapshot.resource_version().cloned();
            Progress { epoch: snapshot.epoch(), reached, epoch_is_due: false }
        })
    }

    /// The version up to which a namespace is current; none if that is not known.
    pub(super) fn reached(&self, namespace: &str) -> Option<Version> {
        self.progress(namespace).reached
    }

    /// The epoch of the versions that the server names now for objects of a namespace, as far as that is known.
    pub(super) fn server_epoch(&self, namespace: &str) -> u64 {
        self.informer.store().epoch() + u64::from(self.progress(namespace).epoch_is_due)
    }

    /// Adds an index; one that is there already is as good.
    pub(super) fn add_index(&self, name: &str, function: IndexFunction<Raw>) {
        // The cache has seen to it that a name is used once.
        let _ = self.informer.store().add_index_function(name, move |object| function(object));
    }

    /// From now on whole objects are wanted.
    pub(super) fn whole(&self) -> Result<(), CacheError> {
        let mut state = self.state.lock();
        if state.whole {
            return Ok(());
        }
        let parts = self.parts.load();
        state.sources = parts.iter().map(|part| source(&self.client, &self.about.api, part, true)).collect();
        state.whole = true;
        Ok(self.informer.follow_anew(state.sources.clone())?)
    }

    /// Follows what the options say now. One that has been stopped stays as it is.
    pub(super) fn change(&self, options: &Mutex<CacheOptions>) -> Result<(), CacheError> {
        if self.informer.is_stopped() {
            return Ok(());
        }
        let mut state = self.state.lock();
        let (before, after) = (self.parts.load_full(), self.wanted(&options.lock()));
        let transformed = after.iter().any(|part| part.transform.is_some());
        // An object that stays, but is to be changed in another way, has to be had again.
        let differs = |one: &Part| before.iter().any(|other| one.differs_in_transform(other));
        let anew = after.iter().any(differs) || (transformed && !state.whole);
        state.whole |= transformed;
        let sources = after.iter().map(|part| {
            let same = before.iter().position(|known| known.asks_the_same(part));
            match same.filter(|_| !anew).and_then(|at| state.sources.get(at)) {
                Some(known) => Arc::clone(known),
                None => source(&self.client, &self.about.api, part, state.whole),
            }
        });
        let sources: Vec<_> = sources.collect();
        self.informer.resync_zones(self.pace.zones(&after));
        self.parts.store(Arc::new(after));
        state.sources.clone_from(&sources);
        Ok(if anew { self.informer.follow_anew(sources) } else { self.informer.follow(sources) }?)
    }

    /// What is to be followed.
    fn wanted(&self, options: &CacheOptions) -> Vec<Part> {
        let namespaced = self.is_namespaced();
        let refused = !namespaced && options.confines(&self.about.resource);
        self.extent.send_if_modified(|extent| std::mem::replace(&mut extent.refused, refused) != refused);
        if refused { Vec::new() } else { options.parts(&self.about.resource, namespaced) }
    }

    /// Waits until everything that is wanted of a namespace has arrived, or of all, if none is named; an error if it
    /// cannot, or not in time.
    pub(super) async fn synced(&self, namespace: Option<&str>, patience: Patience) -> Result<(), CacheError> {
        *self.used.lock() = Instant::now();
        // Most find everything there.
        if let Some(answer) =
            self.informer.look(|status| self.answer(namespace, status, &self.extent.borrow()))
        {
            return answer;
        }
        let (mut status, mut extent) = (self.informer.watch_status(), self.extent.subscribe());
        let resource = || self.about.name();
        let settled = async {
            loop {
                let answer = self.answer(namespace, &status.borrow_and_update(), &extent.borrow_and_update());
                if let Some(answer) = answer {
                    return answer;
                }
                tokio::select! {
                    changed = status.changed() => changed.map_err(|_| CacheError::Removed { resource: resource() })?,
                    // The sender is in the entry.
                    _ = extent.changed() => {}
                }
            }
        };
        tokio::time::timeout(patience.left(), settled).await.unwrap_or_else(|_| {
            let extent = self.extent.borrow().clone();
            let cause =
                self.informer.look(|status| cause_in(&within(status, meant(namespace, status, &extent))));
            let trouble = extent.trouble;
            match (cause, trouble) {
                (None, Some(trouble)) => Err(trouble),
                (cause, _) => Err(CacheError::TimedOut { resource: resource(), after: patience.time, cause }),
            }
        })
    }

    /// What somebody who waits for a namespace of the kind, or for all of it, is told; none if it is too early to say.
    fn answer(
        &self,
        namespace: Option<&str>,
        status: &InformerStatus,
        extent: &Extent,
    ) -> Option<Result<(), CacheError>> {
        let resource = || self.about.name();
        if extent.refused {
            return Some(Err(CacheError::ClusterScoped { resource: resource() }));
        }
        let namespace = meant(namespace, status, extent);
        let stopped = status.phase == Phase::Stopped;
        if !stopped && extent.certain && self.is_current(status, namespace) {
            return Some(Ok(()));
        }
        (stopped || within(status, namespace).any(is_scope_hopeless)).then(|| {
            // What was wrong before it was removed is of no interest any more.
            let cause = match stopped {
                true => status.end_cause().cloned(),
                false => cause_in(&within(status, namespace)),
            };
            Err(match cause {
                Some(cause) => CacheError::CannotSync { resource: resource(), cause },
                None => CacheError::Removed { resource: resource() },
            })
        })
    }

    /// Everything that is wanted of a namespace, or of all, is there. Of a namespace that is not followed, that is
    /// nothing.
    fn is_current(&self, status: &InformerStatus, namespace: Option<&str>) -> bool {
        let is_there = |scope: &ScopeStatus| scope.synced && !is_scope_gone(scope);
        let all_there = within(status, namespace).all(is_there);
        match namespace {
            None => all_there && status.synced,
            Some(namespace) => {
                let wanted = || self.parts.load().iter().any(|part| part.covers(namespace));
                all_there && (within(status, Some(namespace)).next().is_some() || !wanted())
            }
        }
    }

    /// Nobody has read it for so long, and nobody listens.
    pub(super) fn is_idle(&self, time: Duration) -> bool {
        self.used.lock().elapsed() >= time && self.informer.status().listeners.is_empty()
    }
}

/// A scope has the objects of a namespace.
fn is_in(scope: &ScopeStatus, namespace: &str) -> bool {
    scope.namespace.as_deref().map_or(!scope.except.contains(namespace), |only| only == namespace)
}

/// The namespace that somebody means who names one; none if it means nothing, or if all have to be waited for to know
/// that.
fn meant<'a>(namespace: Option<&'a str>, status: &InformerStatus, extent: &Extent) -> Option<&'a str> {
    let is_followed = |namespace: &&str| within(status, Some(*namespace)).next().is_some();
    namespace.filter(|namespace| extent.namespaced && (extent.certain || is_followed(namespace)))
}

/// The scopes that have the objects of a namespace, or all.
fn within<'a>(
    status: &'a InformerStatus,
    namespace: Option<&'a str>,
) -> impl Iterator<Item = &'a ScopeStatus> + Clone {
    status.scopes.iter().filter(move |scope| namespace.is_none_or(|namespace| is_in(scope, namespace)))
}

/// The server does not know the kind, or not any more.
pub(super) fn is_gone(status: &InformerStatus) -> bool {
    status.scopes.iter().any(is_scope_gone)
}

pub(super) fn is_scope_gone(scope: &ScopeStatus) -> bool {
    /// Once may be an accident: a server that is being restarted.
    const TWICE: u64 = 2;
    scope.trouble.as_ref().is_some_and(|trouble| {
        // Where there is nothing to lose, a watch and the list after it will do.
        let said = if scope.synced { trouble.same } else { trouble.times };
        trouble.error.code == 404 && said >= TWICE
    })
}

/// Whoever asks for the kind asks in vain: the server does not know it, and that is certain enough not to ask again. Scopes
/// that are refused know nothing else.
pub(super) fn is_vain(status: &InformerStatus) -> bool {
    let is_refused = |scope: &ScopeStatus| {
        scope.trouble.as_ref().is_some_and(|trouble| matches!(trouble.error.code, 401 | 403))
    };
    let is_one_of_them = |scope: &ScopeStatus| is_scope_gone(scope) || is_refused(scope);
    is_gone(status) && status.scopes.iter().all(|scope| is_scope_hopeless(scope) && is_one_of_them(scope))
}

fn source(client: &Client, api: &ApiResource, part: &Part, whole: bool) -> Arc<dyn ListWatch<Raw>> {
    let source = match &part.namespace {
        Some(namespace) => KubeSource::<Raw>::namespaced(client.clone(), namespace, api),
        None => KubeSource::all(client.clone(), api).except(part.except.iter().cloned()),
    };
    let source = source.labels(&part.labels).fields(&part.fields);
    Arc::new(if whole { source } else { source.metadata_only() })
}
