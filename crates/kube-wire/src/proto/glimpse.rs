//! Which object a message is about, read from its first bytes.
//!
//! Protobuf is written in the order of its numbers: the type of an event comes before its object, and the name, uid and
//! version of an object before anything that can be large.

use bytes::{Buf, BytesMut};

use super::envelope::{MAGIC, RAW};
use super::meta::{METADATA_NUMBER, ProtoMetadata};
use super::wire::{BYTES, Reader, Tag};
use super::write::{EVENT_OBJECT, EVENT_TYPE, OBJECT_RAW};
use crate::meta::ObjectKey;
use crate::piece::{Glimpsed, Piece};

/// So many bytes at the beginning of an object are enough: what stands there is much shorter.
const GLIMPSE_BYTES: usize = 8 << 10;

/// A piece that is too large, while it is passed over.
#[derive(Debug)]
pub(super) struct Passing {
    bytes: u64,
    limit: usize,
    /// Reads its beginning.
    glimpse: fn(&[u8]) -> Glimpsed,
    /// What its beginning says, and how much was passed over.
    passed: Option<(Glimpsed, u64)>,
}

impl Passing {
    /// At the beginning of a piece of so many bytes.
    pub(super) fn new(bytes: u64, limit: usize, glimpse: fn(&[u8]) -> Glimpsed) -> Self {
        Self { bytes, limit, glimpse, passed: None }
    }

    /// Takes bytes of the piece out of the buffer; at its end, says what it was about.
    pub(super) fn pass(&mut self, buffer: &mut BytesMut) -> Option<Piece> {
        // What is larger than memory is not all there.
        let there = |left: u64| usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        if self.passed.is_none() && buffer.len() < GLIMPSE_BYTES && (buffer.len() as u64) < self.bytes {
            return None;
        }
        let (_, passed) =
            self.passed.get_or_insert_with(|| ((self.glimpse)(&buffer[..there(self.bytes)]), 0));
        let more = there(self.bytes - *passed);
        *passed += more as u64;
        let is_end = *passed == self.bytes;
        buffer.advance(more);
        let (glimpsed, _) = self.passed.take_if(|_| is_end)?;
        Some(glimpsed.too_large(self.bytes, self.limit))
    }
}

/// What the beginning of an object says.
pub(super) fn glimpse_item(beginning: &[u8]) -> Glimpsed {
    let key = inside(beginning, METADATA_NUMBER).map(|metadata| {
        let metadata = ProtoMetadata::of_beginning(metadata);
        ObjectKey::new(metadata.namespace(), metadata.name(), metadata.uid(), metadata.resource_version())
    });
    Glimpsed { key: key.unwrap_or_default(), ..Glimpsed::default() }
}

/// What the beginning of an event says.
pub(super) fn glimpse_frame(beginning: &[u8]) -> Glimpsed {
    let event = inside(beginning, EVENT_TYPE).and_then(|event| std::str::from_utf8(event).ok());
    let object = inside(beginning, EVENT_OBJECT)
        .and_then(|embedded| inside(embedded, OBJECT_RAW))
        .and_then(|envelope| envelope.strip_prefix(MAGIC))
        .and_then(|envelope| inside(envelope, RAW));
    let found = object.map(glimpse_item).unwrap_or_default();
    Glimpsed { event: event.unwrap_or_default().to_owned(), ..found }
}

/// What is there of the first field with this number.
fn inside(beginning: &[u8], number: u32) -> Option<&[u8]> {
    let mut reader = Reader::new(beginning);
    loop {
        let at = reader.rest();
        match reader.field() {
            Ok(Some((tag, raw))) if tag == Tag::new(number, BYTES) => return Some(raw.bytes),
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(_) => {
                // It goes on behind what is there.
                let mut reader = Reader::new(at);
                let tag = reader.tag().ok()??;
                reader.varint().ok()?;
                return (tag == Tag::new(number, BYTES)).then(|| reader.rest());
            }
        }
    }
}
