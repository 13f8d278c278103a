//! The bodies of answers, made while they are read: nothing is held but the piece at hand.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::watch;

use super::kind::{Form, Kind};
use super::{Command, State, Task};
use crate::report::now;

/// How large a piece is at least.
const PIECE: usize = 128 << 10;

/// How large a piece of an event stream is at least.
const EVENTS_PIECE: usize = 32 << 10;

/// Events at a set rate are sent so often.
const TICK: Duration = Duration::from_millis(1);

/// Which objects change: every so many, so that neighbours in a stream are strangers in a store.
const STRIDE: u64 = 7_919;

/// The version of an event is this and the microseconds since the server's start: so everybody can see when it was sent.
pub(crate) const EVENT_VERSION: u64 = 2_000_000_000;

/// One list, or a page of it.
pub(super) struct List {
    pub(super) kind: Arc<Kind>,
    pub(super) form: Form,
    pub(super) changed: bool,
    pub(super) next: u64,
    pub(super) end: u64,
    /// What is said before the items; none once it has been said.
    pub(super) head: Option<Vec<u8>>,
    pub(super) ended: bool,
}

impl List {
    pub(super) fn next_piece(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let mut out = Vec::with_capacity(PIECE + (16 << 10));
        let mut first = false;
        if let Some(head) = self.head.take() {
            out.extend(head);
            first = true;
        }
        while out.len() < PIECE && self.next < self.end {
            self.kind.list_item(self.form, self.next, first, self.changed, &mut out);
            (self.next, first) = (self.next + 1, false);
        }
        if self.next == self.end {
            out.extend_from_slice(Kind::list_tail(self.form));
            self.ended = true;
        }
        Some(out.into())
    }
}

/// One watch.
pub(super) struct Watch {
    pub(super) state: Arc<State>,
    pub(super) kind: Arc<Kind>,
    pub(super) form: Form,
    pub(super) changed: bool,
    pub(super) commands: watch::Receiver<Command>,
    pub(super) phase: Phase,
    /// The version of the last event.
    pub(super) version: u64,
}

pub(super) enum Phase {
    /// What is there is sent, from this number on.
    Initial(u64),
    /// Nothing happens until somebody says so.
    Idle,
    /// Objects change.
    Events(Events),
    Ended,
}

pub(super) struct Events {
    begun: Instant,
    sent: u64,
    count: u64,
    /// How many a second; zero for as fast as they are read.
    rate: u64,
}

impl Watch {
    pub(super) async fn next_piece(&mut self) -> Option<Bytes> {
        loop {
            match &mut self.phase {
                Phase::Ended => return None,
                Phase::Initial(next) if *next < self.kind.count => {
                    let mut out = Vec::with_capacity(PIECE + (16 << 10));
                    while out.len() < PIECE && *next < self.kind.count {
                        self.kind.added(self.form, *next, self.changed, &mut out);
                        *next += 1;
                    }
                    return Some(out.into());
                }
                Phase::Initial(_) => {
                    self.phase = Phase::Idle;
                    return Some(self.kind.initial_end(self.form));
                }
                Phase::Idle => {
                    self.commands.changed().await.ok()?;
                    if let Some(last) = self.obey() {
                        return Some(last);
                    }
                }
                Phase::Events(_) if self.commands.has_changed().unwrap_or(false) => {
                    if let Some(last) = self.obey() {
                        return Some(last);
                    }
                }
                Phase::Events(events) if events.sent == events.count => self.phase = Phase::Idle,
                Phase::Events(events) => match events.due() {
                    0 => tokio::time::sleep(TICK).await,
                    due => return Some(self.events(due)),
                },
            }
        }
    }

    /// Does what it was last told; returns what it says last if that is to end.
    fn obey(&mut self) -> Option<Bytes> {
        match self.commands.borrow_and_update().task {
            Task::Nothing => self.phase = Phase::Idle,
            Task::Events { count, rate } => {
                self.phase = Phase::Events(Events { begun: now(), sent: 0, count, rate });
            }
            Task::Expire => {
                self.phase = Phase::Ended;
                return Some(self.kind.expired(self.form));
            }
        }
        None
    }

    /// The next events, as many as are due and fit into a piece.
    fn events(&mut self, due: u64) -> Bytes {
        let mut out = Vec::with_capacity(EVENTS_PIECE + (16 << 10));
        let Phase::Events(events) = &mut self.phase else { return Bytes::new() };
        let mut left = due;
        while left > 0 && out.len() < EVENTS_PIECE {
            let number = events.sent.wrapping_mul(STRIDE) % self.kind.count.max(1);
            let micros = self.state.started.elapsed().as_micros() as u64;
            self.version = (self.version + 1).max(EVENT_VERSION + micros);
            self.kind.modified(self.form, number, self.version, &mut out);
            (events.sent, left) = (events.sent + 1, left - 1);
        }
        out.into()
    }
}

impl Events {
    /// How many events are to be sent now.
    fn due(&self) -> u64 {
        let left = self.count - self.sent;
        match self.rate {
            0 => left,
            rate => {
                let all = (self.begun.elapsed().as_secs_f64() * rate as f64) as u64;
                all.saturating_sub(self.sent).min(left)
            }
        }
    }
}
