//! Bad days on demand: what can go wrong, for which requests, and how often.
//!
//! ```
//! use std::time::Duration;
//! use kube_testserver::{Fault, Verb};
//!
//! // The second and third list of pods are refused.
//! let overload = Fault::too_many_requests(Duration::from_secs(1)).on(Verb::List).resource("pods").skip(1).times(2);
//! // One watch in ten breaks after 2,000 bytes, drawn from the server's seed.
//! let flaky = Fault::cut_after(2_000).on(Verb::Watch).with_probability(0.1);
//! # let _ = (overload, flaky);
//! ```

mod body;
mod plan;

pub(crate) use body::FaultyBody;
pub(crate) use plan::{Plan, StreamFault, error_for};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use crate::kinds::Verb;
use crate::random::Random;

/// Something that goes wrong, and the requests it happens to.
///
/// Without further conditions a fault happens to every request it can happen to; conditions narrow it down.
/// Several faults may happen to one request.
#[derive(Clone, Debug)]
#[must_use = "a fault does nothing until it is given to `TestServer::inject`"]
pub struct Fault {
    effect: Effect,
    verbs: Vec<Verb>,
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    skip: u64,
    times: Option<u64>,
    probability: f64,
}

#[derive(Clone, Debug)]
enum Effect {
    Delay(Duration),
    CutAfter(usize),
    HangAfter(usize),
    NoReply,
    Reply(u16),
    TooManyRequests(u32),
    Expired,
    Stale(u64),
    CloseAtOnce,
    NoInitialEventsEnd,
    LostReply,
    Stream(StreamFault),
}

impl Effect {
    /// Whether it can happen to requests of this verb at all.
    fn concerns(&self, verb: Verb) -> bool {
        match self {
            Self::Stream(_) | Self::CloseAtOnce | Self::NoInitialEventsEnd => verb == Verb::Watch,
            Self::Stale(_) => verb.is_read(),
            _ => true,
        }
    }
}

impl Fault {
    /// The answer comes late.
    pub fn delay(by: Duration) -> Self {
        Self::new(Effect::Delay(by))
    }

    /// The connection breaks after so many bytes of the answer's body, in the middle of a frame if it falls so.
    pub fn cut_after(bytes: usize) -> Self {
        Self::new(Effect::CutAfter(bytes))
    }

    /// The connection stays open but goes silent after so many bytes of the answer's body.
    pub fn hang_after(bytes: usize) -> Self {
        Self::new(Effect::HangAfter(bytes))
    }

    /// The request is taken and never answered; the connection stays open.
    pub fn no_reply() -> Self {
        Self::new(Effect::NoReply)
    }

    /// The answer is this HTTP code with a `Status` body: 500, 502, 503, 504, …
    pub fn reply(code: u16) -> Self {
        Self::new(Effect::Reply(code))
    }

    /// 429 with `Retry-After` (whole seconds, rounded up).
    pub fn too_many_requests(retry_after: Duration) -> Self {
        let seconds = retry_after.as_secs().saturating_add(u64::from(retry_after.subsec_nanos() > 0));
        Self::new(Effect::TooManyRequests(u32::try_from(seconds).unwrap_or(u32::MAX)))
    }

    /// 410 as the HTTP answer.
    pub fn expired() -> Self {
        Self::new(Effect::Expired)
    }

    /// 410 as an ERROR event inside a watch, after so many events.
    pub fn expired_in_stream(after_events: u64) -> Self {
        Self::error_in_stream(410, after_events)
    }

    /// An ERROR event with this code inside a watch, after so many events; the stream ends with it.
    pub fn error_in_stream(code: u16, after_events: u64) -> Self {
        Self::new(Effect::Stream(StreamFault::Error { code, after_events }))
    }

    /// Half of a watch event, then the end of the stream, after so many events.
    pub fn truncated_frame(after_events: u64) -> Self {
        Self::new(Effect::Stream(StreamFault::Truncated { after_events }))
    }

    /// A frame that is no event inside a watch (in JSON a line that is not JSON), after so many events; the stream goes on.
    pub fn garbage_frame(after_events: u64) -> Self {
        Self::new(Effect::Stream(StreamFault::Garbage { after_events }))
    }

    /// A valid watch event of at least so many bytes, after so many events; the stream goes on.
    pub fn oversized_frame(bytes: usize, after_events: u64) -> Self {
        Self::new(Effect::Stream(StreamFault::Oversized { bytes, after_events }))
    }

    /// Reads are answered as the cluster was so many writes ago.
    pub fn stale_read(writes: u64) -> Self {
        Self::new(Effect::Stale(writes))
    }

    /// A watch ends in good order before its first event.
    pub fn close_at_once() -> Self {
        Self::new(Effect::CloseAtOnce)
    }

    /// A watch with initial events never says that they are complete.
    pub fn no_initial_events_end() -> Self {
        Self::new(Effect::NoInitialEventsEnd)
    }

    /// The write happens, and then the connection breaks before the answer.
    pub fn lost_reply() -> Self {
        Self::new(Effect::LostReply)
    }

    /// Only requests with this verb; may be called several times.
    pub fn on(mut self, verb: Verb) -> Self {
        self.verbs.push(verb);
        self
    }

    /// Only this resource, by any of its names: `pods`, `pod`, `po`, `Pod`; with its group if need be:
    /// `deployments.apps`.
    pub fn resource(mut self, name: impl Into<String>) -> Self {
        self.resource = Some(name.into());
        self
    }

    /// Only requests in this namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only requests for the object of this name. A create has no name in its path, so this never matches one.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Lets so many matching requests pass first.
    pub fn skip(mut self, requests: u64) -> Self {
        self.skip = requests;
        self
    }

    /// Happens so many times, then never again.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Happens to a matching request with this probability, drawn from the server's seed.
    pub fn with_probability(mut self, probability: f64) -> Self {
        self.probability = probability;
        self
    }

    fn new(effect: Effect) -> Self {
        Self {
            effect,
            verbs: Vec::new(),
            resource: None,
            namespace: None,
            name: None,
            skip: 0,
            times: None,
            probability: 1.0,
        }
    }

    fn matches(&self, request: &Subject<'_>) -> bool {
        let resource = |wanted: &String| match wanted.split_once('.') {
            Some((name, group)) => group == request.group && request.is_called(name),
            None => request.is_called(wanted),
        };
        self.effect.concerns(request.verb)
            && (self.verbs.is_empty() || self.verbs.contains(&request.verb))
            && self.resource.as_ref().is_none_or(resource)
            && self.namespace.as_ref().is_none_or(|namespace| namespace == request.namespace)
            && self.name.as_ref().is_none_or(|name| name == request.name)
    }
}

/// The request a fault may happen to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) verb: Verb,
    pub(crate) group: &'a str,
    pub(crate) plural: &'a str,
    /// What else the resource is called: its kind, its singular and its short names.
    pub(crate) other_names: &'a [Box<str>],
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl Subject<'_> {
    fn is_called(&self, name: &str) -> bool {
        self.plural == name || self.other_names.iter().any(|other| **other == *name)
    }
}

/// A fault at work; dropping the handle leaves it there.
#[derive(Clone, Debug)]
pub struct InjectedFault {
    active: Arc<Active>,
    all: Weak<Faults>,
}

impl InjectedFault {
    /// How many requests it has happened to.
    pub fn hits(&self) -> u64 {
        self.active.hits.load(Ordering::Relaxed)
    }

    /// Takes the fault away.
    pub fn remove(&self) {
        if let Some(all) = self.all.upgrade() {
            all.active.lock().retain(|active| !Arc::ptr_eq(active, &self.active));
        }
    }
}

/// All faults at work in a server.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    active: Mutex<Vec<Arc<Active>>>,
}

#[derive(Debug)]
struct Active {
    fault: Fault,
    /// Matching requests so far, those that were let pass included.
    seen: AtomicU64,
    hits: AtomicU64,
}

impl Faults {
    pub(crate) fn inject(self: &Arc<Self>, fault: Fault) -> InjectedFault {
        let active = Arc::new(Active { fault, seen: AtomicU64::new(0), hits: AtomicU64::new(0) });
        self.active.lock().push(Arc::clone(&active));
        InjectedFault { active, all: Arc::downgrade(self) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.active.lock().is_empty()
    }

    pub(crate) fn clear(&self) {
        self.active.lock().clear();
    }

    /// What goes wrong with this request.
    pub(crate) fn plan(&self, request: &Subject<'_>, random: &Random) -> Plan {
        let mut plan = Plan::default();
        for active in self.active.lock().iter() {
            let fault = &active.fault;
            if !fault.matches(request) {
                continue;
            }
            let seen = active.seen.fetch_add(1, Ordering::Relaxed);
            let spent = fault.times.is_some_and(|times| active.hits.load(Ordering::Relaxed) >= times);
            if seen < fault.skip || spent || (fault.probability < 1.0 && !random.chance(fault.probability)) {
                continue;
            }
            active.hits.fetch_add(1, Ordering::Relaxed);
            plan.add(&fault.effect);
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(plural: &str) -> Subject<'_> {
        Subject { verb: Verb::List, group: "apps", plural, other_names: &[], namespace: "a", name: "" }
    }

    #[test]
    fn skip_and_times_place_a_fault_exactly() {
        let faults = Arc::new(Faults::default());
        let random = Random::new(0);
        let handle =
            faults.inject(Fault::expired().on(Verb::List).resource("deployments.apps").skip(1).times(2));
        let hit: Vec<bool> =
            (0..5).map(|_| faults.plan(&list("deployments"), &random).error.is_some()).collect();
        assert_eq!(hit, [false, true, true, false, false]);
        assert!(faults.plan(&list("pods"), &random).error.is_none());
        assert_eq!(handle.hits(), 2);
    }

    #[test]
    fn probability_is_drawn_from_the_seed() {
        let draw = |seed| {
            let faults = Arc::new(Faults::default());
            let random = Random::new(seed);
            let handle = faults.inject(Fault::lost_reply().with_probability(0.25));
            let hits: Vec<bool> = (0..1000).map(|_| faults.plan(&list("x"), &random).lost_reply).collect();
            (hits, handle.hits())
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3).0, draw(4).0);
        assert!((200..300).contains(&draw(3).1), "{}", draw(3).1);
    }

    #[test]
    fn a_fault_of_watches_is_not_spent_on_other_requests() {
        let faults = Arc::new(Faults::default());
        let random = Random::new(0);
        let handles = [Fault::expired_in_stream(0), Fault::close_at_once(), Fault::no_initial_events_end()]
            .map(|fault| faults.inject(fault.times(1)));
        faults.plan(&list("x"), &random);
        assert!(handles.iter().all(|handle| handle.hits() == 0));
        faults.plan(&Subject { verb: Verb::Watch, ..list("x") }, &random);
        assert!(handles.iter().all(|handle| handle.hits() == 1));
    }

    #[test]
    fn a_removed_fault_is_gone() {
        let faults = Arc::new(Faults::default());
        let random = Random::new(0);
        let handle = faults.inject(Fault::no_reply());
        assert!(faults.plan(&list("x"), &random).no_reply);
        handle.remove();
        assert!(!faults.plan(&list("x"), &random).no_reply);
    }
}
