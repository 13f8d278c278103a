//! A watch, cut into frames: four bytes with the length, and then as many bytes.

use bytes::{Buf, Bytes, BytesMut};

use crate::limits::{Limits, WireError};

/// The bytes of a frame's length.
const LENGTH_BYTES: usize = 4;

/// Cuts the bytes of a watch in protobuf into frames, as [`WatchFrames`](crate::WatchFrames) does for JSON.
#[derive(Debug)]
pub struct ProtoFrames {
    limit: usize,
    buffer: BytesMut,
}

impl ProtoFrames {
    /// Starts at the beginning of a watch.
    pub fn new(limits: Limits) -> Self {
        Self { limit: limits.frame_bytes, buffer: BytesMut::new() }
    }

    /// Takes in bytes. Fails if they begin a frame that is too large; then the stream is of no use any more.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.buffer.extend_from_slice(bytes);
        self.length().map(|_| ())
    }

    /// The next whole frame; none if more bytes are needed.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, WireError> {
        loop {
            let Some(length) = self.length()? else { return Ok(None) };
            if self.buffer.len() - LENGTH_BYTES < length {
                return Ok(None);
            }
            self.buffer.advance(LENGTH_BYTES);
            let frame = self.buffer.split_to(length).freeze();
            // An empty frame says nothing, and is no event.
            if !frame.is_empty() {
                return Ok(Some(frame));
            }
        }
    }

    /// How many bytes wait for the rest of their frame.
    pub fn pending(&self) -> usize {
        self.buffer.len()
    }

    /// The length of the frame that the buffer begins with, if that much of it is there.
    fn length(&self) -> Result<Option<usize>, WireError> {
        let Some(length) = self.buffer.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        match usize::try_from(u32::from_be_bytes(*length)) {
            Ok(length) if length <= self.limit => Ok(Some(length)),
            _ => Err(WireError::FrameTooLarge { limit: self.limit }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(limit: usize, pieces: &[&[u8]]) -> Result<(Vec<Bytes>, usize), WireError> {
        let mut cutter = ProtoFrames::new(Limits { frame_bytes: limit, ..Limits::default() });
        let mut found = Vec::new();
        for piece in pieces {
            cutter.push(piece)?;
            while let Some(frame) = cutter.next_frame()? {
                found.push(frame);
            }
        }
        Ok((found, cutter.pending()))
    }

    const BYTES: &[u8] = b"\0\0\0\x02ab\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\x01z\0\0";

    #[test]
    fn frames_are_the_same_wherever_the_bytes_are_cut() {
        for cut in 0..=BYTES.len() {
            let (found, rest) = frames(100, &[&BYTES[..cut], &BYTES[cut..]]).unwrap();
            assert_eq!(found, [&b"ab"[..], b"\0\0\0", b"z"], "cut at {cut}");
            assert_eq!(rest, 2);
        }
        let single: Vec<&[u8]> = BYTES.chunks(1).collect();
        assert_eq!(frames(100, &single).unwrap().0.len(), 3);
    }

    #[test]
    fn a_frame_that_is_too_large_is_an_error_before_it_is_there() {
        assert_eq!(frames(2, &[BYTES]), Err(WireError::FrameTooLarge { limit: 2 }));
        assert_eq!(frames(10, &[b"\xff\xff\xff\xff"]), Err(WireError::FrameTooLarge { limit: 10 }));
        assert!(frames(3, &[BYTES]).is_ok());
    }
}
