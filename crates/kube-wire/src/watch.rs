//! A watch, cut into frames: one JSON document a line.

use bytes::{Bytes, BytesMut};

use crate::limits::{Limits, WireError};

/// Cuts the bytes of a watch into frames.
///
/// Bytes go in with [`push`](Self::push), in pieces of any size; frames come out with
/// [`next_frame`](Self::next_frame) until there is none.
#[derive(Debug)]
pub struct WatchFrames {
    limit: usize,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line end.
    searched: usize,
}

impl WatchFrames {
    /// Starts at the beginning of a watch.
    pub fn new(limits: Limits) -> Self {
        Self { limit: limits.frame_bytes, buffer: BytesMut::new(), searched: 0 }
    }

    /// Takes in bytes. Fails if they are part of a frame that is too large; then the stream is of no use any more.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.buffer.extend_from_slice(bytes);
        // Only the last frame can be without its end.
        if self.buffer.len() - self.searched > self.limit {
            let tail = memchr::memrchr(b'\n', &self.buffer[self.searched..]);
            let open = self.buffer.len() - tail.map_or(0, |at| self.searched + at + 1);
            if open > self.limit {
                return Err(WireError::FrameTooLarge { limit: self.limit });
            }
        }
        Ok(())
    }

    /// The next whole frame, without its line end; none if more bytes are needed.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, WireError> {
        loop {
            let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                if self.searched > self.limit {
                    return Err(WireError::FrameTooLarge { limit: self.limit });
                }
                return Ok(None);
            };
            let mut frame = self.buffer.split_to(self.searched + at + 1);
            self.searched = 0;
            frame.truncate(frame.len() - 1);
            if frame.last() == Some(&b'\r') {
                frame.truncate(frame.len() - 1);
            }
            if frame.len() > self.limit {
                return Err(WireError::FrameTooLarge { limit: self.limit });
            }
            // Some servers keep quiet connections alive with empty lines.
            if !frame.trim_ascii().is_empty() {
                return Ok(Some(frame.freeze()));
            }
        }
    }

    /// How many bytes wait for the rest of their frame.
    pub fn pending(&self) -> usize {
        self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(limit: usize, pieces: &[&[u8]]) -> Result<(Vec<String>, usize), WireError> {
        let mut cutter = WatchFrames::new(Limits { frame_bytes: limit, ..Limits::default() });
        let mut found = Vec::new();
        for piece in pieces {
            cutter.push(piece)?;
            while let Some(frame) = cutter.next_frame()? {
                found.push(String::from_utf8(frame.to_vec()).unwrap());
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
    fn a_frame_that_is_too_large_is_an_error_before_it_is_whole() {
        let large = [b'x'; 11];
        assert_eq!(frames(10, &[&large]), Err(WireError::FrameTooLarge { limit: 10 }));
        let mut cutter = WatchFrames::new(Limits { frame_bytes: 10, ..Limits::default() });
        for _ in 0..10 {
            cutter.push(b"x").unwrap();
            assert_eq!(cutter.next_frame(), Ok(None));
        }
        assert!(cutter.push(b"x").is_err() || cutter.next_frame().is_err());
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
