//! The walk through messages whose types are known when this is compiled.
//!
//! It knows no table and tells no errors: what is not as encoders write it ends the walk, and the way through serde says what is
//! wrong, if anything is. What is left to read is handed on and returned, so that it stays in registers.

use super::super::wire::{BYTES, FIXED32, FIXED64, Reader, Tag, VARINT};
use super::INLINED;

/// Behind the last field of a message there is no place.
pub(super) const END: u32 = 0;

/// Where a message is: what those around it have to say.
#[derive(Clone, Copy)]
pub(super) struct At {
    /// The place had another value before, which is written over.
    pub(super) used: bool,
    /// How many messages down `managedFields` are left out; 0 if they are not.
    lean: u8,
}

impl At {
    /// In no message: the place of an object itself.
    pub(super) fn object(used: bool, keep_managed_fields: bool) -> Self {
        Self { used, lean: if keep_managed_fields { 0 } else { 2 } }
    }

    /// In a message of this one.
    #[inline(always)]
    pub(super) fn below(self) -> Self {
        Self { lean: self.lean.saturating_sub(1), ..self }
    }

    /// The same where there was nothing before.
    #[inline(always)]
    pub(super) fn fresh(self) -> Self {
        Self { used: false, ..self }
    }

    /// Whether this is the metadata of an object that is to have no `managedFields`.
    #[inline]
    pub(super) fn is_lean(self) -> bool {
        self.lean == 1
    }
}

/// Which fields of a type are not there if they are zero, and which are messages whose fields are the type's.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Texts and bytes, by their numbers.
    empty: u64,
    /// Integers and booleans.
    zero: u64,
    inlined: u64,
}

impl Rules {
    /// From the places of a type. Numbers without a bit, and those of inlined messages, are left to who reads the field.
    pub(super) const fn new(empty: &[u32], zero: &[u32], places: &[&[u32]]) -> Self {
        Self { empty: bits(empty), zero: bits(zero), inlined: inlined(places) }
    }

    /// Whether who reads a field has to see by itself that it is not there.
    pub(super) const fn is_left(mut none: &[u32], place: u32) -> bool {
        while let [one, rest @ ..] = none {
            if *one == place {
                return place >= u64::BITS;
            }
            none = rest;
        }
        false
    }
}

/// A bit for each of the places that are small enough.
const fn bits(mut places: &[u32]) -> u64 {
    let mut bits = 0;
    while let [place, rest @ ..] = places {
        if *place < u64::BITS {
            bits |= 1 << *place;
        }
        places = rest;
    }
    bits
}

/// A bit for each of the inlined messages that have places.
const fn inlined(mut places: &[&[u32]]) -> u64 {
    let mut all = 0;
    while let [some, others @ ..] = places {
        let mut rest = *some;
        while let [place, behind @ ..] = rest {
            if *place >= INLINED {
                // Not to be compiled if the number is too large.
                all |= 1 << (*place / INLINED);
            }
            rest = behind;
        }
        places = others;
    }
    all
}

/// The fields of a message, one after the other.
pub(super) struct Walk<'a> {
    /// What was not read yet.
    pub(super) rest: &'a [u8],
    /// The tag that was read last, and what was left before it.
    pub(super) tag: Tag,
    pub(super) start: &'a [u8],
    /// The number of the last field: numbers rise.
    last: u32,
    /// The number of the inlined message that the walk is in, and what is behind that; 0 if it is in none.
    inlined: u32,
    behind: &'a [u8],
}

impl<'a> Walk<'a> {
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, tag: Tag::new(0, BYTES), start: bytes, last: 0, inlined: 0, behind: &[] }
    }

    /// Goes on behind the value, if that is zero and written as it should be.
    #[inline]
    pub(super) fn skip_zero(&mut self, wire: u32) -> bool {
        match self.rest {
            [0, rest @ ..] if self.tag.wire() == wire => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Goes to the next field that counts, and returns its place: its number, and if it is one of an inlined message the number
    /// of that, times [`INLINED`]. At the end it is [`END`].
    #[inline(always)]
    pub(super) fn next(&mut self, rules: Rules) -> Option<u32> {
        loop {
            let Some((tag, rest)) = tag(self.rest)? else {
                if rules.inlined == 0 || self.inlined == 0 {
                    return Some(END);
                }
                (self.rest, self.last, self.inlined) = (self.behind, self.inlined, 0);
                continue;
            };
            let number = tag.number();
            if number <= self.last {
                return None;
            }
            self.last = number;
            let is_in = |bits: u64| number < u64::BITS && bits >> number & 1 != 0;
            let outside = rules.inlined == 0 || self.inlined == 0;
            // What is zero, first: that is most of it.
            if let [0, rest @ ..] = rest
                && outside
                && is_in(match tag.wire() {
                    BYTES => rules.empty,
                    VARINT => rules.zero,
                    _ => 0,
                })
            {
                self.rest = rest;
                continue;
            }
            if rules.inlined != 0 && outside && is_in(rules.inlined) {
                if tag.wire() != BYTES {
                    return None;
                }
                (self.rest, self.behind) = bytes(rest)?;
                (self.last, self.inlined) = (0, number);
                continue;
            }
            // No field has it, and it is not to be taken for one of an inlined message.
            if rules.inlined != 0 && number >= INLINED {
                return None;
            }
            (self.start, self.rest, self.tag) = (self.rest, rest, tag);
            return Some(number + if rules.inlined == 0 { 0 } else { self.inlined * INLINED });
        }
    }
}

/// The next tag and what is behind it; none at the end.
#[inline(always)]
#[expect(clippy::option_option, reason = "nothing is not the same as something odd")]
pub(super) fn tag(rest: &[u8]) -> Option<Option<(Tag, &[u8])>> {
    match *rest {
        [first @ 8..0x80, ref rest @ ..] => Some(Some((Tag::from_bits(u32::from(first)), rest))),
        [first @ 0x80..=0xff, second @ 1..0x80, ref rest @ ..] => {
            Some(Some((Tag::from_bits(u32::from(first & 0x7f) | u32::from(second) << 7), rest)))
        }
        [] => Some(None),
        _ => None,
    }
}

/// What has a length, and what is behind it.
#[inline(always)]
pub(super) fn bytes(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    match *rest {
        [length @ ..0x80, ref rest @ ..] => rest.split_at_checked(usize::from(length)),
        [low @ 0x80..=0xff, high @ 1..0x80, ref rest @ ..] => {
            rest.split_at_checked(usize::from(low & 0x7f) | usize::from(high) << 7)
        }
        _ => long_bytes(rest),
    }
}

#[inline(never)]
fn long_bytes(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut reader = Reader::new(rest);
    let bytes = reader.bytes().ok()?;
    // Encoders write zero as one byte, and who looks for it looks for that.
    (!bytes.is_empty()).then_some((bytes, reader.rest()))
}

/// A number and what is behind it.
#[inline]
pub(super) fn number(rest: &[u8]) -> Option<(u64, &[u8])> {
    let mut reader = Reader::new(rest);
    let number = reader.varint().ok()?;
    (number != 0 || rest.first() == Some(&0)).then_some((number, reader.rest()))
}

/// What is behind a value.
#[inline]
fn pass_one(tag: Tag, rest: &[u8]) -> Option<&[u8]> {
    match tag.wire() {
        BYTES => bytes(rest).map(|(_, rest)| rest),
        VARINT => number(rest).map(|(_, rest)| rest),
        FIXED64 => rest.get(8..),
        FIXED32 => rest.get(4..),
        _ => None,
    }
}

/// What is behind the values of a field, whatever they are.
#[inline(never)]
pub(super) fn pass(tag: Tag, rest: &[u8]) -> Option<&[u8]> {
    let mut rest = pass_one(tag, rest)?;
    while let Some(behind) = another(tag, rest) {
        rest = pass_one(tag, behind)?;
    }
    Some(rest)
}

/// How many values a field has; `rest` is behind the tag of the first.
#[inline]
pub(super) fn count(tag: Tag, rest: &[u8]) -> Option<usize> {
    let (mut rest, mut count) = (pass_one(tag, rest)?, 1);
    while let Some(behind) = another(tag, rest) {
        rest = pass_one(tag, behind)?;
        count += 1;
    }
    Some(count)
}

/// What is behind a tag, if it is the next one.
#[inline(always)]
pub(super) fn another(wanted: Tag, rest: &[u8]) -> Option<&[u8]> {
    match tag(rest) {
        Some(Some((tag, rest))) if tag == wanted => Some(rest),
        _ => None,
    }
}
