//! What one more object costs.
//!
//! A short sync can fall whole into a quick moment of the machine, and a long one cannot: the quickest of a few of each would
//! say that large copies cost more, though they do not. So of each size as many syncs are taken together as copy the same
//! number of objects, and sizes take turns.

use std::collections::BTreeMap;

use super::plan::{OURS, row};
use super::{Compare, TOUCHED_EACH};
use crate::Error;
use crate::replay::Replay;
use crate::report::say;

/// No more syncs than this are taken together.
const MOST_SYNCS: u64 = 100;

/// The name of a row.
pub(super) fn growth(count: u64) -> String {
    row("growth", "pods", count)
}

impl Compare<'_> {
    /// Syncs of all sizes; needs three, or nothing can be compared.
    pub(super) async fn growth(&mut self, sizes: &[u64]) -> Result<(), Error> {
        let Some(&large) = sizes.last().filter(|_| sizes.len() >= 3) else { return Ok(()) };
        let mut servers = Vec::new();
        for &count in sizes.iter().filter(|&&count| self.wants(&growth(count))) {
            servers.push((count, Replay::start(count, 0).await?));
        }
        for round in 1..=self.options.rounds {
            for who in OURS {
                for (count, replay) in &servers {
                    let times = (large / count).clamp(1, MOST_SYNCS);
                    let mut sums = BTreeMap::<String, f64>::new();
                    for _ in 0..times {
                        replay.reset().await?;
                        self.programs.touch(count * TOUCHED_EACH).await?;
                        let arguments = [
                            ("step", "sync".to_owned()),
                            ("count", count.to_string()),
                            ("settle", "0".to_owned()),
                            ("url", replay.url().to_owned()),
                        ];
                        for figure in self.programs.measure(who, &arguments).await? {
                            *sums.entry(figure.figure).or_default() += figure.value;
                        }
                    }
                    for (figure, sum) in
                        sums.iter().filter(|(figure, _)| ["seconds", "cpu"].contains(&figure.as_str()))
                    {
                        let mean = sum / times as f64;
                        say(&format!(
                            "{}, round {round}, {who}: {figure} {mean:.5}, the mean of {times}",
                            growth(*count)
                        ));
                        self.results.add(&growth(*count), who, figure, mean);
                    }
                }
            }
        }
        for (_, replay) in servers {
            replay.stop().await?;
        }
        Ok(())
    }
}
