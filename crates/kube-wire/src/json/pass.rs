//! Values that nobody wants, passed over. They are looked at as far as is needed to know that they are JSON.

use super::text;
use crate::value::Error;

/// Goes behind a value. `around` is memory for what is open around the innermost list or object in it, and empty.
pub(super) fn value(text: &[u8], at: &mut usize, around: &mut Vec<u8>) -> Result<(), Error> {
    // The bracket or brace that was opened last, if it is not the value itself that comes next.
    let mut open = NONE;
    loop {
        match next(text, at) {
            Some(b'"') => string(text, at)?,
            Some(b'-' | b'0'..=b'9') => number(text, at)?,
            Some(b't') => word(text, at, b"true")?,
            Some(b'f') => word(text, at, b"false")?,
            Some(b'n') => word(text, at, b"null")?,
            Some(first @ (b'[' | b'{')) => {
                *at += 1;
                if !take(text, at, other(first)) {
                    around.push(std::mem::replace(&mut open, first));
                    name(open, text, at)?;
                    continue;
                }
            }
            Some(_) => return Err(Error::new("expected value")),
            None => return Err(Error::new("EOF while parsing a value")),
        }
        // What is open goes on, or ends.
        while open != NONE {
            match next(text, at) {
                Some(b',') => {
                    *at += 1;
                    name(open, text, at)?;
                    break;
                }
                Some(end) if end == other(open) => {
                    *at += 1;
                    open = around.pop().unwrap_or(NONE);
                }
                _ => return Err(wanted_in(open, &text[*at..])),
            }
        }
        if open == NONE {
            return Ok(());
        }
    }
}

/// Neither a bracket nor a brace.
const NONE: u8 = 0;

/// What is wrong behind a value that is in a list or an object, where this comes next.
#[cold]
pub(super) fn wanted_in(open: u8, rest: &[u8]) -> Error {
    Error::new(match (open, rest) {
        (b'[', []) => "EOF while parsing a list",
        (b'[', _) => "expected `,` or `]`",
        (_, []) => "EOF while parsing an object",
        _ => "expected `,` or `}`",
    })
}

/// What closes a bracket or a brace: in ASCII there is one character between them.
#[inline]
pub(super) fn other(open: u8) -> u8 {
    open + 2
}

/// The next byte that is no space.
#[inline(always)]
pub(super) fn next(text: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        let byte = *text.get(*at)?;
        if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
            return Some(byte);
        }
        *at += 1;
    }
}

/// Goes behind the next byte that is no space, if it is this one; whether it is.
#[inline(always)]
pub(super) fn take(text: &[u8], at: &mut usize, byte: u8) -> bool {
    let is_it = next(text, at) == Some(byte);
    *at += usize::from(is_it);
    is_it
}

/// Goes behind the name of a member, if it is an object that is open, and behind its colon.
#[inline(always)]
fn name(open: u8, text: &[u8], at: &mut usize) -> Result<(), Error> {
    if open != b'{' {
        return Ok(());
    }
    match next(text, at) {
        Some(b'"') => string(text, at)?,
        Some(_) => return Err(Error::new("key must be a string")),
        None => return Err(Error::new("EOF while parsing an object")),
    }
    if take(text, at, b':') {
        return Ok(());
    }
    Err(Error::new(if *at < text.len() { "expected `:`" } else { "EOF while parsing an object" }))
}

#[inline(always)]
fn string(text: &[u8], at: &mut usize) -> Result<(), Error> {
    *at += 1;
    loop {
        *at += text::first_odd(text.get(*at..).unwrap_or_default());
        match text.get(*at) {
            Some(b'"') => {
                *at += 1;
                return Ok(());
            }
            Some(b'\\') => *at += escape(&text[*at..])?,
            Some(_) => {
                return Err(Error::new("control character (\\u0000-\\u001F) found while parsing a string"));
            }
            None => return Err(Error::new("EOF while parsing a string")),
        }
    }
}

/// How long an escape is.
fn escape(rest: &[u8]) -> Result<usize, Error> {
    match rest {
        [_, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Ok(2),
        [_, b'u', digits @ ..] => match digits.first_chunk::<4>() {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => Ok(6),
            Some(_) => Err(Error::new("invalid escape")),
            None => Err(Error::new("EOF while parsing a string")),
        },
        [_, _, ..] => Err(Error::new("invalid escape")),
        _ => Err(Error::new("EOF while parsing a string")),
    }
}

fn number(text: &[u8], at: &mut usize) -> Result<(), Error> {
    let is = |at: usize, what: &[u8]| text.get(at).is_some_and(|byte| what.contains(byte));
    *at += usize::from(is(*at, b"-"));
    if is(*at, b"0") {
        *at += 1;
    } else {
        digits(text, at)?;
    }
    if is(*at, b".") {
        *at += 1;
        digits(text, at)?;
    }
    if is(*at, b"eE") {
        *at += 1;
        *at += usize::from(is(*at, b"+-"));
        digits(text, at)?;
    }
    Ok(())
}

/// Goes behind some digits; one at least.
fn digits(text: &[u8], at: &mut usize) -> Result<(), Error> {
    let begin = *at;
    while text.get(*at).is_some_and(u8::is_ascii_digit) {
        *at += 1;
    }
    if *at == begin { Err(Error::new("invalid number")) } else { Ok(()) }
}

/// Goes behind a word.
pub(super) fn word(text: &[u8], at: &mut usize, word: &[u8]) -> Result<(), Error> {
    if !text.get(*at..).is_some_and(|rest| rest.starts_with(word)) {
        return Err(Error::new("expected ident"));
    }
    *at += word.len();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::read::Reader;

    #[test]
    fn what_is_passed_over_is_what_serde_json_takes_for_a_value() {
        for value in [
            "null",
            "true",
            "false",
            "0",
            "-0",
            "1",
            "-12",
            "1.5",
            "1e3",
            "1E-3",
            "1.25e+10",
            r#""""#,
            r#""a\"b\\\u00fc""#,
            "[]",
            "[ ]",
            "{}",
            "{ }",
            "[1, [2, []], {}]",
            r#"{"a": [1, {"b": null}], "c": {}}"#,
            "\n[\t1\r]",
            // None of these is one.
            "",
            "nul",
            "tru",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "1e+",
            "+1",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[,]",
            "[1 2]",
            "]",
            "}",
            "{",
            r#"{"a""#,
            r#"{"a":"#,
            r#"{"a":1"#,
            r#"{"a":1,"#,
            r#"{"a":1,}"#,
            r#"{"a" 1}"#,
            "{1:2}",
            "[1}",
            "{]",
            r#""abc"#,
            r#""\x""#,
            r#""\u12""#,
            r#""\u12g4""#,
            "\"a\nb\"",
            r#""\"#,
            "a",
        ] {
            let mut reader = Reader::new(value);
            let passed = reader.pass_value().is_ok() && reader.peek().is_none();
            assert_eq!(passed, serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok(), "{value}");
        }
    }
}
