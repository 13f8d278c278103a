//! What a suite writes about its specs: Ginkgo's JSON report.

use serde::Deserialize;

/// The report of one suite.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) specs: Vec<Spec>,
    /// Why the suite failed beside its specs.
    pub(super) special: Vec<String>,
}

/// What became of one spec.
#[derive(Debug)]
pub(super) struct Spec {
    /// The texts of its containers and its own; of a node without text, its type: `[BeforeSuite]`.
    pub(super) text: String,
    pub(super) state: State,
    /// How it failed, in one line.
    pub(super) failure: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Passed,
    /// Marked in the source as not to be run.
    Pending,
    Skipped,
    /// Failed, panicked, timed out or interrupted.
    #[serde(other)]
    Failed,
}

/// How many characters of a failure's message are shown.
const MESSAGE_LENGTH: usize = 240;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Suite {
    #[serde(default)]
    special_suite_failure_reasons: Option<Vec<String>>,
    spec_reports: Option<Vec<SpecReport>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SpecReport {
    container_hierarchy_texts: Option<Vec<String>>,
    leaf_node_type: String,
    leaf_node_text: String,
    state: State,
    #[serde(default)]
    failure: Failure,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Failure {
    message: String,
    forwarded_panic: String,
    location: Location,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Location {
    file_name: String,
    line_number: u64,
}

/// Reads a report; fails if it is not one.
pub(super) fn read(bytes: &[u8]) -> Result<Report, String> {
    let suites: Vec<Suite> =
        serde_json::from_slice(bytes).map_err(|error| format!("its report cannot be read: {error}"))?;
    let mut report = Report::default();
    for suite in suites {
        report.special.extend(suite.special_suite_failure_reasons.unwrap_or_default());
        report.specs.extend(suite.spec_reports.unwrap_or_default().into_iter().map(Spec::from));
    }
    Ok(report)
}

impl From<SpecReport> for Spec {
    fn from(spec: SpecReport) -> Self {
        let mut texts = spec.container_hierarchy_texts.unwrap_or_default();
        texts.push(if spec.leaf_node_text.is_empty() {
            format!("[{}]", spec.leaf_node_type)
        } else {
            spec.leaf_node_text
        });
        Self { text: texts.join(" "), state: spec.state, failure: spec.failure.in_one_line() }
    }
}

impl Failure {
    fn in_one_line(&self) -> String {
        let Location { file_name, line_number } = &self.location;
        let file = file_name.rsplit('/').next().unwrap_or_default();
        let words = self.message.split_whitespace().chain(self.forwarded_panic.split_whitespace());
        let message = words.collect::<Vec<_>>().join(" ");
        let message: String = message.chars().take(MESSAGE_LENGTH).collect();
        format!("{file}:{line_number}: {message}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_named_by_their_containers_and_every_bad_end_is_a_failure() {
        let report = br#"[{"SpecialSuiteFailureReasons":["Suite Timeout Elapsed"],"SpecReports":[
            {"ContainerHierarchyTexts":null,"LeafNodeType":"BeforeSuite","LeafNodeText":"","State":"passed"},
            {"ContainerHierarchyTexts":["A","b"],"LeafNodeType":"It","LeafNodeText":"does","State":"timedout",
             "Failure":{"Message":"Timed out\n  after 1s","Location":{"FileName":"/x/a_test.go","LineNumber":7}}},
            {"ContainerHierarchyTexts":["A"],"LeafNodeType":"It","LeafNodeText":"waits","State":"pending"},
            {"ContainerHierarchyTexts":["A"],"LeafNodeType":"It","LeafNodeText":"rests","State":"skipped"}]}]"#;
        let report = read(report).unwrap();
        let specs: Vec<_> = report.specs.iter().map(|spec| (spec.text.as_str(), spec.state)).collect();
        let expected = [
            ("[BeforeSuite]", State::Passed),
            ("A b does", State::Failed),
            ("A waits", State::Pending),
            ("A rests", State::Skipped),
        ];
        assert_eq!(specs, expected);
        assert_eq!(report.specs[1].failure, "a_test.go:7: Timed out after 1s");
        assert_eq!(report.special, ["Suite Timeout Elapsed"]);
        assert!(read(b"{}").is_err());
    }
}
