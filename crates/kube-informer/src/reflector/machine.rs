//! The state machine.

use std::time::{Duration, Instant};

use super::{Backoff, Config, FAR, Failure, WatchEnd, after};

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
    },
}

/// What to do with an event's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventVerdict {
    /// It belongs to the initial events: collect it.
    Collect,
    /// It is a change: apply it.
    Apply,
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
    },
}

/// Decides what to ask of a server so that a copy follows it.
#[derive(Clone, Debug)]
pub struct Machine {
    config: Config,
    backoff: Backoff,
    phase: Phase,
    /// The version up to which the copy is current; empty before the first list.
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
}

#[derive(Clone, Debug)]
enum Phase {
    /// The objects are to be asked for.
    Start,
    /// A list is to be asked for, or is being answered.
    List(Listing),
    /// A watch is to be opened at the version.
    Rewatch,
    /// A watch is open, or being opened.
    Watch(Watching),
    /// Nothing is done until then.
    Wait { until: Instant, then: Box<Phase> },
}

#[derive(Clone, Debug)]
struct Listing {
    request: ListRequest,
    /// The version of the first page, which is that of the whole list.
    first_version: Option<String>,
    /// This is the one retry with the latest version.
    retried: bool,
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
        }
    }

    /// The version up to which the copy is current; empty before the first list.
    pub fn resource_version(&self) -> &str {
        &self.version
    }

    /// How long a driver waits for the next bytes of a list.
    pub fn list_silence(&self) -> Duration {
        self.config.list_silence
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

    /// A page of a list arrived whole.
    pub fn page(&mut self, resource_version: &str, continue_token: &str) -> PageVerdict {
        let Phase::List(listing) = &mut self.phase else { return PageVerdict::More };
        let version = listing.first_version.get_or_insert_with(|| resource_version.to_owned()).clone();
        if !continue_token.is_empty() {
            if listing.request.resource_version == "0" && listing.request.continue_token.is_empty() {
                self.pages_at_zero = true;
            }
            // The token carries the version; both together are refused.
            listing.request.resource_version.clear();
            listing.request.continue_token = continue_token.to_owned();
            return PageVerdict::More;
        }
        self.version_unavailable = false;
        self.version.clone_from(&version);
        self.phase = Phase::Rewatch;
        PageVerdict::Complete { resource_version: version }
    }

    /// A list, or a page of it, failed.
    pub fn list_failed(&mut self, failure: &Failure, now: Instant) {
        let Phase::List(listing) = &self.phase else { return };
        let later_page = !listing.request.continue_token.is_empty();
        if later_page && *failure == Failure::Expired {
            // The pages took too long: everything at once, at the version the first page was asked for.
            let request = ListRequest { limit: None, ..self.first_page().request };
            self.phase = Phase::List(Listing { request, first_version: None, retried: false });
            return;
        }
        if failure.is_about_version() && !listing.retried {
            self.version_unavailable = true;
            let request = ListRequest {
                resource_version: String::new(),
                limit: listing.request.limit,
                continue_token: String::new(),
            };
            self.phase = Phase::List(Listing { request, first_version: None, retried: true });
            return;
        }
        self.version_unavailable |= failure.is_about_version();
        self.wait(failure.retry_after(), Phase::Start, now);
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
            self.version_unavailable = false;
            self.version.clone_from(&resource_version);
            return BookmarkVerdict::Complete { resource_version };
        }
        if resource_version.is_empty() {
            return BookmarkVerdict::Ignore;
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
                self.version_unavailable = true;
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
        self.early_ends = if early { self.early_ends + 1 } else { 0 };
        match end {
            WatchEnd::Refused(failure) if failure.is_passing() => {
                self.wait(failure.retry_after(), Phase::Rewatch, now);
            }
            WatchEnd::Error(failure @ Failure::TooManyRequests { .. }) => {
                self.wait(failure.retry_after(), Phase::Rewatch, now);
            }
            WatchEnd::Error(Failure::Internal) if self.may_retry_internal(now) => self.phase = Phase::Rewatch,
            // It ended before it did anything: something is wrong that a list may show.
            WatchEnd::Closed | WatchEnd::Broken if early && watching.events == 0 => {
                self.wait(Duration::ZERO, Phase::Start, now);
            }
            // It works, but a server that ends each watch after an event must not be asked as fast as it can answer.
            WatchEnd::Closed | WatchEnd::Broken if self.early_ends > EARLY_ENDS_AT_ONCE => {
                self.wait(Duration::ZERO, Phase::Rewatch, now);
            }
            WatchEnd::Retried => self.phase = Phase::Start,
            // What follows the last version is not lost.
            WatchEnd::Closed | WatchEnd::Broken | WatchEnd::Overdue => self.phase = Phase::Rewatch,
            WatchEnd::Refused(_) | WatchEnd::Error(_) | WatchEnd::Garbled => {
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
        Listing { request, first_version: None, retried: false }
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
