//! Values whose JSON is not what their protobuf suggests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::error::{Cause, ProtoError};
use super::wire::{BYTES, Raw, Reader, Tag, text};
use crate::json::{self, Decoder};
use crate::value::{Error, Number};

/// A number, or the name of one.
pub(super) enum IntOrString<'de> {
    Int(i32),
    String(&'de str),
}

pub(super) fn int_or_string(bytes: &[u8]) -> Result<IntOrString<'_>, ProtoError> {
    let (mut kind, mut number, mut name): (u64, i32, &[u8]) = (0, 0, &[]);
    let mut reader = Reader::new(bytes);
    while let Some((tag, raw)) = reader.field()? {
        match tag.number() {
            1 => kind = raw.varint_of(tag, "type")?,
            2 => number = raw.varint_of(tag, "intVal")? as i32,
            3 => name = raw.bytes_of(tag, "strVal")?,
            _ => {}
        }
    }
    match kind {
        0 => Ok(IntOrString::Int(number)),
        1 => Ok(IntOrString::String(text(name)?)),
        _ => Err(Cause::Value("impossible IntOrString.Type".to_owned()).into()),
    }
}

/// A quantity, as the encoder wrote it.
pub(super) fn quantity(bytes: &[u8]) -> Result<&str, ProtoError> {
    Ok(first(bytes)?.map(text).transpose()?.unwrap_or("0"))
}

/// The JSON text in a message; none if there is none.
pub(super) fn json(bytes: &[u8]) -> Result<Option<&str>, ProtoError> {
    match first(bytes)? {
        Some(json) if !json.is_empty() => text(json).map(Some),
        _ => Ok(None),
    }
}

/// The bytes in a message that holds nothing else.
pub(super) fn embedded(bytes: &[u8]) -> Result<&[u8], ProtoError> {
    Ok(first(bytes)?.unwrap_or_default())
}

/// Reads JSON text.
pub(super) fn parse<'de, T>(
    json: &'de str,
    take: impl FnOnce(&mut Decoder<'de>) -> Result<T, Error>,
) -> Result<T, ProtoError> {
    json::all_of(json, take).map_err(|error| Cause::Value(format!("json parse error: {error}")).into())
}

/// The bytes of field 1, of which the last counts.
#[inline]
fn first(bytes: &[u8]) -> Result<Option<&[u8]>, ProtoError> {
    const FIRST: u8 = Tag::new(1, BYTES).bits() as u8;
    match bytes {
        // As encoders write it, if it is short.
        [FIRST, length @ ..0x80, found @ ..] if found.len() == usize::from(*length) => Ok(Some(found)),
        _ => long_first(bytes),
    }
}

#[inline(never)]
fn long_first(bytes: &[u8]) -> Result<Option<&[u8]>, ProtoError> {
    let mut found = None;
    let mut reader = Reader::new(bytes);
    while let Some((tag, raw)) = reader.field()? {
        if tag.number() == 1 {
            found = Some(raw.bytes_of(tag, "raw")?);
        }
    }
    Ok(found)
}

/// A number as Go's JSON has it: without a point if it is whole. There is no way to write infinity.
pub(super) fn number(raw: Raw<'_>) -> Result<Number, ProtoError> {
    /// Below this, every whole number is exact.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    let value = f64::from_bits(raw.number);
    if !value.is_finite() {
        return Err(Cause::Value("json: unsupported value: a number that is not finite".to_owned()).into());
    }
    let minus_zero = value == 0.0 && value.is_sign_negative();
    if value.fract() == 0.0 && value.abs() <= WHOLE && !minus_zero {
        return Ok(Number::Signed(value as i64));
    }
    Ok(Number::Float(value))
}

pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
