//! The page that people read in two minutes: what is compared, eight plots, bars, losses.

use std::fmt::Write;

use super::bars::Judged;
use super::contender::{CLIENT_GO, DECODED, KUBE_RS, OURS};
use super::explanations::explain;
use super::plan::{DECODE_PROTOBUF, Sizes, row};
use super::plots::Plot;
use super::results::{Results, Run};
use super::value::{Unit, Value, thousands};
use crate::replay::Set;

/// The most lines about losses.
const MOST_LOSSES: usize = 10;

/// The whole page, in Markdown.
pub(super) fn page(results: &Results, sizes: &Sizes, judged: &[Judged], plots: &[Plot]) -> String {
    let objects = thousands(sizes.objects as f64);
    let [events, updated] = [sizes.events, sizes.objects_of_events].map(|count| thousands(count as f64));
    let size = results.get(DECODE_PROTOBUF, DECODED, "bytes").unwrap_or_default() / 1e3;
    let mut page = format!(
        "# Benchmarks\n\n\
        Made by `{}`; do not edit. Figures are in [benchmarks.json](benchmarks.json), all of them as a table in \
        [benchmarks-all.md](benchmarks-all.md).\n\n\
        **What**: kube-informer beside client-go's shared informers and the reflector of kube-rs, and the limit: a client that \
        reads the same bytes and throws them away. Ours is the default storage unless it says \"decoded\".\n\n\
        **Objects**: made from a seed. Pods are of 1,000 workloads in four states each: 1 to 5 containers, 0 to 30 variables, \
        annotations of 1 byte to 4 KB, {size:.1} KB in protobuf on average. The mixed cluster has nine kinds in the proportions of \
        a cluster (pods, events, config maps, secrets, endpoint slices, leases, nodes, two custom kinds).\n\n\
        **How**: one replay server over TLS in its own process; each library in its own process, in turns, on the same two cores. Of \
        several rounds times are the least, rates the most, memory and percentiles the mean. For first syncs each figure of client-go \
        and kube-rs is that of its better way, LIST or WatchList; elsewhere all use WatchList. Updates are {events}, of {updated} objects; \
        kube-rs has one consumer. All Rust programs use jemalloc with large pages. Each library does \
        what it does by default: ours drops managed fields, the others keep them (both ways are in the long table); kube-rs reads JSON. The wait before a relist is \
        not counted.\n\n",
        results.run.command
    );
    let Run { machine, versions, noise, minutes, .. } = &results.run;
    let _ =
        writeln!(page, "- {machine}; {}\n- {noise} The run took {minutes:.0} minutes.", versions.join(", "));
    if let Some(spread) = results.spread() {
        let _ = writeln!(
            page,
            "- The median difference of wall times between rounds is {:.0} %.",
            spread * 100.0
        );
    }
    page += &summary(results, sizes);
    let _ = writeln!(
        page,
        "\n## Plots\n\nPods, unless a plot says otherwise; reads and relists on {objects} objects.\n"
    );
    for plot in plots {
        let _ = writeln!(page, "![{}](benchmarks/{})\n", plot.text, plot.file);
    }
    page += &bars_table(judged);
    page += &losses(results, judged);
    page
}

/// The first sync of pods and of the mixed cluster, in a few numbers.
fn summary(results: &Results, sizes: &Sizes) -> String {
    let mut text = String::new();
    for set in [Set::Pods, Set::Cluster] {
        let row = row("sync", set, sizes.objects, true);
        let _ = write!(
            text,
            "\n| {} {}, first sync | wall time | CPU time | resident | peak |\n|---|---|---|---|---|\n",
            thousands(sizes.objects as f64),
            if set == Set::Pods { "pods" } else { "objects of nine kinds" }
        );
        for (who, name) in [
            (OURS, "kube-informer"),
            (DECODED, "kube-informer, decoded"),
            (CLIENT_GO, "client-go"),
            (KUBE_RS, "kube-rs"),
            (super::contender::Contender::Limit, "limit"),
        ] {
            let cells = ["seconds", "cpu", "resident", "peak"].map(|figure| {
                let number = results.best(&row, who, figure);
                number.map(|number| Value { number, unit: Unit::of(figure) }.to_string()).unwrap_or_default()
            });
            let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
        }
    }
    text
}

fn bars_table(judged: &[Judged]) -> String {
    let met = judged.iter().filter(|bar| bar.is_met).count();
    let mut text = format!(
        "## Bars\n\n**{met} of {} bars are met.** They are targets for the next version of the engine. For times and memory: ours ÷ theirs, smaller is better. For speeds: how many times theirs, larger is better.\n\n\
        | | ours | theirs | ratio | target | |\n|---|---|---|---|---|---|\n",
        judged.len()
    );
    for bar in judged {
        let theirs = bar.theirs.map(|theirs| format!("{theirs} ({})", bar.against)).unwrap_or_default();
        let ratio = bar.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let met = if bar.is_met { "met" } else { "**missed**" };
        let _ =
            writeln!(text, "| {} | {} | {theirs} | {ratio} | {} | {met} |", bar.title, bar.ours, bar.bound);
    }
    text
}

/// A figure on which another library is ahead of our default storage; of rows without it, ahead of our decoded storage.
struct Loss {
    row: String,
    figure: String,
    /// How many times as much as the best of the others.
    factor: f64,
}

/// The bars that are missed and the largest losses beside them, each with its reason.
fn losses(results: &Results, judged: &[Judged]) -> String {
    let mut text = "\n## Where this library loses, and why\n\nMissed bars, and figures in which the default storage is more than 5 % behind the best of \
        client-go and kube-rs, with the factor.\n\n"
        .to_owned();
    let missed = judged.iter().filter(|bar| !bar.is_met);
    let mut reasons: Vec<(String, &str)> = missed
        .map(|bar| {
            let against = if bar.against.is_empty() { String::new() } else { format!(" ({})", bar.against) };
            (format!("missed: {}{against}", bar.title), explain(&bar.title))
        })
        .collect();
    for loss in found(results) {
        let title = format!("{}, {} ({:.1} times)", loss.row, loss.figure, loss.factor);
        reasons.push((title.clone(), explain(&title)));
    }
    // Losses with the same reason are one line.
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    for (title, reason) in reasons {
        match lines.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, titles)) => titles.push(title),
            None => lines.push((reason, vec![title])),
        }
    }
    for (reason, titles) in lines.iter().take(MOST_LOSSES) {
        let more = if titles.len() > 4 { format!("; and {} more", titles.len() - 4) } else { String::new() };
        let _ = writeln!(
            text,
            "- {}{more}. {reason}",
            titles.iter().take(4).cloned().collect::<Vec<_>>().join("; ")
        );
    }
    if lines.len() > MOST_LOSSES {
        let _ = writeln!(text, "- {} smaller ones are in the long table.", lines.len() - MOST_LOSSES);
    }
    if lines.is_empty() {
        let _ = writeln!(text, "Nowhere in this run.");
    }
    text
}

/// All losses, the largest first.
fn found(results: &Results) -> Vec<Loss> {
    let mut losses = Vec::new();
    for row in results.rows() {
        for figure in results.of_row(row).1 {
            let unit = Unit::of(figure);
            if figure.ends_with("_found")
                || matches!(figure, "bytes" | "resident_before" | "max" | "resident_freed")
            {
                continue;
            }
            let worse = |one: f64, other: f64| if unit.more_is_better() { other / one } else { one / other };
            let least = |all: &[Option<f64>]| {
                all.iter()
                    .flatten()
                    .copied()
                    .reduce(|one, other| if worse(one, other) > 1.0 { other } else { one })
            };
            let ours = results.get(row, OURS, figure).or_else(|| results.get(row, DECODED, figure));
            let theirs = least(&[CLIENT_GO, KUBE_RS].map(|who| results.best(row, who, figure)));
            if let (Some(ours), Some(theirs)) = (ours, theirs)
                && worse(ours, theirs) > 1.05
            {
                let (row, figure, factor) =
                    (row.to_owned(), super::table::label(figure), worse(ours, theirs));
                losses.push(Loss { row, figure, factor });
            }
        }
    }
    losses.sort_by(|one, other| other.factor.total_cmp(&one.factor));
    losses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_lost_if_another_library_is_ahead_of_the_default_storage() {
        let mut results = Results::default();
        let mut add = |row: &str, figure: &str, ours: f64, decoded: f64, theirs: f64| {
            results.add(row, OURS, figure, ours);
            results.add(row, DECODED, figure, decoded);
            results.add(row, CLIENT_GO, figure, theirs);
        };
        add("won", "seconds", 1.0, 2.0, 1.5);
        add("lost", "seconds", 2.0, 3.0, 1.0);
        add("lost rate", "per_second", 10.0, 20.0, 100.0);
        add("decoded is no excuse", "seconds", 3.0, 1.0, 1.0);
        let losses = found(&results);
        let found: Vec<(&str, f64)> = losses.iter().map(|loss| (loss.row.as_str(), loss.factor)).collect();
        assert_eq!(found, [("lost rate", 10.0), ("decoded is no excuse", 3.0), ("lost", 2.0)]);
    }
}
