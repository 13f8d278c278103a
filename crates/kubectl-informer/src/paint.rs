//! Lines for people: coloured on a terminal, plain everywhere else.

use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};

const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const RED: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// One change, aligned: `ADDED     apps/v1 Deployment   default/web   detail`.
pub(crate) fn event(kind: &str, what: &str, name: &str, detail: &str) {
    let style = match kind {
        "ADDED" => GREEN,
        "MODIFIED" => YELLOW,
        "DELETED" | "ERROR" => RED,
        _ => DIM,
    };
    let kind = painted(style, &format!("{kind:<8}"));
    say(&format!("{kind}  {what:<22}  {name:<34}  {}", painted(DIM, detail)));
}

/// A line by the way.
pub(crate) fn note(text: &str) {
    say(&painted(DIM, text));
}

/// A line of the answer.
pub(crate) fn say(line: &str) {
    if writeln!(std::io::stdout(), "{}", line.trim_end()).is_err() {
        // The reader has gone away (`| head`): there is nobody left to tell, and that is not an error.
        std::process::exit(0);
    }
}

/// The one line that says what went wrong.
pub(crate) fn complain(error: &str) {
    let red = std::io::stderr().is_terminal() && !no_color();
    let label = if red { format!("{RED}error:{RED:#}") } else { "error:".to_owned() };
    let _ = writeln!(std::io::stderr(), "{label} {error}");
}

fn painted(style: Style, text: &str) -> String {
    if text.is_empty() || no_color() || !std::io::stdout().is_terminal() {
        return text.to_owned();
    }
    format!("{style}{text}{style:#}")
}

fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}
