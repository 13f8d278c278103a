//! What this process needs.

use super::figure;
use crate::memory;

/// The system counts time in pieces of this many seconds.
const TICK: f64 = 0.01;

/// How many seconds all threads of this process have worked; zero where the system does not tell.
pub(super) fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field, the program's name, may have spaces; the others are counted from behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    ticks.iter().sum::<f64>() * TICK
}

/// Makes the present the peak.
pub(super) fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Prints what this process holds.
pub(super) fn tell_memory() {
    let (resident, peak) = memory::own();
    figure("resident", resident as f64);
    figure("peak", peak as f64);
}
