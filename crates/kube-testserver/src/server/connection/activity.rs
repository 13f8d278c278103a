//! What a connection does, and until when its client has to do something.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::waiting::{Ticket, Waiting};
use super::{HEADER_TIMEOUT, IDLE_TIMEOUT, STALL_TIMEOUT};
use crate::http::{Body, BrokenBody, LongRunning};

/// What one connection does. Shared by its parts, all of which run in one task.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    cut: CancellationToken,
    waiting: Arc<Waiting>,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When the head of the next request has to be there, and the place among those that wait for one.
    next_request: Option<(Instant, Ticket)>,
    /// Since when the client has not taken what is there for it.
    stalled_since: Option<Instant>,
    /// The answer may take as long as the client likes.
    long_running: bool,
}

impl Activity {
    /// A new connection, which waits for its first request.
    pub(super) fn start(cut: CancellationToken, waiting: Arc<Waiting>) -> Self {
        let started = Instant::now();
        let next_request = Some((started + HEADER_TIMEOUT, waiting.enter(cut.clone())));
        let state = State { next_request, stalled_since: None, long_running: false };
        Self(Arc::new(Shared { cut, waiting, started, state: Mutex::new(state) }))
    }

    pub(super) fn started(&self) -> Instant {
        self.0.started
    }

    /// When the connection is to be closed, unless something happens before.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let state = self.0.state.lock();
        match state.stalled_since {
            Some(_) if state.long_running => None,
            Some(since) => Some(since + STALL_TIMEOUT),
            None => state.next_request.as_ref().map(|(deadline, _)| *deadline),
        }
    }

    /// The head of a request is there. The connection waits until the body is there, too.
    pub(super) fn begin(&self, request: Request<Incoming>) -> (Request<Receiving>, Answering) {
        let ticket = self.0.state.lock().next_request.take().map(|(_, ticket)| ticket);
        (request.map(|body| Receiving { body, _ticket: ticket }), Answering(self.clone()))
    }

    /// Observes how the client takes what is written.
    pub(super) fn observe<S>(&self, stream: S) -> Observed<S> {
        Observed { stream, activity: self.clone() }
    }

    fn written<T>(&self, written: &Poll<T>) {
        let mut state = self.0.state.lock();
        match written {
            Poll::Ready(_) => {
                if state.stalled_since.take().is_some()
                    && let Some((deadline, _)) = &mut state.next_request
                {
                    // The client still takes its last answer: it need not have asked for the next one.
                    *deadline = Instant::now() + IDLE_TIMEOUT;
                }
            }
            Poll::Pending => _ = state.stalled_since.get_or_insert_with(Instant::now),
        }
    }
}

/// The body of a request. The connection waits until it is dropped.
#[derive(Debug)]
pub(super) struct Receiving {
    body: Incoming,
    _ticket: Option<Ticket>,
}

impl http_body::Body for Receiving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A request is being answered. When this is dropped, the connection waits for the next one.
#[derive(Debug)]
pub(super) struct Answering(Activity);

impl Answering {
    /// Keeps this until the body of the answer is sent.
    pub(super) fn with(self, response: Response<Body>) -> Response<Body> {
        let long_running = response.extensions().get::<LongRunning>().is_some();
        self.0.0.state.lock().long_running = long_running;
        response.map(|body| Body::new(Sending { body, _answering: self }))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let shared = &self.0.0;
        let ticket = shared.waiting.enter(shared.cut.clone());
        let mut state = shared.state.lock();
        state.next_request = Some((Instant::now() + IDLE_TIMEOUT, ticket));
        state.long_running = false;
    }
}

struct Sending {
    body: Body,
    _answering: Answering,
}

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenBody>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream that tells the activity how writing goes.
#[derive(Debug)]
pub(super) struct Observed<S> {
    stream: S,
    activity: Activity,
}

impl<S: AsyncRead + Unpin> AsyncRead for Observed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Observed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.activity.written(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.activity.written(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
