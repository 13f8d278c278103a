//! Puts the fields of an object into the order in which encoders write them.
//!
//! Protobuf allows fields in any order, and any field more than once: numbers and texts count as they come last,
//! messages are merged, and repeated fields go on. Nobody writes Kubernetes objects that way, so decoding does not
//! pay for it; what is written that way is rewritten once, here.

use super::MAX_DEPTH;
use super::error::{Cause, ProtoError};
use super::table::{Field, Kind, ProtoMessage, Shape, Table};
use super::wire::{BYTES, FIXED64, Raw, Reader, Tag, VARINT, put_bytes, put_varint};

/// The same object with rising numbers. What the table does not know is left out.
pub(super) fn put_in_order(object: &[u8], message: ProtoMessage) -> Result<Vec<u8>, ProtoError> {
    let mut out = Vec::with_capacity(object.len());
    let table = Table::get();
    write_message(table, table.fields(message.message()), object, 0, &mut out)?;
    Ok(out)
}

/// A field as it was found.
struct Part<'a> {
    tag: Tag,
    field: &'static Field,
    raw: Raw<'a>,
}

fn write_message(
    table: &'static Table,
    fields: &'static [Field],
    bytes: &[u8],
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), ProtoError> {
    if depth > MAX_DEPTH {
        return Err(Cause::TooDeep.into());
    }
    let mut parts = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Some((tag, raw)) = reader.field()? {
        if let Some(field) = fields.get(tag.number() as usize)
            && field.kind != Kind::Absent
        {
            parts.push(Part { tag, field, raw });
        }
    }
    // Stable: what has one number stays in the order in which it came.
    parts.sort_by_key(|part| part.tag.number());
    for group in parts.chunk_by(|a, b| a.tag.number() == b.tag.number()) {
        let Some(last) = group.last() else { continue };
        match last.field.shape {
            Shape::One => {
                for part in group {
                    part.tag.expect(part.field.kind.wire(), part.field.name)?;
                }
                let merged: Vec<u8>;
                let raw = if group.len() > 1 && last.field.kind.is_message() {
                    merged = group.iter().flat_map(|part| part.raw.bytes).copied().collect();
                    Raw { number: 0, bytes: &merged }
                } else {
                    last.raw
                };
                write_value(table, last.tag, last.field, raw, depth, out)?;
            }
            Shape::Repeated => {
                for part in group {
                    write_element(table, part, depth, out)?;
                }
            }
            Shape::Map => {
                for part in group {
                    part.tag.expect(BYTES, part.field.name)?;
                    write_entry(table, part, depth, out)?;
                }
            }
        }
    }
    Ok(())
}

/// Writes one value with its tag, and what is below it in order.
fn write_value(
    table: &'static Table,
    tag: Tag,
    field: &Field,
    raw: Raw<'_>,
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), ProtoError> {
    match tag.wire() {
        VARINT => {
            put_varint(tag.bits(), out);
            put_varint(raw.number, out);
        }
        FIXED64 => {
            put_varint(tag.bits(), out);
            out.extend_from_slice(&raw.number.to_le_bytes());
        }
        _ if field.kind.has_fields() => {
            let mut below = Vec::with_capacity(raw.bytes.len());
            write_message(table, table.fields(table.below(field)), raw.bytes, depth + 1, &mut below)?;
            put_bytes(tag.number(), &below, out);
        }
        _ => put_bytes(tag.number(), raw.bytes, out),
    }
    Ok(())
}

/// Writes an element, or several integers that are packed into one field.
fn write_element(
    table: &'static Table,
    part: &Part<'_>,
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), ProtoError> {
    let (tag, field) = (part.tag, part.field);
    if tag.wire() == BYTES && field.kind.can_be_packed() {
        let mut packed = Reader::new(part.raw.bytes);
        while let Some(number) = packed.packed()? {
            put_varint(Tag::new(tag.number(), VARINT).bits(), out);
            put_varint(number, out);
        }
        return Ok(());
    }
    tag.expect(field.kind.wire(), field.name)?;
    write_value(table, tag, field, part.raw, depth, out)
}

/// Writes an entry of a map: one key, one value.
fn write_entry(
    table: &'static Table,
    part: &Part<'_>,
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), ProtoError> {
    let field = part.field;
    let (mut key, mut value): (&[u8], Option<Vec<u8>>) = (&[], None);
    let mut reader = Reader::new(part.raw.bytes);
    while let Some((tag, raw)) = reader.field()? {
        match tag.number() {
            1 => key = raw.bytes_of(tag, field.name)?,
            2 => {
                let bytes = raw.bytes_of(tag, field.name)?;
                match &mut value {
                    Some(value) if field.kind.is_message() => value.extend_from_slice(bytes),
                    _ => value = Some(bytes.to_vec()),
                }
            }
            _ => {}
        }
    }
    let mut entry = Vec::new();
    put_bytes(1, key, &mut entry);
    let raw = Raw { number: 0, bytes: value.as_deref().unwrap_or_default() };
    write_value(table, Tag::new(2, BYTES), field, raw, depth, &mut entry)?;
    put_bytes(part.tag.number(), &entry, out);
    Ok(())
}
