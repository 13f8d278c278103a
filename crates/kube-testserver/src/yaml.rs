//! YAML, read within a budget.
//!
//! Aliases make a document larger than its text. What they repeat is counted while it is read, and a document
//! is refused as soon as it repeats too much, whatever it would have become.

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Budget, Error, Options};

/// The values in one document of a request, those that aliases repeat included.
const MAX_NODES: usize = 250_000;

/// The documents in one seed.
const MAX_SEED_DOCUMENTS: usize = 1_000_000;

/// The values in one seed, of all documents together.
const MAX_SEED_NODES: usize = 1_000_000_000;

/// The parser events (values, and the ends of maps and lists) that the aliases of a request may repeat.
const MAX_REPEATED_EVENTS: usize = 10_000;

/// The same for a seed, which the owner of the server has written.
const MAX_REPEATED_EVENTS_OF_SEED: usize = 100_000;

/// The bytes of text by which aliases may make a document larger than it is.
const MAX_REPEATED_BYTES: usize = 3 * 1024 * 1024;

/// The aliases in a request, and the merge keys (`<<`).
const MAX_ALIASES: usize = 1_000;

/// The copies of parser events that are kept for anchors. Each value is kept once for each anchor that is
/// around it.
const MAX_RECORDED_EVENTS: usize = 100_000;

/// How deep maps and lists may nest.
const MAX_DEPTH: usize = 64;

/// Reads one document as Kubernetes does: the last of several equal keys counts.
pub(crate) fn parse(body: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    serde_saphyr::from_str_with_options(text, of_request(text, DuplicateKeyPolicy::LastWins))
        .map_err(|error| describe(&error))
}

/// The line and name of a key that a map in the document has twice; none if there is no such key.
pub(crate) fn repeated_key(body: &[u8]) -> Option<(u64, String)> {
    let text = std::str::from_utf8(body).ok()?;
    let read: Result<Value, _> =
        serde_saphyr::from_str_with_options(text, of_request(text, DuplicateKeyPolicy::Error));
    match read.err()?.without_snippet() {
        Error::DuplicateMappingKey { key, location } => {
            Some((location.line(), key.clone().unwrap_or_default()))
        }
        _ => None,
    }
}

/// Reads all documents of a seed.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>, String> {
    let budget = serde_saphyr::budget! {
        max_documents: MAX_SEED_DOCUMENTS,
        max_events: MAX_SEED_NODES,
        max_nodes: MAX_SEED_NODES,
        max_depth: MAX_DEPTH,
        max_total_scalar_bytes: text.len().saturating_add(MAX_REPEATED_BYTES),
    };
    let options = options(budget, MAX_REPEATED_EVENTS_OF_SEED, DuplicateKeyPolicy::Error);
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| describe(&error))
}

fn of_request(text: &str, duplicate_keys: DuplicateKeyPolicy) -> Options {
    let budget = serde_saphyr::budget! {
        max_documents: 1,
        max_nodes: MAX_NODES,
        max_depth: MAX_DEPTH,
        max_aliases: MAX_ALIASES,
        max_anchors: MAX_ALIASES,
        max_merge_keys: MAX_ALIASES,
        max_recorded_anchor_events: MAX_RECORDED_EVENTS,
        max_total_scalar_bytes: text.len().saturating_add(MAX_REPEATED_BYTES),
    };
    options(budget, MAX_REPEATED_EVENTS, duplicate_keys)
}

fn options(budget: Option<Budget>, repeated_events: usize, duplicate_keys: DuplicateKeyPolicy) -> Options {
    serde_saphyr::options! {
        budget: budget,
        duplicate_keys: duplicate_keys,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: repeated_events },
    }
}

/// The first line of an error, without its picture of the text.
fn describe(error: &Error) -> String {
    let whole = error.without_snippet().to_string();
    whole.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fmt::Write as _;
    use std::rc::Rc;

    use super::*;

    /// Lists of `width` aliases each of the list before, `levels` deep.
    fn bomb(levels: usize, width: usize) -> String {
        let mut text = "a0: &a0 [x, x]\n".to_owned();
        for level in 1..=levels {
            let aliases = vec![format!("*a{}", level - 1); width].join(", ");
            let _ = writeln!(text, "a{level}: &a{level} [{aliases}]");
        }
        text
    }

    /// Reads a request and returns the outcome with the number of events that the reader handled.
    fn events(text: &str) -> (Result<Value, Error>, usize) {
        let handled = Rc::new(Cell::new(0));
        let report = Rc::clone(&handled);
        let options = of_request(text, DuplicateKeyPolicy::LastWins)
            .with_budget_report(move |budget| report.set(budget.events + budget.recorded_anchor_events));
        (serde_saphyr::from_str_with_options(text, options), handled.get())
    }

    #[test]
    fn an_alias_bomb_is_refused_after_a_bounded_number_of_events() {
        for (levels, width) in [(5, 10), (10, 10), (20, 10), (20, 20), (60, 2)] {
            let (read, handled) = events(&bomb(levels, width));
            assert!(read.is_err(), "{levels} levels of {width}");
            assert!(
                handled > 0 && handled <= MAX_RECORDED_EVENTS + 2 * MAX_REPEATED_EVENTS,
                "{handled} events"
            );
        }
    }

    #[test]
    fn what_aliases_repeat_is_counted_in_bytes_too() {
        let aliases = |count: usize| vec!["*a"; count].join(", ");
        let text = |count: usize| format!("a: &a {}\nb: [{}]\n", "x".repeat(64 << 10), aliases(count));
        assert!(parse(text(40).as_bytes()).is_ok());
        let error = parse(text(60).as_bytes()).expect_err("3.75 MiB more than the text");
        assert!(error.contains("scalar"), "{error}");
        let seed = documents(&text(60)).expect_err("seeds as well");
        assert!(seed.contains("scalar"), "{seed}");
    }

    #[test]
    fn merge_keys_are_bounded() {
        let text = |count: usize| {
            let mut text = "base: &base {a: 1, b: 2}\n".to_owned();
            for at in 0..count {
                let _ = writeln!(text, "m{at}: {{<<: *base}}");
            }
            text
        };
        let few = parse(text(10).as_bytes()).expect("a few");
        assert_eq!(few["m9"], serde_json::json!({"a": 1, "b": 2}));
        assert!(parse(text(MAX_ALIASES + 1).as_bytes()).is_err());
    }

    #[test]
    fn twice_the_keys_are_twice_the_events() {
        // Keys that are numbers are compared by value, in another way than text.
        for key in ["k", ""] {
            let map = |count: usize| (0..count).map(|at| format!("{key}{at}: 1\n")).collect::<String>();
            let (few, many) = (events(&map(1_000)).1, events(&map(2_000)).1);
            assert!(few >= 2_000 && many <= 2 * few, "{few} and {many} events");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let list = |depth: usize| format!("a: {}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(list(MAX_DEPTH - 1).as_bytes()).is_ok());
        assert!(parse(list(MAX_DEPTH).as_bytes()).is_err());
        assert!(documents(&list(MAX_DEPTH)).is_err());
    }

    #[test]
    fn a_repeated_key_is_found_with_its_line() {
        assert_eq!(repeated_key(b"a: 1\nb: 2\na: 3\n"), Some((3, "a".to_owned())));
        assert_eq!(repeated_key(b"a: 1\n"), None);
        assert_eq!(parse(b"a: 1\na: 3\n"), Ok(serde_json::json!({"a": 3})));
    }

    #[test]
    fn a_seed_may_have_anchors() {
        let seed = documents("a: &x {b: 1}\nc: *x\n---\nd: 2\n").expect("valid");
        assert_eq!(seed[0]["c"], serde_json::json!({"b": 1}));
        assert_eq!(seed.len(), 2);
        assert!(documents(&bomb(20, 10)).is_err());
    }
}
