//! What a process weighs.

use crate::report::Report;

/// The resident memory of a process, in bytes. Linux only.
pub(crate) fn resident(process: u32) -> Option<usize> {
    read(&process.to_string(), "VmRSS:")
}

/// How large the pieces are in which memory is touched.
const PAGE: usize = 4 << 10;

/// Uses so much memory once, but no more than half of what there is, and gives it back.
pub(crate) fn touch(bytes: usize) {
    let bytes = bytes.min(read_file("/proc/meminfo", "MemAvailable:").unwrap_or(0) / 2);
    let mut memory = vec![0_u8; bytes];
    memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    std::hint::black_box(&memory);
}

/// The resident memory of this process now and at its peak, in bytes; zero where the system does not tell.
pub(crate) fn own() -> (usize, usize) {
    (read("self", "VmRSS:").unwrap_or(0), read("self", "VmHWM:").unwrap_or(0))
}

fn read(process: &str, field: &str) -> Option<usize> {
    read_file(&format!("/proc/{process}/status"), field)
}

/// A field of a file of the kernel's, in bytes.
fn read_file(file: &str, field: &str) -> Option<usize> {
    let status = std::fs::read_to_string(file).ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

pub(crate) fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// Reports memory per object.
pub(crate) fn weigh(
    before: Option<usize>,
    after: Option<usize>,
    objects: usize,
    json_bytes: usize,
    report: &mut Report,
) {
    let json = json_bytes as f64 / objects as f64;
    report.row("JSON of one pod, as stored", &format!("{json:.0} bytes"));
    if let (Some(before), Some(after)) = (before, after) {
        let each = after.saturating_sub(before) as f64 / objects as f64;
        report.row(
            "server memory per pod",
            &format!("{each:.0} bytes resident, {:.2} x its JSON", each / json),
        );
    }
}
