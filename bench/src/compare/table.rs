//! From figures to lines.

use super::contender::{Contender, Residency};
use super::growth::{self, growth, slope_of_slopes};
use super::line::{Bar, Line, Section, Unit, Value, thousands};
use super::plan::{ON_SYSTEM, OURS, Sizes, row};
use super::results::Results;

/// All lines.
pub(super) fn sections(results: &Results, sizes: &Sizes) -> Vec<Section> {
    let maker = Maker { results };
    let most = sizes.most();
    let mut all = vec![maker.decode()];
    all.extend(["pods", "widgets"].map(|kind| maker.counted_reads(kind, sizes.counted)));
    for &count in &sizes.pods {
        all.push(maker.sync("pods", count, count == most));
    }
    all.push(maker.linear(&sizes.pods));
    all.extend(maker.but_sync("pods", most, sizes));
    all.push(maker.sync("widgets", sizes.widgets, false));
    all.extend(maker.but_sync("widgets", sizes.widgets, sizes));
    all
}

const ADAPTIVE: Contender = Contender::Ours(Residency::Adaptive);
const PACKED: Contender = Contender::Ours(Residency::Packed);
const DECODED: Contender = Contender::Ours(Residency::Decoded);

struct Maker<'a> {
    results: &'a Results,
}

impl Maker<'_> {
    /// All that is measured of one kind after its sync. Only pods have bars.
    fn but_sync(&self, kind: &str, most: u64, sizes: &Sizes) -> [Section; 5] {
        let bars = kind == "pods";
        [
            self.relist(kind, most, bars),
            self.events(kind, sizes, bars),
            self.latency(kind, sizes),
            self.reads(kind, most, bars),
            self.busy_reads(kind, most, bars),
        ]
    }

    /// One line, if the figure is there.
    fn line(
        &self,
        title: String,
        row: &str,
        who: Contender,
        figure: &str,
        unit: Unit,
        bar: Option<Bar>,
    ) -> Option<Line> {
        let value = |number| Value { number, unit };
        Some(Line {
            title,
            ours: value(self.results.get(row, who, figure)?),
            client_go: self.results.client_go(row, figure).map(value),
            kube_runtime: self.results.kube_runtime(row, figure).map(value),
            bar,
        })
    }

    fn decode(&self) -> Section {
        use Bar::{AtMost, AtMostOfKube};
        let mut lines = Vec::new();
        let rows = [
            ("decode protobuf", DECODED, "protobuf, full type", Some(AtMost(0.55))),
            ("decode protobuf", ON_SYSTEM[2], "protobuf, full type, the system's allocator", None),
            ("decode protobuf, kept", DECODED, "protobuf, full type, the last 10,000 kept", None),
            (
                "decode protobuf, kept",
                ON_SYSTEM[2],
                "protobuf, full type, the last 10,000 kept, the system's allocator",
                None,
            ),
            ("decode protobuf, remade", DECODED, "protobuf, full type, made of an old one", None),
            (
                "decode protobuf, remade",
                ON_SYSTEM[2],
                "protobuf, full type, made of an old one, the system's allocator",
                None,
            ),
            (
                "decode protobuf, remade, kept",
                DECODED,
                "protobuf, full type, made of the oldest of 10,000",
                None,
            ),
            ("decode protobuf, copied", DECODED, "no decoding: a copy of the full type", None),
            (
                "decode protobuf, copied",
                ON_SYSTEM[2],
                "no decoding: a copy of the full type, the system's allocator",
                None,
            ),
            (
                "decode protobuf, five fields",
                DECODED,
                "protobuf, five fields of a plain struct",
                Some(AtMost(0.08)),
            ),
            (
                "decode protobuf, brief",
                DECODED,
                "protobuf, brief metadata and three fields (`Projection`)",
                Some(AtMost(0.08)),
            ),
            (
                "decode protobuf, projection",
                DECODED,
                "protobuf, all metadata and three fields (`Projection`)",
                None,
            ),
            ("decode JSON", DECODED, "JSON, full type", Some(AtMostOfKube(0.7))),
            ("decode JSON, five fields", DECODED, "JSON, five fields of a plain struct", None),
            ("decode custom resource", DECODED, "a custom resource without a type, JSON", None),
        ];
        for (figure, unit, what) in [
            ("ns", Unit::Seconds, "time"),
            ("cpu_ns", Unit::Seconds, "CPU time"),
            ("instructions", Unit::Instructions, "instructions"),
        ] {
            for (row, who, title, bar) in rows {
                let bar = bar.filter(|_| figure == "ns");
                let Some(mut line) = self.line(format!("{title}: {what}"), row, who, figure, unit, bar)
                else {
                    continue;
                };
                // Nobody else decodes a part: it is compared with the whole.
                let kept = if row.ends_with(", kept") { ", kept" } else { "" };
                let whole = &format!("{}{kept}", row.split(',').next().unwrap_or(row));
                let value = |number| Value { number, unit };
                line.client_go = line.client_go.or_else(|| self.results.client_go(whole, figure).map(value));
                line.kube_runtime =
                    line.kube_runtime.or_else(|| self.results.kube_runtime(whole, figure).map(value));
                if unit == Unit::Seconds {
                    let theirs = [line.client_go.as_mut(), line.kube_runtime.as_mut()];
                    for value in [&mut line.ours].into_iter().chain(theirs.into_iter().flatten()) {
                        value.number /= 1e9;
                    }
                }
                lines.push(line);
            }
        }
        Section { title: "Decode one object: a pod, unless it is said otherwise".to_owned(), lines }
    }

    fn counted_reads(&self, kind: &str, count: u64) -> Section {
        let row = row("instructions", kind, count);
        let mut lines = Vec::new();
        for (read, what, _) in READS {
            for who in [DECODED, ADAPTIVE] {
                let (title, figure) = (format!("{what}, {}", residency(who)), format!("{read}_instructions"));
                lines.extend(self.line(title, &row, who, &figure, Unit::Instructions, None));
            }
        }
        let (count, kind) = (thousands(count as f64), kind_name(kind));
        let title = format!("Instructions of one read, {count} {kind}, nobody writes");
        Section { title, lines }
    }

    fn sync(&self, kind: &str, count: u64, bars: bool) -> Section {
        let row = row("sync", kind, count);
        let bar = |bar| Some(bar).filter(|_| bars);
        let mut lines = Vec::new();
        for who in OURS.into_iter().chain(ON_SYSTEM) {
            let name = residency(who);
            let wall = if who == ADAPTIVE { bar(Bar::AtMost(0.45)) } else { None };
            let resident = match who {
                ADAPTIVE => bar(Bar::AtMost(0.6)),
                PACKED => bar(Bar::AtMost(0.2)),
                _ => None,
            };
            lines.extend(self.line(format!("wall time, {name}"), &row, who, "seconds", Unit::Seconds, wall));
            if who == ADAPTIVE
                && let Some(mut line) = self.line(
                    "the same, against kube-rs".to_owned(),
                    &row,
                    who,
                    "seconds",
                    Unit::Seconds,
                    bar(Bar::AtMostOfKube(0.2)),
                )
            {
                line.client_go = None;
                lines.push(line);
            }
            lines.extend(self.line(format!("CPU time, {name}"), &row, who, "cpu", Unit::Seconds, None));
            lines.extend(self.line(
                format!("resident, {name}"),
                &row,
                who,
                "resident",
                Unit::Bytes,
                resident,
            ));
            if let Some(mut line) = self.line(
                format!("resident, {name}, against client-go after `FreeOSMemory`"),
                &row,
                who,
                "resident",
                Unit::Bytes,
                None,
            ) {
                line.client_go = self
                    .results
                    .client_go(&row, "resident_freed")
                    .map(|number| Value { number, unit: Unit::Bytes });
                line.kube_runtime = None;
                lines.push(line);
            }
            lines.extend(self.line(format!("peak, {name}"), &row, who, "peak", Unit::Bytes, None));
            lines.extend(self.peak(&row, who, "resident", bars));
        }
        Section { title: format!("Sync {} {}", thousands(count as f64), kind_name(kind)), lines }
    }

    /// Peak ÷ steady.
    fn peak(&self, row: &str, who: Contender, steady: &str, bars: bool) -> Option<Line> {
        let ratio = |of: &dyn Fn(&str) -> Option<f64>| {
            Some(Value { number: of("peak")? / of(steady)?, unit: Unit::Ratio })
        };
        Some(Line {
            title: format!("peak ÷ steady, {}", residency(who)),
            ours: ratio(&|figure| self.results.get(row, who, figure))?,
            client_go: None,
            kube_runtime: None,
            bar: Some(Bar::OwnAtMost(1.15)).filter(|_| bars),
        })
    }

    fn relist(&self, kind: &str, count: u64, bars: bool) -> Section {
        let row = row("relist", kind, count);
        let mut lines = Vec::new();
        for who in OURS {
            let name = residency(who);
            lines.extend(self.line(format!("wall time, {name}"), &row, who, "seconds", Unit::Seconds, None));
            lines.extend(self.line(format!("CPU time, {name}"), &row, who, "cpu", Unit::Seconds, None));
            lines.extend(self.line(format!("peak, {name}"), &row, who, "peak", Unit::Bytes, None));
            lines.extend(self.peak(&row, who, "resident_before", bars));
        }
        let (count, kind) = (thousands(count as f64), kind_name(kind));
        Section { title: format!("Relist {count} {kind}, 1 % changed"), lines }
    }

    fn events(&self, kind: &str, sizes: &Sizes, bars: bool) -> Section {
        let mut lines = Vec::new();
        for (handlers, bar) in [(1, Some(Bar::AtLeast(2.5))), (10, None), (100, Some(Bar::AtLeast(3.0)))] {
            for who in OURS.into_iter().chain(ON_SYSTEM) {
                let bar = bar.filter(|_| bars && who == ADAPTIVE);
                let (row, name) = (row("events", kind, handlers), residency(who));
                let told =
                    if handlers == 1 { "1 handler".to_owned() } else { format!("{handlers} handlers") };
                let title = format!("{told}, {name}");
                lines.extend(self.line(title, &row, who, "per_second", Unit::PerSecond, bar));
                let title = format!("{told}, {name}: CPU time of all of them");
                lines.extend(self.line(title, &row, who, "cpu", Unit::Seconds, None));
            }
        }
        let (count, kind) = (thousands(sizes.objects_of_events(kind) as f64), kind_name(kind));
        Section { title: format!("Events per second of {count} {kind}, as fast as they are taken"), lines }
    }

    fn latency(&self, kind: &str, sizes: &Sizes) -> Section {
        let row = row("latency", kind, sizes.objects_of_events(kind));
        let mut lines = Vec::new();
        for who in OURS {
            for figure in ["p50", "p99"] {
                lines.extend(self.line(
                    format!("{figure}, {}", residency(who)),
                    &row,
                    who,
                    figure,
                    Unit::Seconds,
                    None,
                ));
            }
            lines.extend(self.line(
                format!("CPU time, {}", residency(who)),
                &row,
                who,
                "cpu",
                Unit::Seconds,
                None,
            ));
        }
        let (rate, seconds) = sizes.rate;
        let title = format!(
            "From the server's socket to 10 handlers, {} events of {} {} a second for {seconds} s",
            thousands(rate as f64),
            thousands(sizes.objects_of_events(kind) as f64),
            kind_name(kind)
        );
        Section { title, lines }
    }

    fn reads(&self, kind: &str, count: u64, bars: bool) -> Section {
        let row = row("reads", kind, count);
        let mut lines = Vec::new();
        for (read, what, bar) in READS {
            for who in [DECODED, ADAPTIVE, PACKED] {
                let bar = bar.filter(|_| bars && who == DECODED).map(Bar::AtLeast);
                let title = format!("{what}, {}", residency(who));
                lines.extend(self.line(title, &row, who, &format!("{read}_ns"), Unit::Call, bar));
            }
        }
        lines.extend(READS.into_iter().filter_map(|(read, what, _)| self.taken(&row, read, what)));
        Section {
            title: format!("Reads, {} {}, nobody writes (speed)", thousands(count as f64), kind_name(kind)),
            lines,
        }
    }

    /// A list of handles, each of which may be kept without the rest: client-go's lists compared with what only ours has.
    fn taken(&self, row: &str, read: &str, what: &str) -> Option<Line> {
        let title = format!("{what}, a handle to each, decoded");
        let mut line = self.line(title, row, DECODED, &format!("{read}_taken_ns"), Unit::Call, None)?;
        let theirs = self.results.client_go(row, &format!("{read}_ns"));
        line.client_go = theirs.map(|number| Value { number, unit: Unit::Call });
        Some(line)
    }

    fn busy_reads(&self, kind: &str, count: u64, bars: bool) -> Section {
        let row = row("reads", kind, count);
        let mut lines = Vec::new();
        for (read, what, _) in READS {
            for who in [DECODED, ADAPTIVE, PACKED] {
                let bar = || Some(Bar::AtLeast(2.0)).filter(|_| bars && who == DECODED && read != "look");
                let name = residency(who);
                lines.extend(self.line(
                    format!("{what}, {name}"),
                    &row,
                    who,
                    &format!("{read}_busy_ns"),
                    Unit::Call,
                    bar(),
                ));
                let title = format!("{what}, {name}: events the writer took beside it");
                lines.extend(self.line(title, &row, who, &format!("{read}_writer"), Unit::PerSecond, bar()));
            }
        }
        for who in [DECODED, ADAPTIVE, PACKED] {
            let title = format!("no reads, {}: events the writer took", residency(who));
            lines.extend(self.line(title, &row, who, "writer_alone", Unit::PerSecond, None));
        }
        Section {
            title: format!(
                "Reads, {} {}, beside a writer at full speed (speed)",
                thousands(count as f64),
                kind_name(kind)
            ),
            lines,
        }
    }

    /// Time and memory of each further object, between the two larger sizes and between the two smaller ones.
    fn linear(&self, sizes: &[u64]) -> Section {
        let title = "What one more object costs, large ÷ small (1 is linear)".to_owned();
        let [.., small, middle, large] = *sizes else { return Section { title, lines: Vec::new() } };
        let in_blocks = |who, figure| self.results.get(&growth(large), who, figure);
        let of_syncs = |who, figure| {
            let at = |count| Some((count, self.results.get(&row("sync", "pods", count), who, figure)?));
            slope_of_slopes([at(small)?, at(middle)?, at(large)?])
        };
        let mut lines = Vec::new();
        for who in OURS {
            let told = [
                (in_blocks(who, growth::SECONDS), "wall time", true),
                (in_blocks(who, growth::CPU), "CPU time", false),
                (of_syncs(who, "seconds"), "wall time of the quickest sync of each size", false),
                (of_syncs(who, "cpu"), "CPU time of the cheapest", false),
                (of_syncs(who, "resident"), "resident", true),
            ];
            lines.extend(told.into_iter().filter_map(|(number, what, has_bar)| {
                Some(Line {
                    title: format!("{what}, {}", residency(who)),
                    ours: Value { number: number?, unit: Unit::Ratio },
                    client_go: None,
                    kube_runtime: None,
                    bar: has_bar.then_some(Bar::OwnAtMost(1.15)),
                })
            }));
        }
        Section { title, lines }
    }
}

/// Ways of reading, and how fast they have to be.
const READS: [(&str, &str, Option<f64>); 6] = [
    ("get", "get by key", Some(0.7)),
    ("look", "get by key and look into it", None),
    ("namespace", "list a namespace of 1,000", Some(1.0)),
    ("index", "index lookup of 100", Some(1.0)),
    ("all", "list all", Some(1.0)),
    ("label", "list all by label", Some(2.0)),
];

fn residency(who: Contender) -> &'static str {
    match who {
        PACKED => "packed",
        DECODED => "decoded",
        Contender::OursOnSystem(Residency::Decoded) => "decoded, system's allocator",
        Contender::OursOnSystem(Residency::Packed) => "packed, system's allocator",
        Contender::OursOnSystem(_) => "adaptive, system's allocator",
        _ => "adaptive",
    }
}

fn kind_name(kind: &str) -> &'static str {
    if kind == "pods" { "pods" } else { "custom resources" }
}

#[cfg(test)]
mod tests {
    use super::super::contender::Way;
    use super::*;

    const GO: Contender = Contender::ClientGo(Way::WatchList);

    fn line(section: &Section, title: &str) -> Line {
        section.lines.iter().find(|line| line.title.contains(title)).unwrap().clone()
    }

    #[test]
    fn what_nobody_else_does_is_compared_with_the_nearest_that_they_do() {
        let mut results = Results::default();
        for (row, nanos) in [("decode protobuf", 10.0), ("decode protobuf, kept", 20.0)] {
            results.add(row, GO, "ns", nanos);
        }
        for row in ["decode protobuf, remade", "decode protobuf, remade, kept"] {
            results.add(row, DECODED, "ns", 5.0);
        }
        let decode = Maker { results: &results }.decode();
        assert_eq!(line(&decode, "made of an old one").client_go.unwrap().number, 10.0 / 1e9);
        assert_eq!(line(&decode, "made of the oldest").client_go.unwrap().number, 20.0 / 1e9);
    }

    #[test]
    fn of_instructions_fewer_are_better() {
        let mut results = Results::default();
        results.add("instructions pods 1000", DECODED, "get_instructions", 450.0);
        results.add("instructions pods 1000", GO, "get_instructions", 900.0);
        let counted = Maker { results: &results }.counted_reads("pods", 1_000);
        let get = line(&counted, "get by key, decoded");
        assert_eq!(get.ratio(get.client_go), Some(0.5));
        assert!(!get.loses());
    }

    #[test]
    fn what_one_more_object_costs_is_told_from_the_block_in_the_middle() {
        let mut results = Results::default();
        for (count, quickest) in [(10, 0.2), (100, 0.7), (1000, 9.7)] {
            results.add(&row("sync", "pods", count), DECODED, "seconds", quickest);
        }
        for of_a_block in [1.3, 0.9, 1.1] {
            results.add(&growth(1000), DECODED, growth::SECONDS, of_a_block);
        }
        let linear = Maker { results: &results }.linear(&[10, 100, 1000]);
        let told = line(&linear, "wall time, decoded");
        assert!((told.ours.number - 1.1).abs() < 1e-9 && told.bar.is_some());
        let quickest = line(&linear, "wall time of the quickest");
        assert!((quickest.ours.number - 1.8).abs() < 1e-9 && quickest.bar.is_none());
        assert!(Maker { results: &results }.linear(&[10, 100]).lines.is_empty());
    }
}
