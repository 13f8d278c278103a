//! Figures for people, one on a line.

use std::io::Write;
use std::time::Instant;

/// A table of figures.
#[derive(Debug)]
pub(crate) struct Report {
    title: String,
    rows: Vec<(String, String)>,
}

impl Report {
    pub(crate) fn new(title: &str) -> Self {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        Self { title: format!("{title} ({cores} cores, {})", std::env::consts::ARCH), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, what: &str, figure: &str) {
        self.rows.push((what.to_owned(), figure.to_owned()));
    }

    pub(crate) fn print(&self) {
        say(&self.title);
        let width = self.rows.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
        for (what, figure) in &self.rows {
            say(&format!("  {what:<width$}  {figure}"));
        }
    }
}

pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
    let _ = std::io::stdout().flush();
}

/// The wall clock: what is measured here is real time.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
