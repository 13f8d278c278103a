//! What is inside a value: the members of an object, the elements of a list.

use super::Place;
use super::decoder::Decoder;
use super::read::Text;
use crate::value::Error;

/// The members of an object, without those that are hidden.
pub(crate) struct Members<'a, 'de> {
    json: &'a mut Decoder<'de>,
    /// Where the object is.
    place: Place,
    /// Where the value behind the name is that was read last.
    below: Place,
    /// Where that name is in the text.
    name_at: usize,
    first: bool,
}

impl<'a, 'de> Members<'a, 'de> {
    #[inline]
    pub(super) fn new(json: &'a mut Decoder<'de>, place: Place) -> Self {
        Self { json, place, below: Place::Inside, name_at: 0, first: true }
    }

    /// The name of the next member.
    #[inline]
    pub(crate) fn name(&mut self) -> Result<Option<Text<'de>>, Error> {
        loop {
            let Some(name) = self.any_name()? else { return Ok(None) };
            // Most objects are in a place where nothing is hidden.
            if self.place != Place::Inside {
                if self.place.hides(&name) {
                    self.pass()?;
                    continue;
                }
                self.below = self.place.below(&name);
            }
            return Ok(Some(name));
        }
    }

    #[inline]
    fn any_name(&mut self) -> Result<Option<Text<'de>>, Error> {
        let reader = &mut self.json.reader;
        let mut next = reader.peek();
        if next == Some(b'}') {
            return Ok(None);
        }
        if !std::mem::take(&mut self.first) {
            if next != Some(b',') {
                return Err(reader.wanted_in(b'{'));
            }
            reader.pass();
            next = reader.peek();
        }
        match next {
            Some(b'"') => {
                self.name_at = reader.at();
                reader.string().map(Some)
            }
            Some(b'}') => Err(Error::new("trailing comma")),
            _ => Err(reader.wanted("EOF while parsing an object", "key must be a string")),
        }
    }

    /// Passes over the value behind the name.
    pub(crate) fn pass(&mut self) -> Result<(), Error> {
        self.json.reader.colon()?;
        self.json.reader.pass_value()
    }

    /// The text of the value behind the name.
    pub(crate) fn raw_value(&mut self) -> Result<&'de str, Error> {
        self.json.reader.colon()?;
        self.json.reader.raw_value()
    }

    /// The name that was read last.
    #[cold]
    pub(crate) fn last_name(&self) -> Result<Text<'de>, Error> {
        self.json.reader.string_at(self.name_at)
    }

    /// The value behind the name.
    pub(crate) fn value(&mut self) -> Result<&mut Decoder<'de>, Error> {
        self.json.reader.colon()?;
        self.json.place = self.below;
        Ok(self.json)
    }

    /// Goes behind the object, of which nothing may be left.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        self.json.close(b'{')
    }
}

/// The elements of a list, which is known to have so many.
pub(crate) struct Elements<'a, 'de> {
    json: &'a mut Decoder<'de>,
    len: usize,
    left: usize,
    first: bool,
}

impl<'a, 'de> Elements<'a, 'de> {
    #[inline]
    pub(super) fn new(json: &'a mut Decoder<'de>, len: usize) -> Self {
        Self { json, len, left: len, first: true }
    }

    /// The next element; none at the end.
    pub(crate) fn element(&mut self) -> Result<Option<&mut Decoder<'de>>, Error> {
        let reader = &mut self.json.reader;
        let next = reader.peek();
        if next == Some(b']') {
            return Ok(None);
        }
        if !std::mem::take(&mut self.first) {
            if next != Some(b',') {
                return Err(reader.wanted_in(b'['));
            }
            reader.pass();
            if reader.peek() == Some(b']') {
                return Err(Error::new("trailing comma"));
            }
        } else if next.is_none() {
            return Err(reader.wanted_in(b'['));
        }
        self.left = self.left.saturating_sub(1);
        self.json.place = Place::Inside;
        Ok(Some(self.json))
    }

    /// The number of the element that was read last.
    pub(crate) fn index(&self) -> usize {
        (self.len - self.left).saturating_sub(1)
    }

    /// How many elements are left.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Goes behind the list, of which nothing may be left.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        self.json.close(b'[')
    }
}
