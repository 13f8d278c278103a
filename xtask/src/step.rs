//! One command after the other, with a line before each and a summary at the end.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A command to run.
#[derive(Debug)]
pub(crate) struct Step {
    name: &'static str,
    program: String,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
    folder: Option<PathBuf>,
}

/// What went wrong.
#[derive(Debug)]
pub(crate) struct Failed(String);

impl Failed {
    pub(crate) fn new(why: String) -> Self {
        Self(why)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How the names of variables begin that cargo sets for the program that it runs.
const ABOUT_THIS: [&str; 2] = ["CARGO_PKG_", "CARGO_MANIFEST_"];

impl Step {
    pub(crate) fn new(name: &'static str, program: &str, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { name, program: program.to_owned(), arguments, environment: Vec::new(), folder: None }
    }

    /// A cargo command, with the cargo that runs this program.
    pub(crate) fn cargo(name: &'static str, arguments: &[&str]) -> Self {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        Self::new(name, &cargo, arguments)
    }

    /// Another of these commands.
    pub(crate) fn this(name: &'static str, arguments: &[&str]) -> Result<Self, Failed> {
        let this = std::env::current_exe();
        let this = this.map_err(|error| Failed(format!("{name}: cannot find this program: {error}")))?;
        Ok(Self::new(name, &this.to_string_lossy(), arguments))
    }

    pub(crate) fn env(mut self, key: &'static str, value: &str) -> Self {
        self.environment.push((key, value.to_owned()));
        self
    }

    pub(crate) fn inside(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        // Variables about this program, from the cargo that runs it. Some build scripts look at them, and would be run again,
        // with all that depends on them, whenever the same command is given by hand.
        for (key, _) in std::env::vars_os() {
            if key.to_str().is_some_and(|key| ABOUT_THIS.iter().any(|prefix| key.starts_with(prefix))) {
                command.env_remove(key);
            }
        }
        command.envs(self.environment.iter().map(|(key, value)| (key, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    fn cannot_start(&self, error: &std::io::Error) -> Failed {
        Failed(format!("{}: cannot run {}: {error}", self.name, self.program))
    }
}

/// Runs all steps, until one fails.
pub(crate) fn run_all(steps: &[Step]) -> Result<(), Failed> {
    let mut times = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        say(&bold(&format!("[{}/{}] {}", at + 1, steps.len(), step.name)));
        let begun = now();
        run(step)?;
        times.push((step.name, begun.elapsed()));
    }
    say("");
    for (name, time) in &times {
        say(&format!("  {name:<22} {:>7.1} s", time.as_secs_f64()));
    }
    let all: Duration = times.iter().map(|(_, time)| *time).sum();
    say(&bold(&format!("everything passed in {:.0} s", all.as_secs_f64())));
    Ok(())
}

/// Runs one step; its output goes where ours goes.
pub(crate) fn run(step: &Step) -> Result<(), Failed> {
    let status = step.command().status().map_err(|error| step.cannot_start(&error))?;
    if status.success() {
        return Ok(());
    }
    let command = format!(
        "{} {}",
        Path::new(&step.program).file_name().unwrap_or_default().to_string_lossy(),
        step.arguments.join(" ")
    );
    Err(Failed(format!("{} failed; to see it again: {command}", step.name)))
}

/// Whether a command can be run at all; what it prints is dropped.
pub(crate) fn works(step: &Step) -> bool {
    let status = step.command().stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Runs one step and returns what it prints.
pub(crate) fn output(step: &Step) -> Result<Vec<u8>, Failed> {
    let output =
        step.command().stderr(Stdio::inherit()).output().map_err(|error| step.cannot_start(&error))?;
    if output.status.success() { Ok(output.stdout) } else { Err(Failed(format!("{} failed", step.name))) }
}

/// What one step prints, if it can be run and succeeds; complaints are dropped.
pub(crate) fn quiet_output(step: &Step) -> Option<String> {
    let output = step.command().stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

pub(crate) fn complain(failed: &Failed) {
    let _ = writeln!(std::io::stderr(), "error: {failed}");
}

fn bold(text: &str) -> String {
    if std::io::stdout().is_terminal() { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}

#[expect(clippy::disallowed_methods, reason = "how long a person waited is wall-clock time")]
fn now() -> Instant {
    Instant::now()
}
