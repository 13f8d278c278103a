//! What goes wrong with one request.

use std::time::Duration;

use super::Effect;
use crate::status::ApiError;

/// What goes wrong with one request; by default nothing.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) delay: Duration,
    pub(crate) error: Option<ApiError>,
    pub(crate) no_reply: bool,
    pub(crate) lost_reply: bool,
    pub(crate) cut_after: Option<usize>,
    pub(crate) hang_after: Option<usize>,
    pub(crate) stale_by: Option<u64>,
    pub(crate) close_at_once: bool,
    pub(crate) no_initial_events_end: bool,
    pub(crate) stream: Vec<StreamFault>,
}

/// Something wrong inside a watch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StreamFault {
    Error { code: u16, after_events: u64 },
    Truncated { after_events: u64 },
    Garbage { after_events: u64 },
    Oversized { bytes: usize, after_events: u64 },
}

impl StreamFault {
    pub(crate) fn after_events(self) -> u64 {
        match self {
            Self::Error { after_events, .. }
            | Self::Truncated { after_events }
            | Self::Garbage { after_events }
            | Self::Oversized { after_events, .. } => after_events,
        }
    }
}

impl Plan {
    pub(super) fn add(&mut self, effect: &Effect) {
        match effect {
            Effect::Delay(by) => self.delay += *by,
            Effect::CutAfter(bytes) => {
                self.cut_after = Some(self.cut_after.map_or(*bytes, |old| old.min(*bytes)));
            }
            Effect::HangAfter(bytes) => {
                self.hang_after = Some(self.hang_after.map_or(*bytes, |old| old.min(*bytes)));
            }
            Effect::NoReply => self.no_reply = true,
            Effect::Reply(code) => self.fail(error_for(*code)),
            Effect::TooManyRequests(seconds) => self.fail(ApiError::too_many_requests(*seconds)),
            Effect::Expired => self.fail(error_for(410)),
            Effect::Stale(writes) => self.stale_by = Some(self.stale_by.unwrap_or(0).max(*writes)),
            Effect::CloseAtOnce => self.close_at_once = true,
            Effect::NoInitialEventsEnd => self.no_initial_events_end = true,
            Effect::LostReply => self.lost_reply = true,
            Effect::Stream(fault) => self.stream.push(*fault),
        }
    }

    fn fail(&mut self, error: ApiError) {
        self.error.get_or_insert(error);
    }
}

/// The `Status` that Kubernetes sends with a code.
pub(crate) fn error_for(code: u16) -> ApiError {
    match code {
        401 => ApiError::unauthorized(),
        403 => ApiError::new(403, "Forbidden", "forbidden: injected fault"),
        404 => ApiError::no_such_path(),
        409 => ApiError::new(409, "Conflict", "the request conflicts with the present state: injected fault"),
        410 => ApiError::expired("too old resource version: injected fault"),
        429 => ApiError::too_many_requests(1),
        500 => ApiError::internal("injected fault"),
        503 => {
            ApiError::new(503, "ServiceUnavailable", "the server is currently unable to handle the request")
        }
        504 => ApiError::new(504, "Timeout", "the server was unable to return a response in time"),
        other => ApiError::new(other, "Unknown", format!("injected fault with code {other}")),
    }
}
