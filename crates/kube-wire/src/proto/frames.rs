//! A watch, cut into frames: four bytes with the length, and then as many bytes.

use bytes::{Buf, BytesMut};

use super::glimpse::{Passing, glimpse_frame};
use crate::limits::{Limits, WireError};
use crate::piece::Piece;

/// The bytes of a frame's length.
const LENGTH_BYTES: usize = 4;

/// Cuts the bytes of a watch in protobuf into frames, as [`WatchFrames`](crate::WatchFrames) does for JSON.
#[derive(Debug)]
pub struct ProtoFrames {
    limits: Limits,
    buffer: BytesMut,
    passing: Option<Box<Passing>>,
}

impl ProtoFrames {
    /// Starts at the beginning of a watch.
    pub fn new(limits: Limits) -> Self {
        Self { limits, buffer: BytesMut::new(), passing: None }
    }

    /// Takes in bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame; none if more bytes are needed. After an error the stream is of no use any more.
    pub fn next_frame(&mut self) -> Result<Option<Piece>, WireError> {
        loop {
            if let Some(passing) = &mut self.passing {
                let passed = passing.pass(&mut self.buffer);
                return Ok(passed.inspect(|_| self.passing = None));
            }
            let Some(length) = self.buffer.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
            let bytes = u64::from(u32::from_be_bytes(*length));
            let limit = self.limits.frame_bytes;
            let Some(length) = usize::try_from(bytes).ok().filter(|length| *length <= limit) else {
                if self.limits.is_endless(bytes) {
                    return Err(WireError::FrameTooLarge { limit: self.limits.passed_over_bytes });
                }
                self.buffer.advance(LENGTH_BYTES);
                self.passing = Some(Box::new(Passing::new(bytes, limit, glimpse_frame)));
                continue;
            };
            if self.buffer.len() - LENGTH_BYTES < length {
                return Ok(None);
            }
            self.buffer.advance(LENGTH_BYTES);
            let frame = self.buffer.split_to(length).freeze();
            // An empty frame says nothing, and is no event.
            if !frame.is_empty() {
                return Ok(Some(Piece::Whole(frame)));
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
    use bytes::Bytes;

    use super::*;
    use crate::proto::envelope::ProtoEnvelope;
    use crate::proto::wire::put_bytes;

    fn cut(limits: Limits, pieces: &[&[u8]]) -> Result<(Vec<Piece>, usize), WireError> {
        let mut cutter = ProtoFrames::new(limits);
        let mut found = Vec::new();
        for piece in pieces {
            cutter.push(piece);
            while let Some(frame) = cutter.next_frame()? {
                found.push(frame);
            }
        }
        Ok((found, cutter.pending()))
    }

    fn frames(limit: usize, pieces: &[&[u8]]) -> (Vec<Bytes>, usize) {
        let limits = Limits { frame_bytes: limit, ..Limits::default() };
        let (found, rest) = cut(limits, pieces).unwrap();
        (found.into_iter().map(|frame| frame.whole().unwrap()).collect(), rest)
    }

    const BYTES: &[u8] = b"\0\0\0\x02ab\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\x01z\0\0";

    #[test]
    fn frames_are_the_same_wherever_the_bytes_are_cut() {
        for cut in 0..=BYTES.len() {
            let (found, rest) = frames(100, &[&BYTES[..cut], &BYTES[cut..]]);
            assert_eq!(found, [&b"ab"[..], b"\0\0\0", b"z"], "cut at {cut}");
            assert_eq!(rest, 2);
        }
        let single: Vec<&[u8]> = BYTES.chunks(1).collect();
        assert_eq!(frames(3, &single).0.len(), 3);
    }

    fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_bytes(number, bytes, &mut out);
        out
    }

    #[test]
    fn a_frame_that_is_too_large_is_passed_over_and_says_what_it_was_about() {
        let metadata = [field(1, b"large"), field(3, b"n"), field(5, b"u"), field(6, b"7")].concat();
        for data in [100, 100_000] {
            let object = [field(1, &metadata), field(2, &vec![b'x'; data])].concat();
            let object = ProtoEnvelope { api_version: "v1", kind: "ConfigMap", object: &object }.to_bytes();
            let event = [field(1, b"MODIFIED"), field(2, &field(1, &object))].concat();
            let length = u32::try_from(event.len()).unwrap().to_be_bytes();
            let bytes = [&b"\0\0\0\x02ab"[..], &length, &event, b"\0\0\0\x01z"].concat();
            let limits = Limits { frame_bytes: 10, ..Limits::default() };
            for at in [0, 1, 8, 10, 20, 40, 60, bytes.len() - 6, bytes.len() - 5, bytes.len()] {
                let (found, rest) = cut(limits, &[&bytes[..at], &bytes[at..]]).unwrap();
                let [Piece::Whole(first), Piece::TooLarge(large), Piece::Whole(last)] = &found[..] else {
                    panic!("{found:?}")
                };
                assert_eq!((&first[..], &last[..], rest), (&b"ab"[..], &b"z"[..], 0));
                assert_eq!((large.event.as_str(), large.bytes), ("MODIFIED", event.len() as u64));
                let key = large.key.as_deref().unwrap();
                assert_eq!((key.name.as_str(), key.namespace.as_str()), ("large", "n"), "cut at {at}");
                assert_eq!((key.uid.as_str(), key.resource_version.as_str()), ("u", "7"));
            }
        }
    }

    #[test]
    fn a_frame_that_means_nothing_has_no_key_and_one_without_an_end_is_an_error() {
        let limits = Limits { frame_bytes: 2, passed_over_bytes: 100, ..Limits::default() };
        let Piece::TooLarge(large) = &cut(limits, &[BYTES]).unwrap().0[1] else { panic!() };
        assert_eq!((large.event.as_str(), &large.key), ("", &None));
        let endless = cut(limits, &[b"\xff\xff\xff\xff"]);
        assert_eq!(endless, Err(WireError::FrameTooLarge { limit: 100 }));
    }
}
