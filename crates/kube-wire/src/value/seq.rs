//! Lists.

use serde::de::{DeserializeSeed, SeqAccess};

use super::{Error, Value};
use crate::json::Elements as JsonElements;
use crate::proto::Elements;
use crate::redact::Path;

/// A list, of which the next element is to be read.
pub(super) enum Seq<'s, 'a, 'de> {
    Json(JsonElements<'s, 'de>),
    Proto(Elements<'a, 'de>),
    Empty,
}

impl<'a, 'de> Seq<'_, 'a, 'de> {
    /// The next element; none at the end.
    fn element(&mut self) -> Result<Option<Value<'_, 'a, 'de>>, Error> {
        Ok(match self {
            Seq::Json(elements) => elements.element()?.map(Value::Json),
            Seq::Proto(elements) => elements.advance()?.then(|| Value::Proto(elements.slot())),
            Seq::Empty => None,
        })
    }

    /// The error of the element that was read last, with its place.
    #[cold]
    fn blame(&self, error: Error) -> Error {
        error.below(|path| match self {
            Seq::Json(elements) => path.element(elements.index()),
            Seq::Proto(_) | Seq::Empty => Path::some_element(path),
        })
    }

    fn left(&self) -> usize {
        match self {
            Seq::Json(elements) => elements.left(),
            Seq::Proto(elements) => elements.left(),
            Seq::Empty => 0,
        }
    }

    /// Goes behind the list; an error if something is left in a text.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        if let Seq::Json(elements) = self { elements.end() } else { Ok(()) }
    }
}

/// Gives a type a list.
pub(super) struct Access<'m, 's, 'a, 'de>(pub(super) &'m mut Seq<'s, 'a, 'de>);

impl<'de> SeqAccess<'de> for Access<'_, '_, '_, 'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(element) = self.0.element()? else { return Ok(None) };
        match seed.deserialize(element) {
            Err(error) => Err(self.0.blame(error)),
            Ok(element) => Ok(Some(element)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.left())
    }
}
