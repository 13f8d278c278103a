//! Tables of all figures: for the long page, and for a terminal.

use std::fmt::Write;

use super::bars::Judged;
use super::contender::{CLIENT_GO, Contender, DECODED, KUBE_RS, OURS};
use super::results::Results;
use super::value::{Unit, Value};

/// Every figure of every row, in Markdown.
pub(super) fn markdown(results: &Results) -> String {
    let mut page = String::new();
    for row in results.rows() {
        let (contenders, figures) = results.of_row(row);
        let _ = write!(page, "\n## {row}\n\n|");
        for who in &contenders {
            let _ = write!(page, " | {who}");
        }
        let _ = write!(page, " |\n|---|{}\n", "---|".repeat(contenders.len()));
        for figure in sorted(figures) {
            let _ = write!(page, "| {}", label(figure));
            for &who in &contenders {
                let _ = write!(page, " | {}", cell(results.get(row, who, figure), figure));
            }
            page.push_str(" |\n");
        }
    }
    page
}

/// What a terminal of a hundred columns shows of a run.
pub(super) fn text(results: &Results, bars: &[Judged]) -> String {
    let columns: [(&str, Contender); 5] = [
        ("ours", OURS),
        ("decoded", DECODED),
        ("client-go", CLIENT_GO),
        ("kube-rs", KUBE_RS),
        ("limit", Contender::Limit),
    ];
    let mut text = String::new();
    for row in results.rows() {
        let _ = write!(text, "\n{row:<43}");
        for (title, _) in columns {
            let _ = write!(text, "{title:>11}");
        }
        text.push('\n');
        for figure in sorted(results.of_row(row).1).into_iter().filter(|figure| is_shown(figure)) {
            let cells = columns.map(|(_, who)| cell(results.best(row, who, figure), figure));
            if cells.iter().all(String::is_empty) {
                continue;
            }
            let _ = write!(text, "  {:<41}", label(figure));
            for cell in cells {
                let _ = write!(text, "{cell:>11}");
            }
            text.push('\n');
        }
    }
    if bars.is_empty() {
        return text;
    }
    let _ = writeln!(text, "\n{:<62}{:>12}{:>12}{:>9}", "bar", "ratio", "target", "");
    for bar in bars {
        let against = if bar.against.is_empty() { String::new() } else { format!(" ÷ {}", bar.against) };
        let ratio = bar.ratio.map_or_else(|| bar.ours.to_string(), |ratio| format!("{ratio:.2}"));
        let met = if bar.is_met { "met" } else { "MISSED" };
        let _ =
            writeln!(text, "{:<62}{ratio:>12}{:>12}{met:>9}", format!("{}{against}", bar.title), bar.bound);
    }
    text
}

/// Whether a terminal shows a figure: not the details.
fn is_shown(figure: &str) -> bool {
    let details = ["_found", "_busy_ns", "_writer", "_handles_ns", "_instructions"];
    !details.iter().any(|suffix| figure.ends_with(suffix))
        && matches!(Unit::of(figure), Unit::Nanos | Unit::PerSecond)
        || matches!(figure, "seconds" | "cpu" | "resident" | "p50" | "p99")
}

fn cell(number: Option<f64>, figure: &str) -> String {
    number.map(|number| Value { number, unit: Unit::of(figure) }.to_string()).unwrap_or_default()
}

/// The names of figures in words, in the order of tables.
const LABELS: [(&str, &str); 17] = [
    ("seconds", "wall time"),
    ("cpu", "CPU time"),
    ("per_second", "updates per second"),
    ("resident", "resident"),
    ("peak", "peak"),
    ("resident_before", "resident before"),
    ("resident_freed", "resident after FreeOSMemory"),
    ("ns", "wall time of one"),
    ("cpu_ns", "CPU time of one"),
    ("instructions", "instructions of one"),
    ("bytes", "bytes read, or of an object"),
    ("add_ns", "add a key"),
    ("again_ns", "add a key that waits already"),
    ("take_ns", "take a key, forget it, finish it"),
    ("together_ns", "one adds while four work, per key"),
    ("writer_alone", "the writer alone, updates"),
    ("p50", "p50"),
];

/// The names of ways to read in words.
const WAYS: [(&str, &str); 7] = [
    ("get", "get by key"),
    ("get_field", "get by key and read a field"),
    ("namespace", "list a namespace"),
    ("index", "list by an index"),
    ("all", "list all"),
    ("all_field", "list all and read a field of each"),
    ("label", "list all by label"),
];

/// What is measured of each, by the end of the figure's name.
const READS: [(&str, &str); 7] = [
    ("_handles_ns", ", a handle to each"),
    ("_handles_found", ", a handle to each: objects"),
    ("_busy_ns", ", beside a writer"),
    ("_writer", ": updates the writer takes beside it"),
    ("_found", ": objects"),
    ("_instructions", ": instructions"),
    ("_ns", ""),
];

/// A figure's name in words.
pub(super) fn label(figure: &str) -> String {
    if let Some((_, label)) = LABELS.into_iter().find(|(known, _)| *known == figure) {
        return label.to_owned();
    }
    let read = READS.into_iter().find_map(|(suffix, words)| {
        let way = figure.strip_suffix(suffix)?;
        let (_, name) = WAYS.into_iter().find(|(known, _)| *known == way)?;
        Some(format!("{name}{words}"))
    });
    read.unwrap_or_else(|| figure.to_owned())
}

fn sorted(mut figures: Vec<&str>) -> Vec<&str> {
    figures.sort_by_key(|figure| position(figure));
    figures
}

/// Where a figure stands in a table.
fn position(figure: &str) -> (usize, usize) {
    let end = |all: &[(&str, &str)], found: &dyn Fn(&str) -> bool| {
        all.iter().position(|(known, _)| found(known)).unwrap_or(all.len())
    };
    let kind = end(&READS, &|suffix| figure.ends_with(suffix));
    match end(&LABELS, &|known| known == figure) {
        known if known < LABELS.len() => (0, known),
        _ => (READS.len() - kind.min(READS.len()) + 1, end(&WAYS, &|way| figure.starts_with(way))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_of_a_hundred_columns_shows_every_line_whole() {
        let mut results = Results::default();
        for who in [OURS, DECODED, CLIENT_GO, KUBE_RS, Contender::Limit] {
            results.add("events cluster 10000 TLS, 100 handlers", who, "per_second", 123_456.0);
            results.add("events cluster 10000 TLS, 100 handlers", who, "cpu", 12.34);
        }
        let text = text(&results, &[]);
        assert!(text.contains("updates per second"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn figures_have_names_in_words() {
        assert_eq!(label("all_handles_ns"), "list all, a handle to each");
        assert_eq!(label("get_busy_ns"), "get by key, beside a writer");
        assert_eq!(label("get_field_instructions"), "get by key and read a field: instructions");
        assert_eq!(label("p99"), "p99");
    }

    #[test]
    fn reads_stand_in_the_order_of_their_ways() {
        let figures = sorted(vec!["all_ns", "get_busy_ns", "label_ns", "get_ns", "cpu", "seconds"]);
        assert_eq!(figures, ["seconds", "cpu", "get_ns", "all_ns", "label_ns", "get_busy_ns"]);
    }
}
