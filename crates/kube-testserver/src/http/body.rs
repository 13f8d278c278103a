//! Response bodies: whole ones, lists written as they are read, and watches.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};

/// How much of a long answer is written at a time.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// The body broke off on purpose: an injected fault, a client that did not keep up, or the server's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BrokenBody;

impl fmt::Display for BrokenBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection was broken by the server")
    }
}

impl std::error::Error for BrokenBody {}

/// The body of every answer.
#[derive(Debug)]
pub(crate) struct Body(UnsyncBoxBody<Bytes, BrokenBody>);

impl Body {
    pub(crate) fn new<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes, Error = BrokenBody> + Send + 'static,
    {
        Self(body.boxed_unsync())
    }

    /// A body that is all there.
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self::new(Full::new(bytes.into()).map_err(|never| match never {}))
    }

    /// A body that comes piece by piece.
    pub(crate) fn stream(chunks: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::new(StreamBody::new(chunks.map(|chunk| Ok(Frame::data(chunk)))))
    }

    /// A body that comes piece by piece, each piece made when the client is ready for it.
    pub(crate) fn chunks(chunks: impl Iterator<Item = Bytes> + Send + 'static) -> Self {
        Self::stream(futures::stream::iter(chunks))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenBody>>> {
        Pin::new(&mut self.0).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.0.size_hint()
    }
}
