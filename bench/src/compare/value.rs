//! Figures with units, as people read them.

use std::fmt;

/// A figure with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) number: f64,
    pub(super) unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Nanos,
    Bytes,
    PerSecond,
    Count,
}

impl Unit {
    /// The unit of a figure, by its name.
    pub(super) fn of(figure: &str) -> Self {
        match figure {
            "per_second" | "writer_alone" => Unit::PerSecond,
            "resident" | "resident_before" | "resident_freed" | "peak" | "bytes" => Unit::Bytes,
            _ if figure.ends_with("_writer") => Unit::PerSecond,
            _ if figure.ends_with("ns") && !figure.ends_with("instructions") => Unit::Nanos,
            _ if figure.ends_with("_found") || figure.ends_with("instructions") => Unit::Count,
            _ => Unit::Seconds,
        }
    }

    /// Rates are better if they are larger; all else if it is smaller.
    pub(super) fn more_is_better(self) -> bool {
        self == Unit::PerSecond
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match self.unit {
            Unit::Seconds => write!(f, "{}", time(number * 1e9)),
            Unit::Nanos => write!(f, "{}", time(number)),
            Unit::Bytes if number >= 1e9 => write!(f, "{:.2} GB", number / 1e9),
            Unit::Bytes if number >= 1e6 => write!(f, "{:.0} MB", number / 1e6),
            Unit::Bytes => write!(f, "{number:.0} B"),
            Unit::PerSecond => write!(f, "{}/s", thousands(number)),
            Unit::Count => write!(f, "{}", thousands(number)),
        }
    }
}

/// Writes nanoseconds in the unit that suits.
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
    fn figures_are_written_for_people() {
        let text = |number, figure| Value { number, unit: Unit::of(figure) }.to_string();
        assert_eq!(text(0.0123, "seconds"), "12.3 ms");
        assert_eq!(text(66.0, "get_ns"), "66 ns");
        assert_eq!(text(585_793_536.0, "resident"), "586 MB");
        assert_eq!(text(1_234_567.0, "per_second"), "1,234,567/s");
        assert_eq!(text(1_234.0, "get_instructions"), "1,234");
    }
}
