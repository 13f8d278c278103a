//! Lines for people: coloured on a terminal, plain everywhere else.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};

pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// Whether there are colours.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paint {
    colours: bool,
}

impl Paint {
    pub(crate) fn of_stdout() -> Self {
        Self { colours: std::io::stdout().is_terminal() && !no_color() }
    }

    pub(crate) fn of_stderr() -> Self {
        Self { colours: std::io::stderr().is_terminal() && !no_color() }
    }

    pub(crate) fn painted(self, style: Style, text: &str) -> String {
        if text.is_empty() || !self.colours { text.to_owned() } else { format!("{style}{text}{style:#}") }
    }
}

/// A line by the way.
pub(crate) fn note(text: &str) {
    say(&Paint::of_stdout().painted(DIM, text));
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
    let label = Paint::of_stderr().painted(RED, "error:");
    let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = writeln!(std::io::stderr(), "{label} {}", harmless(&error));
}

/// Text from elsewhere, without what a terminal would take for a command.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() { clean.extend(c.escape_default()) } else { clean.push(c) }
    }
    Cow::Owned(clean)
}

fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_only_where_they_are_wanted() {
        assert_eq!(Paint { colours: true }.painted(RED, "x"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(Paint { colours: true }.painted(RED, ""), "");
        assert_eq!(Paint::default().painted(RED, "x"), "x");
    }

    #[test]
    fn a_value_cannot_command_the_terminal() {
        assert_eq!(harmless("a\u{1b}[2J\nb\u{9b}"), "a\\u{1b}[2J\\nb\\u{9b}");
        assert_eq!(harmless("grün → 3"), "grün → 3");
    }
}
