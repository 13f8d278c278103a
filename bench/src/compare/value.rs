//! One line: ours, theirs, the ratio, and whether it is what we promise.

use std::fmt;

/// Lines about one thing.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) lines: Vec<Line>,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) title: String,
    pub(super) ours: Value,
    pub(super) client_go: Option<Value>,
    pub(super) kube_runtime: Option<Value>,
    pub(super) bar: Option<Bar>,
}

/// A figure with its unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) number: f64,
    pub(super) unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    /// Nanoseconds for one call: compared as speed.
    Call,
    Bytes,
    PerSecond,
    Instructions,
    Ratio,
}

/// What a ratio has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bar {
    /// Of ours ÷ client-go.
    AtMost(f64),
    AtLeast(f64),
    /// Of ours ÷ kube-runtime.
    AtMostOfKube(f64),
    /// Of our own figure, which is a ratio.
    OwnAtMost(f64),
}

impl Line {
    /// Ours ÷ theirs: of times and memory less is better, of rates and calls (compared as speed) more.
    pub(super) fn ratio(&self, theirs: Option<Value>) -> Option<f64> {
        let theirs = theirs?.number;
        Some(match self.ours.unit {
            Unit::Call => theirs / self.ours.number,
            _ => self.ours.number / theirs,
        })
    }

    /// Whether somebody else is ahead, whatever the bar.
    pub(super) fn loses(&self) -> bool {
        let less_is_better = !matches!(self.ours.unit, Unit::Call | Unit::PerSecond);
        let behind = |ratio: f64| if less_is_better { ratio > 1.0 } else { ratio < 1.0 };
        self.ours.unit != Unit::Ratio
            && [self.client_go, self.kube_runtime]
                .into_iter()
                .filter_map(|theirs| self.ratio(theirs))
                .any(behind)
    }

    /// Whether the bar is met; none if there is none, or nobody to compare with.
    pub(super) fn met(&self) -> Option<bool> {
        Some(match self.bar? {
            Bar::AtMost(bar) => self.ratio(self.client_go)? <= bar,
            Bar::AtLeast(bar) => self.ratio(self.client_go)? >= bar,
            Bar::AtMostOfKube(bar) => self.ratio(self.kube_runtime)? <= bar,
            Bar::OwnAtMost(bar) => self.ours.number <= bar,
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match self.unit {
            Unit::Seconds => write!(f, "{}", time(number * 1e9)),
            Unit::Call => write!(f, "{}", time(number)),
            Unit::Bytes if number >= 1e9 => write!(f, "{:.2} GB", number / 1e9),
            Unit::Bytes if number >= 1e6 => write!(f, "{:.0} MB", number / 1e6),
            Unit::Bytes => write!(f, "{number:.0} B"),
            Unit::PerSecond => write!(f, "{}/s", thousands(number)),
            Unit::Instructions => write!(f, "{}", thousands(number)),
            Unit::Ratio => write!(f, "{number:.2}"),
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bar::AtMost(bar) | Bar::OwnAtMost(bar) => write!(f, "≤ {bar}"),
            Bar::AtLeast(bar) => write!(f, "≥ {bar}"),
            Bar::AtMostOfKube(bar) => write!(f, "≤ {bar} of kube-rs"),
        }
    }
}

/// Nanoseconds in the unit that suits.
fn time(nanos: f64) -> String {
    match nanos {
        _ if nanos < 1e3 => format!("{nanos:.0} ns"),
        _ if nanos < 1e6 => format!("{:.1} µs", nanos / 1e3),
        _ if nanos < 1e9 => format!("{:.1} ms", nanos / 1e6),
        _ => format!("{:.2} s", nanos / 1e9),
    }
}

/// A whole number with commas.
pub(super) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_of_times_and_memory_at_most_and_of_speed_at_least() {
        let value = |number, unit| Value { number, unit };
        let line = |ours, theirs, unit, bar| Line {
            title: String::new(),
            ours: value(ours, unit),
            client_go: Some(value(theirs, unit)),
            kube_runtime: None,
            bar: Some(bar),
        };
        assert_eq!(line(1.0, 4.0, Unit::Seconds, Bar::AtMost(0.45)).met(), Some(true));
        assert_eq!(line(2.0, 4.0, Unit::Seconds, Bar::AtMost(0.45)).met(), Some(false));
        assert_eq!(
            line(50.0, 100.0, Unit::Call, Bar::AtLeast(2.0)).met(),
            Some(true),
            "half the time, twice the speed"
        );
        assert_eq!(line(100.0, 300.0, Unit::PerSecond, Bar::AtLeast(2.0)).met(), Some(false));
        assert_eq!(
            line(1.0, 4.0, Unit::Seconds, Bar::AtMostOfKube(0.2)).met(),
            None,
            "nobody to compare with"
        );
        assert_eq!(line(1.2, 1.0, Unit::Ratio, Bar::OwnAtMost(1.15)).met(), Some(false));
    }

    #[test]
    fn figures_are_written_for_people() {
        let text = |number, unit| Value { number, unit }.to_string();
        assert_eq!(text(0.0123, Unit::Seconds), "12.3 ms");
        assert_eq!(text(66.0, Unit::Call), "66 ns");
        assert_eq!(text(585_793_536.0, Unit::Bytes), "586 MB");
        assert_eq!(text(1_234_567.0, Unit::PerSecond), "1,234,567/s");
    }

    #[test]
    fn a_line_is_lost_if_anybody_is_ahead() {
        let value = |number, unit| Value { number, unit };
        let line = |ours, go, kube: Option<f64>, unit| Line {
            title: String::new(),
            ours: value(ours, unit),
            client_go: Some(value(go, unit)),
            kube_runtime: kube.map(|kube| value(kube, unit)),
            bar: None,
        };
        assert!(!line(1.0, 2.0, None, Unit::Seconds).loses());
        assert!(line(3.0, 2.0, None, Unit::Bytes).loses());
        assert!(line(1.0, 2.0, Some(0.5), Unit::Call).loses(), "kube-runtime is quicker");
        assert!(line(10.0, 20.0, None, Unit::PerSecond).loses());
        assert!(!line(1.2, 1.0, None, Unit::Ratio).loses(), "nobody else has it");
    }
}
