//! The bytes of a message: tags, numbers and lengths.

use super::error::{Cause, ProtoError};

/// How the value behind a tag is written.
pub(crate) const VARINT: u32 = 0;
pub(crate) const FIXED64: u32 = 1;
pub(crate) const BYTES: u32 = 2;
pub(crate) const FIXED32: u32 = 5;

/// Goes through the fields of one message. Nothing is copied, so a length that lies costs nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

/// The number of a field and how its value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(u32);

impl Tag {
    pub(crate) const fn new(number: u32, wire: u32) -> Self {
        Self(number << 3 | wire)
    }

    #[inline]
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) fn number(self) -> u32 {
        self.0 >> 3
    }

    #[inline]
    pub(crate) fn wire(self) -> u32 {
        self.0 & 7
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0 as u64
    }

    /// Makes sure that the value of a field is written as it has to be.
    #[inline]
    pub(crate) fn expect(self, wire: u32, field: &'static str) -> Result<(), ProtoError> {
        if self.wire() == wire {
            return Ok(());
        }
        Err(Cause::WrongWireType { wire: self.wire(), field }.into())
    }
}

/// The value of a field, as far as the bytes alone tell what it is.
///
/// Both parts are always there, so that this is a pair and not a choice: a number has no bytes, bytes have no number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Raw<'a> {
    /// An integer, a boolean, or the bits of a floating-point number.
    pub(crate) number: u64,
    /// Text, bytes, a message, or integers packed into one field.
    pub(crate) bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What was not read yet.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next tag; none at the end.
    #[inline(always)]
    pub(crate) fn tag(&mut self) -> Result<Option<Tag>, ProtoError> {
        match *self.rest {
            // Fields 1 to 15, which are most.
            [first @ 8..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(Some(Tag(u32::from(first))))
            }
            // Fields 16 to 2047, which are the others.
            [first @ 0x80..=0xff, second @ 1..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(Some(Tag(u32::from(first & 0x7f) | u32::from(second) << 7)))
            }
            [] => Ok(None),
            _ => {
                let (tag, rest) = long_tag(self.rest)?;
                self.rest = rest;
                Ok(Some(tag))
            }
        }
    }

    /// The value behind a tag.
    #[inline(always)]
    pub(crate) fn value(&mut self, tag: Tag) -> Result<Raw<'a>, ProtoError> {
        match tag.wire() {
            VARINT => Ok(Raw { number: self.varint()?, bytes: &[] }),
            BYTES => Ok(Raw { number: 0, bytes: self.bytes()? }),
            FIXED64 => Ok(Raw { number: u64::from_le_bytes(self.array()?), bytes: &[] }),
            FIXED32 => self.array::<4>().map(|_| Raw::default()),
            // Groups (3 and 4) are older than Kubernetes; 6 and 7 were never given out.
            _ => Err(Cause::IllegalTag { bits: tag.bits() }.into()),
        }
    }

    /// The next field with its value; none at the end.
    #[inline]
    pub(crate) fn field(&mut self) -> Result<Option<(Tag, Raw<'a>)>, ProtoError> {
        let Some(tag) = self.tag()? else { return Ok(None) };
        Ok(Some((tag, self.value(tag)?)))
    }

    /// The next of the integers that are packed into one field; none at the end.
    pub(crate) fn packed(&mut self) -> Result<Option<u64>, ProtoError> {
        if self.rest.is_empty() { Ok(None) } else { self.varint().map(Some) }
    }

    /// What has a length.
    #[inline(always)]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], ProtoError> {
        let length = self.varint()?;
        let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        match split {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(Cause::past_the_end(length).into()),
        }
    }

    /// A number.
    #[inline(always)]
    pub(crate) fn varint(&mut self) -> Result<u64, ProtoError> {
        match *self.rest {
            [first @ ..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(first))
            }
            [first, second @ ..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(first & 0x7f) | u64::from(second) << 7)
            }
            _ => {
                let (number, rest) = long_varint(self.rest)?;
                self.rest = rest;
                Ok(number)
            }
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtoError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Cause::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }
}

impl<'a> Raw<'a> {
    /// The number behind a tag.
    pub(crate) fn varint_of(self, tag: Tag, field: &'static str) -> Result<u64, ProtoError> {
        tag.expect(VARINT, field).map(|()| self.number)
    }

    /// The bytes behind a tag.
    pub(crate) fn bytes_of(self, tag: Tag, field: &'static str) -> Result<&'a [u8], ProtoError> {
        tag.expect(BYTES, field).map(|()| self.bytes)
    }

    /// The text behind a tag.
    pub(crate) fn text_of(self, tag: Tag, field: &'static str) -> Result<&'a str, ProtoError> {
        text(self.bytes_of(tag, field)?)
    }

    /// Integers of 32 bits are written with 64; like Go, ignore what does not fit.
    pub(crate) fn int32(self) -> i32 {
        self.number as i32
    }

    /// Negative integers are written as their two's complement.
    pub(crate) fn int64(self) -> i64 {
        self.number as i64
    }
}

// These take and return what is left instead of changing a reader: one whose address is taken cannot stay in registers.

#[cold]
fn long_tag(rest: &[u8]) -> Result<(Tag, &[u8]), ProtoError> {
    let (bits, rest) = long_varint(rest)?;
    match u32::try_from(bits) {
        Ok(tag) if tag >= 8 => Ok((Tag(tag), rest)),
        _ => Err(Cause::IllegalTag { bits }.into()),
    }
}

#[inline(never)]
fn long_varint(mut rest: &[u8]) -> Result<(u64, &[u8]), ProtoError> {
    let (mut value, mut shift) = (0, 0);
    while let [byte, tail @ ..] = rest {
        // The last group has one bit left; like Go, ignore what does not fit.
        value |= u64::from(byte & 0x7f) << shift;
        rest = tail;
        if *byte < 0x80 {
            return Ok((value, rest));
        }
        shift += 7;
        if shift >= u64::BITS {
            return Err(Cause::EndlessNumber.into());
        }
    }
    Err(Cause::Truncated.into())
}

#[inline]
pub(crate) fn text(bytes: &[u8]) -> Result<&str, ProtoError> {
    std::str::from_utf8(bytes).map_err(|_| Cause::InvalidUtf8.into())
}

/// A text of its own. It is looked at after it was copied: what begins where memory does is looked at in larger pieces.
#[inline]
pub(crate) fn owned_text(bytes: &[u8]) -> Result<String, ProtoError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Cause::InvalidUtf8.into())
}

/// Whether bytes are a text, for those who do not want to have it.
#[inline]
pub(crate) fn check_text(bytes: &[u8]) -> Result<(), ProtoError> {
    if is_ascii(bytes) { Ok(()) } else { text(bytes).map(|_| ()) }
}

/// As the method of slices; quicker for the short ones that these are.
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let bits = if let Some(last) = bytes.last_chunk::<8>() {
        let (chunks, _) = bytes.as_chunks::<8>();
        chunks.iter().fold(u64::from_ne_bytes(*last), |bits, chunk| bits | u64::from_ne_bytes(*chunk))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        u64::from(u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last))
    } else {
        bytes.iter().fold(0, |bits, byte| bits | u64::from(*byte))
    };
    bits & HIGH == 0
}

/// Appends a number.
pub(crate) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field that has a length.
pub(crate) fn put_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    put_head(number, bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// Appends what is before the bytes of a field that has a length.
pub(crate) fn put_head(number: u32, length: usize, out: &mut Vec<u8>) {
    put_varint(Tag::new(number, BYTES).bits(), out);
    put_varint(length as u64, out);
}

/// How many bytes a field takes whose value has this length.
pub(crate) fn field_len(number: u32, length: usize) -> usize {
    varint_len(Tag::new(number, BYTES).bits()) + varint_len(length as u64) + length
}

fn varint_len(value: u64) -> usize {
    // Seven bits in each byte; zero takes one.
    (value | 1).ilog2() as usize / 7 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, wire type, and value.
    type Found<'a> = (u32, u32, u64, &'a [u8]);

    fn all(bytes: &[u8]) -> Result<Vec<Found<'_>>, Cause> {
        let mut reader = Reader::new(bytes);
        let mut found = Vec::new();
        while let Some((tag, raw)) = reader.field().map_err(ProtoError::into_cause)? {
            found.push((tag.number(), tag.wire(), raw.number, raw.bytes));
        }
        Ok(found)
    }

    #[test]
    fn lengths_are_known_before_they_are_written() {
        for bits in 0..64 {
            for value in [1_u64 << bits, (1 << bits) - 1, u64::MAX] {
                let mut out = Vec::new();
                put_varint(value, &mut out);
                assert_eq!(varint_len(value), out.len(), "{value}");
            }
        }
    }

    #[test]
    fn every_wire_type_is_read() {
        let bytes =
            [0x08, 0x96, 0x01, 0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x1a, 2, b'h', b'i', 0x25, 1, 0, 0, 0];
        let fields = all(&bytes).unwrap();
        assert_eq!(fields[0], (1, VARINT, 150, &b""[..]));
        assert_eq!(f64::from_bits(fields[1].2), 1.0);
        assert_eq!(fields[2], (3, BYTES, 0, &b"hi"[..]));
        assert_eq!(fields[3], (4, FIXED32, 0, &b""[..]));
        assert_eq!(all(&[]), Ok(vec![]));
        assert_eq!(all(&[0x82, 0x01, 0]).unwrap()[0].0, 16);
    }

    #[test]
    fn numbers_have_at_most_ten_bytes() {
        let minus_one = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(all(&minus_one).unwrap()[0].2, u64::MAX);
        assert_eq!(all(&[0xff; 100]), Err(Cause::EndlessNumber));
        assert_eq!(all(&[0x08, 0xff, 0xff]), Err(Cause::Truncated));
        assert_eq!(all(&[0x08]), Err(Cause::Truncated));
    }

    #[test]
    fn what_ends_too_early_is_an_error() {
        assert_eq!(all(&[0x0a, 5, b'a']), Err(Cause::Truncated));
        let negative = [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(all(&negative), Err(Cause::NegativeLength));
        assert_eq!(all(&[0x09, 1, 2, 3]), Err(Cause::Truncated));
        assert_eq!(all(&[0x0d, 1, 2, 3]), Err(Cause::Truncated));
    }

    #[test]
    fn tags_that_mean_nothing_are_errors() {
        for bytes in
            [&[0x00, 0x00][..], &[0x0b], &[0x0c], &[0x0e], &[0x0f], &[0xf8, 0xff, 0xff, 0xff, 0xff, 1]]
        {
            assert!(matches!(all(bytes), Err(Cause::IllegalTag { .. })), "{bytes:x?}");
        }
    }

    #[test]
    fn whether_it_is_a_text_does_not_depend_on_where_it_is_odd() {
        for length in 0..70 {
            let plain = vec![b'a'; length];
            assert!(check_text(&plain).is_ok(), "{length}");
            for at in 0..length {
                let mut odd = plain.clone();
                odd[at] = 0xff;
                assert!(check_text(&odd).is_err(), "{length}, {at}");
            }
        }
        assert!(check_text("grüße".as_bytes()).is_ok());
    }

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for value in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_varint(value, &mut out);
            assert_eq!(Reader::new(&out).varint().map_err(ProtoError::into_cause), Ok(value));
        }
    }
}
