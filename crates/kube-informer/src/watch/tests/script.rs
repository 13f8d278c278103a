//! A source that does what a test says, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_wire::{Event, EventError, decode_event};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::reflector::{Failure, ListRequest, WatchRequest};
use crate::source::{ListStream, ListWatch, SourceError, Want, WatchPart, WatchStream};

/// One part of a watch.
pub(super) type Part = Result<WatchPart<ConfigMap>, SourceError>;

/// What a watch is answered with.
pub(super) enum Answer {
    /// An error.
    Refused(SourceError),
    /// Parts, and then the end.
    Closes(Vec<Part>),
    /// Parts, and then nothing more.
    Stays(Vec<Part>),
    /// Nothing, ever.
    Never,
}

/// What a source was asked.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) version: String,
    pub(super) timeout: Duration,
    pub(super) at: Instant,
}

/// Answers one watch after the other; when there are no more answers, it never answers.
#[derive(Clone, Default)]
pub(super) struct Script(Arc<Inner>);

#[derive(Default)]
struct Inner {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<Asked>>,
    /// Held by each open watch.
    open: Arc<()>,
}

impl Script {
    pub(super) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let script = Self::default();
        script.0.answers.lock().extend(answers);
        script
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.0.asked.lock().clone()
    }

    pub(super) fn versions(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.version).collect()
    }

    /// The time from each start to the next.
    pub(super) fn gaps(&self) -> Vec<Duration> {
        self.asked().windows(2).map(|pair| pair[1].at - pair[0].at).collect()
    }

    /// How many watches are open or being opened.
    pub(super) fn open(&self) -> usize {
        Arc::strong_count(&self.0.open) - 1
    }
}

impl ListWatch<ConfigMap> for Script {
    fn list<'a>(
        &'a self,
        _: &'a ListRequest,
        _: &'a Arc<Want<ConfigMap>>,
    ) -> BoxFuture<'a, Result<ListStream<ConfigMap>, SourceError>> {
        panic!("a watch does not list")
    }

    fn watch<'a>(
        &'a self,
        request: &'a WatchRequest,
        _: &'a Arc<Want<ConfigMap>>,
    ) -> BoxFuture<'a, Result<WatchStream<ConfigMap>, SourceError>> {
        assert!(!request.initial_events, "what is there is not asked for");
        let asked =
            Asked { version: request.resource_version.clone(), timeout: request.timeout, at: Instant::now() };
        self.0.asked.lock().push(asked);
        let answer = self.0.answers.lock().pop_front().unwrap_or(Answer::Never);
        let open = Arc::clone(&self.0.open);
        async move {
            let (parts, stays) = match answer {
                Answer::Refused(error) => return Err(error),
                Answer::Never => {
                    std::future::pending::<()>().await;
                    (Vec::new(), true)
                }
                Answer::Closes(parts) => (parts, false),
                Answer::Stays(parts) => (parts, true),
            };
            let parts = stream::iter(parts).then(move |part| {
                let open = Arc::clone(&open);
                async move {
                    // What arrives over a network is not there when it is first asked for.
                    tokio::task::yield_now().await;
                    drop(open);
                    part
                }
            });
            let end = if stays { stream::pending().left_stream() } else { stream::empty().right_stream() };
            Ok(parts.chain(end).boxed())
        }
        .boxed()
    }
}

/// A part as it comes off the wire, from an event's type and object.
pub(super) fn part(event: &str, object: &str) -> Part {
    let frame = format!(r#"{{"type":"{event}","object":{object}}}"#);
    match decode_event(frame.as_bytes(), kube_wire::DecodeOptions::default()) {
        Ok(event) => Ok(crate::source::taken(event, |object| Want::new().take(object))),
        Err(EventError::Object { event, error }) => Ok(WatchPart::Undecodable { event, error }),
        Err(error) => Err(SourceError::garbled(error)),
    }
}

pub(super) fn added(version: u64) -> Part {
    part("ADDED", &format!(r#"{{"metadata":{{"name":"c{version}","resourceVersion":"{version}"}}}}"#))
}

pub(super) fn bookmark(version: &str) -> Part {
    let resource_version = version.to_owned();
    Ok(WatchPart::Event(Event::Bookmark { resource_version, initial_events_end: false }))
}

/// An ERROR event.
pub(super) fn error(code: u16, reason: &str, retry_after_seconds: Option<u64>) -> Part {
    let details = retry_after_seconds
        .map(|seconds| format!(r#","details":{{"retryAfterSeconds":{seconds}}}"#))
        .unwrap_or_default();
    part("ERROR", &format!(r#"{{"code":{code},"reason":"{reason}","message":"on purpose"{details}}}"#))
}

/// The answer of a server with a code.
pub(super) fn status(code: u16, retry_after: Option<u64>) -> SourceError {
    SourceError::status(code, retry_after, b"on purpose")
}

/// A connection that failed in a way.
pub(super) fn connection(failure: Failure) -> SourceError {
    SourceError { failure, code: 0, reason: String::new(), message: "on purpose".to_owned(), garbled: false }
}
