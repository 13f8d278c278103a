//! Settings for a factory.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube_client::Client;
use parking_lot::Mutex;

use super::{Inner, SharedInformerFactory};
use crate::reflector::Config;
use crate::source::Tweak;

/// Changes what is asked for, for every type.
type TweakHook = Box<dyn Fn(&mut Tweak) + Send + Sync>;

/// Settings for a factory; made by [`SharedInformerFactory::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct FactoryBuilder {
    client: Client,
    settings: Settings,
}

#[derive(Default)]
pub(super) struct Settings {
    pub(super) namespace: Option<String>,
    pub(super) resync: Duration,
    pub(super) resync_of: HashMap<TypeId, Duration>,
    pub(super) tweak: Option<TweakHook>,
    pub(super) config: Config,
    pub(super) seed: u64,
}

impl FactoryBuilder {
    pub(super) fn new(client: Client) -> Self {
        Self { client, settings: Settings::default() }
    }

    /// Only objects of one namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.settings.namespace = Some(namespace.into());
        self
    }

    /// Listeners are told everything again so often; never by default.
    pub fn default_resync(mut self, period: Duration) -> Self {
        self.settings.resync = period;
        self
    }

    /// Listeners of this type are told everything again so often, instead of as often as others.
    pub fn resync_of<K: 'static>(mut self, period: Duration) -> Self {
        self.settings.resync_of.insert(TypeId::of::<K>(), period);
        self
    }

    /// Changes what is asked for, for every type: selectors and other parameters.
    pub fn tweak(mut self, change: impl Fn(&mut Tweak) + Send + Sync + 'static) -> Self {
        self.settings.tweak = Some(Box::new(change));
        self
    }

    /// How to follow the server.
    pub fn config(mut self, config: Config) -> Self {
        self.settings.config = config;
        self
    }

    /// Makes waits and time-outs repeatable; each type gets its own from it.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// The factory, without informers yet.
    pub fn build(self) -> SharedInformerFactory {
        let inner = Inner { client: self.client, settings: self.settings, state: Mutex::default() };
        SharedInformerFactory { inner: Arc::new(inner) }
    }
}

impl fmt::Debug for FactoryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactoryBuilder").field("namespace", &self.settings.namespace).finish_non_exhaustive()
    }
}
