//! A list, cut into items while it arrives.

use bytes::{Buf, Bytes, BytesMut};

use super::envelope::{CONTENT_ENCODING, MAGIC, ProtoEnvelope, RAW, TYPE, not_encoded};
use super::error::ProtoError;
use super::glimpse::{Passing, glimpse_item};
use super::table::ProtoMessage;
use super::wire::{BYTES, FIXED32, FIXED64, Reader, Tag, VARINT};
use crate::items::ListMeta;
use crate::limits::{Limits, WireError};
use crate::piece::Piece;

/// Cuts the bytes of a list in protobuf into items, as [`ListItems`](crate::ListItems) does for JSON: no more than one
/// item and one piece are in memory.
///
/// A list that is not one of the expected kind is an error before its first item: the bytes of another kind would mean
/// something else.
#[derive(Debug)]
pub struct ProtoListItems {
    limits: Limits,
    /// What the items are.
    message: ProtoMessage,
    numbers: Numbers,
    buffer: BytesMut,
    /// Bytes taken out of the buffer so far: for errors and for the limit on the whole.
    consumed: u64,
    /// The bytes of the list's metadata.
    metadata: Vec<u8>,
    api_version: String,
    kind: String,
    /// An item that is too large.
    passing: Option<Box<Passing>>,
    state: State,
}

/// The numbers of a list's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    metadata: u32,
    items: u32,
}

impl Numbers {
    /// What all lists have but one.
    const USUAL: Self = Self { metadata: 1, items: 2 };
    /// What lists of metadata had in a version that is still asked for.
    const BETA: Self = Self { metadata: 2, items: 1 };

    fn of(message: ProtoMessage) -> Self {
        match (message.api_version(), message.kind()) {
            ("meta.k8s.io/v1beta1", "PartialObjectMetadata") => Self::BETA,
            _ => Self::USUAL,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the four bytes.
    Start,
    /// Between fields of the envelope, before the list.
    Before,
    /// Inside the list, of which so many bytes are left.
    List { left: u64 },
    /// Between fields of the envelope, behind the list.
    Behind,
}

/// The beginning of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    tag: Tag,
    /// How many bytes the tag and the length take.
    head: usize,
    /// How many bytes follow.
    body: u64,
}

impl ProtoListItems {
    /// Starts at the beginning of a list; `message` is what its items are.
    pub fn new(limits: Limits, message: ProtoMessage) -> Self {
        Self {
            limits,
            message,
            numbers: Numbers::of(message),
            buffer: BytesMut::new(),
            consumed: 0,
            metadata: Vec::new(),
            api_version: String::new(),
            kind: String::new(),
            passing: None,
            state: State::Start,
        }
    }

    /// Takes in bytes. Fails if there have been more than a list may have.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.buffer.extend_from_slice(bytes);
        if self.consumed + self.buffer.len() as u64 > self.limits.list_bytes {
            return Err(WireError::ListTooLarge { limit: self.limits.list_bytes });
        }
        Ok(())
    }

    /// The next whole item; none if more bytes are needed or the list is at its end.
    pub fn next_item(&mut self) -> Result<Option<Piece>, WireError> {
        loop {
            if let Some(passing) = &mut self.passing {
                let before = self.buffer.len();
                let passed = passing.pass(&mut self.buffer);
                self.consumed += (before - self.buffer.len()) as u64;
                return Ok(passed.inspect(|_| self.passing = None));
            }
            match self.state {
                State::Start => {
                    let Some(magic) = self.buffer.first_chunk::<{ MAGIC.len() }>() else { return Ok(None) };
                    if magic != MAGIC {
                        return Err(self.wrong("bytes that are no Kubernetes protobuf"));
                    }
                    self.pass(MAGIC.len());
                    self.state = State::Before;
                }
                State::List { left: 0 } => self.state = State::Behind,
                State::List { left } => {
                    let Some(head) = self.head()? else { return Ok(None) };
                    let Some(left) = left.checked_sub(head.head as u64 + head.body) else {
                        return Err(self.wrong("a field that is longer than the list"));
                    };
                    let is_item = head.tag == Tag::new(self.numbers.items, BYTES);
                    if is_item && head.body > self.limits.item_bytes as u64 {
                        self.begin_to_pass(head)?;
                        self.state = State::List { left };
                        continue;
                    }
                    let body = if is_item { self.body(head) } else { self.head_field(head)? };
                    let Some(body) = body else { return Ok(None) };
                    self.state = State::List { left };
                    if is_item {
                        return Ok(Some(Piece::Whole(body)));
                    }
                    if head.tag == Tag::new(self.numbers.metadata, BYTES) {
                        self.metadata.extend_from_slice(&body);
                    }
                }
                State::Before | State::Behind => {
                    if self.buffer.is_empty() {
                        return Ok(None);
                    }
                    let Some(head) = self.head()? else { return Ok(None) };
                    if head.tag == Tag::new(RAW, BYTES) {
                        self.begin(head)?;
                        continue;
                    }
                    let Some(body) = self.head_field(head)? else { return Ok(None) };
                    self.envelope_field(head.tag, &body)?;
                }
            }
        }
    }

    /// What the list said about itself; an error if it is not whole.
    pub fn finish(self) -> Result<ListMeta, WireError> {
        let whole = matches!(self.state, State::Behind | State::List { left: 0 });
        if !whole || !self.buffer.is_empty() || self.passing.is_some() {
            return Err(WireError::Truncated { missing: "the end of the list" });
        }
        let mut meta =
            read_meta(&self.metadata).map_err(|error| WireError::BadListMeta { why: error.to_string() })?;
        meta.kind = self.kind;
        meta.api_version = self.api_version;
        Ok(meta)
    }

    /// Goes into the list.
    fn begin(&mut self, head: Head) -> Result<(), WireError> {
        if self.state == State::Behind {
            return Err(self.wrong("a second list"));
        }
        let is_expected = self.kind.strip_suffix("List") == Some(self.message.kind())
            && self.message.is(&self.api_version, self.message.kind());
        if !is_expected {
            return Err(WireError::OtherKind {
                kind: std::mem::take(&mut self.kind),
                api_version: std::mem::take(&mut self.api_version),
                expected: self.message.kind(),
            });
        }
        if head.body > self.limits.list_bytes {
            return Err(WireError::ListTooLarge { limit: self.limits.list_bytes });
        }
        self.pass(head.head);
        self.state = State::List { left: head.body };
        Ok(())
    }

    /// Begins to pass over an item.
    fn begin_to_pass(&mut self, head: Head) -> Result<(), WireError> {
        if self.limits.is_endless(head.body) {
            return Err(WireError::ItemTooLarge { limit: self.limits.passed_over_bytes });
        }
        self.pass(head.head);
        self.passing = Some(Box::new(Passing::new(head.body, self.limits.item_bytes, glimpse_item)));
        Ok(())
    }

    /// A field that is not an item, if all of it is there.
    fn head_field(&mut self, head: Head) -> Result<Option<Bytes>, WireError> {
        if head.body > self.limits.list_head_bytes.saturating_sub(self.metadata.len()) as u64 {
            return Err(WireError::HeadTooLarge { limit: self.limits.list_head_bytes });
        }
        Ok(self.body(head))
    }

    fn body(&mut self, head: Head) -> Option<Bytes> {
        // What is larger than memory has been refused before.
        let body = usize::try_from(head.body).ok()?;
        if self.buffer.len() < head.head + body {
            return None;
        }
        self.pass(head.head);
        self.consumed += head.body;
        Some(self.buffer.split_to(body).freeze())
    }

    fn envelope_field(&mut self, tag: Tag, body: &[u8]) -> Result<(), WireError> {
        let read = match (tag.number(), tag.wire()) {
            (TYPE, BYTES) => {
                let mut envelope = ProtoEnvelope::default();
                envelope.read_type(body).map(|()| {
                    self.api_version = envelope.api_version.to_owned();
                    self.kind = envelope.kind.to_owned();
                })
            }
            (CONTENT_ENCODING, BYTES) => not_encoded(body),
            _ => Ok(()),
        };
        read.map_err(|_| self.wrong("an envelope that cannot be read"))
    }

    /// The beginning of the field that the buffer begins with; none if more bytes are needed.
    fn head(&self) -> Result<Option<Head>, WireError> {
        let mut reader = Reader::new(&self.buffer);
        let mut read = || -> Result<Option<Head>, ProtoError> {
            let Some(tag) = reader.tag()? else { return Ok(None) };
            let behind_tag = self.buffer.len() - reader.rest().len();
            let number = if matches!(tag.wire(), VARINT | BYTES) { reader.varint()? } else { 0 };
            let behind_number = self.buffer.len() - reader.rest().len();
            let (head, body) = match tag.wire() {
                BYTES => (behind_number, number),
                VARINT => (behind_tag, (behind_number - behind_tag) as u64),
                FIXED64 => (behind_tag, 8),
                FIXED32 => (behind_tag, 4),
                _ => (behind_tag, u64::MAX),
            };
            Ok(Some(Head { tag, head, body }))
        };
        match read() {
            Ok(Some(Head { body: BEYOND_MEMORY.., .. })) => Err(self.wrong("a field without an end")),
            Ok(head) => Ok(head),
            Err(error) if error.is_truncation() => Ok(None),
            Err(_) => Err(self.wrong("a tag or length that means nothing")),
        }
    }

    /// Drops bytes.
    fn pass(&mut self, bytes: usize) {
        self.consumed += bytes as u64;
        self.buffer.advance(bytes);
    }

    fn wrong(&self, why: &'static str) -> WireError {
        WireError::NotAList { why, at: self.consumed }
    }
}

/// No field is as long as this, or memory would not hold it.
const BEYOND_MEMORY: u64 = 1 << 62;

fn read_meta(bytes: &[u8]) -> Result<ListMeta, ProtoError> {
    let mut meta = ListMeta::default();
    let mut reader = Reader::new(bytes);
    while let Some((tag, raw)) = reader.field()? {
        match tag.number() {
            2 => meta.resource_version = raw.text_of(tag, "resourceVersion")?.to_owned(),
            3 => meta.continue_token = raw.text_of(tag, "continue")?.to_owned(),
            4 => meta.remaining_item_count = Some(raw.varint_of(tag, "remainingItemCount")? as i64),
            _ => {}
        }
    }
    Ok(meta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::table::Table;
    use crate::proto::wire::put_bytes;

    const METADATA: u32 = Numbers::USUAL.metadata;
    const ITEMS: u32 = Numbers::USUAL.items;

    fn pods() -> ProtoMessage {
        ProtoMessage::of("", "v1", "Pod").unwrap()
    }

    fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_bytes(number, bytes, &mut out);
        out
    }

    fn envelope(list: &[u8]) -> Vec<u8> {
        ProtoEnvelope { api_version: "v1", kind: "PodList", object: list }.to_bytes()
    }

    fn list() -> Vec<u8> {
        let meta = [field(2, b"12"), field(3, b"abc"), vec![0x20, 7]].concat();
        let items = [field(ITEMS, b"first"), field(ITEMS, b""), field(ITEMS, &[b'x'; 300])].concat();
        envelope(&[field(METADATA, &meta), items, field(9, b"unknown"), vec![0x50, 1]].concat())
    }

    fn pieces(limits: Limits, pieces: &[&[u8]]) -> Result<(Vec<Piece>, ListMeta), WireError> {
        let mut list = ProtoListItems::new(limits, pods());
        let mut items = Vec::new();
        for piece in pieces {
            list.push(piece)?;
            while let Some(item) = list.next_item()? {
                items.push(item);
            }
        }
        Ok((items, list.finish()?))
    }

    fn cut(limits: Limits, bytes: &[&[u8]]) -> Result<(Vec<Bytes>, ListMeta), WireError> {
        let (items, meta) = pieces(limits, bytes)?;
        Ok((items.into_iter().map(|item| item.whole().unwrap()).collect(), meta))
    }

    #[test]
    fn items_are_the_same_wherever_the_bytes_are_cut() {
        let bytes = list();
        let expected = [&b"first"[..], b"", &[b'x'; 300]];
        for at in 0..=bytes.len() {
            let (items, meta) = cut(Limits::default(), &[&bytes[..at], &bytes[at..]]).unwrap();
            assert_eq!(items, expected, "cut at {at}");
            assert_eq!((meta.resource_version.as_str(), meta.continue_token.as_str()), ("12", "abc"));
            assert_eq!(meta.remaining_item_count, Some(7));
            assert_eq!((meta.kind.as_str(), meta.api_version.as_str()), ("PodList", "v1"));
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(cut(Limits::default(), &single).unwrap().0, expected);
    }

    #[test]
    fn metadata_may_come_behind_the_items() {
        let bytes = envelope(&[field(ITEMS, b"a"), field(METADATA, &field(2, b"5"))].concat());
        let (items, meta) = cut(Limits::default(), &[&bytes]).unwrap();
        assert_eq!((items.len(), meta.resource_version.as_str()), (1, "5"));
    }

    #[test]
    fn a_list_that_breaks_off_is_an_error() {
        let bytes = list();
        // Behind the list there is nothing that has to come.
        let end = bytes.len() - b"\x1a\x00\x22\x00".len();
        for at in (0..bytes.len()).filter(|at| *at < end) {
            assert!(cut(Limits::default(), &[&bytes[..at]]).is_err(), "ended at {at}");
        }
    }

    #[test]
    fn what_is_not_a_list_of_the_kind_is_an_error() {
        let of = |api_version, kind, object: &[u8]| {
            cut(Limits::default(), &[&ProtoEnvelope { api_version, kind, object }.to_bytes()])
        };
        assert!(of("v1", "PodList", b"").is_ok());
        for (api_version, kind) in [("v1", "SecretList"), ("v2", "PodList"), ("v1", "Pod"), ("", "")] {
            assert!(
                matches!(of(api_version, kind, b""), Err(WireError::OtherKind { .. })),
                "{kind} {api_version}"
            );
        }
        for bytes in [
            &b"{\"items\":[]}"[..],
            b"k8s\0",
            b"k8s\0\x0b",
            b"k8s\0\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            assert!(cut(Limits::default(), &[bytes]).is_err(), "{bytes:x?}");
        }
        // A field that ends behind the list, and a second list.
        assert!(of("v1", "PodList", b"\x12\x05a").is_err());
        let twice = [list(), field(RAW, b"")].concat();
        assert!(matches!(cut(Limits::default(), &[&twice]), Err(WireError::NotAList { .. })));
        let encoded = [b"k8s\0".to_vec(), field(CONTENT_ENCODING, b"gzip")].concat();
        assert!(matches!(cut(Limits::default(), &[&encoded]), Err(WireError::NotAList { .. })));
    }

    #[test]
    fn an_item_that_is_too_large_is_passed_over_and_says_what_it_was_about() {
        let metadata = [field(1, b"large"), field(3, b"n")].concat();
        let limits = Limits { item_bytes: 10, ..Limits::default() };
        for data in [100, 100_000] {
            let large = [field(1, &metadata), field(2, &vec![b'x'; data])].concat();
            let items = [field(ITEMS, b"a"), field(ITEMS, &large), field(ITEMS, b"z")].concat();
            let bytes = envelope(&[items, field(METADATA, &field(2, b"5"))].concat());
            for at in [0, 30, 35, 40, 60, bytes.len() - 20, bytes.len()] {
                let (items, meta) = pieces(limits, &[&bytes[..at], &bytes[at..]]).unwrap();
                let [Piece::Whole(first), Piece::TooLarge(passed), Piece::Whole(last)] = &items[..] else {
                    panic!("{items:?}")
                };
                assert_eq!((&first[..], &last[..]), (&b"a"[..], &b"z"[..]));
                assert_eq!(passed.bytes, large.len() as u64);
                let key = passed.key.as_deref().unwrap();
                assert_eq!((key.name.as_str(), key.namespace.as_str()), ("large", "n"), "cut at {at}");
                assert_eq!(meta.resource_version, "5");
            }
            assert!(pieces(limits, &[&bytes[..bytes.len() - 40]]).is_err(), "it breaks off");
        }
    }

    #[test]
    fn every_limit_is_kept() {
        let bytes = list();
        let limits = Limits { item_bytes: 10, passed_over_bytes: 299, ..Limits::default() };
        assert_eq!(cut(limits, &[&bytes]), Err(WireError::ItemTooLarge { limit: 299 }));
        let limits = Limits { list_bytes: 20, ..Limits::default() };
        assert_eq!(cut(limits, &[&bytes]), Err(WireError::ListTooLarge { limit: 20 }));
        // The length alone says that it will be too large.
        let begun = &bytes[..24];
        let limits = Limits { list_bytes: 40, ..Limits::default() };
        assert_eq!(cut(limits, &[begun]), Err(WireError::ListTooLarge { limit: 40 }));
        let limits = Limits { list_head_bytes: 12, ..Limits::default() };
        assert_eq!(cut(limits, &[&bytes]), Err(WireError::HeadTooLarge { limit: 12 }));
    }

    #[test]
    fn every_list_has_the_numbers_that_are_known_and_is_called_after_its_items() {
        let table = Table::get();
        let mut lists = 0;
        for list in ProtoMessage::all() {
            let fields = table.fields(list.message());
            let named = |name| fields.iter().find(|field| field.name == name);
            // The list of everything is nobody's.
            let (Some(items), Some(metadata), false) =
                (named("items"), named("metadata"), list.kind() == "List")
            else {
                continue;
            };
            let kind = list.kind().strip_suffix("List").unwrap();
            let (group, version) = list.api_version().split_once('/').unwrap_or(("", list.api_version()));
            let item = ProtoMessage::of(group, version, kind).unwrap();
            assert_eq!(item.message(), table.below(items), "{list:?}");
            let numbers = Numbers { metadata: metadata.tag.number(), items: items.tag.number() };
            assert_eq!(numbers, Numbers::of(item), "{list:?}");
            let meta: Vec<&str> =
                table.fields(table.below(metadata)).iter().map(|field| field.name).collect();
            assert_eq!(meta[1..5], ["selfLink", "resourceVersion", "continue", "remainingItemCount"]);
            lists += 1;
        }
        assert!(lists > 100, "{lists}");
    }
}
