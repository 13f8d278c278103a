//! Our informers, whatever they are of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube_client::Client;
use kube_core::{Resource, Selector, SelectorExt};
use kube_informer::SharedInformer;
use kube_informer::factory::{FactoryError, InformerFactory, Mode};
use kube_informer::fanout::{Event, Filtered, Handle, ListenerOptions, Registration};
use kube_informer::lister::Lister;
use kube_informer::object::Object;
use kube_informer::reflector::Config;
use kube_informer::store::Index;
use parking_lot::{Condvar, Mutex};
use serde::de::DeserializeOwned;

use crate::command::{HandlerSpec, Heard, InformerSpec, Kind, Seen};
use crate::log::Log;

/// Where registrations go, also those of handlers that are added by handlers.
pub(super) type Registrations = Arc<Mutex<Vec<(String, Registered)>>>;

/// A handler that was added.
#[derive(Clone)]
pub(super) struct Registered {
    pub(super) registration: Arc<dyn AnyRegistration>,
    pub(super) gate: Arc<Gate>,
}

/// An informer of something.
pub(super) trait AnyInformer: Send + Sync {
    fn start(&self);
    fn stop(&self);
    fn shutdown(&self) -> BoxFuture<'_, ()>;
    fn add_handler(&self, spec: &HandlerSpec, log: &Arc<Log>, all: &Registrations) -> Result<(), String>;
    fn add_index(&mut self, name: &str) -> Result<(), String>;
    fn synced(&self) -> bool;
    fn wait_synced(&self) -> BoxFuture<'_, bool>;
    fn stopped(&self) -> bool;
    fn version(&self) -> String;
    fn store(&self) -> Vec<Seen>;
    fn by_index(&self, name: &str, value: &str) -> Result<Vec<Seen>, String>;
    fn index_values(&self, name: &str) -> Result<Vec<String>, String>;
    fn list(&self, namespace: &str, labels: &str) -> Result<Vec<Seen>, String>;
    fn get(&self, namespace: &str, name: &str) -> Vec<Seen>;
}

/// A registration of something.
pub(super) trait AnyRegistration: Send + Sync {
    fn remove(&self);
    fn synced(&self) -> bool;
    fn wait_synced(&self) -> BoxFuture<'_, bool>;
}

impl<K: Send + Sync + 'static> AnyRegistration for Registration<K> {
    fn remove(&self) {
        Registration::remove(self);
    }

    fn synced(&self) -> bool {
        self.has_synced()
    }

    fn wait_synced(&self) -> BoxFuture<'_, bool> {
        Registration::synced(self).boxed()
    }
}

/// What a held handler waits at.
#[derive(Debug, Default)]
pub(super) struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut closed = self.closed.lock();
        while *closed {
            self.opened.wait(&mut closed);
        }
    }

    pub(super) fn open(&self) {
        *self.closed.lock() = false;
        self.opened.notify_all();
    }
}

pub(super) struct Of<K: Resource> {
    informer: SharedInformer<K>,
    lister: Lister<K>,
    indexes: Vec<(String, Index<K>)>,
}

/// The settings of a factory for one informer.
pub(super) fn factory<M: Mode>(
    client: Client,
    spec: &InformerSpec,
    config: Config,
) -> Result<InformerFactory<M>, String> {
    let (labels, fields) = (spec.labels.clone(), spec.fields.clone());
    let builder = InformerFactory::<M>::builder(client)
        .config(config)
        .default_resync(Duration::from_millis(spec.resync))
        .tweak(move |tweak| {
            tweak.label_selector.clone_from(&labels);
            tweak.field_selector.clone_from(&fields);
        });
    let builder =
        if spec.namespace.is_empty() { builder } else { builder.namespace(spec.namespace.as_str()) };
    let builder = match spec.transform.as_str() {
        "" => builder,
        "drop-labels" => builder.transform_metadata(|meta| meta.labels = None),
        "drop-version" => builder.transform_metadata(|meta| meta.resource_version = None),
        "count" => builder.transform_metadata(|meta| {
            let annotations = meta.annotations.get_or_insert_default();
            annotations.entry("count".to_owned()).or_default().push('+');
        }),
        other => return Err(format!("nobody knows the transform {other:?}")),
    };
    Ok(builder.build())
}

impl<K> Of<K>
where
    K: Resource + DeserializeOwned + Send + Sync + 'static,
{
    /// Takes an informer that a factory made.
    pub(super) fn take(
        made: Result<SharedInformer<K>, FactoryError>,
        kind: &K::DynamicType,
        spec: &InformerSpec,
    ) -> Result<Box<dyn AnyInformer>, String> {
        let informer = made.map_err(|error| error.to_string())?;
        let lister = Lister::new(informer.store().clone(), kind);
        let mut of = Self { informer, lister, indexes: Vec::new() };
        for index in &spec.indexes {
            of.add_index(index)?;
        }
        Ok(Box::new(of))
    }

    fn index(&self, name: &str) -> Result<&Index<K>, String> {
        let found = self.indexes.iter().find(|(known, _)| known == name);
        found.map(|(_, index)| index).ok_or_else(|| format!("there is no index {name:?}"))
    }
}

/// Adds a handler that writes to the log.
fn add_handler<K: Resource + Send + Sync + 'static>(
    informer: &SharedInformer<K>,
    spec: &HandlerSpec,
    log: &Arc<Log>,
    all: &Registrations,
) -> Result<(), String> {
    let gate = Arc::new(Gate::default());
    *gate.closed.lock() = spec.held;
    let handler = recorder(informer, spec, log, all, &gate);
    let options = ListenerOptions::new().name(spec.name.as_str());
    let options = match spec.resync {
        Some(period) => options.resync(Duration::from_millis(period)),
        None => options,
    };
    let added = if spec.filter.is_empty() {
        informer.add_event_handler_with(handler, options)
    } else {
        let selector = selector(&spec.filter)?;
        let filter =
            move |object: &Object<K>| selector.matches(object.meta().labels.as_ref().unwrap_or(&NONE));
        informer.add_event_handler_with(Filtered::new(filter, handler), options)
    };
    let registration = Arc::new(added.map_err(|error| error.to_string())?);
    all.lock().push((spec.name.clone(), Registered { registration, gate }));
    Ok(())
}

static NONE: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();

/// A handler that writes to the log, and does what else it is told to.
fn recorder<K: Resource + Send + Sync + 'static>(
    informer: &SharedInformer<K>,
    spec: &HandlerSpec,
    log: &Arc<Log>,
    all: &Registrations,
    gate: &Arc<Gate>,
) -> impl Handle<K> {
    let (informer, log, all, gate) = (informer.clone(), Arc::clone(log), Arc::clone(all), Arc::clone(gate));
    let (name, panics, mut adds) = (spec.name.clone(), spec.panics.clone(), spec.adds.clone());
    move |event: Event<K>| {
        let object = event.object();
        let store = informer.store().get(object.namespace(), object.name());
        let heard = Heard { store: store.as_ref().map(seen), ..heard(&event) };
        log.heard(&name, heard);
        if let Some(other) = adds.take() {
            let added = add_handler(&informer, &other, &log, &all);
            assert_eq!(added, Ok(()), "a handler can add another one");
        }
        gate.pass();
        if matches!(event, Event::Added { .. }) && event.object().name() == panics {
            // A panic that nobody has to read about.
            std::panic::resume_unwind(Box::new("as told"));
        }
    }
}

fn heard<K: Resource>(event: &Event<K>) -> Heard {
    let none = Heard {
        kind: Kind::Add,
        initial: false,
        unknown: false,
        object: seen(event.object()),
        old: None,
        store: None,
    };
    match event {
        Event::Added { initial, .. } => Heard { initial: *initial, ..none },
        Event::Updated { old, .. } => Heard { kind: Kind::Update, old: Some(seen(old)), ..none },
        Event::Deleted(gone) => Heard { kind: Kind::Delete, unknown: gone.final_state_unknown(), ..none },
        // There is no other; one from the future would be told apart by the comparison.
        _ => none,
    }
}

fn seen<K: Resource>(object: &Object<K>) -> Seen {
    let meta = object.meta();
    let annotation =
        |name: &str| meta.annotations.as_ref().and_then(|all| all.get(name)).cloned().unwrap_or_default();
    Seen {
        key: object.key().to_owned(),
        uid: meta.uid.clone().unwrap_or_default(),
        version: meta.resource_version.clone().unwrap_or_default(),
        write: annotation("write"),
        labels: meta.labels.clone().unwrap_or_default(),
        count: annotation("count"),
        deleting: meta.deletion_timestamp.is_some(),
    }
}

fn all_seen<K: Resource>(objects: &[Object<K>]) -> Vec<Seen> {
    objects.iter().map(seen).collect()
}

/// Reads `a=b,c=d`, which is all that scenarios have.
fn selector(labels: &str) -> Result<Selector, String> {
    let pair = |text: &str| {
        let pair = text.split_once('=').ok_or_else(|| format!("{text:?} is not a label and its value"))?;
        Ok((pair.0.to_owned(), pair.1.to_owned()))
    };
    labels.split(',').filter(|text| !text.is_empty()).map(pair).collect()
}

impl<K> AnyInformer for Of<K>
where
    K: Resource + DeserializeOwned + Send + Sync + 'static,
{
    fn start(&self) {
        self.informer.start();
    }

    fn stop(&self) {
        self.informer.stop();
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        self.informer.shutdown().boxed()
    }

    fn add_handler(&self, spec: &HandlerSpec, log: &Arc<Log>, all: &Registrations) -> Result<(), String> {
        add_handler(&self.informer, spec, log, all)
    }

    fn add_index(&mut self, name: &str) -> Result<(), String> {
        let by = name.to_owned();
        let added = self.informer.add_index(name, move |object: &K| {
            let meta = object.meta();
            if by == "words" {
                let words = meta.annotations.as_ref().and_then(|all| all.get("words"));
                return words
                    .map(|words| words.split_whitespace().map(str::to_owned).collect())
                    .unwrap_or_default();
            }
            let label = meta.labels.as_ref().and_then(|labels| labels.get(&by));
            label.cloned().into_iter().collect::<Vec<_>>()
        });
        self.indexes.push((name.to_owned(), added.map_err(|error| error.to_string())?));
        Ok(())
    }

    fn synced(&self) -> bool {
        self.informer.has_synced()
    }

    fn wait_synced(&self) -> BoxFuture<'_, bool> {
        self.informer.synced().boxed()
    }

    fn stopped(&self) -> bool {
        self.informer.is_stopped()
    }

    fn version(&self) -> String {
        let version = self.informer.store().resource_version();
        version.map(|version| version.as_str().to_owned()).unwrap_or_default()
    }

    fn store(&self) -> Vec<Seen> {
        all_seen(&self.informer.store().list())
    }

    fn by_index(&self, name: &str, value: &str) -> Result<Vec<Seen>, String> {
        Ok(all_seen(&self.index(name)?.get(value)))
    }

    fn index_values(&self, name: &str) -> Result<Vec<String>, String> {
        Ok(self.index(name)?.values())
    }

    fn list(&self, namespace: &str, labels: &str) -> Result<Vec<Seen>, String> {
        let selector = selector(labels)?;
        Ok(all_seen(&match namespace {
            "" => self.lister.list(&selector),
            namespace => self.lister.namespaced(namespace).list(&selector),
        }))
    }

    fn get(&self, namespace: &str, name: &str) -> Vec<Seen> {
        let found = match namespace {
            "" => self.lister.get(name),
            namespace => self.lister.namespaced(namespace).get(name),
        };
        found.iter().map(seen).collect()
    }
}

impl<K: Resource> fmt::Debug for Of<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Of").field("indexes", &self.indexes.len()).finish_non_exhaustive()
    }
}
