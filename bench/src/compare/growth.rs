//! What one more object costs.
//!
//! A machine is quick for a while and slow for a while, and a short sync can fall whole into a quick moment, which a long one
//! hardly can. So syncs are taken in blocks: in each, as many of each size as copy the same number of objects, one size right
//! after the other. What large copies cost beside small ones is told from each block by itself, and the block in the middle
//! counts.

use super::plan::{OURS, Sizes, row};
use super::{Compare, TOUCHED_EACH};
use crate::Error;
use crate::replay::Replay;
use crate::report::say;

/// What a sync tells, and what that says of one more object.
const TOLD: [(&str, &str); 2] = [("seconds", SECONDS), ("cpu", CPU)];

/// What one more object costs in wall time, large ÷ small.
pub(super) const SECONDS: &str = "growth_seconds";

/// The same in CPU time.
pub(super) const CPU: &str = "growth_cpu";

/// The name of a row.
pub(super) fn growth(count: u64) -> String {
    row("growth", "pods", count)
}

/// What each object costs between a middle and a large size, ÷ what it costs between a small and the middle one. Each is how
/// many objects there are, and what all of them cost. None if more objects cost nothing: that is noise.
pub(super) fn slope_of_slopes([small, middle, large]: [(u64, f64); 3]) -> Option<f64> {
    let slope = |from: (u64, f64), to: (u64, f64)| {
        let slope = (to.1 - from.1) / to.0.checked_sub(from.0)? as f64;
        (slope.is_finite() && slope > 0.0).then_some(slope)
    };
    Some(slope(middle, large)? / slope(small, middle)?)
}

impl Compare<'_> {
    /// Syncs of the three largest sizes; with fewer nothing can be compared.
    pub(super) async fn growth(&mut self, sizes: &Sizes) -> Result<(), Error> {
        let [.., small, middle, large] = *sizes.pods else { return Ok(()) };
        if !self.wants(&growth(large)) {
            return Ok(());
        }
        let counts = [small, middle, large];
        let mut servers = Vec::new();
        for count in counts {
            servers.push(Replay::start(count, 0).await?);
        }
        for block in 1..=self.options.rounds * sizes.growth_blocks {
            for who in OURS {
                let mut means = [[0.0; TOLD.len()]; 3];
                // Small to large and large to small in turns: a machine that slows down favours neither.
                let order = if block % 2 == 0 { [2, 1, 0] } else { [0, 1, 2] };
                for size in order {
                    let (count, replay, means) = (counts[size], &servers[size], &mut means[size]);
                    let times = (large / count).max(1);
                    let arguments = [
                        ("step", "sync".to_owned()),
                        ("count", count.to_string()),
                        ("settle", "0".to_owned()),
                        ("url", replay.url().to_owned()),
                    ];
                    for _ in 0..times {
                        replay.reset().await?;
                        self.programs.touch(count * TOUCHED_EACH).await?;
                        for told in self.programs.measure(who, &arguments).await? {
                            let of = TOLD.iter().zip(&mut *means).find(|((name, _), _)| *name == told.figure);
                            if let Some((_, mean)) = of {
                                *mean += told.value / times as f64;
                            }
                        }
                    }
                }
                for (at, (told, name)) in TOLD.iter().enumerate() {
                    let of = [0, 1, 2].map(|size: usize| (counts[size], means[size][at]));
                    let value = slope_of_slopes(of);
                    say(&format!(
                        "growth, block {block}, {who}: {name} {value:.3?}, {told} of one sync {of:.4?}"
                    ));
                    if let Some(value) = value {
                        self.results.add(&growth(large), who, name, value);
                    }
                }
            }
        }
        for replay in servers {
            replay.stop().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::slope_of_slopes;

    #[test]
    fn what_is_the_same_for_all_sizes_does_not_count() {
        let linear = slope_of_slopes([(10, 5.0 + 1.0), (100, 5.0 + 10.0), (1_000, 5.0 + 100.0)]);
        assert!((linear.unwrap() - 1.0).abs() < 1e-9);
        let more = slope_of_slopes([(10, 1.0), (100, 10.0), (1_000, 10.0 + 90.0 * 1.2)]);
        assert!((more.unwrap() - 1.2).abs() < 1e-9);
    }

    #[test]
    fn objects_that_cost_nothing_say_nothing() {
        assert_eq!(slope_of_slopes([(10, 2.0), (100, 1.0), (1_000, 9.0)]), None);
        assert_eq!(slope_of_slopes([(10, 0.0), (100, 0.0), (1_000, 0.0)]), None);
        assert_eq!(slope_of_slopes([(100, 1.0), (10, 2.0), (1_000, 9.0)]), None);
    }
}
