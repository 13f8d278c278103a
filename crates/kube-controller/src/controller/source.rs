//! Where requests come from: informers, streams, functions.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};
use kube_core::Resource;
use kube_informer::Object;
use kube_informer::fanout::{AnyEvent, Event};
use kube_informer::object::ObjectName;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::func::{FuncSource, Running};
use super::watch::{Informer, Listening};
use super::{Enqueuer, IntoWatch, Owner, Owners, RequestKey, Watch};

/// Where requests come from. The methods of a [builder](super::ControllerBuilder) make them; by hand they are
/// made for [`ControllerHandle::add_source`](super::ControllerHandle::add_source).
#[must_use = "a source does nothing until it is given to a controller"]
pub struct Source<R: RequestKey> {
    pub(super) name: String,
    pub(super) start: Box<dyn Start<R>>,
}

impl Source<ObjectName> {
    /// The objects of a kind themselves.
    pub fn objects(watch: impl IntoWatch) -> Self {
        Self::mapped(watch, |object| [ObjectName::new(object.namespace(), object.name())])
    }

    /// The owners of the objects of a kind: of those that an object had, and of those that it has.
    pub fn owners(watch: impl IntoWatch, owner: Owner, which: Owners) -> Self {
        Self::mapped(watch, move |object| owner.find(&object.metadata(), which))
    }
}

impl<R: RequestKey> Source<R> {
    /// What a function makes of the objects of a kind. Of an update it is asked for both sides; the same request is
    /// added once.
    pub fn mapped<W, I>(watch: W, map: impl Fn(&Object<W::Kind>) -> I + Send + Sync + 'static) -> Self
    where
        W: IntoWatch,
        I: IntoIterator<Item = R>,
    {
        Self::handled(watch, move |event, queue| {
            let before = match event {
                Event::Updated { old, new, .. } if !old.is_same(new) => Some(old),
                _ => None,
            };
            let mut added: Vec<R> = Vec::new();
            for object in before.into_iter().chain([event.object()]) {
                for request in map(object) {
                    if !added.contains(&request) {
                        queue.add(request.clone());
                        added.push(request);
                    }
                }
            }
        })
    }

    /// What a function adds when it hears of an event of a kind.
    pub fn handled<W: IntoWatch>(
        watch: W,
        handle: impl Fn(&Event<W::Kind>, &Enqueuer<R>) + Send + Sync + 'static,
    ) -> Self {
        let watch = watch.into_watch();
        Self { name: watch.informer.resource(), start: Box::new(KindSource { watch, handle }) }
    }

    /// What a stream yields, until it ends.
    pub fn stream(name: impl Into<String>, requests: impl Stream<Item = R> + Send + 'static) -> Self {
        Self::func(name, |queue: Enqueuer<R>, running: Running| async move {
            running.ready();
            let mut requests = std::pin::pin!(requests);
            while let Some(request) = requests.next().await {
                queue.add(request);
            }
            Ok(())
        })
    }

    /// What is sent, until all senders are gone.
    pub fn channel(name: impl Into<String>, mut requests: mpsc::Receiver<R>) -> Self {
        Self::stream(name, futures::stream::poll_fn(move |context| requests.poll_recv(context)))
    }

    /// What a function adds. The controller begins its work when the function has said that it is
    /// [ready](Running::ready), or has returned; an error, whenever it comes, ends the controller. The function is cut
    /// off when the controller ends.
    pub fn func<F, Fut>(name: impl Into<String>, function: F) -> Self
    where
        F: FnOnce(Enqueuer<R>, Running) -> Fut + Send + 'static,
        Fut: Future<Output = Result<(), Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        let call = move |queue, running| function(queue, running).boxed();
        Self { name: name.into(), start: Box::new(FuncSource { call: Box::new(call) }) }
    }
}

impl<R: RequestKey> fmt::Debug for Source<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Refuses events of whatever kind.
pub(super) type EventFilter = Arc<dyn Fn(&AnyEvent) -> bool + Send + Sync>;

/// What a source gets when it starts.
pub(super) struct Starting<'a, R: RequestKey> {
    pub(super) controller: &'a str,
    pub(super) queue: Enqueuer<R>,
    pub(super) filters: Arc<[EventFilter]>,
    pub(super) stop: CancellationToken,
}

/// A source that was not started.
pub(super) trait Start<R: RequestKey>: Send {
    fn start(self: Box<Self>, starting: Starting<'_, R>) -> Result<Arc<dyn Started>, String>;
}

/// A source that was started.
pub(super) trait Started: Send + Sync {
    /// Everything that was there from the start has been added; an error if that will never be.
    fn synced(&self) -> BoxFuture<'_, Result<(), String>>;
    /// What is wrong so far.
    fn trouble(&self) -> Option<String>;
    /// Ends when the source has failed.
    fn failed(&self) -> BoxFuture<'_, String>;
    /// Adds nothing more.
    fn close(&self);
    /// How often a function of the program panicked, and what the last panic said.
    fn panics(&self) -> (u64, Option<String>);
    fn is_synced(&self) -> bool;
}

/// The events of one kind.
struct KindSource<K, H> {
    watch: Watch<K>,
    handle: H,
}

impl<R, K, H> Start<R> for KindSource<K, H>
where
    R: RequestKey,
    K: Resource + Send + Sync + 'static,
    H: Fn(&Event<K>, &Enqueuer<R>) + Send + Sync + 'static,
{
    fn start(self: Box<Self>, starting: Starting<'_, R>) -> Result<Arc<dyn Started>, String> {
        let Self { watch: Watch { informer, filters }, handle } = *self;
        let Starting { controller, queue, filters: all, .. } = starting;
        let listener = Box::new(move |event: Event<K>| {
            if filters.iter().all(|filter| filter.accepts(&event)) && passes(&all, &event) {
                handle(&event, &queue.for_event(&event));
            }
        });
        let listening = informer.listen(controller, listener)?;
        informer.start();
        Ok(Arc::new(Kind { informer, listening }))
    }
}

fn passes<K: Resource + Send + Sync + 'static>(filters: &[EventFilter], event: &Event<K>) -> bool {
    if filters.is_empty() {
        return true;
    }
    let event = AnyEvent::from(event.clone());
    filters.iter().all(|filter| filter(&event))
}

struct Kind<K> {
    informer: Arc<dyn Informer<K>>,
    listening: Box<dyn Listening>,
}

impl<K: Send + Sync + 'static> Started for Kind<K> {
    fn synced(&self) -> BoxFuture<'_, Result<(), String>> {
        async {
            if self.listening.synced().await { Ok(()) } else { Err("its informer was stopped".to_owned()) }
        }
        .boxed()
    }

    fn trouble(&self) -> Option<String> {
        self.informer.trouble()
    }

    fn failed(&self) -> BoxFuture<'_, String> {
        async {
            self.listening.ended().await;
            "its informer was stopped before the controller".to_owned()
        }
        .boxed()
    }

    fn close(&self) {
        self.listening.remove();
    }

    fn panics(&self) -> (u64, Option<String>) {
        let status = self.listening.status();
        (status.panics, status.last_panic)
    }

    fn is_synced(&self) -> bool {
        self.listening.status().synced
    }
}
