//! What ties the rooms together: deltas go to the store, and from there to the listeners.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};

use futures::FutureExt;
use kube_core::Resource;
use kube_wire::{DecodeError, ObjectKey};
use tokio::time::Instant;

use super::builder::{Settings, Transform};
use super::{InformerStatus, Phase, Shared, Trouble};
use crate::fanout::{Deleted, Event, panic_message};
use crate::queue::{Consumer, Delta, queue};
use crate::reflector::Reflector;
use crate::source::SourceError;
use crate::store::{Write, Written};

/// How many changes go to the store in one step.
const BATCH: usize = 1_000;

pub(super) fn start<K: Resource + Send + Sync + 'static>(shared: &Arc<Shared<K>>, settings: Settings<K>) {
    let (producer, consumer) = queue(settings.queue);
    let (errors, on_error) = (Arc::downgrade(shared), settings.on_error);
    let watching = Arc::downgrade(shared);
    let reflector = Reflector::new(settings.source, settings.config, settings.seed).on_error(move |error| {
        if let Some(shared) = errors.upgrade() {
            shared.status.send_modify(|status| status.failed(error));
        }
        if let Some(hook) = &on_error {
            hook(error);
        }
    });
    let reflector = reflector.on_watching(move || {
        if let Some(shared) = watching.upgrade() {
            shared.status.send_modify(|status| status.trouble = None);
        }
    });
    shared.fanout.lock().start_resync(Instant::now().into_std());
    shared.status.send_modify(|status| status.phase = Phase::Running);
    shared.tasks.spawn(reflector.run(producer, shared.stop.clone()));
    // The tasks hold the informer weakly: one that nobody else holds any more is dropped, and that stops them.
    let stop = shared.stop.clone();
    let processor = Processor { shared: Arc::downgrade(shared), consumer, transform: settings.transform };
    shared.tasks.spawn(async move {
        let shared = Weak::clone(&processor.shared);
        let outcome = tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            outcome = AssertUnwindSafe(processor.run()).catch_unwind() => outcome,
        };
        let Some(shared) = shared.upgrade() else { return };
        if let Err(panic) = outcome {
            // A transform or an index function panicked: nobody knows what the copy is worth now.
            let error = SourceError::panicked(&panic_message(&*panic));
            shared.status.send_modify(|status| status.failed(&error));
            shared.stop.cancel();
        }
        ended(&shared);
    });
}

/// Waits for a time; for ever if there is none.
async fn until(time: Option<std::time::Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

/// Closes the listeners of an informer that has been stopped.
pub(super) fn ended<K: Resource + Send + Sync + 'static>(shared: &Shared<K>) {
    shared.fanout.lock().close(false);
    shared.status.send_modify(|status| status.phase = Phase::Stopped);
}

struct Processor<K> {
    shared: Weak<Shared<K>>,
    consumer: Consumer<K>,
    transform: Option<Transform<K>>,
}

impl<K: Resource + Send + Sync + 'static> Processor<K> {
    async fn run(mut self) {
        loop {
            let Some(resync) = self.shared.upgrade().map(|shared| shared.fanout.lock().next_resync()) else {
                return;
            };
            tokio::select! {
                biased;
                () = until(resync) => {
                    let Some(shared) = self.shared.upgrade() else { return };
                    let mut fanout = shared.fanout.lock();
                    fanout.tell_again(Instant::now().into_std(), &shared.store.snapshot());
                }
                batch = self.consumer.pop_batch(BATCH) => {
                    let (Some(batch), Some(shared)) = (batch, self.shared.upgrade()) else { return };
                    self.process(&shared, batch);
                }
            }
        }
    }

    /// Runs of single changes go to the store in one step; everything else is a step of its own.
    fn process(&mut self, shared: &Shared<K>, batch: Vec<Delta<K>>) {
        let mut run = Run::default();
        for delta in batch {
            match delta {
                Delta::Added(object) | Delta::Updated(object) => run.put(self.transformed(object)),
                Delta::Deleted(object) => run.remove(self.transformed(object)),
                Delta::Undecodable { event, error } => run.quarantine(&event, error),
                Delta::Bookmark { resource_version } => {
                    run.finish(shared);
                    shared.store.bookmark(&resource_version);
                    shared.status.send_modify(|status| status.worked(resource_version));
                }
                Delta::Replaced { objects, resource_version, undecodable } => {
                    run.finish(shared);
                    let objects = objects.into_iter().map(|object| self.transformed(object)).collect();
                    replace(shared, objects, resource_version, undecodable);
                }
            }
        }
        run.finish(shared);
    }

    fn transformed(&mut self, object: K) -> K {
        match &mut self.transform {
            Some(transform) => transform(object),
            None => object,
        }
    }
}

/// Changes that go to the store together.
struct Run<K> {
    writes: Vec<Write<K>>,
    version: String,
    /// Objects that could be decoded: they are not in quarantine any more.
    released: Vec<String>,
    quarantined: Vec<(String, String)>,
}

impl<K> Default for Run<K> {
    fn default() -> Self {
        Self { writes: Vec::new(), version: String::new(), released: Vec::new(), quarantined: Vec::new() }
    }
}

impl<K: Resource + Send + Sync + 'static> Run<K> {
    fn put(&mut self, object: K) {
        self.note(&object);
        self.writes.push(Write::Put(object));
    }

    fn remove(&mut self, object: K) {
        self.note(&object);
        self.writes.push(Write::Remove(object));
    }

    fn note(&mut self, object: &K) {
        let meta = object.meta();
        self.version = meta.resource_version.clone().unwrap_or_default();
        let name = meta.name.as_deref().unwrap_or("");
        self.released.push(store_key(meta.namespace.as_deref().unwrap_or(""), name));
    }

    fn quarantine(&mut self, event: &str, error: DecodeError) {
        let Some(key) = &error.key else {
            self.quarantined.push(("an object without a readable name".to_owned(), error.why));
            return;
        };
        self.version.clone_from(&key.resource_version);
        let key = key_text(key);
        if event == "DELETED" {
            self.released.push(key.clone());
            self.writes.push(Write::RemoveKey(key));
        } else {
            self.quarantined.push((key, error.why));
        }
    }

    /// Writes to the store and tells the listeners, in one step for those who join.
    fn finish(&mut self, shared: &Shared<K>) {
        let Run { writes, version, released, quarantined } = std::mem::take(self);
        if writes.is_empty() && quarantined.is_empty() {
            return;
        }
        let mut fanout = shared.fanout.lock();
        let written = shared.store.write(writes, Some(&version));
        let changes = written.len() as u64;
        for written in written {
            if let Some(event) = event_of(written) {
                fanout.tell(&event);
            }
        }
        drop(fanout);
        shared.status.send_modify(|status| {
            status.worked(version);
            status.changes += changes;
            status.objects = shared.store.snapshot().len();
            for key in released {
                status.quarantined.remove(&key);
            }
            status.quarantined.extend(quarantined);
        });
    }
}

fn replace<K: Resource + Send + Sync + 'static>(
    shared: &Shared<K>,
    objects: Vec<K>,
    version: String,
    undecodable: Vec<DecodeError>,
) {
    let kept: HashSet<String> =
        undecodable.iter().filter_map(|error| error.key.as_deref()).map(key_text).collect();
    let mut fanout = shared.fanout.lock();
    let first = !shared.status.borrow().synced;
    let written = shared.store.replace(objects, &kept, Some(&version));
    // What is gone comes first, as in client-go.
    let (gone, there): (Vec<_>, Vec<_>) = written.into_iter().partition(|written| written.new.is_none());
    for Written { old, .. } in gone {
        if let Some(old) = old {
            fanout.tell(&Event::Deleted(Deleted::unseen(old)));
        }
    }
    for written in there {
        let event = match written {
            Written { old: None, new: Some(object), .. } => Event::Added { object, initial: first },
            Written { old: Some(old), new: Some(new), .. } if !old.is_same(&new) => {
                Event::Updated { old, new, resync: false }
            }
            _ => continue,
        };
        fanout.tell(&event);
    }
    fanout.initial_complete();
    drop(fanout);
    shared.status.send_modify(|status| {
        status.worked(version);
        status.synced = true;
        status.lists += 1;
        status.objects = shared.store.snapshot().len();
        status.quarantined = undecodable
            .into_iter()
            .map(|error| {
                let key = error
                    .key
                    .as_deref()
                    .map_or_else(|| "an object without a readable name".to_owned(), key_text);
                (key, error.why)
            })
            .collect();
    });
}

fn event_of<K>(written: Written<K>) -> Option<Event<K>> {
    match written {
        Written { old: None, new: Some(object), .. } => Some(Event::Added { object, initial: false }),
        Written { old: Some(old), new: Some(new), .. } => Some(Event::Updated { old, new, resync: false }),
        // What the server said about the object when it went, or else what was seen of it last.
        Written { old: Some(_), new: None, last: Some(last) } => Some(Event::Deleted(Deleted::new(last))),
        Written { old: Some(old), new: None, last: None } => Some(Event::Deleted(Deleted::unseen(old))),
        // Nobody had heard of it.
        Written { old: None, new: None, .. } => None,
    }
}

/// The key under which the store has an object.
fn store_key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

fn key_text(key: &ObjectKey) -> String {
    store_key(&key.namespace, &key.name)
}

impl InformerStatus {
    fn failed(&mut self, error: &SourceError) {
        self.errors += 1;
        let times = self.trouble.as_ref().map_or(0, |trouble| trouble.times) + 1;
        self.trouble = Some(Trouble { error: error.clone(), times });
    }

    /// Something arrived as it should.
    fn worked(&mut self, version: String) {
        self.trouble = None;
        if !version.is_empty() {
            self.resource_version = version;
        }
    }
}
