//! A text, read from its beginning to its end: what JSON is made of, and nothing of what types make of it.

use std::borrow::Cow;

use super::{pass, text};
use crate::value::Error;

/// A string: as it stands in the text, unless it has escapes.
pub(super) type Text<'de> = Cow<'de, str>;

/// A text, and how far it has been read.
pub(super) struct Reader<'de> {
    text: &'de str,
    at: usize,
    /// Memory for what is open around something that is passed over.
    around: Vec<u8>,
}

impl<'de> Reader<'de> {
    pub(super) fn new(text: &'de str) -> Self {
        Self { text, at: 0, around: Vec::new() }
    }

    pub(super) fn text(&self) -> &'de str {
        self.text
    }

    /// How far the text has been read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn bytes(&self) -> &'de [u8] {
        self.text.as_bytes()
    }

    /// What was not read yet.
    #[inline]
    fn rest(&self) -> &'de [u8] {
        self.bytes().get(self.at..).unwrap_or_default()
    }

    /// The next byte that is no space; it is still to be read.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        pass::next(self.bytes(), &mut self.at)
    }

    /// The same where a value has to be.
    #[inline]
    pub(super) fn peek_value(&mut self) -> Result<u8, Error> {
        self.peek().ok_or_else(|| Error::new("EOF while parsing a value"))
    }

    /// Goes on behind the byte that was peeked at.
    #[inline]
    pub(super) fn pass(&mut self) {
        self.at += 1;
    }

    /// Goes on behind the next byte that is no space, if it is this one; whether it is.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        pass::take(self.bytes(), &mut self.at, byte)
    }

    /// Goes on behind the colon between a name and its value.
    #[inline]
    pub(super) fn colon(&mut self) -> Result<(), Error> {
        if self.take(b':') { Ok(()) } else { Err(self.wanted("EOF while parsing an object", "expected `:`")) }
    }

    /// Goes on behind a word.
    pub(super) fn word(&mut self, word: &str) -> Result<(), Error> {
        pass::word(self.bytes(), &mut self.at, word.as_bytes())
    }

    /// What is wrong where the text ends, or goes on otherwise.
    #[cold]
    pub(super) fn wanted(&mut self, at_end: &str, otherwise: &str) -> Error {
        Error::new(if self.peek().is_none() { at_end } else { otherwise })
    }

    /// Reads a string, if it is one without escapes; the rest of the text begins with its quote.
    #[inline]
    pub(super) fn plain_string(&mut self) -> Option<&'de str> {
        let begin = self.at + 1;
        let end = begin + text::first_odd(self.bytes().get(begin..)?);
        if self.bytes().get(end) != Some(&b'"') {
            return None;
        }
        self.at = end + 1;
        self.text.get(begin..end)
    }

    /// The text of a string with its quotes, to wherever it ends.
    pub(super) fn odd_string(&mut self) -> &'de str {
        let begin = self.at;
        let end = self.bytes().get(begin + 1..).and_then(text::end).map(|end| begin + end + 2);
        self.at = end.unwrap_or(self.text.len());
        self.text.get(begin..self.at).unwrap_or_default()
    }

    /// Reads a string.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Text<'de>, Error> {
        match self.plain_string() {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => Ok(Cow::Owned(serde_json::from_str(self.odd_string())?)),
        }
    }

    /// The string that begins here, which was read before.
    #[cold]
    pub(super) fn string_at(&self, at: usize) -> Result<Text<'de>, Error> {
        Self::new(self.text.get(at..).unwrap_or_default()).string()
    }

    /// Reads a number that is an integer of few digits, and whether it is below zero.
    #[inline]
    pub(super) fn plain_number(&mut self) -> Option<(bool, u64)> {
        /// So many digits are always in range.
        const MOST: usize = 18;
        let rest = self.rest();
        let (negative, digits) = match rest {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        let mut number = 0;
        let mut len = 0;
        while let Some(digit @ b'0'..=b'9') = digits.get(len) {
            if len == MOST {
                return None;
            }
            number = number * 10 + u64::from(digit - b'0');
            len += 1;
        }
        let is_plain = match digits.first()? {
            b'1'..=b'9' => true,
            // `-0` is no integer.
            b'0' => len == 1 && !negative,
            _ => false,
        };
        if !is_plain || matches!(digits.get(len), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        self.at += len + usize::from(negative);
        Some((negative, number))
    }

    /// The text of a number, whatever it is.
    pub(super) fn odd_number(&mut self) -> &'de str {
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let len = self.rest().iter().take_while(|byte| is_part(byte)).count();
        let begin = self.at;
        self.at += len;
        self.text.get(begin..self.at).unwrap_or_default()
    }

    /// Passes over a value, and returns its text.
    pub(super) fn raw_value(&mut self) -> Result<&'de str, Error> {
        self.peek_value()?;
        let begin = self.at;
        self.pass_value()?;
        Ok(self.text.get(begin..self.at).unwrap_or_default())
    }

    /// Passes over a value. It is looked at as far as is needed to know that it is one.
    pub(super) fn pass_value(&mut self) -> Result<(), Error> {
        let mut at = self.at;
        self.around.clear();
        let passed = pass::value(self.bytes(), &mut at, &mut self.around);
        self.at = at;
        passed
    }

    /// What is wrong behind a value that is in a list or an object.
    #[cold]
    pub(super) fn wanted_in(&mut self, open: u8) -> Error {
        self.peek();
        pass::wanted_in(open, self.rest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_passed_over_however_deep_it_is() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Reader::new(&deep).raw_value().unwrap().len(), deep.len());
    }

    #[test]
    fn integers_of_few_digits_are_plain_and_nothing_else() {
        let plain = |text: &str| {
            let mut reader = Reader::new(text);
            reader.plain_number().map(|number| (number, reader.at()))
        };
        assert_eq!(plain("0,"), Some(((false, 0), 1)));
        assert_eq!(plain("-17"), Some(((true, 17), 3)));
        assert_eq!(plain("123456789012345678]"), Some(((false, 123_456_789_012_345_678), 18)));
        for odd in ["-0", "00", "01", "1.0", "1e3", "1E3", "-", "", "x", "1234567890123456789", "-x"] {
            assert_eq!(plain(odd), None, "{odd}");
        }
    }
}
