//! Bars: targets beside client-go and beside the limit.

use super::contender::{CLIENT_GO, Contender, DECODED, OURS};
use super::plan::{Sizes, of_handlers, queue_row, row};
use super::results::Results;
use super::value::{Unit, Value};
use crate::replay::Set;

/// One target.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) title: String,
    row: String,
    who: Contender,
    figure: &'static str,
    /// The figure that it is compared with, if it has another name.
    other_figure: Option<&'static str>,
    against: Against,
    /// What the ratio has to be; of rates and speeds at least, of all else at most.
    bound: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Against {
    ClientGo,
    Limit,
    /// The figure itself has to be at most the bound.
    Nothing,
}

/// A bar beside the figures of a run.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) title: String,
    pub(super) ours: Value,
    pub(super) theirs: Option<Value>,
    pub(super) against: &'static str,
    /// Of speeds and rates, how many times theirs; of all else, which part of theirs.
    pub(super) ratio: Option<f64>,
    pub(super) bound: String,
    pub(super) is_met: bool,
}

/// All bars. Pods of many shapes and the mixed cluster have the same.
pub(super) fn bars(sizes: &Sizes) -> Vec<Bar> {
    let mut bars = Vec::new();
    for set in [Set::Pods, Set::Cluster] {
        let bar = |title: &str, row: &str, who, figure, against, bound| Bar {
            title: format!("{}: {title}", what(set)),
            row: row.to_owned(),
            who,
            figure,
            other_figure: None,
            against,
            bound,
        };
        let sync = row("sync", set, sizes.objects, true);
        bars.extend([
            bar("first sync, wall time", &sync, OURS, "seconds", Against::ClientGo, 0.14),
            bar("first sync, wall time", &sync, OURS, "seconds", Against::Limit, 1.5),
            bar("first sync, CPU time", &sync, OURS, "cpu", Against::Limit, 2.5),
            bar("resident", &sync, OURS, "resident", Against::ClientGo, 0.18),
            bar("resident, decoded", &sync, DECODED, "resident", Against::ClientGo, 1.2),
        ]);
        for (handlers, bound) in [(1, 3.5), (10, 4.0), (100, 6.0)] {
            let end = of_handlers(handlers);
            let row = row("events", set, sizes.objects_of_events, true) + &end;
            let title = format!("updates per second{end}");
            bars.push(bar(&title, &row, OURS, "per_second", Against::ClientGo, bound));
        }
        let row = row("latency", set, sizes.objects_of_events, true) + &of_handlers(10);
        bars.push(bar("p99 from socket to handler", &row, OURS, "p99", Against::Nothing, 0.001));
    }
    let bar = |title: String, row: String, who, figure, other_figure, bound| Bar {
        title,
        row,
        who,
        figure,
        other_figure,
        against: Against::ClientGo,
        bound,
    };
    let reads = row("reads", Set::Pods, sizes.objects, true);
    bars.push(bar(
        "pods: list all with a handle to each, speed".to_owned(),
        reads,
        OURS,
        "all_handles_ns",
        Some("all_ns"),
        1.0,
    ));
    for &keys in sizes.keys {
        let of = |what: &str| format!("queue of {} keys: {what}", super::value::thousands(keys as f64));
        bars.push(bar(of("add, speed"), queue_row(keys), DECODED, "add_ns", None, 1.0));
        bars.push(bar(of("take, speed"), queue_row(keys), DECODED, "take_ns", None, 1.0));
        bars.push(bar(of("memory"), queue_row(keys), DECODED, "resident", None, 1.0));
    }
    bars
}

/// A set as the page names it.
pub(super) fn what(set: Set) -> &'static str {
    match set {
        Set::Template => "pods of one template",
        Set::Pods => "pods",
        Set::Widgets => "custom resources",
        Set::Cluster => "mixed cluster",
    }
}

impl Bar {
    /// Compares; none if the run has not measured it.
    pub(super) fn judge(&self, results: &Results) -> Option<Judged> {
        let unit = Unit::of(self.figure);
        let value = |number| Value { number, unit };
        let ours = results.get(&self.row, self.who, self.figure)?;
        let other = self.other_figure.unwrap_or(self.figure);
        let (theirs, against) = match self.against {
            Against::ClientGo => (Some(results.best(&self.row, CLIENT_GO, other)?), "client-go"),
            Against::Limit => (Some(results.get(&self.row, Contender::Limit, other)?), "the limit"),
            Against::Nothing => (None, ""),
        };
        let is_speed = matches!(unit, Unit::Nanos | Unit::PerSecond);
        let ratio = theirs.map(|theirs| if unit == Unit::Nanos { theirs / ours } else { ours / theirs });
        let compared = ratio.unwrap_or(ours);
        let sign = if is_speed { "≥" } else { "≤" };
        let bound = match self.against {
            Against::Nothing => value(self.bound).to_string(),
            _ => format!("{}", self.bound),
        };
        Some(Judged {
            title: self.title.clone(),
            ours: value(ours),
            theirs: theirs.map(value),
            against,
            ratio,
            bound: format!("{sign} {bound}"),
            is_met: if is_speed { compared >= self.bound } else { compared <= self.bound },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(figure: &'static str, bound: f64, ours: f64, theirs: f64) -> bool {
        let mut results = Results::default();
        results.add("row", OURS, figure, ours);
        results.add("row", CLIENT_GO, figure, theirs);
        let (title, row) = (String::new(), "row".to_owned());
        let bar =
            Bar { title, row, who: OURS, figure, other_figure: None, against: Against::ClientGo, bound };
        bar.judge(&results).unwrap().is_met
    }

    #[test]
    fn bars_are_of_times_and_memory_at_most_and_of_speeds_at_least() {
        assert!(judged("seconds", 0.14, 0.5, 4.0));
        assert!(!judged("seconds", 0.14, 0.6, 4.0));
        assert!(judged("resident", 1.2, 120.0, 100.0));
        assert!(judged("get_ns", 2.0, 50.0, 100.0), "half the time is twice the speed");
        assert!(!judged("get_ns", 2.0, 60.0, 100.0));
        assert!(judged("per_second", 3.5, 350.0, 100.0));
        assert!(!judged("per_second", 3.5, 340.0, 100.0));
    }

    #[test]
    fn every_bar_is_of_a_row_that_is_measured() {
        let sizes = Sizes::full();
        let jobs = sizes.jobs();
        for bar in bars(&sizes) {
            let job = jobs.iter().find(|job| job.row == bar.row);
            assert!(job.is_some_and(|job| job.contenders.contains(&bar.who)), "{bar:?}");
        }
    }
}
