//! The requests a server has answered, for tests to look at.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::kinds::Verb;

/// How many requests are remembered; older ones are forgotten.
const KEPT_REQUESTS: usize = 10_000;

/// One request, as the server understood it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestRecord {
    /// Counts all requests from 0, forgotten ones included.
    pub number: u64,
    /// The HTTP method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query as sent, without the question mark.
    pub query: String,
    /// What it does; none for discovery, health and other paths.
    pub verb: Option<Verb>,
    /// The API group; empty for the core group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The plural name of the resource.
    pub resource: String,
    /// `status`, `scale`, …; empty for the object itself.
    pub subresource: String,
    /// Empty for all namespaces and cluster-scoped resources.
    pub namespace: String,
    /// Empty for collections.
    pub name: String,
    /// Who asked.
    pub user: String,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The `Accept` header.
    pub accept: String,
    /// The `Content-Type` header.
    pub content_type: String,
    /// The HTTP code of the answer; none while there is no answer.
    pub code: Option<u16>,
    /// The `Content-Type` header of the answer; empty while there is no answer.
    pub answer_type: String,
}

impl RequestRecord {
    /// The value of a query parameter, decoded.
    pub fn parameter(&self, name: &str) -> Option<String> {
        form_urlencoded::parse(self.query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }
}

#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    records: VecDeque<RequestRecord>,
}

impl RequestLog {
    /// Remembers a request and returns its number.
    pub(crate) fn add(&self, mut record: RequestRecord) -> u64 {
        let mut inner = self.inner.lock();
        let number = inner.next;
        inner.next += 1;
        record.number = number;
        if inner.records.len() == KEPT_REQUESTS {
            inner.records.pop_front();
        }
        inner.records.push_back(record);
        number
    }

    pub(crate) fn answered(&self, number: u64, code: u16, content_type: &str) {
        let mut inner = self.inner.lock();
        let Some(first) = inner.records.front().map(|record| record.number) else { return };
        // Numbers are consecutive, so the place follows from the number.
        let at = number.checked_sub(first).and_then(|at| usize::try_from(at).ok());
        if let Some(record) = at.and_then(|at| inner.records.get_mut(at)) {
            record.code = Some(code);
            content_type.clone_into(&mut record.answer_type);
        }
    }

    pub(crate) fn records(&self) -> Vec<RequestRecord> {
        self.inner.lock().records.iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        self.inner.lock().records.clear();
    }

    /// How many requests there were.
    pub(crate) fn count(&self) -> u64 {
        self.inner.lock().next
    }
}
