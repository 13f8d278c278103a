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

/// The warnings that one answer has. HTTP libraries read a hundred headers at most.
pub(crate) const MAX_WARNINGS: usize = 64;

/// The characters that all warnings of an answer may have together. Longer ones are shortened then, as in Kubernetes.
const MAX_WARNING_CHARS: usize = 4096;

/// The characters that are left of a warning that is shortened.
const SHORT_WARNING_CHARS: usize = 256;

/// The warnings of an answer, in full.
#[derive(Clone, Debug, Default)]
struct Warnings(Vec<String>);

/// Adds warnings for people, as `kubectl` shows them. The same text is added once.
pub(crate) fn warn(response: &mut Response<Body>, texts: &[String]) {
    if texts.is_empty() {
        return;
    }
    let mut warnings = response.extensions_mut().remove::<Warnings>().unwrap_or_default();
    for text in texts {
        if warnings.0.len() < MAX_WARNINGS && !text.is_empty() && !warnings.0.contains(text) {
            warnings.0.push(text.clone());
        }
    }
    let headers = response.headers_mut();
    headers.remove(header::WARNING);
    for text in within_limits(&warnings.0) {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{escaped}\"").as_bytes()) {
            headers.append(header::WARNING, value);
        }
    }
    response.extensions_mut().insert(warnings);
}

/// Returns warnings as they are sent: in full if there is room for all of them; else shortened, and as many as there is room for.
fn within_limits(warnings: &[String]) -> Vec<&str> {
    // Nothing beyond the limit is looked at.
    let chars = |text: &str| text.chars().take(MAX_WARNING_CHARS + 1).count();
    if warnings.iter().map(|text| chars(text)).sum::<usize>() <= MAX_WARNING_CHARS {
        return warnings.iter().map(String::as_str).collect();
    }
    let mut written = 0;
    let mut sent = Vec::new();
    for text in warnings {
        if written >= MAX_WARNING_CHARS {
            break;
        }
        let end = text.char_indices().nth(SHORT_WARNING_CHARS).map_or(text.len(), |(end, _)| end);
        written += chars(&text[..end]);
        sent.push(&text[..end]);
    }
    sent
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

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(batches: &[&[String]]) -> Vec<String> {
        let mut response = json(200, &Value::Null);
        for batch in batches {
            warn(&mut response, batch);
        }
        let text = |value: &HeaderValue| String::from_utf8(value.as_bytes().to_vec()).unwrap();
        response.headers().get_all(header::WARNING).iter().map(text).collect()
    }

    #[test]
    fn the_same_warning_is_sent_once() {
        let [one, two] = ["a \"quoted\" ä", "b"].map(str::to_owned);
        let expected = [r#"299 - "a \"quoted\" ä""#, r#"299 - "b""#];
        assert_eq!(warned(&[&[one.clone(), two, one.clone()], &[one]]), expected);
    }

    #[test]
    fn warnings_are_shortened_only_if_they_are_too_long_together() {
        let long = "ä".repeat(MAX_WARNING_CHARS);
        assert_eq!(warned(&[std::slice::from_ref(&long)]), [format!("299 - \"{long}\"")]);
        let short = format!("299 - \"{}\"", "ä".repeat(SHORT_WARNING_CHARS));
        assert_eq!(warned(&[&[long], &["b".to_owned()]]), [short, "299 - \"b\"".to_owned()]);
    }

    #[test]
    fn the_number_and_the_length_of_warnings_are_bounded() {
        let many: Vec<String> = (0..1_000).map(|at| at.to_string()).collect();
        assert_eq!(warned(&[&many]).len(), MAX_WARNINGS);
        let long: Vec<String> = (0..1_000).map(|at| format!("{at}{}", "x".repeat(1_000))).collect();
        assert_eq!(warned(&[&long]).len(), MAX_WARNING_CHARS / SHORT_WARNING_CHARS);
    }
}
