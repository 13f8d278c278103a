//! The bytes of a protobuf message, field by field.

use super::Cause;

/// The longest encoding of a number: 64 bits in groups of seven.
const MAX_VARINT_BYTES: usize = 10;

/// Goes through the fields of one message. Nothing is copied, so a length that lies costs nothing.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// The value of a field, as far as the bytes alone tell what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raw<'a> {
    /// An integer or a boolean.
    Varint(u64),
    /// A floating-point number.
    Fixed64(u64),
    /// Text, bytes, a message, or integers packed into one field.
    Bytes(&'a [u8]),
    /// No built-in kind has such a field: it is read to be passed over.
    Fixed32,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The number and value of the next field; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Raw<'a>)>, Cause> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let wire = (tag & 7) as u8;
        let number = match u32::try_from(tag >> 3) {
            Ok(number) if number > 0 => number,
            _ => return Err(Cause::IllegalTag { tag }),
        };
        let raw = match wire {
            0 => Raw::Varint(self.varint()?),
            1 => Raw::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                // Go's lengths have a sign.
                let length = i64::try_from(self.varint()?).map_err(|_| Cause::NegativeLength)?;
                let length = usize::try_from(length).map_err(|_| Cause::Truncated)?;
                Raw::Bytes(self.take(length)?)
            }
            5 => {
                self.array::<4>()?;
                Raw::Fixed32
            }
            // Groups (3 and 4) are older than Kubernetes; 6 and 7 were never given out.
            _ => return Err(Cause::IllegalTag { tag }),
        };
        Ok(Some((number, raw)))
    }

    /// The next of the integers that are packed into one field; none at the end.
    pub(super) fn next_packed(&mut self) -> Result<Option<u64>, Cause> {
        if self.rest.is_empty() { Ok(None) } else { self.varint().map(Some) }
    }

    fn varint(&mut self) -> Result<u64, Cause> {
        let mut value = 0;
        for (at, &byte) in self.rest.iter().enumerate().take(MAX_VARINT_BYTES) {
            // The last group has one bit left; like Go, ignore what does not fit.
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                self.rest = &self.rest[at + 1..];
                return Ok(value);
            }
        }
        Err(if self.rest.len() < MAX_VARINT_BYTES { Cause::Truncated } else { Cause::EndlessNumber })
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Cause> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Cause::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Cause> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Cause::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }
}

impl<'a> Raw<'a> {
    pub(super) fn varint(self) -> Result<u64, Cause> {
        match self {
            Self::Varint(value) => Ok(value),
            other => Err(other.wrong()),
        }
    }

    pub(super) fn double(self) -> Result<f64, Cause> {
        match self {
            Self::Fixed64(bits) => Ok(f64::from_bits(bits)),
            other => Err(other.wrong()),
        }
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], Cause> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            other => Err(other.wrong()),
        }
    }

    pub(super) fn text(self) -> Result<&'a str, Cause> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Cause::InvalidUtf8)
    }

    fn wrong(self) -> Cause {
        let wire = match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Fixed32 => 5,
        };
        Cause::WrongWireType { wire }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u32, Raw<'_>)>, Cause> {
        let mut reader = Reader::new(bytes);
        std::iter::from_fn(|| reader.next().transpose()).collect()
    }

    #[test]
    fn every_wire_type_is_read() {
        let bytes =
            [0x08, 0x96, 0x01, 0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x1a, 2, b'h', b'i', 0x25, 1, 0, 0, 0];
        let fields = all(&bytes).expect("a message");
        assert_eq!(fields[0], (1, Raw::Varint(150)));
        assert_eq!(fields[1].1.double(), Ok(1.0));
        assert_eq!(fields[2].1.text(), Ok("hi"));
        assert_eq!(fields[3], (4, Raw::Fixed32));
        assert_eq!(all(&[]), Ok(vec![]));
    }

    #[test]
    fn numbers_have_at_most_ten_bytes() {
        let minus_one = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(all(&minus_one), Ok(vec![(1, Raw::Varint(u64::MAX))]));
        assert_eq!(all(&[0xff; 100]), Err(Cause::EndlessNumber));
        assert_eq!(all(&[0x08, 0xff, 0xff]), Err(Cause::Truncated));
        assert_eq!(all(&[0x08]), Err(Cause::Truncated));
    }

    #[test]
    fn what_ends_too_early_is_an_error() {
        assert_eq!(all(&[0x0a, 5, b'a']), Err(Cause::Truncated));
        assert_eq!(
            all(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
            Err(Cause::NegativeLength)
        );
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
    fn a_field_of_another_wire_type_is_an_error() {
        assert_eq!(Raw::Bytes(b"").varint(), Err(Cause::WrongWireType { wire: 2 }));
        assert_eq!(Raw::Varint(0).bytes(), Err(Cause::WrongWireType { wire: 0 }));
        assert_eq!(Raw::Fixed64(0).text(), Err(Cause::WrongWireType { wire: 1 }));
        assert_eq!(Raw::Fixed32.double(), Err(Cause::WrongWireType { wire: 5 }));
        assert_eq!(Raw::Bytes(b"\xff").text(), Err(Cause::InvalidUtf8));
    }
}
