//! The time and memory that this process takes.

use super::figure;
use crate::memory;

/// The system counts time in pieces of this many seconds.
const TICK: f64 = 0.01;

/// How many seconds all threads of this process have worked; zero where the system does not tell.
///
/// The system tells it twice: of the whole process in ticks, of which one that has begun does not count, and to the nanosecond
/// of each thread that is there. Neither is ever too much.
pub(super) fn cpu() -> f64 {
    whole().max(threads())
}

fn threads() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let worked = tasks.filter_map(|task| {
        let times = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        times.split_whitespace().next()?.parse::<f64>().ok()
    });
    worked.sum::<f64>() / 1e9
}

fn whole() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field, the program's name, may have spaces; the others are counted from behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    ticks.iter().sum::<f64>() * TICK
}

/// Resets the peak to the current resident size.
pub(super) fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Prints the resident memory of this process and its peak.
pub(super) fn print_memory() {
    let (resident, peak) = memory::own();
    figure("resident", resident as f64);
    figure("peak", peak as f64);
}
