//! Answers: JSON, errors and streams, as HTTP responses.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{self, HeaderValue};
use http::{Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt;
use serde_json::Value;

use super::accept::Encoding;
use super::body::Body;
use crate::represent::protobuf_of;
use crate::status::ApiError;

/// Answers up to this size are never compressed, as in Kubernetes.
pub(crate) const GZIP_ABOVE_BYTES: usize = 128 * 1024;

/// An answer with a JSON body.
pub(crate) fn json(code: u16, value: &Value) -> Response<Body> {
    bytes(code, Encoding::Json, value.to_string())
}

/// An answer with something that says what it is, by `kind` and `apiVersion`: a `Status`, a list of groups.
pub(crate) fn value(code: u16, encoding: Encoding, value: &Value) -> Response<Body> {
    match encoding {
        Encoding::Json => json(code, value),
        // What protobuf does not have is JSON, as the content type says.
        Encoding::Protobuf => match protobuf_of(value) {
            Some(body) => bytes(code, encoding, body),
            None => json(code, value),
        },
    }
}

/// An answer that is already written.
pub(crate) fn bytes(code: u16, encoding: Encoding, body: impl Into<Bytes>) -> Response<Body> {
    with_type(code, encoding.media_type(), Body::full(body))
}

/// An answer in plain text.
pub(crate) fn text(code: u16, body: &str) -> Response<Body> {
    with_type(code, "text/plain; charset=utf-8", Body::full(body.to_owned()))
}

/// An answer that is a code alone.
pub(crate) fn empty(code: u16) -> Response<Body> {
    let mut response = text(code, "");
    response.headers_mut().remove(header::CONTENT_TYPE);
    response
}

/// An error as its `Status`.
pub(crate) fn error(encoding: Encoding, error: &ApiError) -> Response<Body> {
    let mut response = value(error.code, encoding, &error.to_status());
    if let Some(seconds) = error.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Any body with its content type.
pub(crate) fn with_type(code: u16, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Adds a warning for people, as `kubectl` shows it.
pub(crate) fn warn(response: &mut Response<Body>, text: &str) {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{escaped}\"")) {
        response.headers_mut().append(header::WARNING, value);
    }
}

/// Sends chunks, compressed if the client takes it and there is enough of them.
pub(crate) fn chunks(
    code: u16,
    encoding: Encoding,
    gzip: bool,
    estimated_bytes: usize,
    chunks: impl Iterator<Item = Bytes> + Send + 'static,
) -> Response<Body> {
    if !gzip || estimated_bytes <= GZIP_ABOVE_BYTES {
        return with_type(code, encoding.media_type(), Body::chunks(chunks));
    }
    let mut response = with_type(code, encoding.media_type(), Body::chunks(compress(chunks)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}

/// Compresses an answer that is all there, if it is worth it.
pub(crate) async fn compressed(response: Response<Body>) -> Response<Body> {
    let (head, body) = response.into_parts();
    let size = body.size_hint().exact().and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
    if size <= GZIP_ABOVE_BYTES {
        return Response::from_parts(head, body);
    }
    // A body that is all there does not break.
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let mut response = chunks(head.status.as_u16(), Encoding::Json, true, size, std::iter::once(bytes));
    for (name, value) in &head.headers {
        response.headers_mut().append(name, value.clone());
    }
    // The type was there before, and may be another one.
    if let Some(content_type) = head.headers.get(header::CONTENT_TYPE) {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type.clone());
    }
    response
}

/// Whether an `Accept-Encoding` header takes gzip.
pub(crate) fn takes_gzip(accept_encoding: &str) -> bool {
    accept_encoding.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("gzip") && parts.next() != Some("q=0")
    })
}

fn compress(mut chunks: impl Iterator<Item = Bytes>) -> impl Iterator<Item = Bytes> {
    // Level 1: this is about bytes on loopback, not about the last percent.
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    std::iter::from_fn(move || {
        loop {
            let Some(chunk) = chunks.next() else {
                // Writing into memory does not fail.
                let rest = encoder.take()?.finish().unwrap_or_default();
                return Some(Bytes::from(rest));
            };
            let writer = encoder.as_mut()?;
            let _ = writer.write_all(&chunk);
            let ready = std::mem::take(writer.get_mut());
            if !ready.is_empty() {
                return Some(Bytes::from(ready));
            }
        }
    })
}
