//! Lines about work queues.

use super::contender::Contender;
use super::line::{Line, Section, Unit, Value, thousands};
use super::plan::{OURS, Sizes, row};
use super::results::Results;

/// What is measured of a queue.
const FIGURES: [(&str, &str, Unit); 5] = [
    ("add_ns", "add a key", Unit::Call),
    ("again_ns", "add a key that waits already", Unit::Call),
    ("take_ns", "take a key, forget it, be done", Unit::Call),
    ("together_ns", "one adds while four work, for each key", Unit::Call),
    ("resident", "memory of all keys", Unit::Bytes),
];

/// How many keys the queues have.
pub(super) fn counts(sizes: &Sizes) -> [u64; 2] {
    [sizes.most(), 10 * sizes.most()]
}

pub(super) fn sections(results: &Results, sizes: &Sizes) -> Vec<Section> {
    let section = |count: u64| {
        let row = row("queue", "keys", count);
        let line = |(figure, title, unit): (&str, &str, Unit)| {
            let value = |number| Value { number, unit };
            Some(Line {
                title: title.to_owned(),
                ours: value(results.get(&row, ours(), figure)?),
                client_go: results.client_go(&row, figure).map(value),
                kube_runtime: None,
                bar: None,
            })
        };
        Section {
            title: format!("Work queue, {} keys (speed)", thousands(count as f64)),
            lines: FIGURES.into_iter().filter_map(line).collect(),
        }
    };
    counts(sizes).map(section).into()
}

/// Queues do not depend on how objects rest.
pub(super) const fn ours() -> Contender {
    OURS[2]
}
