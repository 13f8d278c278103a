//! Copies kept by kube-informer.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube_client::Client;
use kube_core::Selector;
use kube_informer::lister::{Lister, NamespacedLister};
use kube_informer::object::{Object, Residency};
use kube_informer::source::KubeSource;
use kube_informer::store::{Index, Selected};
use kube_informer::{EventHandler, SharedInformer, reflector};

use super::follower::{Follower, Measured, UpdateHandler, Updated};
use super::reads::{self, Names, Read};
use super::{Library, Settings, Way};
use crate::Error;

/// The informer that a controller would have.
pub(super) struct Informer<K: Measured> {
    informer: SharedInformer<K>,
    dynamic: K::DynamicType,
}

impl<K: Measured<DynamicType: Clone + Send + Sync>> Informer<K> {
    pub(super) fn new(
        settings: &Settings,
        library: Library,
        client: &Client,
        dynamic: K::DynamicType,
    ) -> Self {
        let source =
            KubeSource::<K>::all(client.clone(), &dynamic).keep_managed_fields(settings.keep_managed_fields);
        let mut config = reflector::Config::default();
        config.initial_events = settings.way == Way::WatchList;
        let residency = match library {
            Library::Packed => Residency::Packed,
            Library::Decoded => Residency::Decoded,
            Library::Adaptive | Library::KubeRs | Library::Discard => Residency::default(),
        };
        let informer = SharedInformer::builder(source).config(config).residency(residency).build();
        Self { informer, dynamic }
    }
}

/// The new object of an update.
struct New<'a, K>(&'a Object<K>);

impl<K: Measured> Updated for New<'_, K> {
    fn version(&self) -> &str {
        self.0.resource_version()
    }

    fn read_field(&self) -> usize {
        self.0.field().map_or(0, str::len)
    }
}

impl<K: Measured<DynamicType: Clone + Send + Sync>> Follower for Informer<K> {
    fn start(&self) -> Result<(), Error> {
        self.informer.start();
        Ok(())
    }

    fn synced(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.informer.synced().map(|_| Ok(())).boxed()
    }

    fn len(&self) -> usize {
        self.informer.store().snapshot().len()
    }

    fn on_update(&self, mut handler: UpdateHandler) -> BoxFuture<'_, Result<(), Error>> {
        async move {
            let handler = EventHandler::<K>::new().on_update(move |_, new| handler(&New(new)));
            self.informer.add_event_handler(handler)?.synced().await;
            Ok(())
        }
        .boxed()
    }

    fn on_relisted(
        &self,
        changed: usize,
        call: Box<dyn FnOnce() + Send>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        async move {
            let (mut left, mut call) = (changed, Some(call));
            let handler = EventHandler::<K>::new().on_update(move |old, new| {
                left -= usize::from(left > 0 && old.resource_version() != new.resource_version());
                if left == 0
                    && let Some(call) = call.take()
                {
                    call();
                }
            });
            self.informer.add_event_handler(handler)?.synced().await;
            Ok(())
        }
        .boxed()
    }

    fn reads(&self) -> Result<Vec<Read>, Error> {
        let index = self.informer.add_index("field", |object: &K| object.field().map(str::to_owned))?;
        let lister = Lister::new(self.informer.store().clone(), &self.dynamic);
        let objects = lister.list(&Selector::default());
        let names = objects.iter().map(|object| {
            let field = object.field().unwrap_or_default();
            (object.namespace().to_owned(), object.name().to_owned(), field.to_owned())
        });
        let reader = Reader {
            lister,
            index: Arc::new(index),
            names: Arc::new(Names::new(names.collect())),
            some: reads::selector(),
            all: Selector::default(),
        };
        let way = |name, call: fn(&Reader<K>, usize) -> usize| -> Read {
            let reader = reader.clone();
            (name, Box::new(move |at| call(&reader, at)))
        };
        Ok(vec![
            way("get", |read, at| usize::from(read.object(at).is_some())),
            way("get_field", |read, at| {
                usize::from(read.object(at).is_some_and(|object| object.field().is_some()))
            }),
            way("namespace", |read, at| visit(&read.namespace(at).select(&read.all))),
            way("index", |read, at| visit(&read.index.select(read.names.field(at)))),
            way("all", |read, _| visit(&read.lister.select(&read.all))),
            way("all_field", |read, _| {
                let objects = read.lister.list(&read.all);
                objects.iter().filter(|object| object.field().is_some()).count()
            }),
            way("label", |read, _| visit(&read.lister.select(&read.some))),
            way("namespace_handles", |read, at| read.namespace(at).list(&read.all).len()),
            way("index_handles", |read, at| read.index.get(read.names.field(at)).len()),
            way("all_handles", |read, _| read.lister.list(&read.all).len()),
            way("label_handles", |read, _| read.lister.list(&read.some).len()),
        ])
    }
}

/// Reads a copy in all ways.
struct Reader<K> {
    lister: Lister<K>,
    index: Arc<Index<K>>,
    names: Arc<Names>,
    some: Selector,
    all: Selector,
}

impl<K: Measured> Reader<K> {
    fn object(&self, at: usize) -> Option<Object<K>> {
        let (namespace, name) = self.names.object(at);
        self.lister.namespaced(namespace).get(name).ok()
    }

    fn namespace(&self, at: usize) -> NamespacedLister<'_, K> {
        self.lister.namespaced(self.names.object(at).0)
    }
}

impl<K> Clone for Reader<K> {
    fn clone(&self) -> Self {
        let Self { lister, index, names, some, all } = self;
        Self {
            lister: lister.clone(),
            index: Arc::clone(index),
            names: Arc::clone(names),
            some: some.clone(),
            all: all.clone(),
        }
    }
}

/// Visits each object of a selection through a pointer, as in the lists that client-go makes.
fn visit<K: Measured>(selected: &Selected<K>) -> usize {
    selected.iter().map(std::hint::black_box).count()
}
