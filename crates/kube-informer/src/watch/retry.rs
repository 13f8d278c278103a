//! A watch that starts again where it broke off.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::{FutureExt, Stream, StreamExt, TryFutureExt};
use kube_core::Resource;
use kube_wire::{Event, WatchStatus};
use tokio::time::{Instant, Sleep};

use super::open::Open;
use super::pace::{MIN_RESTART, Pace};
use super::{Change, StartError, WatchError};
use crate::object::Object;
use crate::panics;
use crate::random::any_seed;
use crate::reflector::{Config, Failure, WatchRequest};
use crate::source::{ListWatch, SourceError, Want, WatchPart};
use crate::version::is_before;

/// Each change since a version, in order, none twice: a stream that outlives the watches it is made of.
///
/// ```
/// use futures::StreamExt;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_informer::source::KubeSource;
/// use kube_informer::watch::{Change, RetryWatch};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: hello}}")?;
/// # let (client, version) = (server.client()?, server.resource_version().to_string());
/// # server.delete("v1/ConfigMap", "default", "hello")?;
/// // The version of a list, or of an object that was just written.
/// let mut changes = RetryWatch::new(KubeSource::<ConfigMap>::all(client, &()), version)?;
/// while let Some(change) = changes.next().await {
///     match change? {
///         Change::Deleted(config) => {
///             assert_eq!(config.metadata.name.as_deref(), Some("hello"));
///             break;
///         }
///         other => println!("{other:?}"),
///     }
/// }
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
///
/// # What it survives
///
/// A watch that the server closes, that breaks, or that is answered with an error is opened again from the last version
/// that was seen: refused connections, time-outs, 429, 5xx, errors inside the watch, answers that make no sense. A 410
/// when a watch is opened is among them, as in client-go: a server that has forgotten a version says so inside the
/// watch. Bookmarks move the version and are not told.
///
/// There is at least [`MIN_RESTART`] from one start to the next. A watch that failed before it brought anything is
/// followed by a longer wait each time, by the backoff of [`Config`], and a server that asks to wait is waited for. A
/// watch on which nothing arrives for [`Config::silence`], or which outlives its time by [`Config::watch_slack`], is
/// opened again, because its connection may be dead. All this goes on for as long as it is polled; what it
/// survives is told to [`on_error`](Self::on_error).
///
/// # What ends it
///
/// An error, after which there is nothing more, comes when what happened since the last version is no longer known
/// ([`WatchError::Expired`]), when the server's versions went back ([`WatchError::VersionWentBack`]), when the client may not
/// watch ([`WatchError::Denied`]), and after an event that does not say where to go on. A
/// [`SharedInformer`](crate::SharedInformer) survives the first two by listing again.
///
/// # What it costs
///
/// It has no task and no buffer: it asks when it is polled, and while nobody polls it the server is not read.
#[must_use = "a stream does nothing unless it is polled"]
pub struct RetryWatch<K> {
    source: Arc<dyn ListWatch<K>>,
    want: Arc<Want<K>>,
    /// The last version that was seen: moves with each change that is told and with each bookmark.
    resource_version: String,
    starts: u64,
    pace: Pace,
    on_error: Option<OnError>,
    state: State<K>,
}

type OnError = Box<dyn Fn(&SourceError) + Send + Sync>;

enum State<K> {
    /// It has not been polled.
    New,
    /// Until the next watch may start.
    Waiting(Pin<Box<Sleep>>),
    /// A watch is open, or being opened.
    Open(Open<K>),
    /// The last item was an error.
    Ended,
}

impl<K: Resource + Send + Sync + 'static> RetryWatch<K> {
    /// Watches what a source has, from a version on. The versions `""` and `"0"` stand for no moment, and are refused.
    pub fn new(source: impl ListWatch<K>, resource_version: impl Into<String>) -> Result<Self, StartError> {
        let resource_version = resource_version.into();
        if matches!(resource_version.as_str(), "" | "0") {
            return Err(StartError { resource_version });
        }
        Ok(Self {
            source: Arc::new(source),
            want: Arc::new(Want::new()),
            resource_version,
            starts: 0,
            pace: Pace::new(Config::default(), any_seed(), MIN_RESTART),
            on_error: None,
            state: State::New,
        })
    }

    /// How long watches last, how long they may be silent, and how to back off. What is about lists and initial events
    /// has no meaning here.
    pub fn config(mut self, config: Config) -> Self {
        self.pace = self.pace.with_config(config);
        self
    }

    /// Makes waits and time-outs repeatable, for tests.
    pub fn seed(mut self, seed: u64) -> Self {
        self.pace = self.pace.with_seed(seed);
        self
    }

    /// At least so long from one start to the next, instead of [`MIN_RESTART`].
    pub fn min_restart(mut self, time: Duration) -> Self {
        self.pace = self.pace.with_min_restart(time);
        self
    }

    /// Calls a function with everything that goes wrong and is survived: failed requests, errors inside watches,
    /// broken and silent connections. A panic of the function ends nothing.
    pub fn on_error(mut self, hook: impl Fn(&SourceError) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Box::new(hook));
        self
    }

    /// Starts a watch from the last version.
    fn start(&mut self) {
        let now = Instant::now();
        let timeout = self.pace.lifetime(now);
        let resource_version = self.resource_version.clone();
        let request = WatchRequest { resource_version, initial_events: false, timeout };
        let source = Arc::clone(&self.source);
        let want = Arc::clone(&self.want);
        let parts = async move { source.watch(&request, &want).await }.try_flatten_stream().boxed();
        self.starts += 1;
        self.state = State::Open(Open::new(parts, self.pace.patience(now, timeout), now));
    }

    /// Takes what came of polling a watch: nothing to tell, a change, or its end.
    fn take(&mut self, part: Option<Result<WatchPart<K>, SourceError>>) -> Result<Option<Change<K>>, End> {
        let part = match part {
            None => return Err(End::Closed),
            Some(Err(error)) if matches!(error.code, 401 | 403) => {
                return Err(WatchError::Denied(error).into());
            }
            Some(Err(error)) => return Err(self.failed(&error, None)),
            Some(Ok(part)) => part,
        };
        if let WatchPart::Undecodable { event, error } = part {
            let version = error.key.as_ref().map_or("", |key| key.resource_version.as_str());
            self.moved(version, || format!("an undecodable object ({event}: {error})"))?;
            return Ok(Some(Change::Undecodable { event, error }));
        }
        // Whatever else a watch may be made of only says that it lives.
        let WatchPart::Event(event) = part else { return Ok(None) };
        let change = match event {
            Event::Added(object) => Change::Added(object),
            Event::Modified(object) => Change::Modified(object),
            Event::Deleted(object) => Change::Deleted(object),
            Event::Bookmark { resource_version, .. } => {
                self.moved(&resource_version, || "a bookmark".to_owned())?;
                return Ok(None);
            }
            Event::Error(status) => return Err(self.ended_by(&status)),
            Event::Unknown(event) => return Err(WatchError::UnknownEvent { event }.into()),
            // What a newer kube-wire may know.
            _ => return Err(WatchError::UnknownEvent { event: String::new() }.into()),
        };
        let version = change.object().map_or("", Object::resource_version);
        self.moved(version, || format!("{change:?}"))?;
        Ok(Some(change))
    }

    /// Everything up to a version has been seen.
    fn moved(&mut self, version: &str, what: impl FnOnce() -> String) -> Result<(), End> {
        if version.is_empty() {
            return Err(WatchError::NoVersion { what: what() }.into());
        }
        if is_before(version, &self.resource_version) {
            let (resource_version, came) = (self.resource_version.clone(), version.to_owned());
            return Err(WatchError::VersionWentBack { resource_version, came }.into());
        }
        version.clone_into(&mut self.resource_version);
        if let State::Open(open) = &mut self.state {
            open.fruitless = false;
        }
        Ok(())
    }

    /// The server ended the watch with an error.
    fn ended_by(&self, status: &WatchStatus) -> End {
        let error = SourceError::in_watch(status);
        if error.failure == Failure::Expired {
            let resource_version = self.resource_version.clone();
            return WatchError::Expired { resource_version, cause: error }.into();
        }
        self.failed(&error, status.retry_after_seconds.map(Duration::from_secs))
    }

    /// Something went wrong that may go right the next time.
    fn failed(&self, error: &SourceError, asked_to_wait: Option<Duration>) -> End {
        if let Some(hook) = &self.on_error {
            // A panic of the hook is no reason to lose events.
            panics::drop_quietly(catch_unwind(AssertUnwindSafe(|| hook(error))));
        }
        End::Failed { asked_to_wait: asked_to_wait.unwrap_or(error.failure.retry_after()) }
    }

    /// Waits until the next watch may start.
    fn wait(&mut self, failed: bool, asked_to_wait: Duration) {
        let State::Open(open) = &self.state else { return };
        let fruitless = failed && open.fruitless;
        let start = self.pace.next_start(open.started(), Instant::now(), fruitless, asked_to_wait);
        self.state = State::Waiting(Box::pin(tokio::time::sleep_until(start)));
    }
}

impl<K> RetryWatch<K> {
    /// The version up to which everything has been told. A new watch from here tells what follows.
    pub fn resource_version(&self) -> &str {
        &self.resource_version
    }

    /// How often a watch has been started.
    pub fn starts(&self) -> u64 {
        self.starts
    }
}

impl<K: Resource + Send + Sync + 'static> Stream for RetryWatch<K> {
    type Item = Result<Change<K>, WatchError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match &mut this.state {
                State::Ended => return Poll::Ready(None),
                State::New => this.start(),
                State::Waiting(sleep) => {
                    ready!(sleep.poll_unpin(context));
                    this.start();
                }
                State::Open(open) => {
                    let part = ready!(open.poll_part(context));
                    match this.take(part) {
                        Ok(None) => {}
                        Ok(Some(change)) => return Poll::Ready(Some(Ok(change))),
                        Err(End::Closed) => this.wait(false, Duration::ZERO),
                        Err(End::Failed { asked_to_wait }) => this.wait(true, asked_to_wait),
                        Err(End::ForGood(error)) => {
                            this.state = State::Ended;
                            return Poll::Ready(Some(Err(*error)));
                        }
                    }
                }
            }
        }
    }
}

impl<K> fmt::Debug for RetryWatch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryWatch")
            .field("resource_version", &self.resource_version)
            .field("starts", &self.starts)
            .finish_non_exhaustive()
    }
}

/// How a watch ended.
enum End {
    /// In good order.
    Closed,
    /// In a way that need not repeat.
    Failed { asked_to_wait: Duration },
    /// And no other can follow.
    ForGood(Box<WatchError>),
}

impl From<WatchError> for End {
    fn from(error: WatchError) -> Self {
        End::ForGood(Box::new(error))
    }
}
