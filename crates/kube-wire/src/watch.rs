//! A watch, cut into frames: one JSON document a line.

use bytes::{Buf, BytesMut};

use crate::glimpse::Glimpse;
use crate::limits::{Limits, WireError};
use crate::piece::Piece;

/// Cuts the bytes of a watch into frames.
///
/// Bytes go in with [`push`](Self::push), in pieces of any size; frames come out with
/// [`next_frame`](Self::next_frame) until there is none.
#[derive(Debug)]
pub struct WatchFrames {
    limits: Limits,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line end.
    searched: usize,
    passing: Option<Box<Passing>>,
}

/// A frame that is too large, while it is passed over.
#[derive(Debug)]
struct Passing {
    glimpse: Glimpse,
    bytes: u64,
}

impl WatchFrames {
    /// Starts at the beginning of a watch.
    pub fn new(limits: Limits) -> Self {
        Self { limits, buffer: BytesMut::new(), searched: 0, passing: None }
    }

    /// Takes in bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame, without its line end; none if more bytes are needed. After an error the stream is of no use
    /// any more.
    pub fn next_frame(&mut self) -> Result<Option<Piece>, WireError> {
        loop {
            let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                if self.searched > self.limits.frame_bytes || self.passing.is_some() {
                    self.pass_over(self.searched)?;
                }
                return Ok(None);
            };
            let end = self.searched + at;
            if end > self.limits.frame_bytes || self.passing.is_some() {
                self.pass_over(end)?;
                self.buffer.advance(1);
                let passed = self.passing.take().map(|passing| *passing);
                return Ok(passed.map(|Passing { glimpse, bytes }| {
                    glimpse.end().too_large(bytes, self.limits.frame_bytes)
                }));
            }
            let mut frame = self.buffer.split_to(end + 1);
            self.searched = 0;
            frame.truncate(end);
            if frame.last() == Some(&b'\r') {
                frame.truncate(end - 1);
            }
            // Some servers keep quiet connections alive with empty lines.
            if !frame.trim_ascii().is_empty() {
                return Ok(Some(Piece::Whole(frame.freeze())));
            }
        }
    }

    /// How many bytes wait for the rest of their frame.
    pub fn pending(&self) -> usize {
        self.buffer.len()
    }

    /// Looks at so many bytes of a frame that is too large, and forgets them.
    fn pass_over(&mut self, bytes: usize) -> Result<(), WireError> {
        let passing =
            self.passing.get_or_insert_with(|| Box::new(Passing { glimpse: Glimpse::of_frame(), bytes: 0 }));
        passing.glimpse.feed(&self.buffer[..bytes]);
        passing.bytes += bytes as u64;
        self.buffer.advance(bytes);
        self.searched = 0;
        if self.limits.is_endless(passing.bytes) {
            return Err(WireError::FrameTooLarge { limit: self.limits.passed_over_bytes });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(limit: usize, pieces: &[&[u8]]) -> Result<(Vec<String>, usize), WireError> {
        let mut cutter = WatchFrames::new(Limits { frame_bytes: limit, ..Limits::default() });
        let mut found = Vec::new();
        for piece in pieces {
            cutter.push(piece);
            while let Some(frame) = cutter.next_frame()? {
                found.push(match frame {
                    Piece::Whole(frame) => String::from_utf8(frame.to_vec()).unwrap(),
                    Piece::TooLarge(large) => {
                        let name = large.key.map(|key| key.name).unwrap_or_default();
                        format!("{} {name} {} of {}", large.event, large.bytes, large.limit)
                    }
                });
            }
        }
        Ok((found, cutter.pending()))
    }

    #[test]
    fn frames_are_the_same_wherever_the_bytes_are_cut() {
        let text = b"{\"a\":1}\n{\"b\":2}\r\n\n  \n{\"c\":3}\n";
        for cut in 0..=text.len() {
            let (found, rest) = frames(100, &[&text[..cut], &text[cut..]]).unwrap();
            assert_eq!(found, ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"], "cut at {cut}");
            assert_eq!(rest, 0);
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(frames(100, &bytes).unwrap().0.len(), 3);
    }

    #[test]
    fn a_frame_that_is_too_large_is_passed_over_and_says_what_it_was_about() {
        let text = br#"{"a":1}
{"type":"ADDED","object":{"metadata":{"name":"large"},"data":"xxxxxxxxxxxxxxxx"}}
{"b":2}
"#;
        for at in 0..=text.len() {
            let (found, rest) = frames(10, &[&text[..at], &text[at..]]).unwrap();
            assert_eq!(found, [r#"{"a":1}"#, "ADDED large 81 of 10", r#"{"b":2}"#], "cut at {at}");
            assert_eq!(rest, 0);
        }
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(frames(10, &single).unwrap().0[1], "ADDED large 81 of 10");
        assert_eq!(frames(81, &[text]).unwrap().0[1].len(), 81, "one byte more is enough");
    }

    #[test]
    fn a_frame_without_an_end_is_an_error_and_is_not_kept() {
        let limits = Limits { frame_bytes: 10, passed_over_bytes: 30, ..Limits::default() };
        let mut cutter = WatchFrames::new(limits);
        for _ in 0..30 {
            cutter.push(b"x");
            assert_eq!(cutter.next_frame(), Ok(None));
            assert!(cutter.pending() <= 10);
        }
        cutter.push(b"x");
        assert_eq!(cutter.next_frame(), Err(WireError::FrameTooLarge { limit: 30 }));
        let mut cutter = WatchFrames::new(limits);
        cutter.push(&[b'x'; 31]);
        cutter.push(b"\n");
        assert!(cutter.next_frame().is_err(), "all at once");
    }

    #[test]
    fn many_small_frames_in_one_piece_are_not_one_large_frame() {
        let text = b"12345\n".repeat(100);
        assert_eq!(frames(10, &[&text]).unwrap().0.len(), 100);
    }

    #[test]
    fn half_a_frame_is_pending_at_the_end() {
        let (found, rest) = frames(100, &[b"{}\n{\"half\":"]).unwrap();
        assert_eq!(found, ["{}"]);
        assert_eq!(rest, b"{\"half\":".len());
    }
}
