//! The specs that are expected to fail, each with its cause.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use super::Against;
use super::report::{Report, State};
use crate::sources::cannot;
use crate::step::Failed;

/// The list of expected failures.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    failures: Vec<Failure>,
}

/// Specs of one suite that fail for one cause.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    suite: String,
    cause: String,
    /// Whether they fail on a real API server too.
    #[serde(default)]
    real: bool,
    /// Their full texts.
    specs: Vec<String>,
}

impl Expected {
    /// Reads the list; fails if it cannot be read, or an entry has no cause or no specs.
    pub(super) fn read(path: &Path) -> Result<Self, Failed> {
        let text = std::fs::read_to_string(path).map_err(|error| cannot("read", path, &error))?;
        Self::parse(&text).map_err(|why| Failed::new(format!("{}: {why}", path.display())))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let expected: Self =
            serde_saphyr::from_str(text).map_err(|error| error.without_snippet().to_string())?;
        let mut named = BTreeSet::new();
        for failure in &expected.failures {
            if failure.cause.trim().is_empty() || failure.specs.is_empty() {
                return Err(format!("an entry of {} has no cause or no specs", failure.suite));
            }
            if let Some(spec) = failure.specs.iter().find(|spec| !named.insert((&failure.suite, *spec))) {
                return Err(format!("{}: {spec:?} is named twice", failure.suite));
            }
        }
        Ok(expected)
    }

    /// Fails if an entry is of a suite that is not among these: it would be compared with nothing.
    pub(super) fn check_suites(&self, suites: &[String]) -> Result<(), String> {
        let named: BTreeSet<&String> = self.failures.iter().map(|failure| &failure.suite).collect();
        let unknown: Vec<String> = named
            .into_iter()
            .filter(|suite| !suites.contains(suite))
            .map(|suite| format!("{suite:?}"))
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        Err(format!("there is no suite {}; there are {}", unknown.join(", "), suites.join(", ")))
    }

    /// Compares what became of the specs of a suite with what was expected.
    ///
    /// Specs that have the same text count as one, which fails if one of them does.
    pub(super) fn judge(&self, suite: &str, against: Against, report: &Report, succeeded: bool) -> Judgement {
        let may_fail: BTreeSet<&str> = self
            .failures
            .iter()
            .filter(|failure| failure.suite == suite && (against == Against::Embedded || failure.real))
            .flat_map(|failure| failure.specs.iter().map(String::as_str))
            .collect();
        let mut judged = Judgement::default();
        let mut failed: BTreeMap<&str, &str> = BTreeMap::new();
        let mut texts = BTreeSet::new();
        for spec in &report.specs {
            texts.insert(spec.text.as_str());
            match spec.state {
                State::Passed => judged.passed += 1,
                State::Pending => judged.pending += 1,
                State::Skipped => judged.complaints.push(format!("skipped: {}", spec.text)),
                State::Failed => {
                    failed.insert(&spec.text, &spec.failure);
                }
            }
        }
        for (text, failure) in &failed {
            if !may_fail.contains(text) {
                judged.complaints.push(format!("failed: {text}\n    {failure}"));
            }
        }
        for text in may_fail {
            match (failed.contains_key(text), texts.contains(text)) {
                (true, _) => judged.expected += 1,
                (false, true) => judged.complaints.push(format!("expected to fail, and passed: {text}")),
                (false, false) => judged.complaints.push(format!("expected to fail, and not there: {text}")),
            }
        }
        if judged.passed == 0 {
            judged.complaints.push("no spec passed".to_owned());
        }
        // Failed specs explain a failed suite. One that fails without them has another reason.
        if !succeeded && (failed.is_empty() || !report.special.is_empty()) {
            judged.complaints.push(format!("the suite failed: {}", report.special.join("; ")));
        }
        judged
    }
}

/// What came of a suite.
#[derive(Debug, Default)]
pub(super) struct Judgement {
    passed: usize,
    pending: usize,
    /// Failed as expected.
    expected: usize,
    /// What differs from what was expected; the run fails if there is anything.
    pub(super) complaints: Vec<String>,
}

impl Judgement {
    pub(super) fn summary(&self) -> String {
        let Self { passed, pending, expected, complaints } = self;
        let mut parts = vec![format!("{passed} passed")];
        let others =
            [(*expected, "failed as expected"), (*pending, "pending"), (complaints.len(), "not as expected")];
        parts.extend(
            others.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")),
        );
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Spec;
    use super::*;

    const LIST: &str = "failures:
- suite: client
  cause: no validation
  specs: [refuses a pod, refuses a secret]
- suite: client
  cause: needs a node
  real: true
  specs: [runs a pod]
- suite: cache
  cause: no service
  specs: [lists services]
";

    fn report(specs: &[(&str, State)]) -> Report {
        let spec = |(text, state): &(&str, State)| {
            let failure = if *state == State::Failed { "why".to_owned() } else { String::new() };
            Spec { text: (*text).to_owned(), state: *state, failure }
        };
        Report { specs: specs.iter().map(spec).collect(), special: Vec::new() }
    }

    const AS_EXPECTED: [(&str, State); 5] = [
        ("gets", State::Passed),
        ("rests", State::Pending),
        ("refuses a pod", State::Failed),
        ("refuses a secret", State::Failed),
        ("runs a pod", State::Failed),
    ];

    fn complaints(against: Against, specs: &[(&str, State)]) -> Vec<String> {
        let judged = Expected::parse(LIST).unwrap().judge("client", against, &report(specs), false);
        judged.complaints
    }

    #[test]
    fn a_suite_in_which_exactly_the_expected_specs_fail_is_as_expected() {
        let judged =
            Expected::parse(LIST).unwrap().judge("client", Against::Embedded, &report(&AS_EXPECTED), false);
        assert_eq!(judged.complaints, [""; 0]);
        assert_eq!(judged.summary(), "1 passed, 3 failed as expected, 1 pending");
    }

    #[test]
    fn an_unexpected_failure_is_named_and_so_is_an_expected_one_that_passes_or_is_not_there() {
        let mut specs = AS_EXPECTED.to_vec();
        specs[0].1 = State::Failed;
        specs[2].1 = State::Passed;
        specs.remove(3);
        let expected = [
            "failed: gets\n    why",
            "expected to fail, and passed: refuses a pod",
            "expected to fail, and not there: refuses a secret",
        ];
        assert_eq!(complaints(Against::Embedded, &specs), expected);
    }

    #[test]
    fn on_a_real_server_only_what_fails_there_is_expected() {
        let expected = ["failed: refuses a pod\n    why", "failed: refuses a secret\n    why"];
        assert_eq!(complaints(Against::Real, &AS_EXPECTED), expected);
    }

    #[test]
    fn of_specs_with_the_same_text_one_failure_is_enough() {
        let mut specs = AS_EXPECTED.to_vec();
        specs.push(("refuses a pod", State::Passed));
        specs.push(("gets", State::Failed));
        assert_eq!(complaints(Against::Embedded, &specs), ["failed: gets\n    why"]);
    }

    #[test]
    fn a_suite_that_ran_nothing_or_skipped_something_or_failed_beside_its_specs_is_not_as_expected() {
        let expected = Expected::parse("failures: []").unwrap();
        let judge = |specs: &[(&str, State)], succeeded, special: &[&str]| {
            let special = special.iter().map(|&reason| reason.to_owned()).collect();
            let report = Report { special, ..report(specs) };
            expected.judge("client", Against::Embedded, &report, succeeded).complaints
        };
        assert_eq!(judge(&[("gets", State::Passed)], true, &[]), [""; 0]);
        assert_eq!(judge(&[], true, &[]), ["no spec passed"]);
        let skipped = [("gets", State::Passed), ("lists", State::Skipped)];
        assert_eq!(judge(&skipped, true, &[]), ["skipped: lists"]);
        let timed_out = judge(&[("gets", State::Passed)], false, &["Suite Timeout Elapsed"]);
        assert_eq!(timed_out, ["the suite failed: Suite Timeout Elapsed"]);
    }

    #[test]
    fn an_entry_of_a_suite_that_does_not_exist_is_refused() {
        let check = |suites: &[&str]| {
            let suites: Vec<String> = suites.iter().map(|&suite| suite.to_owned()).collect();
            Expected::parse(LIST).unwrap().check_suites(&suites)
        };
        assert_eq!(check(&["builder", "cache", "client"]), Ok(()));
        let misspelt = Err("there is no suite \"client\"; there are cache, clients".to_owned());
        assert_eq!(check(&["cache", "clients"]), misspelt);
    }

    #[test]
    fn an_entry_without_a_cause_and_a_spec_that_is_named_twice_are_refused() {
        let entry = |cause: &str, specs: &str| {
            Expected::parse(&format!("failures: [{{suite: client, cause: '{cause}', specs: {specs}}}]"))
        };
        assert!(entry("known", "[a, b]").is_ok());
        assert!(entry(" ", "[a]").is_err());
        assert!(entry("known", "[]").is_err());
        assert!(entry("known", "[a, a]").is_err());
    }
}
