//! Values that come several times: lists and maps.

use super::error::ProtoError;
use super::value::Slot;
use super::wire::{BYTES, Raw, Reader, Tag, text};

/// The elements of a repeated field, which follow each other. They were counted before, so that lists are allocated at
/// their size.
pub(crate) struct Elements<'a, 'de> {
    reader: Reader<'de>,
    /// The integers that are packed into the field that was read last.
    packed: Reader<'de>,
    count: usize,
    slot: Slot<'a, 'de>,
}

impl<'a, 'de> Elements<'a, 'de> {
    #[inline]
    pub(super) fn new(list: &Slot<'a, 'de>) -> Self {
        let count = usize::try_from(list.raw.number).unwrap_or(usize::MAX);
        Self { reader: Reader::new(list.raw.bytes), packed: Reader::new(&[]), count, slot: *list }
    }

    /// No elements.
    pub(super) fn none(list: &Slot<'a, 'de>) -> Self {
        Self { reader: Reader::new(&[]), count: 0, ..Self::new(list) }
    }

    /// What [`advance`](Self::advance) went to.
    #[inline]
    pub(crate) fn slot(&self) -> &Slot<'a, 'de> {
        &self.slot
    }

    /// Goes to the next element; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, ProtoError> {
        loop {
            if let Some(number) = self.packed.packed()? {
                self.slot.set_element(Raw { number, bytes: &[] });
                break;
            }
            let Some(tag) = self.reader.tag()? else { return Ok(false) };
            if tag.wire() == BYTES {
                let bytes = self.reader.bytes()?;
                if tag == self.slot.field.tag {
                    self.slot.set_element(Raw { number: 0, bytes });
                    break;
                }
                // Whoever counted has seen that this is about integers.
                self.packed = Reader::new(bytes);
                continue;
            }
            self.slot.set_element(self.reader.value(tag)?);
            break;
        }
        self.count = self.count.saturating_sub(1);
        Ok(true)
    }

    /// How many elements are left.
    pub(crate) fn left(&self) -> usize {
        self.count
    }
}

/// A key and its value.
type Entry<'de> = (&'de [u8], &'de [u8]);

/// The entries of a map, which follow each other.
pub(crate) struct Entries<'a, 'de> {
    reader: Reader<'de>,
    count: usize,
    slot: Slot<'a, 'de>,
    /// The key of the entry that was read last.
    key: &'de str,
}

impl<'a, 'de> Entries<'a, 'de> {
    #[inline]
    pub(super) fn new(map: &Slot<'a, 'de>) -> Self {
        let count = usize::try_from(map.raw.number).unwrap_or(usize::MAX);
        Self { reader: Reader::new(map.raw.bytes), count, slot: *map, key: "" }
    }

    /// What [`advance`](Self::advance) went to.
    #[inline]
    pub(crate) fn slot(&self) -> &Slot<'a, 'de> {
        &self.slot
    }

    /// Goes to the next entry and returns its key; none at the end.
    pub(super) fn advance(&mut self) -> Result<Option<&'de [u8]>, ProtoError> {
        if self.reader.tag()?.is_none() {
            return Ok(None);
        }
        let entry = Reader::new(self.reader.bytes()?);
        self.count = self.count.saturating_sub(1);
        let (key, value) = match in_order(entry)? {
            Some(entry) => entry,
            None => self.odd_entry(entry)?,
        };
        self.slot.set_element(Raw { number: 0, bytes: value });
        Ok(Some(key))
    }

    /// The same, and the key is text.
    pub(crate) fn next_key(&mut self) -> Result<Option<&'de str>, ProtoError> {
        let Some(key) = self.advance()? else { return Ok(None) };
        self.key = text(key)?;
        Ok(Some(self.key))
    }

    /// The key that was read last.
    pub(crate) fn key(&self) -> &'de str {
        self.key
    }

    /// How many entries are left.
    pub(crate) fn left(&self) -> usize {
        self.count
    }

    /// A key and a value that came in another way than encoders write them. What is left out is zero.
    #[cold]
    fn odd_entry(&self, mut entry: Reader<'de>) -> Result<Entry<'de>, ProtoError> {
        let (mut key, mut value) = (None, None);
        while let Some((tag, raw)) = entry.field()? {
            let place = match tag.number() {
                1 => &mut key,
                2 => &mut value,
                _ => continue,
            };
            if place.replace(raw.bytes_of(tag, self.slot.field.name)?).is_some() {
                return Err(self.slot.context.disorder());
            }
        }
        Ok((key.unwrap_or_default(), value.unwrap_or_default()))
    }
}

/// A key and its value, if that is all there is; no map has values without a length.
#[inline]
pub(super) fn in_order(mut entry: Reader<'_>) -> Result<Option<Entry<'_>>, ProtoError> {
    const KEY: Tag = Tag::new(1, BYTES);
    const VALUE: Tag = Tag::new(2, BYTES);
    if entry.tag()? != Some(KEY) {
        return Ok(None);
    }
    let key = entry.bytes()?;
    if entry.tag()? != Some(VALUE) {
        return Ok(None);
    }
    let value = entry.bytes()?;
    Ok(entry.rest().is_empty().then_some((key, value)))
}
