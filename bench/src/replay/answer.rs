//! The bodies of answers, made while they are read: only one piece is in memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::watch;

use super::kind::{Encoding, Kind};
use super::{Command, State};
use crate::report::now;

/// How large a piece is at least.
const PIECE: usize = 128 << 10;

/// How large a piece of an event stream is at least.
const UPDATES_PIECE: usize = 32 << 10;

/// How far an object may reach beyond that before the buffer grows.
const SPARE: usize = 32 << 10;

/// How often events are sent that have a rate.
const TICK: Duration = Duration::from_millis(1);

/// How far apart, by number, objects are that change one after the other.
const STRIDE: u64 = 7_919;

/// The version of an event is this plus the microseconds since the server's start, so that readers know when it was sent.
pub(crate) const EVENT_VERSION: u64 = 2_000_000_000;

/// One list, or a page of it.
pub(super) struct List {
    pub(super) kind: Arc<Kind>,
    pub(super) encoding: Encoding,
    /// How many of a hundred objects have changed.
    pub(super) percent: u64,
    pub(super) next: u64,
    pub(super) end: u64,
    /// What precedes the items; none once it has been sent.
    pub(super) head: Option<Vec<u8>>,
    pub(super) ended: bool,
}

impl List {
    pub(super) fn next_piece(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let mut out = Vec::with_capacity(PIECE + SPARE);
        let mut first = false;
        if let Some(head) = self.head.take() {
            out.extend(head);
            first = true;
        }
        while out.len() < PIECE && self.next < self.end {
            self.kind.put_item(self.encoding, self.next, first, self.percent, &mut out);
            (self.next, first) = (self.next + 1, false);
        }
        if self.next == self.end {
            out.extend_from_slice(Kind::list_tail(self.encoding));
            self.ended = true;
        }
        Some(out.into())
    }
}

/// One watch.
pub(super) struct Watch {
    pub(super) state: Arc<State>,
    pub(super) kind: Arc<Kind>,
    pub(super) encoding: Encoding,
    /// How many of a hundred objects have changed.
    pub(super) percent: u64,
    pub(super) commands: watch::Receiver<Command>,
    pub(super) phase: Phase,
    /// The version of the last event.
    pub(super) version: u64,
    /// How many updates follow the initial events: those that the reader missed.
    pub(super) missed: u64,
    /// Ends the stream instead of waiting for a command: after the initial events, or after the first events.
    pub(super) ends: bool,
}

pub(super) enum Phase {
    /// Sends the objects that are there, from this number on.
    Initial(u64),
    /// Waits for a command.
    Idle,
    /// Sends updates.
    Updates(Updates),
    Ended,
}

pub(super) struct Updates {
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
                    let mut out = Vec::with_capacity(PIECE + SPARE);
                    while out.len() < PIECE && *next < self.kind.count {
                        self.kind.put_added(self.encoding, *next, self.percent, &mut out);
                        *next += 1;
                    }
                    return Some(out.into());
                }
                Phase::Initial(_) => {
                    match self.missed {
                        0 => self.phase = if self.ends { Phase::Ended } else { Phase::Idle },
                        missed => self.send(missed, 0),
                    }
                    return Some(self.kind.initial_end(self.encoding));
                }
                Phase::Idle => {
                    self.commands.changed().await.ok()?;
                    if let Some(last) = self.obey() {
                        return Some(last);
                    }
                }
                Phase::Updates(_) if self.commands.has_changed().unwrap_or(false) => {
                    if let Some(last) = self.obey() {
                        return Some(last);
                    }
                }
                Phase::Updates(updates) if updates.sent == updates.count => {
                    self.phase = if self.ends { Phase::Ended } else { Phase::Idle };
                }
                Phase::Updates(updates) => match updates.due() {
                    0 => tokio::time::sleep(TICK).await,
                    due => return Some(self.updates(due)),
                },
            }
        }
    }

    /// Sends these updates next.
    pub(super) fn send(&mut self, count: u64, rate: u64) {
        self.phase = Phase::Updates(Updates { begun: now(), sent: 0, count, rate });
    }

    /// Follows the last command; returns the last event of a stream that is to end.
    fn obey(&mut self) -> Option<Bytes> {
        let command = *self.commands.borrow_and_update();
        match command {
            Command::Nothing => self.phase = Phase::Idle,
            Command::Updates { count, rate } => {
                let share = |of: u64| (of * self.kind.updates).div_ceil(100);
                self.send(count * self.kind.updates / 100, share(rate));
            }
            Command::Expire => {
                self.phase = Phase::Ended;
                return Some(self.kind.expired(self.encoding));
            }
            Command::Restart => self.phase = Phase::Ended,
        }
        None
    }

    /// The next updates, as many as are due and fit into a piece.
    fn updates(&mut self, due: u64) -> Bytes {
        let mut out = Vec::with_capacity(UPDATES_PIECE + SPARE);
        let Phase::Updates(updates) = &mut self.phase else { return Bytes::new() };
        let (count, mut left) = (self.kind.count.max(1), due);
        while left > 0 && out.len() < UPDATES_PIECE {
            let (number, round) = (updates.sent.wrapping_mul(STRIDE) % count, updates.sent / count);
            let micros = self.state.started.elapsed().as_micros() as u64;
            self.version = (self.version + 1).max(EVENT_VERSION + micros);
            self.kind.put_modified(self.encoding, number, round + 1, self.version, &mut out);
            (updates.sent, left) = (updates.sent + 1, left - 1);
        }
        out.into()
    }
}

impl Updates {
    /// How many updates are to be sent now.
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
    use kube_wire::{DecodeOptions, Encoding as Wire, Event, Limits};
    use serde_json::Value;

    use super::super::Set;
    use super::*;

    const COUNT: u64 = 1_200;

    fn state(set: Set) -> Arc<State> {
        Arc::new(State::new(set, COUNT).unwrap())
    }

    fn wire(encoding: Encoding) -> Wire {
        if encoding == Encoding::Protobuf { Wire::best_for("", "v1", "Pod") } else { Wire::Json }
    }

    /// What a reader makes of a list.
    fn listed(kind: &Arc<Kind>, encoding: Encoding) -> Vec<Pod> {
        let head = Some(kind.list_head(encoding, 0..COUNT, 1, None));
        let kind = Arc::clone(kind);
        let mut list = List { kind, encoding, percent: 1, next: 0, end: COUNT, head, ended: false };
        let (mut items, mut all) = (wire(encoding).items(Limits::default()), Vec::new());
        while let Some(piece) = list.next_piece() {
            items.push(&piece).unwrap();
            while let Some(item) = items.next_item().unwrap() {
                let item = item.whole().unwrap();
                all.push(wire(encoding).decode_object(&item, DecodeOptions::default()).unwrap());
            }
        }
        assert_eq!(items.finish().unwrap().resource_version, "1900000000");
        all
    }

    #[test]
    fn a_list_has_the_same_pods_in_both_encodings_and_no_two_are_the_same() {
        for set in [Set::Template, Set::Pods] {
            let state = state(set);
            let [json, protobuf] =
                [Encoding::Json, Encoding::Protobuf].map(|encoding| listed(&state.kinds[0], encoding));
            assert_eq!(json.len() as u64, COUNT);
            for (json, protobuf) in json.iter().zip(&protobuf) {
                assert_eq!(serde_json::to_value(json).unwrap(), serde_json::to_value(protobuf).unwrap());
            }
            let names: HashSet<_> = json.iter().map(|pod| pod.metadata.name.as_deref()).collect();
            assert_eq!(names.len() as u64, COUNT);
            assert_eq!(json[1_099].metadata.namespace.as_deref(), Some("team-001"));
            let version = |number: usize| json[number].metadata.resource_version.as_deref();
            let versions = (version(98), version(99));
            assert_eq!(versions, (Some("1000000098"), Some("1500000099")), "one in a hundred has changed");
        }
    }

    #[tokio::test]
    async fn a_watch_of_every_kind_begins_with_all_objects_and_then_obeys() {
        let state = state(Set::Cluster);
        for (kind, encoding) in state.kinds.iter().flat_map(|kind| {
            [(kind, Encoding::Json), (kind, kind.encoding("application/vnd.kubernetes.protobuf"))]
        }) {
            let mut watch = Watch {
                kind: Arc::clone(kind),
                commands: state.command.subscribe(),
                state: Arc::clone(&state),
                encoding,
                percent: 0,
                phase: Phase::Initial(0),
                version: 0,
                missed: 0,
                ends: false,
            };
            let tell = |command| state.command.send_replace(command);
            let wire = if encoding == Encoding::Protobuf {
                Wire::best_for(kind.group(), "v1", kind.name())
            } else {
                Wire::Json
            };
            let mut frames = wire.frames(Limits::default());
            let (mut added, mut versions, mut ends, mut errors) = (0, Vec::new(), 0, Vec::new());
            while let Some(piece) = watch.next_piece().await {
                frames.push(&piece);
                while let Some(frame) = frames.next_frame().unwrap() {
                    let frame = frame.whole().unwrap();
                    match wire.decode_event::<Value>(&frame, DecodeOptions::default()).unwrap() {
                        Event::Added(_) => added += 1,
                        Event::Modified(object) => {
                            let version = object["metadata"]["resourceVersion"].as_str().unwrap();
                            versions.push(version.parse::<u64>().unwrap());
                            if versions.len() as u64 == kind.updates {
                                tell(Command::Expire);
                            }
                        }
                        Event::Bookmark { initial_events_end: true, .. } => {
                            ends += 1;
                            tell(Command::Updates { count: 100, rate: 0 });
                        }
                        Event::Error(status) => errors.push(status.code),
                        other => panic!("{other:?}"),
                    }
                }
            }
            assert_eq!((added, ends, errors), (kind.count, 1, vec![410]), "{}", kind.name());
            assert_eq!(versions.len() as u64, kind.updates, "{}", kind.name());
            assert!(versions.is_sorted_by(|one, next| one < next), "versions go up");
        }
    }

    #[tokio::test]
    async fn a_watch_that_follows_a_restart_begins_with_the_missed_updates() {
        let state = state(Set::Pods);
        let mut watch = Watch {
            kind: Arc::clone(&state.kinds[0]),
            commands: state.command.subscribe(),
            state,
            encoding: Encoding::Json,
            percent: 0,
            phase: Phase::Idle,
            version: 0,
            missed: 0,
            ends: true,
        };
        watch.send(3, 0);
        let mut text = Vec::new();
        while let Some(piece) = watch.next_piece().await {
            text.extend_from_slice(&piece);
        }
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.lines().all(|line| line.starts_with(r#"{"type":"MODIFIED""#)));
    }
}
