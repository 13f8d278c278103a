//! The eight plots of the page, from the figures of a run.

use super::contender::{CLIENT_GO, Contender, DECODED, KUBE_RS, OURS};
use super::plan::{DECODE_CUSTOM, DECODE_FEW, DECODE_JSON, DECODE_PROTOBUF, Sizes, of_handlers, row};
use super::plot::{Axis, Bars, Lines, Scale, Series, Style, Unit};
use super::results::Results;
use crate::measure::PERCENTILES;
use crate::replay::Set;

/// A plot, its file, and the text that stands for it where it is not shown.
pub(super) struct Plot {
    pub(super) file: &'static str,
    pub(super) text: &'static str,
    pub(super) svg: String,
}

const EVERYONE: [(Contender, Style, &str); 5] = [
    (OURS, Style::Ours, "ours"),
    (DECODED, Style::OursDecoded, "ours, decoded"),
    (CLIENT_GO, Style::ClientGo, "client-go"),
    (KUBE_RS, Style::KubeRs, "kube-rs"),
    (Contender::Limit, Style::Limit, "limit"),
];

pub(super) fn plots(results: &Results, sizes: &Sizes) -> [Plot; 8] {
    let plot = |file, text, svg| Plot { file, text, svg };
    [
        plot("sync.svg", "Time of the first sync against the number of pods", sync(results, sizes)),
        plot("memory.svg", "Resident memory against the number of pods", memory(results, sizes)),
        plot("events.svg", "Updates per second against handlers", events(results, sizes)),
        plot("latency.svg", "Distribution of the delay from socket to handler", latency(results, sizes)),
        plot("reads.svg", "Time of reads", reads(results, sizes)),
        plot("decode.svg", "Time to decode one object", decode(results)),
        plot("custom.svg", "Custom resources: sync and updates", custom(results, sizes)),
        plot("growth.svg", "CPU time of the sync per pod against the number of pods", growth(results, sizes)),
    ]
}

fn axis(title: &str, scale: Scale, unit: Unit) -> Axis {
    Axis { title: title.to_owned(), scale, unit }
}

/// One line for each contender, from a figure at each point.
fn lines(
    title: &str,
    axes: [Axis; 2],
    points: &[(f64, String, &str)],
    results: &Results,
    map: impl Fn(f64, f64) -> f64,
) -> String {
    let [x, y] = axes;
    let series = EVERYONE.map(|(who, style, label)| {
        let points =
            points.iter().filter_map(|(x, row, figure)| Some((*x, map(*x, results.best(row, who, figure)?))));
        Series { style, label: label.to_owned(), points: points.collect() }
    });
    let series = series.into_iter().filter(|series| !series.points.is_empty()).collect();
    Lines { title: title.to_owned(), x, y, series }.svg()
}

/// A figure of the syncs of all numbers of pods.
fn of_growth(sizes: &Sizes, figure: &'static str) -> Vec<(f64, String, &'static str)> {
    let point = |&count: &u64| (count as f64, row("sync", Set::Pods, count, true), figure);
    sizes.growth.iter().map(point).collect()
}

fn sync(results: &Results, sizes: &Sizes) -> String {
    let axes = [
        axis("pods (log scale)", Scale::Log, Unit::Count),
        axis("time of the first sync (log scale)", Scale::Log, Unit::Seconds),
    ];
    lines("First sync: wall time", axes, &of_growth(sizes, "seconds"), results, |_, y| y)
}

fn memory(results: &Results, sizes: &Sizes) -> String {
    let axes = [
        axis("pods (log scale)", Scale::Log, Unit::Count),
        axis("resident memory (log scale)", Scale::Log, Unit::Bytes),
    ];
    lines("Memory after the first sync", axes, &of_growth(sizes, "resident"), results, |_, y| y)
}

fn events(results: &Results, sizes: &Sizes) -> String {
    let events = row("events", Set::Pods, sizes.objects_of_events, true);
    let point = |&count: &u64| (count as f64, format!("{events}{}", of_handlers(count)), "per_second");
    let points: Vec<_> = sizes.handlers.iter().map(point).collect();
    let axes = [
        axis("handlers, each of which reads a field (log scale)", Scale::Log, Unit::Count),
        axis("updates per second", Scale::Linear, Unit::Count),
    ];
    lines("Updates of pods, as fast as they are taken", axes, &points, results, |_, y| y)
}

fn latency(results: &Results, sizes: &Sizes) -> String {
    let row = row("latency", Set::Pods, sizes.objects_of_events, true) + &of_handlers(1);
    // By nines: 1 is the 90th percentile, 2 the 99th, 3 the 99.9th.
    let points = PERCENTILES.map(|(name, share)| (-(1.0 - share).log10(), row.clone(), name));
    let axes = [
        axis("percentile, in nines: 1 is p90, 2 is p99, 3 is p99.9", Scale::Linear, Unit::Count),
        axis("from socket to handler (log scale)", Scale::Log, Unit::Seconds),
    ];
    let title = format!("Delay of {} updates of pods a second", super::value::thousands(sizes.rate.0 as f64));
    lines(&title, axes, &points, results, |_, y| y)
}

fn growth(results: &Results, sizes: &Sizes) -> String {
    let axes = [
        axis("pods (log scale)", Scale::Log, Unit::Count),
        axis("CPU time of the sync, per pod", Scale::Linear, Unit::Seconds),
    ];
    lines("Growth: CPU time per pod", axes, &of_growth(sizes, "cpu"), results, |pods, cpu| cpu / pods)
}

/// The name of a group of bars, and the value of each contender.
type Category<'a> = (&'a str, &'a dyn Fn(Contender) -> Option<f64>);

/// Groups of bars: the figure of each category for each contender, in seconds.
fn bars(title: &str, value: Axis, categories: &[Category<'_>]) -> String {
    let series = EVERYONE.map(|(who, style, label)| {
        (style, label.to_owned(), categories.iter().map(|(_, value)| value(who)).collect::<Vec<_>>())
    });
    let series = series.into_iter().filter(|(_, _, values)| values.iter().any(Option::is_some)).collect();
    let categories = categories.iter().map(|(name, _)| (*name).to_owned()).collect();
    Bars { title: title.to_owned(), value, categories, series }.svg()
}

fn reads(results: &Results, sizes: &Sizes) -> String {
    let row = row("reads", Set::Pods, sizes.objects, true);
    let nanos = |who, figure: &str| Some(results.best(&row, who, figure)? / 1e9);
    let title =
        format!("Reads of a copy of {} pods; no writer", super::value::thousands(sizes.objects as f64));
    bars(
        &title,
        axis("time of one read (log scale)", Scale::Log, Unit::Seconds),
        &[
            ("get by key", &|who| nanos(who, "get_ns")),
            ("get, read a field", &|who| nanos(who, "get_field_ns")),
            ("list a namespace", &|who| nanos(who, "namespace_ns")),
            ("list by an index", &|who| nanos(who, "index_ns")),
            ("list all", &|who| nanos(who, "all_ns")),
            ("list all, a handle each", &|who| nanos(who, "all_handles_ns").or(nanos(who, "all_ns"))),
            ("list all, read a field", &|who| nanos(who, "all_field_ns")),
            ("list all by label", &|who| nanos(who, "label_ns")),
        ],
    )
}

fn decode(results: &Results) -> String {
    let nanos = |row: &str, who| Some(results.best(row, who, "ns")? / 1e9);
    bars(
        "Decode one object",
        axis("time of one object", Scale::Linear, Unit::Seconds),
        &[
            ("pod, protobuf", &|who| nanos(DECODE_PROTOBUF, who)),
            ("pod, protobuf, five fields", &|who| nanos(DECODE_FEW, who)),
            ("pod, JSON", &|who| nanos(DECODE_JSON, who)),
            ("custom resource, JSON", &|who| nanos(DECODE_CUSTOM, who)),
        ],
    )
}

fn custom(results: &Results, sizes: &Sizes) -> String {
    let sync = row("sync", Set::Widgets, sizes.objects, true);
    let events = row("events", Set::Widgets, sizes.objects_of_events, true);
    let updates = |who, handlers: u64| {
        let row = format!("{events}{}", of_handlers(handlers));
        Some(sizes.events as f64 / results.best(&row, who, "per_second")?)
    };
    let updates_to = |to: &str| format!("{} updates to {to}", super::value::thousands(sizes.events as f64));
    let [one, ten] = [updates_to("1 handler"), updates_to("10 handlers")];
    let title = format!("{} custom resources without a type", super::value::thousands(sizes.objects as f64));
    bars(
        &title,
        axis("time", Scale::Linear, Unit::Seconds),
        &[
            ("first sync, wall", &|who| results.best(&sync, who, "seconds")),
            ("first sync, CPU", &|who| results.best(&sync, who, "cpu")),
            (&one, &|who| updates(who, 1)),
            (&ten, &|who| updates(who, 10)),
        ],
    )
}
