//! From what happened to what is written: series, and what is too much. No requests happen here.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as Written, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

use super::Event;
use super::event::{MAX_REASON, cut};
use super::spam::Spam;

/// So many different events are remembered; beyond that, the one that has been quiet for the longest time is finished.
pub const MAX_KNOWN: usize = 4096;

/// What has not happened again for so long is over.
const QUIET: Duration = Duration::from_secs(6 * 60);
/// Counts are written so often.
const REFRESH: Duration = Duration::from_secs(30 * 60);
/// The longest name of an object.
const MAX_NAME: usize = 253;
/// Where events about objects without a namespace go.
const DEFAULT_NAMESPACE: &str = "default";

/// Remembers what was written.
#[derive(Debug)]
pub(super) struct Correlator {
    controller: String,
    instance: String,
    known: HashMap<Key, Known>,
    /// Who was seen last when, the oldest first.
    quiet: BTreeMap<(Instant, u64), Key>,
    spam: Spam,
    counter: u64,
    refreshed: Option<Instant>,
}

/// What makes two events the same: everything but note and time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(String);

#[derive(Debug)]
struct Known {
    written: Written,
    place: (Instant, u64),
    /// The count is higher than what was written.
    behind: bool,
}

/// What is to be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Write {
    Create(Box<Written>),
    /// The count of what is there already.
    Series(Box<Written>),
}

impl Correlator {
    pub(super) fn new(controller: String, instance: &str) -> Self {
        let instance = instance[..cut(instance, MAX_REASON)].to_owned();
        Self {
            controller,
            instance,
            known: HashMap::new(),
            quiet: BTreeMap::new(),
            spam: Spam::new(),
            counter: 0,
            refreshed: None,
        }
    }

    pub(super) fn instance(&self) -> &str {
        &self.instance
    }

    /// Something has happened; none if that need not be written, or must not.
    pub(super) fn see(
        &mut self,
        now: Instant,
        time: Timestamp,
        about: &ObjectReference,
        event: Event,
    ) -> Option<(Key, Write)> {
        self.refreshed.get_or_insert(now);
        let key = Key::of(about, &event);
        let place = (now, self.count());
        if let Some(known) = self.known.get_mut(&key) {
            self.quiet.remove(&known.place);
            known.place = place;
            self.quiet.insert(place, key.clone());
            let first = known.written.series.is_none();
            let count = known.written.series.as_ref().map_or(1, |series| series.count);
            let series = EventSeries { count: count.saturating_add(1), last_observed_time: MicroTime(time) };
            known.written.series = Some(series);
            known.behind = true;
            if first && self.spam.allows(&spam_key(about, event_type(&known.written)), now) {
                known.behind = false;
                return Some((key, Write::Series(Box::new(known.written.clone()))));
            }
            return None;
        }
        if !self.spam.allows(&spam_key(about, event.type_name()), now) {
            return None;
        }
        let written = self.write(time, about, event);
        self.known.insert(key.clone(), Known { written: written.clone(), place, behind: false });
        self.quiet.insert(place, key.clone());
        Some((key, Write::Create(Box::new(written))))
    }

    /// What could not be written is not known.
    pub(super) fn forget(&mut self, key: &Key) {
        if let Some(known) = self.known.remove(key) {
            self.quiet.remove(&known.place);
        }
    }

    /// When [`due`](Self::due) has something to do.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let quiet = self.quiet.first_key_value().map(|((seen, _), _)| *seen + QUIET);
        let refresh = self.refreshed.filter(|_| !self.known.is_empty()).map(|last| last + REFRESH);
        quiet.into_iter().chain(refresh).min()
    }

    /// Counts that are to be written now: of what is over, and of everything every half hour.
    pub(super) fn due(&mut self, now: Instant) -> Vec<(Key, Write)> {
        let mut writes = Vec::new();
        while let Some((&(seen, number), _)) = self.quiet.first_key_value()
            && (seen + QUIET <= now || self.known.len() > MAX_KNOWN)
        {
            let Some(key) = self.quiet.remove(&(seen, number)) else { break };
            if let Some(known) = self.known.remove(&key).filter(|known| known.behind) {
                writes.push((key, Write::Series(Box::new(known.written))));
            }
        }
        if self.refreshed.is_some_and(|last| last + REFRESH <= now) {
            self.refreshed = Some(now);
            writes.extend(self.behind());
        }
        writes
    }

    /// All counts that were not written yet.
    pub(super) fn behind(&mut self) -> Vec<(Key, Write)> {
        let mut writes = Vec::new();
        for key in self.quiet.values() {
            let Some(known) = self.known.get_mut(key) else { continue };
            if std::mem::take(&mut known.behind) {
                writes.push((key.clone(), Write::Series(Box::new(known.written.clone()))));
            }
        }
        writes
    }

    fn count(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    fn write(&mut self, time: Timestamp, about: &ObjectReference, event: Event) -> Written {
        let type_name = event.type_name().to_owned();
        // The time makes it unique between processes, the counter within this one.
        let suffix = format!(".{:x}.{:x}", time.as_nanosecond(), self.counter);
        let object = name_like(about.name.as_deref().unwrap_or_default());
        let mut written = Written::default();
        written.metadata.name = Some(format!("{}{suffix}", &object[..cut(&object, MAX_NAME - suffix.len())]));
        let namespace = about.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        written.metadata.namespace = Some(namespace.unwrap_or(DEFAULT_NAMESPACE).to_owned());
        written.event_time = Some(MicroTime(time));
        written.reporting_controller = Some(self.controller.clone());
        written.reporting_instance = Some(self.instance.clone());
        written.type_ = Some(type_name);
        written.reason = Some(event.reason);
        written.action = Some(event.action);
        written.note = Some(event.note);
        written.regarding = Some(about.clone());
        written.related = event.related;
        written
    }
}

impl Key {
    fn of(about: &ObjectReference, event: &Event) -> Self {
        let related = event.related.as_ref().map(reference).unwrap_or_default();
        let parts = [event.type_name(), &event.action, &event.reason, &reference(about), &related];
        Self(parts.join("\n"))
    }
}

fn spam_key(about: &ObjectReference, type_name: &str) -> String {
    format!("{type_name}\n{}", reference(about))
}

fn event_type(written: &Written) -> &str {
    written.type_.as_deref().unwrap_or_default()
}

/// A text that servers take as the beginning of a name; some kinds have names like `system:node`.
fn name_like(text: &str) -> String {
    let letter = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9' | '-' | '.') => letter,
        _ => '-',
    };
    let name: String =
        text.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric()).chars().map(letter).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// An object, told apart from all others; its version is no part of that.
fn reference(object: &ObjectReference) -> String {
    let parts =
        [&object.api_version, &object.kind, &object.namespace, &object.name, &object.uid, &object.field_path];
    parts.map(|part| part.as_deref().unwrap_or_default()).join("\t")
}

#[cfg(test)]
mod tests;
