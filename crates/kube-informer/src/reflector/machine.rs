//! The state machine.

use std::time::{Duration, Instant};

use super::{Backoff, Config, FAR, Failure, WatchEnd, after};
use crate::continuation::{ContinueTokens, EndlessList};
use crate::version::is_before;

/// The size of pages where the server chooses to send pages at all.
const DEFAULT_PAGE_SIZE: u32 = 500;

/// So many streams of initial events in a row may end in the middle before a list is tried.
const UNFINISHED: u32 = 3;

/// So many watches in a row may end early, with events, before the next one waits.
const EARLY_ENDS_AT_ONCE: u32 = 3;

/// After so long without an internal error the next one counts as the first.
const INTERNAL_ERRORS_FORGOTTEN: Duration = Duration::from_secs(60);

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Ask for a list.
    List(ListRequest),
    /// Open a watch.
    Watch(WatchRequest),
    /// Ask for a list of one object, and drop it: the version of the list, or its failure, shows whether the server is behind the
    /// copy. A server that was restored from a backup is, and a watch from there would stay silent, and then miss what happened
    /// meanwhile.
    Probe(ListRequest),
    /// Do nothing until then.
    Wait(Instant),
}

/// A list to ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListRequest {
    /// `resourceVersion`; empty for the latest.
    pub resource_version: String,
    /// `limit`; none for everything in one piece.
    pub limit: Option<u32>,
    /// `continue`; empty for the first page. What was collected before the first page is to be forgotten.
    pub continue_token: String,
}

/// A watch to open. It always asks for bookmarks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchRequest {
    /// `resourceVersion`.
    pub resource_version: String,
    /// `sendInitialEvents`, with `resourceVersionMatch=NotOlderThan`. What was collected before is to be forgotten.
    pub initial_events: bool,
    /// `timeoutSeconds`.
    pub timeout: Duration,
}

/// What a page means.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageVerdict {
    /// Keep its items; more pages follow.
    More,
    /// This was the last one: the collected items are all objects at this version.
    Complete {
        /// The version.
        resource_version: String,
        /// Versions began again with this list: they cannot be compared with those before it.
        new_epoch: bool,
    },
    /// The list is older than the copy. Forget its items: a consistent list comes next, for which no object may be reused that
    /// is in the copy.
    WentBack,
    /// The list would never end. Forget its items: it is asked for again, later.
    Endless(EndlessList),
}

/// What to do with an event's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventVerdict {
    /// It belongs to the initial events: collect it.
    Collect,
    /// It is a change: apply it.
    Apply,
    /// It is older than the copy. Drop it and end the watch: a consistent list comes next, for which no object may be reused that
    /// is in the copy.
    WentBack,
}

/// What came of a probe.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ProbeAnswer<'a> {
    /// The version of the list.
    Version(&'a str),
    /// 401, 403, 404 or 405: the client may not list, and may be allowed to watch.
    Denied,
    /// It failed in another way.
    Failed(&'a Failure),
}

/// What a bookmark means.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BookmarkVerdict {
    /// Nothing: the initial events are not complete, or it names no version.
    Ignore,
    /// The copy is current up to this version.
    Progress {
        /// The version.
        resource_version: String,
    },
    /// The collected objects are all objects at this version; the watch goes on.
    Complete {
        /// The version.
        resource_version: String,
        /// Versions began again with these objects: they cannot be compared with those before.
        new_epoch: bool,
    },
    /// The watch is older than the copy: end it. Forget its objects: a consistent list comes next, for which no object may be
    /// reused that is in the copy.
    WentBack,
}

/// Decides what to ask of a server so that a copy follows it.
#[derive(Clone, Debug)]
pub struct Machine {
    config: Config,
    backoff: Backoff,
    phase: Phase,
    /// The version up to which the copy is current; empty if it is of no version.
    version: String,
    /// The last list or stream of initial events failed because of the version it asked for.
    version_unavailable: bool,
    /// The server sends pages even at version 0: it has no list in memory.
    pages_at_zero: bool,
    /// Not to be asked for initial events before then.
    no_initial_events_until: Option<Instant>,
    /// The first and the last of the latest internal errors in a row.
    internal_errors: Option<(Instant, Instant)>,
    /// Watches in a row that worked but ended early.
    early_ends: u32,
    /// So many streams of initial events in a row have ended in the middle.
    unfinished: u32,
    /// An answer was older than the copy since the last list. Either the server has been restored from a backup, or one that is
    /// behind has answered: the next list, which is consistent, decides.
    went_back: bool,
    /// The epoch and the generation of the last list, if the source names them. Versions are not compared then.
    named_epoch: Option<(u64, u64)>,
    /// Another epoch has begun since the last list: the source has named it, or it was proven elsewhere.
    epoch_began: bool,
    /// Watches in a row on which nothing was said.
    silent_watches: u32,
}

#[derive(Clone, Debug)]
enum Phase {
    /// The objects are to be asked for.
    Start,
    /// A list is to be asked for, or is being answered.
    List(Listing),
    /// Whether the server still has the version is to be asked, and then a watch to be opened.
    Probe,
    /// A watch is to be opened at the version.
    Rewatch,
    /// A watch is open, or being opened.
    Watch(Watching),
    /// Nothing is done until then.
    Wait { until: Instant, then: Box<Phase> },
}

#[derive(Clone, Debug, Default)]
struct Listing {
    request: ListRequest,
    /// The version of the first page, which is that of the whole list.
    first_version: Option<String>,
    /// This is the one retry with the latest version.
    retried: bool,
    /// This is the one fallback to a list without a limit, after pages expired.
    is_fallback: bool,
    tokens: ContinueTokens,
}

#[derive(Clone, Debug)]
struct Watching {
    opened: Instant,
    /// When something last arrived. While the initial events are not complete, what cannot be one of them does not count.
    heard: Instant,
    /// Changes have arrived before the end of the initial events: all of them should be there.
    changed: bool,
    timeout: Duration,
    events: u64,
    /// The initial events are not complete.
    initial: bool,
    /// Where the watch began.
    from: String,
}

impl Watching {
    /// It has done so little that its end is a failure.
    fn is_short(&self, now: Instant, short: Duration) -> bool {
        self.events == 0 && now.saturating_duration_since(self.opened) < short
    }
}

impl Machine {
    /// Starts with nothing. The seed makes the random parts repeatable.
    pub fn new(config: Config, seed: u64) -> Self {
        Self {
            backoff: Backoff::new(&config, seed),
            config,
            phase: Phase::Start,
            version: String::new(),
            version_unavailable: false,
            pages_at_zero: false,
            no_initial_events_until: None,
            internal_errors: None,
            early_ends: 0,
            unfinished: 0,
            went_back: false,
            named_epoch: None,
            epoch_began: false,
            silent_watches: 0,
        }
    }

    /// Starts with a copy that is current up to a version: the first list must not be older, or begins an epoch.
    #[must_use]
    pub fn starting_at(mut self, version: &str) -> Self {
        version.clone_into(&mut self.version);
        self
    }

    /// Whether objects may have other content than in the copy at the same version, until the next list is complete.
    pub fn distrusts_copy(&self) -> bool {
        self.went_back
    }

    /// Takes in that the server's versions went back, as was found elsewhere: asks for everything again, at the latest version.
    pub fn rewound(&mut self) {
        (self.went_back, self.version_unavailable) = (true, true);
        match &mut self.phase {
            Phase::Wait { then, .. } => **then = Phase::Start,
            phase => *phase = Phase::Start,
        }
    }

    /// Takes in that the server's versions are proven to have begun again: lists everything again, at the latest version. An epoch
    /// begins with that list, also if the server has passed the copy's version meanwhile.
    pub fn epoch_ended(&mut self) {
        self.epoch_began = true;
        self.rewound();
    }

    /// Takes in the epoch and the generation that the source names for the list that is being answered.
    pub fn epoch(&mut self, epoch: u64, generation: u64) {
        if let Some(last) = self.named_epoch.replace((epoch, generation)) {
            self.epoch_began |= last.0 != epoch;
            self.went_back |= last.1 != generation;
        }
    }

    /// Whether the versions of the server went back, if it is at this one.
    fn is_older(&self, version: &str) -> bool {
        self.named_epoch.is_none() && is_before(version, &self.version)
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// The version up to which the copy is current; empty if it is of no version.
    pub fn resource_version(&self) -> &str {
        &self.version
    }

    /// How long a driver waits for the next bytes of a list.
    pub fn list_silence(&self) -> Duration {
        self.config.list_silence
    }

    /// How long a driver waits for the next bytes of a probe: no longer than for those of a watch.
    pub fn probe_silence(&self) -> Duration {
        self.config.list_silence.min(self.config.silence)
    }

    /// How long a driver waits for the end of a page of a list, though bytes arrive.
    pub fn list_timeout(&self) -> Duration {
        self.config.list_timeout
    }

    /// What to do now. To be asked again after it was done, or after the wait.
    pub fn next(&mut self, now: Instant) -> Step {
        loop {
            match &self.phase {
                Phase::Wait { until, .. } if *until > now => return Step::Wait(*until),
                Phase::Wait { then, .. } => self.phase = Phase::clone(then),
                Phase::Start if self.wants_initial_events(now) => {
                    return self.open_watch(self.start_version(), true, now);
                }
                Phase::Start => self.phase = Phase::List(self.first_page()),
                Phase::List(listing) => return Step::List(listing.request.clone()),
                Phase::Probe => {
                    let resource_version = self.version.clone();
                    return Step::Probe(ListRequest {
                        resource_version,
                        limit: Some(1),
                        ..ListRequest::default()
                    });
                }
                Phase::Rewatch => return self.open_watch(self.version.clone(), false, now),
                Phase::Watch(watching) => {
                    // Asked again while a watch is open: the same watch.
                    return Step::Watch(WatchRequest {
                        resource_version: watching.from.clone(),
                        initial_events: watching.initial,
                        timeout: watching.timeout,
                    });
                }
            }
        }
    }

    /// A page of a list arrived whole, with so many items.
    pub fn page(
        &mut self,
        resource_version: &str,
        continue_token: &str,
        items: u64,
        now: Instant,
    ) -> PageVerdict {
        let Phase::List(listing) = &mut self.phase else { return PageVerdict::More };
        let version = listing.first_version.get_or_insert_with(|| resource_version.to_owned()).clone();
        if !continue_token.is_empty() {
            if let Err(endless) = listing.tokens.take(continue_token, items, listing.request.limit) {
                self.wait(Duration::ZERO, Phase::Start, now);
                return PageVerdict::Endless(endless);
            }
            if listing.request.resource_version == "0" && listing.request.continue_token.is_empty() {
                self.pages_at_zero = true;
            }
            // The token carries the version; both together are refused.
            listing.request.resource_version.clear();
            listing.request.continue_token = continue_token.to_owned();
            return PageVerdict::More;
        }
        let Some(new_epoch) = self.complete(&version, now) else { return PageVerdict::WentBack };
        self.phase = Phase::Rewatch;
        PageVerdict::Complete { resource_version: version, new_epoch }
    }

    /// Everything has come, at a version: returns whether an epoch begins with it. None if that has to be found out first, by
    /// asking again.
    fn complete(&mut self, version: &str, now: Instant) -> Option<bool> {
        let is_older = self.is_older(version);
        if is_older && !self.went_back {
            self.start_again(now);
            return None;
        }
        self.went_back = false;
        self.version_unavailable = false;
        version.clone_into(&mut self.version);
        Some(std::mem::take(&mut self.epoch_began) || is_older)
    }

    /// Something was older than the copy: everything is asked for again, at the latest version.
    fn start_again(&mut self, now: Instant) {
        self.went_back = true;
        self.version_unavailable = true;
        self.wait(Duration::ZERO, Phase::Start, now);
    }

    /// A list, or the beginning of a watch, was refused for its version.
    fn version_refused(&mut self, failure: &Failure) {
        self.version_unavailable = true;
        // A server that has yet to come to the version is as far behind as one that answers below it.
        self.went_back |= *failure == Failure::VersionTooLarge;
    }

    /// A list, or a page of it, failed.
    pub fn list_failed(&mut self, failure: &Failure, now: Instant) {
        let Phase::List(listing) = &self.phase else { return };
        let Listing { retried, is_fallback, .. } = *listing;
        let limit = listing.request.limit;
        let later_page = !listing.request.continue_token.is_empty();
        if later_page && *failure == Failure::Expired {
            if is_fallback {
                // The server sends pages where none were asked for, and they expire as well: the next list may do better, later.
                self.wait(Duration::ZERO, Phase::Start, now);
                return;
            }
            // The pages took too long: everything at once, at the version the first page was asked for.
            let request = ListRequest { limit: None, ..self.first_page().request };
            self.phase = Phase::List(Listing { request, retried, is_fallback: true, ..Listing::default() });
            return;
        }
        if failure.is_about_version() {
            self.version_refused(failure);
            if !retried {
                let request = ListRequest { limit, ..ListRequest::default() };
                self.phase =
                    Phase::List(Listing { request, retried: true, is_fallback, ..Listing::default() });
                return;
            }
        }
        self.wait(failure.retry_after(), Phase::Start, now);
    }

    /// A probe was answered. Returns whether the server's versions went back.
    pub fn probed(&mut self, answer: ProbeAnswer<'_>, now: Instant) -> bool {
        match answer {
            ProbeAnswer::Version(version) if self.is_older(version) => {
                self.start_again(now);
                return true;
            }
            // If the client may not watch either, the watch shows what is wrong.
            ProbeAnswer::Version(_) | ProbeAnswer::Denied => self.phase = Phase::Rewatch,
            ProbeAnswer::Failed(failure) if failure.is_about_version() => {
                self.version_refused(failure);
                self.phase = Phase::Start;
            }
            // It would be refused each time.
            ProbeAnswer::Failed(Failure::NotUnderstood) => self.wait(Duration::ZERO, Phase::Start, now),
            ProbeAnswer::Failed(failure) => self.wait(failure.retry_after(), Phase::Probe, now),
        }
        false
    }

    /// The watch was opened: the server answered with 200.
    pub fn watch_opened(&mut self, now: Instant) {
        self.heard(now);
    }

    /// Bytes arrived, whatever they mean.
    pub fn heard(&mut self, now: Instant) {
        if let Phase::Watch(watching) = &mut self.phase
            && !watching.changed
        {
            watching.heard = now;
        }
    }

    /// An event arrived: `added` for ADDED, and the version of its object.
    pub fn event(&mut self, added: bool, resource_version: &str, now: Instant) -> EventVerdict {
        let is_older = self.is_older(resource_version);
        let Phase::Watch(watching) = &mut self.phase else { return EventVerdict::Apply };
        watching.events += 1;
        self.internal_errors = None;
        watching.changed = watching.initial && (watching.changed || !added);
        if added || !watching.changed {
            watching.heard = now;
        }
        if watching.initial {
            return EventVerdict::Collect;
        }
        // A watch from nowhere begins with what is there, in no order: those versions mean nothing.
        let unordered = matches!(watching.from.as_str(), "" | "0") && added;
        if !unordered && is_older {
            self.start_again(now);
            return EventVerdict::WentBack;
        }
        if !unordered && !resource_version.is_empty() {
            self.version = resource_version.to_owned();
            watching.from.clear();
            watching.from.push_str(resource_version);
        }
        EventVerdict::Apply
    }

    /// A bookmark arrived.
    pub fn bookmark(
        &mut self,
        resource_version: &str,
        initial_events_end: bool,
        now: Instant,
    ) -> BookmarkVerdict {
        let Phase::Watch(watching) = &mut self.phase else { return BookmarkVerdict::Ignore };
        watching.events += 1;
        let resource_version = resource_version.to_owned();
        if watching.initial && !initial_events_end {
            return BookmarkVerdict::Ignore;
        }
        watching.heard = now;
        if watching.initial {
            (watching.initial, watching.changed) = (false, false);
            self.unfinished = 0;
            watching.from.clone_from(&resource_version);
            let Some(new_epoch) = self.complete(&resource_version, now) else {
                return BookmarkVerdict::WentBack;
            };
            return BookmarkVerdict::Complete { resource_version, new_epoch };
        }
        if resource_version.is_empty() {
            return BookmarkVerdict::Ignore;
        }
        if self.is_older(&resource_version) {
            self.start_again(now);
            return BookmarkVerdict::WentBack;
        }
        self.version.clone_from(&resource_version);
        BookmarkVerdict::Progress { resource_version }
    }

    /// Whether an open watch has done so little that its end is a failure.
    pub fn is_short(&self, now: Instant) -> bool {
        let Phase::Watch(watching) = &self.phase else { return false };
        watching.is_short(now, self.config.short_watch)
    }

    /// When the driver is to cut an open watch, with [`WatchEnd::Overdue`]; none if no watch is open.
    pub fn deadline(&self) -> Option<Instant> {
        let Phase::Watch(watching) = &self.phase else { return None };
        let silence = if watching.initial { self.config.initial_silence } else { self.config.silence };
        let end = after(watching.opened, watching.timeout.saturating_add(self.config.watch_slack));
        Some(end.min(after(watching.heard, silence)))
    }

    /// The watch ended, or could not be opened.
    pub fn watch_ended(&mut self, end: &WatchEnd, now: Instant) {
        let Phase::Watch(watching) = &self.phase else { return };
        let watching = watching.clone();
        if watching.initial {
            self.initial_watch_ended(&watching, end, now);
        } else {
            self.following_watch_ended(&watching, end, now);
        }
    }

    fn initial_watch_ended(&mut self, watching: &Watching, end: &WatchEnd, now: Instant) {
        let short = watching.is_short(now, self.config.short_watch);
        // It has lasted as long as it was to last, and its end has never come.
        let full = *end == WatchEnd::Closed && now >= after(watching.opened, watching.timeout);
        match end {
            WatchEnd::Refused(failure) | WatchEnd::Error(failure) if failure.is_passing() => {
                self.wait(failure.retry_after(), Phase::Start, now);
            }
            WatchEnd::Refused(failure) | WatchEnd::Error(failure)
                if failure.is_about_version() && !watching.from.is_empty() =>
            {
                self.version_refused(failure);
                self.phase = Phase::Start;
            }
            // It ended in the middle: once more, but not at once, and not for ever.
            WatchEnd::Closed | WatchEnd::Broken if !short && !full && self.unfinished < UNFINISHED => {
                self.unfinished += 1;
                self.wait(Duration::ZERO, Phase::Start, now);
            }
            // This server cannot do it, or something before it swallows the end.
            WatchEnd::Refused(Failure::NotUnderstood)
            | WatchEnd::Error(Failure::NotUnderstood)
            | WatchEnd::Overdue => self.fall_back(now),
            WatchEnd::Closed | WatchEnd::Broken if !short => self.fall_back(now),
            // A list may work, or say better what is wrong; next time it is tried again.
            _ => {
                self.unfinished = 0;
                self.phase = Phase::List(self.first_page());
            }
        }
    }

    /// Asks for a list, and for no initial events for a while.
    fn fall_back(&mut self, now: Instant) {
        self.unfinished = 0;
        self.no_initial_events_until = Some(after(now, self.config.fallback_for));
        self.phase = Phase::Start;
    }

    fn following_watch_ended(&mut self, watching: &Watching, end: &WatchEnd, now: Instant) {
        let early = now.saturating_duration_since(watching.opened) < self.config.short_watch;
        let was_silent = *end == WatchEnd::Overdue && watching.events == 0;
        self.silent_watches = if was_silent { self.silent_watches.saturating_add(1) } else { 0 };
        self.early_ends = if early { self.early_ends + 1 } else { 0 };
        match end {
            // The server that takes the next watch may be another, or restored meanwhile.
            WatchEnd::Refused(failure) if failure.is_passing() => {
                self.wait(failure.retry_after(), Phase::Probe, now);
            }
            WatchEnd::Error(failure @ Failure::TooManyRequests { .. }) => {
                self.wait(failure.retry_after(), Phase::Probe, now);
            }
            WatchEnd::Error(Failure::Internal) if self.may_retry_internal(now) => self.phase = Phase::Rewatch,
            // It ended before it did anything: something is wrong that a list may show.
            WatchEnd::Closed | WatchEnd::Broken if early && watching.events == 0 => {
                self.wait(Duration::ZERO, Phase::Start, now);
            }
            // It works, but a server that ends each watch after an event must not be asked as fast as it can answer.
            WatchEnd::Closed if self.early_ends > EARLY_ENDS_AT_ONCE => {
                self.wait(Duration::ZERO, Phase::Rewatch, now);
            }
            WatchEnd::Broken if self.early_ends > EARLY_ENDS_AT_ONCE => {
                self.wait(Duration::ZERO, Phase::Probe, now);
            }
            WatchEnd::Retried => self.phase = Phase::Start,
            // What follows the last version is not lost.
            WatchEnd::Closed => self.phase = Phase::Rewatch,
            // A quiet kind of a quiet cluster is silent for ever: it is probed ever more rarely.
            WatchEnd::Overdue if was_silent && !self.silent_watches.is_power_of_two() => {
                self.phase = Phase::Rewatch;
            }
            // Nor here, if the server that is there next has that version.
            WatchEnd::Broken | WatchEnd::Overdue => self.phase = Phase::Probe,
            WatchEnd::Refused(_) | WatchEnd::Error(_) | WatchEnd::Garbled | WatchEnd::WentBack => {
                self.wait(Duration::ZERO, Phase::Start, now);
            }
        }
    }

    fn may_retry_internal(&mut self, now: Instant) -> bool {
        if self.config.internal_error_retry.is_zero() {
            return false;
        }
        let known = self
            .internal_errors
            .filter(|(_, last)| now.saturating_duration_since(*last) < INTERNAL_ERRORS_FORGOTTEN);
        let first = known.map_or(now, |(first, _)| first);
        self.internal_errors = Some((first, now));
        now.saturating_duration_since(first) <= self.config.internal_error_retry
    }

    fn wants_initial_events(&self, now: Instant) -> bool {
        self.config.initial_events && self.no_initial_events_until.is_none_or(|until| now >= until)
    }

    /// The version to ask initial events for.
    fn start_version(&self) -> String {
        if self.version_unavailable { String::new() } else { self.version.clone() }
    }

    fn first_page(&self) -> Listing {
        let version = match self.start_version() {
            version if !version.is_empty() || self.version_unavailable => version,
            // The first time any version will do, from the server's memory.
            _ => "0".to_owned(),
        };
        let limit = match self.config.page_size {
            Some(size) => Some(size),
            None if self.pages_at_zero => Some(DEFAULT_PAGE_SIZE),
            None if matches!(version.as_str(), "" | "0") => Some(DEFAULT_PAGE_SIZE),
            // At a known version the list comes from the server's memory, in one piece.
            None => None,
        };
        let request = ListRequest { resource_version: version, limit, continue_token: String::new() };
        Listing { request, ..Listing::default() }
    }

    fn open_watch(&mut self, from: String, initial: bool, now: Instant) -> Step {
        let timeout = self.config.watch_timeout.min(FAR).mul_f64(1.0 + self.backoff.fraction());
        // Servers count whole seconds.
        let timeout = Duration::from_secs(timeout.as_secs().max(1));
        let request = WatchRequest { resource_version: from.clone(), initial_events: initial, timeout };
        self.phase = Phase::Watch(Watching {
            opened: now,
            heard: now,
            changed: false,
            timeout,
            events: 0,
            initial,
            from,
        });
        Step::Watch(request)
    }

    /// Waits as long as the backoff says, and at least as long as the server says.
    fn wait(&mut self, at_least: Duration, then: Phase, now: Instant) {
        let until = after(now, self.backoff.failed(now).max(at_least));
        self.phase = Phase::Wait { until, then: Box::new(then) };
    }
}
