//! Copies kept by kube-rs: a reflector as its users have it, with its stable features.

use std::hash::Hash;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use kube_client::{Api, Client};
use kube_core::SelectorExt;
use kube_runtime::reflector::store::Writer;
use kube_runtime::reflector::{ObjectRef, Store};
use kube_runtime::{WatchStreamExt, reflector, watcher};
use parking_lot::Mutex;

use super::follower::{Follower, Measured, UpdateHandler, Updated};
use super::reads::{self, Names, Read};
use super::{Settings, Way};
use crate::Error;

/// A type that kube-rs and this library take.
pub(super) trait Kind: Measured<DynamicType: Clone + Eq + Hash + Send + Sync + Unpin> {}

impl<K: Measured<DynamicType: Clone + Eq + Hash + Send + Sync + Unpin>> Kind for K {}

/// What a reflector is made of.
type Parts<K> = (Writer<K>, Api<K>, watcher::Config);

/// A reflector and its one consumer.
pub(super) struct Reflector<K: Kind> {
    store: Store<K>,
    dynamic: K::DynamicType,
    /// What is to be run, until it is started.
    parts: Mutex<Option<Parts<K>>>,
    consumer: Arc<Mutex<Consumer>>,
}

#[derive(Default)]
struct Consumer {
    handlers: Vec<UpdateHandler>,
    /// Called when the next list has been taken.
    relisted: Option<Box<dyn FnOnce() + Send>>,
}

struct New<'a, K>(&'a K);

impl<K: Measured> Updated for New<'_, K> {
    fn version(&self) -> &str {
        self.0.meta().resource_version.as_deref().unwrap_or_default()
    }

    fn read_field(&self) -> usize {
        self.0.field().map_or(0, str::len)
    }
}

impl<K: Kind> Reflector<K> {
    pub(super) fn new(settings: &Settings, client: &Client, dynamic: K::DynamicType) -> Self {
        let api = Api::<K>::all_with(client.clone(), &dynamic);
        let config = match settings.way {
            Way::List => watcher::Config::default(),
            Way::WatchList => watcher::Config::default().streaming_lists(),
        };
        let writer = Writer::new(dynamic.clone());
        let store = writer.as_reader();
        Self { store, dynamic, parts: Mutex::new(Some((writer, api, config))), consumer: Arc::default() }
    }
}

impl Consumer {
    fn consume<K: Measured>(&mut self, event: &watcher::Event<K>) {
        match event {
            watcher::Event::Apply(object) => {
                for handler in &mut self.handlers {
                    handler(&New(object));
                }
            }
            watcher::Event::InitDone => {
                if let Some(call) = self.relisted.take() {
                    call();
                }
            }
            _ => {}
        }
    }
}

impl<K: Kind> Follower for Reflector<K> {
    fn start(&self) -> Result<(), Error> {
        let parts = self.parts.lock().take();
        let (writer, api, config) = parts.ok_or("the reflector was started before")?;
        let consumer = Arc::clone(&self.consumer);
        let stream = reflector(writer, watcher(api, config).default_backoff());
        tokio::spawn(stream.for_each(move |event| {
            if let Ok(event) = event {
                consumer.lock().consume(&event);
            }
            std::future::ready(())
        }));
        Ok(())
    }

    fn synced(&self) -> BoxFuture<'_, Result<(), Error>> {
        async { Ok(self.store.wait_until_ready().await?) }.boxed()
    }

    fn len(&self) -> usize {
        self.store.len()
    }

    fn on_update(&self, handler: UpdateHandler) -> BoxFuture<'_, Result<(), Error>> {
        async move {
            let mut consumer = self.consumer.lock();
            if !consumer.handlers.is_empty() {
                return Err("kube-rs has one consumer, unless unstable features are used".into());
            }
            consumer.handlers.push(handler);
            Ok(())
        }
        .boxed()
    }

    /// kube-rs does not tell what a relist finds changed: its end is what a consumer sees.
    fn on_relisted(&self, _: usize, call: Box<dyn FnOnce() + Send>) -> BoxFuture<'_, Result<(), Error>> {
        self.consumer.lock().relisted = Some(call);
        std::future::ready(Ok(())).boxed()
    }

    /// There are no indexes: a reader that wants some objects looks at all.
    fn reads(&self) -> Result<Vec<Read>, Error> {
        let names = self.store.state().into_iter().map(|object| {
            let (meta, field) = (object.meta(), object.field().unwrap_or_default().to_owned());
            (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default(), field)
        });
        let names = Arc::new(Names::new(names.collect()));
        let way = |name, call: fn(&Store<K>, &Names, &K::DynamicType, usize) -> usize| -> Read {
            let (store, names, dynamic) = (self.store.clone(), Arc::clone(&names), self.dynamic.clone());
            (name, Box::new(move |at| call(&store, &names, &dynamic, at)))
        };
        let some = reads::selector();
        let labelled = self.store.clone();
        let label = move |_| {
            let (mut objects, none) = (labelled.state(), Default::default());
            objects.retain(|object| some.matches(object.meta().labels.as_ref().unwrap_or(&none)));
            objects.len()
        };
        Ok(vec![
            way("get", |store, names, dynamic, at| usize::from(get(store, names, dynamic, at).is_some())),
            way("get_field", |store, names, dynamic, at| {
                usize::from(get(store, names, dynamic, at).is_some_and(|object| object.field().is_some()))
            }),
            way("namespace", |store, names, _, at| {
                let (mut objects, namespace) = (store.state(), names.object(at).0);
                objects.retain(|object| object.meta().namespace.as_deref() == Some(namespace));
                objects.len()
            }),
            way("index", |store, names, _, at| {
                let (mut objects, field) = (store.state(), names.field(at));
                objects.retain(|object| object.field() == Some(field));
                objects.len()
            }),
            way("all", |store, _, _, _| store.state().len()),
            way("all_field", |store, _, _, _| {
                store.state().iter().filter(|object| object.field().is_some()).count()
            }),
            ("label", Box::new(label)),
        ])
    }
}

fn get<K: Kind>(store: &Store<K>, names: &Names, dynamic: &K::DynamicType, at: usize) -> Option<Arc<K>> {
    let (namespace, name) = names.object(at);
    store.get(&ObjectRef::new_with(name, dynamic.clone()).within(namespace))
}
