//! One watch, and when it is given up.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::StreamExt;
use tokio::time::{Instant, Sleep};

use super::pace::Patience;
use crate::source::{SourceError, WatchPart, WatchStream};

/// One watch.
pub(super) struct Open<K> {
    /// Begins with the answer to the request.
    parts: WatchStream<K>,
    started: Instant,
    patience: Patience,
    /// When somebody began to wait for the next part; a reader who was away for long waits from its return.
    waiting_since: Instant,
    /// A part was handed out, and nobody has asked for the next.
    idle: bool,
    /// Goes off when it may be too late. It is not moved with each part: that would be a timer for each event.
    alarm: Pin<Box<Sleep>>,
    /// Nothing has come that moves the version.
    pub(super) fruitless: bool,
}

impl<K> Open<K> {
    pub(super) fn new(parts: WatchStream<K>, patience: Patience, now: Instant) -> Self {
        let alarm = Box::pin(tokio::time::sleep_until(patience.deadline(now)));
        Self { parts, started: now, patience, waiting_since: now, idle: false, alarm, fruitless: true }
    }

    pub(super) fn started(&self) -> Instant {
        self.started
    }

    /// The next part of the watch, none at its end; an error when nothing comes in time.
    pub(super) fn poll_part(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<WatchPart<K>, SourceError>>> {
        if std::mem::take(&mut self.idle) {
            self.waiting_since = Instant::now();
        }
        if let Poll::Ready(part) = self.parts.poll_next_unpin(context) {
            self.idle = true;
            return Poll::Ready(part);
        }
        loop {
            ready!(self.alarm.as_mut().poll(context));
            let deadline = self.patience.deadline(self.waiting_since);
            if deadline <= Instant::now() {
                let (lasted, silent) = (self.started.elapsed(), self.waiting_since.elapsed());
                let message = format!(
                    "a watch was given up that lasted for {lasted:.0?}, and on which nothing arrived for {silent:.0?}"
                );
                return Poll::Ready(Some(Err(SourceError::trouble(message))));
            }
            self.alarm.as_mut().reset(deadline);
        }
    }
}
