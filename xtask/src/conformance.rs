//! `docs/conformance.md` names tests; here it is checked that they exist.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The rows of the page: the upstream test, what it pins, and our answer.
fn rows(page: &str) -> Vec<[&str; 3]> {
    let tables = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let rows = tables.filter(|row| !row.starts_with("upstream test"));
    rows.map(|row| row.split(" | ").collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{row}")))
        .collect()
}

/// The tests that an answer names: a file and a function each.
fn tests(answer: &str) -> Vec<(PathBuf, &str)> {
    let quoted = answer.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|quoted| quoted.split_once(".rs::").map(|(path, name)| (format!("{path}.rs"), name)))
        .map(|(path, name)| {
            let own = path.starts_with("src/") || path.starts_with("tests/");
            (root().join(if own { "crates/kube-informer" } else { "crates" }).join(path), name)
        })
        .collect()
}

/// Whether a file has a test of a name.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let function = format!("fn {name}(");
    lines.iter().enumerate().any(|(at, line)| {
        let begins = line.strip_prefix("async ").unwrap_or(line).starts_with(&function);
        begins
            && at > 0
            && (lines[at - 1].starts_with("#[test]") || lines[at - 1].starts_with("#[tokio::test"))
    })
}

#[test]
fn every_test_that_the_page_names_exists() {
    let page = std::fs::read_to_string(root().join("docs/conformance.md")).unwrap();
    let rows = rows(&page);
    let (mut upstream, mut pinned, mut elsewhere, mut missing) = (HashSet::new(), 0, 0, 0);
    for [theirs, _, answer] in &rows {
        assert!(upstream.insert(theirs), "{theirs} is listed twice");
        let tests = tests(answer);
        for (path, name) in &tests {
            let source = std::fs::read_to_string(path)
                .unwrap_or_else(|error| panic!("{theirs}: {}: {error}", path.display()));
            assert!(has_test(&source, name), "{theirs}: there is no test {name} in {}", path.display());
        }
        if answer.starts_with("missing: ") {
            missing += 1;
        } else if answer.starts_with("does not apply: ") {
            elsewhere += 1;
        } else {
            assert!(!tests.is_empty(), "{theirs}: neither a test nor a reason why there is none: {answer}");
            pinned += 1;
        }
    }
    let figures = format!(
        "**{} rows: {pinned} with a test, {elsewhere} that do not apply, {missing} missing.**",
        rows.len()
    );
    assert!(rows.len() > 100 && page.contains(&figures), "the page should say: {figures}");
}

#[test]
fn a_name_alone_is_not_a_test() {
    let source = "    #[test]\n    fn one() {\n#[tokio::test(start_paused = true)]\nasync fn two() {\n\nfn three() {\n// fn four()\n";
    assert_eq!(
        ["one", "two", "three", "four", "on"].map(|name| has_test(source, name)),
        [true, true, false, false, false]
    );
}
