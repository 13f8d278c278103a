//! Why a server's answer is none.

use std::time::Duration;

use http::{Response, header};
use http_body_util::{BodyExt, Limited};
use kube_client::client::Body;
use kube_wire::{DecodeOptions, ProtoEnvelope, ProtoMessage, WatchStatus, decode_object_proto};
use serde::Deserialize;

use crate::continuation::EndlessList;
use crate::redact::{causes, error_text, json_words};
use crate::reflector::Failure;

/// How much of an error's body is read.
const MAX_BODY_BYTES: usize = 64 << 10;

/// The longest reason and message of a server that are repeated, in characters.
const MAX_TEXT_CHARS: usize = 2_000;

/// How it is said that the tasks of an informer were dropped.
const RUNTIME_ENDED: &str = "the tokio runtime that the informer was started on has ended, and the informer with it; make a new one \
                             on a runtime that lives for as long as the informer is needed";

/// How it is said that a function that the user gave panicked.
const PANICKED: &str = "a function of the program panicked, and the informer has stopped";

/// Why a list or a watch was not answered, or broke off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct SourceError {
    /// What it means for what to do next.
    pub failure: Failure,
    /// The HTTP code; 0 if there was no answer.
    pub code: u16,
    /// `NotFound`, `Forbidden`, …, as the server says it, up to a length; empty if there was no answer.
    pub reason: String,
    /// For people. What a server says in a `Status` is repeated, up to a length: that is no object, but the refusal of a write may
    /// quote from what was written.
    pub message: String,
    /// What arrived was not what a server sends: not JSON, or too large.
    pub garbled: bool,
}

impl SourceError {
    /// The connection could not be opened, or broke.
    pub(crate) fn connection(error: &(dyn std::error::Error + 'static)) -> Self {
        let failure = if is_refused(error) { Failure::ConnectionRefused } else { Failure::Other };
        Self { failure, ..Self::trouble(full_message(error)) }
    }

    /// A client that was asked for something failed.
    pub(crate) fn of_client(error: &kube_client::Error) -> Self {
        match error {
            kube_client::Error::Api(status) => {
                let said = Status {
                    reason: status.reason.clone(),
                    message: status.message.clone(),
                    details: Details::default(),
                };
                said.into_error(status.code, None)
            }
            kube_client::Error::SerdeError(error) => Self::garbled(json_words(error)),
            other => Self::connection(other),
        }
    }

    /// There was no answer, or none that helps.
    pub(crate) fn trouble(message: String) -> Self {
        Self { failure: Failure::Other, code: 0, reason: String::new(), message, garbled: false }
    }

    /// There was no answer in time.
    pub(crate) fn silent(what: &str) -> Self {
        Self::trouble(format!("{what} did not come in time"))
    }

    /// A page of a list was not complete in time, though bytes arrived.
    pub(crate) fn slow_list(timeout: Duration) -> Self {
        Self::trouble(format!(
            "a page of the list was not complete after {timeout:?}; if the server needs longer, raise `Config::list_timeout`"
        ))
    }

    /// An answer is at a version before the last one.
    pub(crate) fn went_back(from: &str, to: &str) -> Self {
        Self::trouble(format!(
            "the server's resource versions went back from {from} to {to}, as after a restore from a backup: everything is listed again"
        ))
    }

    /// A list is of no use, since it would never end.
    pub(crate) fn endless(why: EndlessList) -> Self {
        Self::garbled(match why {
            EndlessList::TokenRepeats => "the pages of the list do not end: a continue token came twice",
            EndlessList::TinyPages => {
                "the pages of the list do not end: page after page has a continue token and next to no items"
            }
        })
    }

    /// A list, or a stream of initial events, has more in it than is taken.
    pub(crate) fn too_much(what: &str, most: u64, setting: &str) -> Self {
        Self::garbled(format_args!(
            "a list has more than {most} {what}, all pages together; if that is right, raise `Config::{setting}`"
        ))
    }

    /// A function that the user gave panicked.
    pub(crate) fn panicked(message: &str) -> Self {
        Self::trouble(format!("{PANICKED}: {message}"))
    }

    /// The runtime of an informer has ended.
    pub(crate) fn runtime_ended() -> Self {
        Self::trouble(RUNTIME_ENDED.to_owned())
    }

    /// A namespace was named for a type that has none.
    pub(crate) fn no_namespaces(resource: &str, namespace: &str) -> Self {
        let message =
            format!("{resource} have no namespaces, so there are none in {namespace:?}; follow all of them");
        Self { failure: Failure::Other, code: 404, reason: "NotFound".to_owned(), message, garbled: false }
    }

    /// There can be no namespace of that name.
    pub(crate) fn bad_namespace(namespace: &str) -> Self {
        let message = format!("{namespace:?} cannot be the name of a namespace");
        Self { failure: Failure::Other, code: 404, reason: "NotFound".to_owned(), message, garbled: false }
    }

    /// What arrived makes no sense.
    pub(crate) fn garbled(why: impl std::fmt::Display) -> Self {
        Self { garbled: true, ..Self::trouble(format!("the server's answer makes no sense: {why}")) }
    }

    /// The server ended a watch with an ERROR event.
    pub(crate) fn in_watch(status: &WatchStatus) -> Self {
        let WatchStatus { code, reason, message, retry_after_seconds, .. } = status;
        let said = Status { reason: reason.clone(), message: message.clone(), details: Details::default() };
        said.into_error(*code, *retry_after_seconds)
    }

    /// The answer itself, if it is a good one; else what it says is wrong.
    pub(crate) async fn unless_good(answer: Response<Body>) -> Result<Response<Body>, Self> {
        let code = answer.status();
        if code.is_success() {
            return Ok(answer);
        }
        let retry_after = answer.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let body = Limited::new(answer.into_body(), MAX_BODY_BYTES).collect().await;
        let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        Err(Self::status(code.as_u16(), retry_after, &body))
    }

    /// The server answered with an error: its code, the `Retry-After` header and the body.
    pub(crate) fn status(code: u16, retry_after: Option<u64>, body: &[u8]) -> Self {
        let mut status = Status::read(body).unwrap_or_default();
        if status.message.is_empty() {
            let text: String = String::from_utf8_lossy(body).trim().chars().take(200).collect();
            status.message = format!("the server answered with {code}: {text}");
        }
        status.into_error(code, retry_after)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    reason: String,
    message: String,
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    causes: Vec<Cause>,
    retry_after_seconds: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cause {
    reason: String,
    message: String,
}

impl Status {
    /// Reads the body of an answer, in whichever encoding it came.
    fn read(body: &[u8]) -> Option<Self> {
        if let Ok(envelope) = ProtoEnvelope::read(body) {
            let message = ProtoMessage::of("", "v1", "Status").filter(|_| envelope.kind == "Status")?;
            return decode_object_proto(envelope.object, message, DecodeOptions::default()).ok();
        }
        serde_json::from_slice(body).ok()
    }

    fn into_error(self, code: u16, retry_after: Option<u64>) -> SourceError {
        let failure = self.failure(code, retry_after);
        let (reason, message) = (shortened(self.reason), shortened(self.message));
        SourceError { failure, code, reason, message, garbled: false }
    }

    fn failure(&self, code: u16, retry_after: Option<u64>) -> Failure {
        const TOO_LARGE: &str = "Too large resource version";
        let too_large = self
            .details
            .causes
            .iter()
            .any(|cause| cause.reason == "ResourceVersionTooLarge" || cause.message.contains(TOO_LARGE));
        if code == 410 || matches!(self.reason.as_str(), "Expired" | "Gone") {
            return Failure::Expired;
        }
        // Servers before the cause existed only say it in words.
        if too_large || (self.reason == "Timeout" && self.message.contains(TOO_LARGE)) {
            return Failure::VersionTooLarge;
        }
        match code {
            429 => {
                let seconds = retry_after.or(self.details.retry_after_seconds);
                Failure::TooManyRequests { retry_after: seconds.map(Duration::from_secs) }
            }
            500 if self.reason == "InternalError" => Failure::Internal,
            400 | 405 | 406 | 415 | 422 => Failure::NotUnderstood,
            _ => Failure::Other,
        }
    }
}

/// Cuts a text of a server, which may be of any length.
fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

fn is_refused(error: &(dyn std::error::Error + 'static)) -> bool {
    causes(error).any(|error| {
        error
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
    })
}

/// An error with its causes, each said once, without values of objects.
fn full_message(error: &(dyn std::error::Error + 'static)) -> String {
    let mut message = error_text(error);
    for cause in causes(error).skip(1) {
        let text = error_text(cause);
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: u16, body: &str) -> Failure {
        SourceError::status(code, None, body.as_bytes()).failure
    }

    #[test]
    fn answers_are_told_apart_as_client_go_does() {
        assert_eq!(failure(410, "{}"), Failure::Expired);
        assert_eq!(failure(400, r#"{"reason":"Gone"}"#), Failure::Expired);
        assert_eq!(
            failure(
                504,
                r#"{"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#
            ),
            Failure::VersionTooLarge
        );
        assert_eq!(
            failure(504, r#"{"reason":"Timeout","message":"Timeout: Too large resource version: 5"}"#),
            Failure::VersionTooLarge
        );
        assert_eq!(
            failure(
                504,
                r#"{"reason":"Timeout","details":{"causes":[{"message":"Too large resource version"}]}}"#
            ),
            Failure::VersionTooLarge
        );
        assert_eq!(failure(504, r#"{"reason":"Timeout","message":"slow"}"#), Failure::Other);
        assert_eq!(failure(500, r#"{"reason":"InternalError"}"#), Failure::Internal);
        assert_eq!(failure(500, "oops"), Failure::Other);
        assert_eq!(failure(403, r#"{"reason":"Forbidden"}"#), Failure::Other);
        assert_eq!(failure(422, r#"{"reason":"Invalid"}"#), Failure::NotUnderstood);
        let body = br#"{"details":{"retryAfterSeconds":7}}"#;
        let busy = |seconds| Failure::TooManyRequests { retry_after: Some(Duration::from_secs(seconds)) };
        assert_eq!(SourceError::status(429, None, body).failure, busy(7));
        assert_eq!(SourceError::status(429, Some(3), body).failure, busy(3), "the header comes first");
        assert_eq!(
            SourceError::status(429, None, b"").failure,
            Failure::TooManyRequests { retry_after: None }
        );
    }

    #[test]
    fn an_answer_in_protobuf_says_the_same() {
        // A Status with reason (4) and message (3).
        let object = b"\x1a\x11pods is forbidden\x22\x09Forbidden";
        let body = ProtoEnvelope { api_version: "v1", kind: "Status", object }.to_bytes();
        let error = SourceError::status(403, None, &body);
        assert_eq!((error.to_string().as_str(), error.reason.as_str()), ("pods is forbidden", "Forbidden"));
    }

    #[test]
    fn messages_are_the_servers_or_the_beginning_of_what_it_sent() {
        let error =
            SourceError::status(403, None, br#"{"reason":"Forbidden","message":"pods is forbidden"}"#);
        assert_eq!((error.to_string().as_str(), error.reason.as_str()), ("pods is forbidden", "Forbidden"));
        let error = SourceError::status(404, None, b"404 page not found\n");
        assert_eq!(error.to_string(), "the server answered with 404: 404 page not found");
    }

    #[test]
    fn reasons_and_messages_of_any_length_are_cut() {
        let long = "ü".repeat(100_000);
        let body = serde_json::json!({"reason": long, "message": long}).to_string();
        let mut status = WatchStatus::default();
        (status.reason, status.message) = (long.clone(), long.clone());
        let response = kube_core::Status::failure(&long, &long).with_code(403);
        for error in [
            SourceError::status(403, None, body.as_bytes()),
            SourceError::in_watch(&status),
            SourceError::of_client(&kube_client::Error::Api(Box::new(response))),
        ] {
            let lengths = (error.reason.chars().count(), error.message.chars().count());
            assert_eq!(lengths, (MAX_TEXT_CHARS + 1, MAX_TEXT_CHARS + 1));
        }
    }

    #[test]
    fn a_refused_connection_is_found_among_the_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Outer(#[source] std::io::Error);
        let refused = Outer(std::io::Error::from(std::io::ErrorKind::ConnectionRefused));
        assert_eq!(SourceError::connection(&refused).failure, Failure::ConnectionRefused);
        let reset = Outer(std::io::Error::other("reset"));
        let error = SourceError::connection(&reset);
        assert_eq!((error.failure.clone(), error.to_string().as_str()), (Failure::Other, "outer: reset"));
    }
}
