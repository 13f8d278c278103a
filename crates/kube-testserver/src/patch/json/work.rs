//! The work that one JSON patch may cause: bytes copied, values visited, elements shifted, depth reached.

use std::io::{self, Write};

use json_patch::PatchOperation;
use serde_json::Value;

use super::super::PatchError;

/// The bytes that all `copy` operations of a patch may copy together, as in Kubernetes. Without it a few
/// dozen operations could double a document until memory runs out.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// The values that may be visited to measure how deep a moved value nests.
const MAX_VISITED_VALUES: usize = 1024 * 1024;

/// The elements that insertions into arrays and removals from them may shift together.
const MAX_SHIFTED_ELEMENTS: usize = 64 * 1024 * 1024;

/// How deep a patched document may nest. Parsed documents have the same limit; operations could build
/// deeper ones, which recursive code cannot handle.
pub(super) const MAX_DEPTH: usize = 128;

/// What is left of the budget of one patch.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) copied_bytes_left: usize,
    pub(super) visited_values_left: usize,
    pub(super) shifted_elements_left: usize,
    /// An upper bound of the document's depth.
    depth: usize,
}

impl Work {
    /// The budget of a patch to this document.
    pub(super) fn on(doc: &Value) -> Self {
        Self {
            copied_bytes_left: MAX_COPIED_BYTES,
            visited_values_left: MAX_VISITED_VALUES,
            shifted_elements_left: MAX_SHIFTED_ELEMENTS,
            depth: depth(doc),
        }
    }

    /// Takes the cost of an operation off the budget. Fails if it is not covered, or if the operation would
    /// make the document too deep.
    pub(super) fn charge(&mut self, doc: &Value, operation: &PatchOperation) -> Result<(), PatchError> {
        let (path, value_depth) = match operation {
            PatchOperation::Test(_) => return Ok(()),
            PatchOperation::Remove(remove) => return self.shift(doc, remove.path.as_str()),
            // What a patch brings is visited once, and its size is bounded by that of the body.
            PatchOperation::Replace(replace) => (&replace.path, depth(&replace.value)),
            PatchOperation::Add(add) => {
                self.shift(doc, add.path.as_str())?;
                (&add.path, depth(&add.value))
            }
            PatchOperation::Copy(copy) => {
                let source = doc.pointer(copy.from.as_str()).unwrap_or(&Value::Null);
                self.copy(source)?;
                self.shift(doc, copy.path.as_str())?;
                (&copy.path, depth(source))
            }
            PatchOperation::Move(moved) => {
                self.shift(doc, moved.from.as_str())?;
                self.shift(doc, moved.path.as_str())?;
                // The value is part of the document, so it need not be visited unless the bound is too weak.
                let bound = self.depth.saturating_sub(moved.from.tokens().count());
                if moved.path.tokens().count() + bound <= MAX_DEPTH {
                    (&moved.path, bound)
                } else {
                    let value = doc.pointer(moved.from.as_str()).unwrap_or(&Value::Null);
                    let measured = depth_within(value, &mut self.visited_values_left);
                    let refused = || refuse("the move operations visit", MAX_VISITED_VALUES, "values");
                    (&moved.path, measured.ok_or_else(refused)?)
                }
            }
        };
        let depth = path.tokens().count().saturating_add(value_depth);
        if depth > MAX_DEPTH {
            return Err(PatchError::Unprocessable(format!("the document nests deeper than {MAX_DEPTH}")));
        }
        self.depth = self.depth.max(depth);
        Ok(())
    }

    fn copy(&mut self, value: &Value) -> Result<(), PatchError> {
        let fits = serde_json::to_writer(Meter(&mut self.copied_bytes_left), value);
        fits.map_err(|_| refuse("the copy operations copy", MAX_COPIED_BYTES, "bytes"))
    }

    /// Charges for the elements behind the place that a path names, if that is in an array.
    fn shift(&mut self, doc: &Value, path: &str) -> Result<(), PatchError> {
        let Some((parent, last)) = path.rsplit_once('/') else { return Ok(()) };
        let (Ok(at), Some(Value::Array(items))) = (last.parse::<usize>(), doc.pointer(parent)) else {
            return Ok(());
        };
        let left = self.shifted_elements_left.checked_sub(items.len().saturating_sub(at));
        self.shifted_elements_left =
            left.ok_or_else(|| refuse("the operations shift", MAX_SHIFTED_ELEMENTS, "elements of arrays"))?;
        Ok(())
    }
}

fn refuse(what: &str, limit: usize, unit: &str) -> PatchError {
    PatchError::Unprocessable(format!("{what} more than {limit} {unit}"))
}

/// How deep a value nests: 0 for a scalar, 1 for an empty object.
fn depth(value: &Value) -> usize {
    depth_within(value, &mut { usize::MAX }).unwrap_or(usize::MAX)
}

/// How deep a value nests; none if it consists of more values than may be visited.
fn depth_within(value: &Value, visits_left: &mut usize) -> Option<usize> {
    *visits_left = visits_left.checked_sub(1)?;
    let mut deepest = 0;
    match value {
        Value::Array(items) => {
            for item in items {
                deepest = deepest.max(depth_within(item, visits_left)?);
            }
        }
        Value::Object(fields) => {
            for field in fields.values() {
                deepest = deepest.max(depth_within(field, visits_left)?);
            }
        }
        _ => return Some(0),
    }
    Some(deepest + 1)
}

/// Counts the bytes that are written down to zero, and fails then.
struct Meter<'a>(&'a mut usize);

impl Write for Meter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::QuotaExceeded)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
