//! Figures of several rounds.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::contender::{CLIENT_GO, CLIENT_GO_LIST, Contender, KUBE_RS, KUBE_RS_LIST};
use super::value::Unit;
use crate::Error;
use crate::measure::PERCENTILES;

/// All figures: by row, contender and name, one for each round.
#[derive(Debug, Default)]
pub(super) struct Results {
    figures: BTreeMap<(String, Contender, String), Vec<f64>>,
    /// The rows in the order in which they were measured.
    rows: Vec<String>,
    pub(super) run: Run,
}

/// How figures were made.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Run {
    pub(super) command: String,
    pub(super) machine: String,
    pub(super) versions: Vec<String>,
    pub(super) noise: String,
    pub(super) minutes: f64,
    /// All rows of a full run are there.
    #[serde(default)]
    pub(super) is_whole: bool,
}

/// All rounds of one figure, as they are kept in a file.
#[derive(Debug, Deserialize, Serialize)]
struct Kept {
    row: String,
    who: String,
    figure: String,
    values: Vec<f64>,
}

#[derive(Debug, Deserialize)]
struct KeptRun {
    run: Run,
    figures: Vec<Kept>,
}

/// Which of several rounds counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pick {
    /// The smallest: times, which noise only makes longer.
    Least,
    /// The largest: rates, which noise only makes smaller.
    Most,
    /// The one in the middle, or the mean of two: memory, counts and percentiles.
    Middle,
}

impl Pick {
    /// How a figure is picked, by its name.
    fn of(figure: &str) -> Self {
        match Unit::of(figure) {
            // Percentiles are rates of rare events: the quietest round flatters them.
            _ if PERCENTILES.iter().any(|(name, _)| *name == figure) || figure == "max" => Pick::Middle,
            Unit::PerSecond => Pick::Most,
            Unit::Bytes | Unit::Count => Pick::Middle,
            Unit::Seconds | Unit::Nanos => Pick::Least,
        }
    }
}

impl Results {
    pub(super) fn add(&mut self, row: &str, contender: Contender, figure: &str, value: f64) {
        if !self.rows.iter().any(|known| known == row) {
            self.rows.push(row.to_owned());
        }
        self.figures.entry((row.to_owned(), contender, figure.to_owned())).or_default().push(value);
    }

    /// Writes all figures to a file, from which the page can be made without measuring.
    pub(super) fn save(&self, file: &Path) -> Result<(), Error> {
        let mut lines = Vec::new();
        for row in &self.rows {
            let of_row = self.figures.iter().filter(|((name, _, _), _)| name == row);
            for ((_, who, figure), values) in of_row {
                let (who, figure, values) = (who.to_string(), figure.clone(), values.clone());
                lines.push(serde_json::to_string(&Kept { row: row.clone(), who, figure, values })?);
            }
        }
        let run = serde_json::to_string_pretty(&self.run)?;
        let text = format!("{{\"run\": {run},\n\"figures\": [\n{}\n]}}\n", lines.join(",\n"));
        Ok(std::fs::write(file, text)?)
    }

    pub(super) fn load(file: &Path) -> Result<Self, Error> {
        let KeptRun { run, figures } = serde_json::from_slice(&std::fs::read(file)?)?;
        let mut results = Self { run, ..Self::default() };
        for Kept { row, who, figure, values } in figures {
            let contender = Contender::ALL.into_iter().find(|contender| contender.to_string() == who);
            let contender = contender.ok_or_else(|| format!("there is no contender {who:?}"))?;
            for value in values {
                results.add(&row, contender, &figure, value);
            }
        }
        Ok(results)
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(String::as_str)
    }

    /// The contenders of a row and the names of its figures.
    pub(super) fn of_row(&self, row: &str) -> (Vec<Contender>, Vec<&str>) {
        let keys = || self.figures.keys().filter(|(name, _, _)| name == row);
        let contenders = Contender::ALL.into_iter().filter(|who| keys().any(|(_, known, _)| known == who));
        let mut names: Vec<&str> = keys().map(|(_, _, figure)| figure.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        (contenders.collect(), names)
    }

    /// How far wall times of several rounds are apart, the median over all rows: 0.1 is a tenth.
    pub(super) fn spread(&self) -> Option<f64> {
        let times = self.figures.iter().filter(|((_, _, figure), all)| figure == "seconds" && all.len() > 1);
        let spread = |all: &[f64]| {
            let [least, most] =
                [f64::min, f64::max].map(|pick| all.iter().copied().reduce(pick).unwrap_or(0.0));
            most / least - 1.0
        };
        let mut spreads: Vec<f64> =
            times.map(|(_, all)| spread(all)).filter(|spread| spread.is_finite()).collect();
        spreads.sort_unstable_by(f64::total_cmp);
        spreads.get(spreads.len() / 2).copied()
    }

    pub(super) fn get(&self, row: &str, contender: Contender, figure: &str) -> Option<f64> {
        let mut values = self.figures.get(&(row.to_owned(), contender, figure.to_owned()))?.clone();
        values.sort_unstable_by(f64::total_cmp);
        match Pick::of(figure) {
            Pick::Least => values.first().copied(),
            Pick::Most => values.last().copied(),
            Pick::Middle => {
                let last = values.len().checked_sub(1)?;
                Some(f64::midpoint(values[last / 2], values[last.div_ceil(2)]))
            }
        }
    }

    /// The figure of a library in the better of its ways, LIST and WatchList; other contenders have one way.
    pub(super) fn best(&self, row: &str, contender: Contender, figure: &str) -> Option<f64> {
        let ways = match contender {
            CLIENT_GO => [CLIENT_GO, CLIENT_GO_LIST],
            KUBE_RS => [KUBE_RS, KUBE_RS_LIST],
            other => [other; 2],
        };
        let more_is_better = Unit::of(figure).more_is_better();
        let values = ways.into_iter().filter_map(|contender| self.get(row, contender, figure));
        values.reduce(|one, other| if (one > other) == more_is_better { one } else { other })
    }
}

#[cfg(test)]
mod tests {
    use super::super::contender::{OURS, PACKED};
    use super::*;

    #[test]
    fn times_are_the_least_rates_the_most_and_memory_the_middle() {
        let mut results = Results::default();
        for figure in ["seconds", "per_second", "resident"] {
            for value in [2.0, 1.0, 5.0] {
                results.add("row", PACKED, figure, value);
            }
        }
        let picked =
            ["seconds", "per_second", "resident"].map(|figure| results.get("row", PACKED, figure).unwrap());
        assert_eq!(picked, [1.0, 5.0, 2.0]);
        assert_eq!(results.get("row", PACKED, "peak"), None);
        results.add("row", PACKED, "resident", 3.0);
        assert_eq!(results.get("row", PACKED, "resident"), Some(2.5), "of an even number, the mean of two");
    }

    #[test]
    fn the_better_way_of_a_library_counts() {
        let mut results = Results::default();
        for (way, seconds, rate) in [(CLIENT_GO_LIST, 3.0, 100.0), (CLIENT_GO, 4.0, 200.0)] {
            results.add("row", way, "seconds", seconds);
            results.add("row", way, "per_second", rate);
        }
        assert_eq!(results.best("row", CLIENT_GO, "seconds"), Some(3.0));
        assert_eq!(results.best("row", CLIENT_GO, "per_second"), Some(200.0));
        assert_eq!(results.best("row", KUBE_RS, "seconds"), None);
    }

    #[test]
    fn figures_come_back_from_a_file_as_they_were() {
        let file =
            std::env::temp_dir().join(format!("kube-informer-bench-results-{}.json", std::process::id()));
        let mut results = Results::default();
        results.run.command = "cargo xtask bench".to_owned();
        for value in [1.0, 2.5] {
            results.add("sync", OURS, "seconds", value);
        }
        results.save(&file).unwrap();
        let loaded = Results::load(&file);
        std::fs::remove_file(&file).unwrap();
        let loaded = loaded.unwrap();
        assert_eq!(loaded.figures, results.figures);
        assert_eq!(loaded.rows, results.rows);
        assert_eq!(loaded.run.command, results.run.command);
        assert_eq!(loaded.spread(), Some(1.5));
    }
}
