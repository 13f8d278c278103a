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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use k8s_openapi::api::core::v1::Pod;
    use kube_wire::{DecodeOptions, Encoding, Event, Limits};
    use serde_json::Value;

    use super::super::Task;
    use super::*;

    const COUNT: u64 = 2_500;

    fn state() -> Arc<State> {
        Arc::new(State::new(COUNT, COUNT).unwrap())
    }

    fn encoding(form: Form) -> Encoding {
        if form == Form::Protobuf { Encoding::best_for("", "v1", "Pod") } else { Encoding::Json }
    }

    /// What a reader makes of a list.
    fn listed(kind: &Arc<Kind>, form: Form) -> Vec<Pod> {
        let head = Some(kind.list_head(form, COUNT, None));
        let mut list =
            List { kind: Arc::clone(kind), form, changed: true, next: 0, end: COUNT, head, ended: false };
        let (mut items, mut all) = (encoding(form).items(Limits::default()), Vec::new());
        while let Some(piece) = list.next_piece() {
            items.push(&piece).unwrap();
            while let Some(item) = items.next_item().unwrap() {
                all.push(
                    encoding(form).decode_object(&item.whole().unwrap(), DecodeOptions::default()).unwrap(),
                );
            }
        }
        assert_eq!(items.finish().unwrap().resource_version, "1900000000");
        all
    }

    #[test]
    fn a_list_has_the_same_pods_in_both_forms_and_no_two_are_the_same() {
        let state = state();
        let (json, protobuf) = (listed(&state.pods, Form::Json), listed(&state.pods, Form::Protobuf));
        assert_eq!(json.len() as u64, COUNT);
        assert!(json == protobuf, "they differ");
        let names: HashSet<_> = json.iter().map(|pod| pod.metadata.name.as_deref()).collect();
        assert_eq!(names.len() as u64, COUNT);
        assert_eq!(json[1_099].metadata.namespace.as_deref(), Some("team-001"));
        let version = |number: usize| json[number].metadata.resource_version.as_deref();
        assert_eq!(
            (version(98), version(99)),
            (Some("1000000098"), Some("1500000099")),
            "one in a hundred has changed"
        );
    }

    #[tokio::test]
    async fn a_watch_begins_with_everything_and_then_does_what_it_is_told() {
        for form in [Form::Json, Form::Protobuf] {
            let state = state();
            let mut watch = Watch {
                kind: Arc::clone(&state.pods),
                commands: state.command.subscribe(),
                state: Arc::clone(&state),
                form,
                changed: false,
                phase: Phase::Initial(0),
                version: 0,
            };
            let tell = |task| state.command.send_replace(Command { task });
            let mut frames = encoding(form).frames(Limits::default());
            let (mut added, mut versions, mut ends, mut errors) = (0, Vec::new(), 0, Vec::new());
            while let Some(piece) = watch.next_piece().await {
                frames.push(&piece);
                while let Some(frame) = frames.next_frame().unwrap() {
                    let frame = frame.whole().unwrap();
                    match encoding(form).decode_event::<Value>(&frame, DecodeOptions::default()).unwrap() {
                        Event::Added(_) => added += 1,
                        Event::Modified(pod) => {
                            let version = pod["metadata"]["resourceVersion"].as_str().unwrap();
                            versions.push(version.parse::<u64>().unwrap());
                            if versions.len() == 100 {
                                tell(Task::Expire);
                            }
                        }
                        Event::Bookmark { initial_events_end: true, .. } => {
                            ends += 1;
                            tell(Task::Events { count: 100, rate: 0 });
                        }
                        Event::Error(status) => errors.push(status.code),
                        other => panic!("{other:?}"),
                    }
                }
            }
            assert_eq!((added, ends, errors), (COUNT, 1, vec![410]));
            assert_eq!(versions.len(), 100);
            assert!(versions.is_sorted_by(|one, next| one < next), "versions go up");
        }
    }
}
