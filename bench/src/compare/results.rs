//! Figures of several rounds.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::contender::{Contender, Way};
use crate::Error;

/// All figures: by row, contender and name, one for each round.
#[derive(Debug, Default)]
pub(super) struct Results(BTreeMap<(String, Contender, String), Vec<f64>>);

/// One figure of one round, as it is kept in a file: a line of JSON each.
#[derive(Debug, Deserialize, Serialize)]
struct Kept {
    row: String,
    who: String,
    figure: String,
    value: f64,
}

/// Which of several rounds counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// The smallest: times, which noise only makes longer.
    Least,
    /// The largest: rates, which noise only makes smaller.
    Most,
    /// The one in the middle, or the mean of two: memory, shares, and what one more object costs.
    Middle,
}

impl Pick {
    /// How a figure is picked, by its name.
    pub(super) fn of(figure: &str) -> Self {
        match figure {
            "per_second" | "writer_alone" => Pick::Most,
            _ if figure.ends_with("_writer") => Pick::Most,
            _ if figure.starts_with("resident") || figure == "peak" || figure.ends_with("_found") => {
                Pick::Middle
            }
            // What one more object costs is told from many syncs already.
            _ if figure.starts_with("growth_") => Pick::Middle,
            _ => Pick::Least,
        }
    }
}

impl Results {
    pub(super) fn add(&mut self, row: &str, contender: Contender, figure: &str, value: f64) {
        self.0.entry((row.to_owned(), contender, figure.to_owned())).or_default().push(value);
    }

    /// Keeps all figures in a file, so that the page can be made again without measuring.
    pub(super) fn save(&self, file: &Path) -> Result<(), Error> {
        let mut text = String::new();
        for ((row, who, figure), values) in &self.0 {
            for &value in values {
                let kept = Kept { row: row.clone(), who: who.to_string(), figure: figure.clone(), value };
                text += &serde_json::to_string(&kept)?;
                text.push('\n');
            }
        }
        Ok(std::fs::write(file, text)?)
    }

    /// How many rounds there were, at least and at most: figures from a file may be of several runs.
    pub(super) fn rounds(&self) -> (usize, usize) {
        let rounds = || {
            self.0
                .iter()
                .filter(|((row, _, figure), _)| {
                    !figure.ends_with("instructions") && !row.starts_with("growth")
                })
                .map(|(_, all)| all.len())
        };
        (rounds().min().unwrap_or(0), rounds().max().unwrap_or(0))
    }

    pub(super) fn load(file: &Path) -> Result<Self, Error> {
        let mut results = Self::default();
        for line in std::fs::read_to_string(file)?.lines() {
            let Kept { row, who, figure, value } = serde_json::from_str(line)?;
            let contender = Contender::ALL.into_iter().find(|contender| contender.to_string() == who);
            results.add(&row, contender.ok_or_else(|| format!("nobody is called {who:?}"))?, &figure, value);
        }
        Ok(results)
    }

    pub(super) fn get(&self, row: &str, contender: Contender, figure: &str) -> Option<f64> {
        let values = self.0.get(&(row.to_owned(), contender, figure.to_owned()))?;
        let mut values = values.clone();
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

    /// client-go's better way on a row.
    pub(super) fn client_go(&self, row: &str, figure: &str) -> Option<f64> {
        self.better(row, figure, [Way::List, Way::WatchList].map(Contender::ClientGo))
    }

    /// kube-runtime's better way on a row.
    pub(super) fn kube_runtime(&self, row: &str, figure: &str) -> Option<f64> {
        self.better(row, figure, [Way::List, Way::WatchList].map(Contender::KubeRuntime))
    }

    fn better(&self, row: &str, figure: &str, ways: [Contender; 2]) -> Option<f64> {
        let values = ways.into_iter().filter_map(|contender| self.get(row, contender, figure));
        let more_is_better = Pick::of(figure) == Pick::Most;
        values.reduce(|one, other| if (one > other) == more_is_better { one } else { other })
    }
}

#[cfg(test)]
mod tests {
    use super::super::contender::Residency;
    use super::*;

    #[test]
    fn times_are_the_least_rates_the_most_and_memory_the_middle() {
        let mut results = Results::default();
        let ours = Contender::Ours(Residency::Packed);
        for figure in ["seconds", "per_second", "resident"] {
            for value in [2.0, 1.0, 5.0] {
                results.add("row", ours, figure, value);
            }
        }
        let picked =
            ["seconds", "per_second", "resident"].map(|figure| results.get("row", ours, figure).unwrap());
        assert_eq!(picked, [1.0, 5.0, 2.0]);
        assert_eq!(results.get("row", ours, "peak"), None);
        results.add("row", ours, "resident", 3.0);
        assert_eq!(results.get("row", ours, "resident"), Some(2.5), "of an even number, the mean of two");
    }

    #[test]
    fn the_better_way_of_a_peer_counts() {
        let mut results = Results::default();
        for (way, seconds, rate) in [(Way::List, 3.0, 100.0), (Way::WatchList, 4.0, 200.0)] {
            results.add("row", Contender::ClientGo(way), "seconds", seconds);
            results.add("row", Contender::ClientGo(way), "per_second", rate);
        }
        assert_eq!(results.client_go("row", "seconds"), Some(3.0));
        assert_eq!(results.client_go("row", "per_second"), Some(200.0));
        assert_eq!(results.kube_runtime("row", "seconds"), None);
    }
}
