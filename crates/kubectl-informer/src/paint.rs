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

/// Text from elsewhere, with escapes for what a terminal would obey, hide or show in another order.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_deceptive) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_deceptive(c) { clean.extend(c.escape_default()) } else { clean.push(c) }
    }
    Cow::Owned(clean)
}

/// Whether a terminal obeys a character, hides it, or is made to show others in another order or on another line:
/// controls (C0, DEL, C1), all that Unicode calls `Bidi_Control` or `Default_Ignorable_Code_Point`, separators of lines
/// and paragraphs, and marks of interlinear annotations.
pub(crate) fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
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

    #[test]
    fn a_value_cannot_be_shown_in_another_order_or_hidden() {
        let bidi = ['\u{61c}', '\u{200e}', '\u{200f}'].into_iter();
        let bidi = bidi.chain('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}');
        let hidden =
            ['\u{200b}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{ad}', '\u{e0041}', '\u{2028}', '\u{2029}'];
        for c in bidi.chain(hidden) {
            let shown = harmless(&format!("a{c}b")).into_owned();
            assert_eq!(shown, format!("a\\u{{{:x}}}b", u32::from(c)));
        }
        assert_eq!(harmless("naïve 日本語 עברית 🙂"), "naïve 日本語 עברית 🙂");
    }
}
