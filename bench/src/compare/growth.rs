//! What one more object costs.
//!
//! A short sync can fall whole into a quick moment of the machine, and a long one hardly can: of a few of each, the quickest can
//! say that large copies cost more when they do not. So as many syncs of each size are taken as copy the same number of objects,
//! sizes take turns, and it is the mean that counts.

use super::plan::{OURS, Sizes, row};
use super::{Compare, TOUCHED_EACH};
use crate::Error;
use crate::replay::Replay;
use crate::report::say;

/// No more syncs than this are taken together.
const MOST_SYNCS: u64 = 300;

/// What is told, and the mean of it.
const MEANS: [(&str, &str); 2] = [("seconds", "mean_seconds"), ("cpu", "mean_cpu")];

/// The name of a row.
pub(super) fn growth(count: u64) -> String {
    row("growth", "pods", count)
}

impl Compare<'_> {
    /// Syncs of the three largest sizes; with fewer nothing can be compared.
    pub(super) async fn growth(&mut self, sizes: &Sizes) -> Result<(), Error> {
        let [.., small, middle, large] = *sizes.pods else { return Ok(()) };
        let mut servers = Vec::new();
        for count in [small, middle, large].into_iter().filter(|&count| self.wants(&growth(count))) {
            servers.push((count, Replay::start(count, 0).await?));
        }
        for round in 1..=self.options.rounds {
            for who in OURS {
                for (count, replay) in &servers {
                    let row = growth(*count);
                    let times = (sizes.large_syncs * large / count).clamp(1, MOST_SYNCS);
                    let arguments = [
                        ("step", "sync".to_owned()),
                        ("count", count.to_string()),
                        ("settle", "0".to_owned()),
                        ("url", replay.url().to_owned()),
                    ];
                    let mut sums = MEANS.map(|_| 0.0);
                    for _ in 0..times {
                        replay.reset().await?;
                        self.programs.touch(count * TOUCHED_EACH).await?;
                        for told in self.programs.measure(who, &arguments).await? {
                            let of =
                                MEANS.iter().zip(&mut sums).find(|((figure, _), _)| *figure == told.figure);
                            if let Some((_, sum)) = of {
                                *sum += told.value;
                            }
                        }
                    }
                    for ((_, mean), sum) in MEANS.iter().zip(sums) {
                        let value = sum / times as f64;
                        say(&format!("{row}, round {round}, {who}: {mean} {value:.5}, of {times} syncs"));
                        self.results.add(&row, who, mean, value);
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
