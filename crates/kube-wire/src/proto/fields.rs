//! The fields of a message, one after the other.

use super::MAX_DEPTH;
use super::error::{Cause, ProtoError};
use super::table::{Field, Message, Step};
use super::value::{Context, Slot};
use super::wanted::{self, Names};
use super::wire::{BYTES, Raw, Reader, Tag, VARINT};
use crate::object::DecodeOptions;

/// How deep structs inline structs; a test proves that this is enough.
pub(super) const MAX_INLINE_DEPTH: usize = 2;

/// The fields of one message, one after the other, those of messages that it inlines among them.
///
/// A type gets each field once. That is sure while numbers rise, as they do in what encoders write; what comes twice
/// would have to be merged with what was handed out already. So numbers that do not rise end this walk, and the bytes
/// are put in order and read anew ([`super::order`]).
pub(crate) struct Fields<'a, 'de> {
    at: Level<'de>,
    /// The messages around the inlined one that the walk is in, from the outside; most have none.
    outer: [Option<Level<'de>>; MAX_INLINE_DEPTH],
    outer_levels: usize,
    /// What was read last.
    slot: Slot<'a, 'de>,
    /// `metadata` is shown without `managedFields`.
    lean: bool,
}

/// One message, half read.
#[derive(Clone, Copy)]
struct Level<'de> {
    reader: Reader<'de>,
    /// What is to be done with its fields.
    steps: &'static [Step],
    /// The number of the last field.
    last: u32,
    message: Message,
}

impl<'a, 'de> Fields<'a, 'de> {
    /// The fields of a message; `depth` is how many messages are around it.
    #[inline(always)]
    pub(super) fn new(
        context: &'a Context,
        message: Message,
        bytes: &'de [u8],
        depth: u32,
    ) -> Result<Self, ProtoError> {
        if depth > MAX_DEPTH {
            return Err(Cause::TooDeep.into());
        }
        Ok(Self {
            at: Level::new(context, message, bytes),
            outer: [None; MAX_INLINE_DEPTH],
            outer_levels: 0,
            slot: Slot::new(context, depth),
            lean: false,
        })
    }

    /// The same without those that a struct does not name. One that names nothing does not say what it wants.
    #[inline(always)]
    pub(crate) fn named(mut self, names: Names) -> Self {
        if !names.is_empty() {
            self.at.steps = wanted::steps(self.slot.context.table, self.at.message, names);
        }
        self
    }

    /// The fields of a whole object.
    pub(super) fn of_object(
        context: &'a Context,
        message: Message,
        bytes: &'de [u8],
        options: DecodeOptions,
    ) -> Result<Self, ProtoError> {
        let fields = Self::new(context, message, bytes, 0)?;
        Ok(Self { lean: !options.keep_managed_fields, ..fields })
    }

    /// Goes to the next field that JSON would show; none at the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<Option<&'static Field>, ProtoError> {
        if self.at.reader.rest().is_empty() && self.outer_levels == 0 { Ok(None) } else { self.step() }
    }

    #[inline(never)]
    fn step(&mut self) -> Result<Option<&'static Field>, ProtoError> {
        // What the loop works on is kept at hand and put back when it ends.
        let Level { mut reader, mut steps, mut last, .. } = self.at;
        let raw = loop {
            let start = reader.rest();
            let Some(tag) = reader.tag()? else {
                if !self.leave() {
                    return Ok(None);
                }
                Level { reader, steps, last, .. } = self.at;
                continue;
            };
            let number = tag.number();
            let step = steps.get(number as usize).copied().unwrap_or(Step::Skip);
            if step == Step::Skip {
                reader.value(tag)?;
                continue;
            }
            if number <= last {
                return Err(self.slot.context.disorder());
            }
            last = number;
            // What is zero, first: that is most of it.
            if tag.wire() == BYTES && step.is_bytes() {
                let bytes = reader.bytes()?;
                if step == Step::Bytes || !bytes.is_empty() {
                    break Raw { number: 0, bytes };
                }
            } else if tag.wire() == VARINT && step.is_number() {
                let number = reader.varint()?;
                if step == Step::Number || number != 0 {
                    break Raw { number, bytes: &[] };
                }
            } else if step == Step::Run {
                let (raw, behind) = run(reader, start, tag, self.field(number))?;
                reader = behind;
                break raw;
            } else if step == Step::Enter && tag.wire() == BYTES {
                let bytes = reader.bytes()?;
                (self.at.reader, self.at.last) = (reader, last);
                self.enter(number, bytes)?;
                Level { reader, steps, last, .. } = self.at;
            } else {
                let field = self.field(number);
                tag.expect(field.tag.wire(), field.name)?;
                // Only floating-point numbers are left. Minus zero is zero too.
                let raw = reader.value(tag)?;
                if field.shows_zero || f64::from_bits(raw.number) != 0.0 {
                    break raw;
                }
            }
        };
        (self.at.reader, self.at.last) = (reader, last);
        let field = self.field(last);
        let field = if self.lean { self.slot.context.table.lean(field) } else { field };
        self.slot.raw = raw;
        self.slot.set_field(field);
        Ok(Some(field))
    }

    /// Looks at all fields, and makes nothing of them.
    pub(super) fn check(&mut self) -> Result<(), ProtoError> {
        while self.advance()?.is_some() {
            self.slot.check()?;
        }
        Ok(())
    }

    #[inline]
    fn field(&self, number: u32) -> &'static Field {
        self.slot.context.table.field(self.at.message, number)
    }

    /// What [`advance`](Self::advance) went to.
    #[inline]
    pub(crate) fn slot(&self) -> &Slot<'a, 'de> {
        &self.slot
    }

    /// The same, to be changed.
    pub(super) fn slot_mut(&mut self) -> &mut Slot<'a, 'de> {
        &mut self.slot
    }

    /// Goes on in an inlined message, and remembers where to go on behind it.
    fn enter(&mut self, number: u32, bytes: &'de [u8]) -> Result<(), ProtoError> {
        let context = self.slot.context;
        let inner = Level::new(context, context.table.below(self.field(number)), bytes);
        *self.outer.get_mut(self.outer_levels).ok_or(Cause::TooDeep)? =
            Some(std::mem::replace(&mut self.at, inner));
        self.outer_levels += 1;
        Ok(())
    }

    /// Goes back to the message around an inlined one; false if there is none.
    #[inline]
    fn leave(&mut self) -> bool {
        let around = self.outer.get_mut(self.outer_levels.wrapping_sub(1)).and_then(Option::take);
        let Some(around) = around else { return false };
        (self.at, self.outer_levels) = (around, self.outer_levels - 1);
        true
    }
}

impl<'de> Level<'de> {
    #[inline]
    fn new(context: &Context, message: Message, bytes: &'de [u8]) -> Self {
        Self { reader: Reader::new(bytes), steps: context.table.steps(message), last: 0, message }
    }
}

/// All elements that follow each other: their bytes from `start` on, and how many they are.
#[inline(never)]
pub(super) fn run<'de>(
    mut reader: Reader<'de>,
    start: &'de [u8],
    tag: Tag,
    field: &Field,
) -> Result<(Raw<'de>, Reader<'de>), ProtoError> {
    // Several integers may be packed into one field.
    let packed = tag.wire() == BYTES && field.kind.can_be_packed();
    if !packed {
        tag.expect(field.tag.wire(), field.name)?;
    }
    let mut count = 0;
    loop {
        let raw = reader.value(tag)?;
        // Each integer has one byte without the bit that says that more follow.
        count += if packed { raw.bytes.iter().filter(|&&byte| byte < 0x80).count() } else { 1 };
        let mut ahead = reader;
        if ahead.tag()? != Some(tag) {
            break;
        }
        reader = ahead;
    }
    let bytes = &start[..start.len() - reader.rest().len()];
    Ok((Raw { number: count as u64, bytes }, reader))
}
