//! `docs/conformance.md` and `docs/robustness.md` name tests; here it is checked that they exist.

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

/// The text of every Rust file in a folder, one behind the other.
fn sources(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_test_that_the_page_of_bad_days_names_exists() {
    /// Names of tests are sentences; other names in the page are shorter.
    const WORDS: usize = 5;
    let page = std::fs::read_to_string(root().join("docs/robustness.md")).unwrap();
    let mut code = String::new();
    ["crates", "e2e", "examples"].iter().for_each(|folder| sources(&root().join(folder), &mut code));
    let names = page.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let names = names.filter_map(|quoted| quoted.rsplit("::").next());
    let is_test = |name: &&str| {
        name.split('_').count() >= WORDS
            && name
                .chars()
                .all(|letter| letter == '_' || letter.is_ascii_lowercase() || letter.is_ascii_digit())
    };
    let tests: Vec<&str> = names.filter(is_test).collect();
    assert!(tests.len() > 20, "{tests:?}");
    for name in tests {
        assert!(code.contains(&format!("fn {name}(")), "there is no test {name}");
    }
}

#[test]
fn a_name_alone_is_not_a_test() {
    let source = "    #[test]\n    fn one() {\n#[tokio::test(start_paused = true)]\nasync fn two() {\n\nfn three() {\n// fn four()\n";
    assert_eq!(
        ["one", "two", "three", "four", "on"].map(|name| has_test(source, name)),
        [true, true, false, false, false]
    );
}
