//! A response body that breaks off or falls silent.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Frame;

use crate::http::{Body, BrokenBody};

/// How often the server is asked again before the connection breaks, so that what was sent is flushed first.
const POLLS_BEFORE_BREAKING: u8 = 3;

/// Passes a body on until its fault strikes.
#[derive(Debug)]
pub(crate) struct FaultyBody {
    inner: Body,
    /// Bytes left until the fault.
    left: usize,
    then: Then,
    polls_left: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Break,
    Hang,
}

impl FaultyBody {
    pub(crate) fn cut_after(inner: Body, bytes: usize) -> Self {
        Self { inner, left: bytes, then: Then::Break, polls_left: POLLS_BEFORE_BREAKING }
    }

    pub(crate) fn hang_after(inner: Body, bytes: usize) -> Self {
        Self { inner, left: bytes, then: Then::Hang, polls_left: 0 }
    }
}

impl http_body::Body for FaultyBody {
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenBody>>> {
        if self.left == 0 {
            if self.then == Then::Hang {
                // Nobody wakes this task: the connection stays as it is until the client gives up.
                return Poll::Pending;
            }
            if self.polls_left == 0 {
                return Poll::Ready(Some(Err(BrokenBody)));
            }
            self.polls_left -= 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(frame) = ready!(Pin::new(&mut self.inner).poll_frame(context)) else {
            return Poll::Ready(None);
        };
        let Ok(mut data) = frame?.into_data() else { return Poll::Ready(None) };
        data.truncate(self.left);
        self.left -= data.len();
        Poll::Ready(Some(Ok(Frame::data(data))))
    }
}
