//! Patterns of a schema: written for Go's regular expressions, run by Rust's.
//!
//! Both know the same language (RE2), with small differences in spelling that [`compile`] removes: in Go
//! `\d`, `\w`, `\s` and `\b` know only ASCII, a `{` that starts no repetition is a letter, and `[`, `&` and
//! `~` mean nothing special inside a class.

use std::collections::HashMap;

use regex::{Regex, RegexBuilder};

/// How large one compiled pattern may get. Go has no such limit but refuses large repetitions.
const MAX_PATTERN_SIZE: usize = 1 << 20;

/// The patterns of one definition, each compiled once (schemas repeat the same few patterns many times).
#[derive(Debug, Default)]
pub(super) struct Patterns(HashMap<String, Result<Regex, String>>);

impl Patterns {
    /// The compiled pattern, or what is wrong with it.
    pub(super) fn get(&mut self, pattern: &str) -> &Result<Regex, String> {
        self.0.entry(pattern.to_owned()).or_insert_with(|| compile(pattern))
    }
}

fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern);
    let built = translated.and_then(|text| {
        RegexBuilder::new(&text).size_limit(MAX_PATTERN_SIZE).octal(true).build().map_err(|error| {
            // The last line says what is wrong; the ones before it point into the pattern.
            let text = error.to_string();
            match text.lines().last().unwrap_or_default().trim_start_matches("error: ") {
                "unclosed group" => format!("missing closing ): `{pattern}`"),
                "unopened group" => format!("unexpected ): `{pattern}`"),
                "repetition operator missing expression" => {
                    format!("missing argument to repetition operator: `{pattern}`")
                }
                "unclosed character class" => format!("missing closing ]: `{pattern}`"),
                other => format!("{other}: `{pattern}`"),
            }
        })
    });
    built.map_err(|error| format!("error parsing regexp: {error}"))
}

/// What Go says of a group that is no group: look-ahead and look-behind, which neither engine supports.
fn lookaround(rest: &str) -> Option<String> {
    if rest.starts_with("(?<=") || rest.starts_with("(?<!") {
        // Go expects the name of a group here, and shows everything up to its end.
        let shown = rest.find('>').map_or(rest, |end| &rest[..=end]);
        return Some(format!("invalid named capture: `{shown}`"));
    }
    let look = rest.get(..3).filter(|start| matches!(*start, "(?=" | "(?!"))?;
    Some(format!("invalid or unsupported Perl syntax: `{look}`"))
}

/// Respells a Go pattern for Rust, or says what is wrong with it in Go's words.
fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut letters = pattern.char_indices().peekable();
    let mut in_class = false;
    // A `]` right behind the opening of a class is a letter.
    let mut class_start = false;
    // Where the repetition just behind starts, if there is one: Rust allows another, Go does not.
    let mut repetition: Option<usize> = None;
    while let Some((at, letter)) = letters.next() {
        let was_class_start = std::mem::take(&mut class_start);
        let was_repetition = repetition.take();
        let rest = &pattern[at..];
        match letter {
            '\\' => match letters.next() {
                Some((_, escaped)) => push_escape(&mut out, escaped, in_class),
                None => return Err("trailing backslash at end of expression: ``".to_owned()),
            },
            '[' if !in_class => {
                in_class = true;
                class_start = true;
                out.push('[');
                if letters.next_if(|(_, next)| *next == '^').is_some() {
                    out.push('^');
                }
            }
            '[' if rest.starts_with("[:") => {
                // A named class such as `[:alpha:]` is the same in both.
                let end = rest.find(":]").map_or(pattern.len(), |length| at + length + 2);
                out.push_str(&pattern[at..end]);
                while letters.next_if(|(next, _)| *next < end).is_some() {}
            }
            '[' | '&' | '~' if in_class => {
                out.push('\\');
                out.push(letter);
            }
            ']' if in_class && !was_class_start => {
                in_class = false;
                out.push(']');
            }
            _ if in_class => out.push(letter),
            '{' if repetition_length(rest).is_none() => out.push_str("\\{"),
            '*' | '+' | '?' | '{' => {
                let end = at + repetition_length(rest).unwrap_or(1);
                if let Some(start) = was_repetition {
                    return Err(format!("invalid nested repetition operator: `{}`", &pattern[start..end]));
                }
                out.push_str(&pattern[at..end]);
                while letters.next_if(|(next, _)| *next < end).is_some() {}
                if letters.next_if(|(_, next)| *next == '?').is_some() {
                    out.push('?');
                }
                repetition = Some(at);
            }
            '(' => {
                if let Some(wrong) = lookaround(rest) {
                    return Err(wrong);
                }
                out.push('(');
                // The `?` of `(?:` repeats nothing.
                if letters.next_if(|(_, next)| *next == '?').is_some() {
                    out.push('?');
                }
            }
            _ => out.push(letter),
        }
    }
    Ok(out)
}

fn push_escape(out: &mut String, escaped: char, in_class: bool) {
    match escaped {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str("[\\t\\n\\f\\r ]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'b' if !in_class => out.push_str("(?-u:\\b)"),
        escaped => {
            out.push('\\');
            out.push(escaped);
        }
    }
}

/// The length of `{2}`, `{2,}` or `{2,3}` at the start of a text.
fn repetition_length(text: &str) -> Option<usize> {
    let (inner, _) = text.strip_prefix('{')?.split_once('}')?;
    let (least, most) = inner.split_once(',').unwrap_or((inner, ""));
    let counts = !least.is_empty() && least.bytes().chain(most.bytes()).all(|b| b.is_ascii_digit());
    counts.then_some(inner.len() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        compile(pattern).expect(pattern).is_match(text)
    }

    #[test]
    fn digit_and_word_classes_are_ascii_as_in_go() {
        assert!(matches(r"^\d+$", "123"));
        assert!(!matches(r"^\d+$", "١٢٣"));
        assert!(!matches(r"^\w+$", "é"));
        assert!(matches(r"^[\w.-]+$", "a.b-c"));
    }

    #[test]
    fn a_brace_that_starts_no_repetition_is_a_letter() {
        assert!(matches(r"^{a}$", "{a}"));
        assert!(matches(r"^a{2,3}$", "aaa"));
        assert!(matches(r"^\${[a-z]+}$", "${name}"));
    }

    #[test]
    fn brackets_and_ampersands_inside_a_class_are_letters() {
        assert!(matches(r"^[a[&&~]+$", "[&~a"));
        assert!(matches(r"^[]a]+$", "]a"));
        assert!(matches(r"^[^]a]+$", "bc"));
        assert!(matches(r"^[[:alpha:]_]+$", "ab_"));
    }

    #[test]
    fn lookaround_is_reported_in_go_words() {
        assert_eq!(
            compile("^(?!foo).*$").unwrap_err(),
            "error parsing regexp: invalid or unsupported Perl syntax: `(?!`"
        );
        assert_eq!(compile("(?<=x)a").unwrap_err(), "error parsing regexp: invalid named capture: `(?<=x)a`");
        assert!(compile(r"^\(?!a$").is_ok(), "an escaped parenthesis opens no group");
    }

    #[test]
    fn a_repetition_cannot_be_repeated() {
        assert_eq!(
            compile("a**").unwrap_err(),
            "error parsing regexp: invalid nested repetition operator: `**`"
        );
        assert!(compile("a{2}+").is_err());
        assert!(compile("^(?:a+?b*)*[*+]{2}?$").is_ok());
    }

    #[test]
    fn patterns_that_do_not_parse_or_are_too_large_are_errors() {
        assert!(compile("^(a$").is_err());
        assert!(compile("(a{1000}){1000}").is_err());
    }
}
