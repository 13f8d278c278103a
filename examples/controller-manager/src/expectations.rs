//! What a controller has asked for and not seen yet.
//!
//! A cache is behind the server. A controller that has just made three pods, and looks into its cache before they are
//! there, would make three more. So it writes down what it expects to see, and does nothing more for the same object until
//! it has seen it, or until so much time has passed that it never will.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// What has not been seen after so much time will not be: an event was missed, which should not happen.
pub const EXPECTATIONS_LIFE: Duration = Duration::from_secs(5 * 60);

/// What is expected, by the key of the object for which it was asked.
#[derive(Debug, Default)]
pub struct Expectations {
    expected: Mutex<HashMap<String, Expected>>,
}

#[derive(Debug)]
struct Expected {
    creations: usize,
    /// The keys of what is to be gone: one that goes twice counts once.
    deletions: BTreeSet<String>,
    since: Instant,
}

impl Expectations {
    /// All that was asked for has been seen, or will never be.
    pub fn are_met(&self, key: &str) -> bool {
        self.expected.lock().get(key).is_none_or(|expected| {
            (expected.creations == 0 && expected.deletions.is_empty())
                || expected.since.elapsed() > EXPECTATIONS_LIFE
        })
    }

    /// So many will come, and nothing else is expected.
    pub fn expect_creations(&self, key: &str, creations: usize) {
        let expected = Expected { creations, deletions: BTreeSet::new(), since: Instant::now() };
        self.expected.lock().insert(key.to_owned(), expected);
    }

    /// These will go, and nothing else is expected.
    pub fn expect_deletions(&self, key: &str, deletions: BTreeSet<String>) {
        let expected = Expected { creations: 0, deletions, since: Instant::now() };
        self.expected.lock().insert(key.to_owned(), expected);
    }

    /// One has come, or will not.
    pub fn creation_observed(&self, key: &str) {
        if let Some(expected) = self.expected.lock().get_mut(key) {
            expected.creations = expected.creations.saturating_sub(1);
        }
    }

    /// One has gone, or will not.
    pub fn deletion_observed(&self, key: &str, gone: &str) {
        if let Some(expected) = self.expected.lock().get_mut(key) {
            expected.deletions.remove(gone);
        }
    }

    /// The object is gone, and nothing is expected for it any more.
    pub fn forget(&self, key: &str) {
        self.expected.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn creations_are_met_when_all_have_been_seen() {
        let expectations = Expectations::default();
        assert!(expectations.are_met("a/web"));
        expectations.expect_creations("a/web", 2);
        expectations.creation_observed("a/web");
        assert!(!expectations.are_met("a/web"));
        assert!(expectations.are_met("b/web"));
        expectations.creation_observed("a/web");
        expectations.creation_observed("a/web");
        assert!(expectations.are_met("a/web"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_deletion_that_is_seen_twice_counts_once() {
        let expectations = Expectations::default();
        expectations.expect_deletions("a/web", ["a/1".to_owned(), "a/2".to_owned()].into());
        expectations.deletion_observed("a/web", "a/1");
        expectations.deletion_observed("a/web", "a/1");
        assert!(!expectations.are_met("a/web"));
        expectations.deletion_observed("a/web", "a/2");
        assert!(expectations.are_met("a/web"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_never_comes_is_not_waited_for_for_ever() {
        let expectations = Expectations::default();
        expectations.expect_creations("a/web", 1);
        tokio::time::sleep(EXPECTATIONS_LIFE).await;
        assert!(!expectations.are_met("a/web"));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(expectations.are_met("a/web"));
        expectations.expect_creations("a/web", 1);
        expectations.forget("a/web");
        assert!(expectations.are_met("a/web"));
    }
}
