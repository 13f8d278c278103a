//! Values whose JSON is not what their protobuf suggests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::error::{Cause, ProtoError};
use super::table::Kind;
use super::wire::{Raw, Reader, text};

/// The longest text of a time.
pub(super) const TIME_BYTES: usize = "2006-01-02T15:04:05.000000Z".len();

/// A moment that JSON can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    seconds: i64,
    micros: u32,
}

impl Time {
    /// Reads a time; none if it was never set.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>, ProtoError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let (mut seconds, mut nanos) = (0, 0);
        let mut reader = Reader::new(bytes);
        while let Some((tag, raw)) = reader.field()? {
            match tag.number() {
                1 => seconds = raw.varint_of(tag, "seconds")? as i64,
                2 => nanos = raw.varint_of(tag, "nanos")? as i32,
                _ => {}
            }
        }
        let micros =
            u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000).map(|nanos| nanos / 1000);
        match micros {
            Some(micros) if (YEAR_ZERO..YEAR_TEN_THOUSAND).contains(&seconds) => {
                Ok(Some(Self { seconds, micros }))
            }
            _ => Err(outside(seconds, nanos)),
        }
    }

    /// Writes it as Go writes it.
    pub(super) fn text(self, kind: Kind, buffer: &mut [u8; TIME_BYTES]) -> Result<&str, ProtoError> {
        buffer.copy_from_slice(b"0000-00-00T00:00:00.000000Z");
        let (days, second) = (self.seconds.div_euclid(86_400), self.seconds.rem_euclid(86_400) as u32);
        let (year, month, day) = civil(days);
        let numbers = [
            (0, year / 100),
            (2, year % 100),
            (5, month),
            (8, day),
            (11, second / 3600),
            (14, second / 60 % 60),
            (17, second % 60),
        ];
        for (at, number) in numbers {
            two_digits(buffer, at, number);
        }
        if kind == Kind::Time {
            buffer[19] = b'Z';
            return text(&buffer[..20]);
        }
        for (at, number) in
            [(20, self.micros / 10_000), (22, self.micros / 100 % 100), (24, self.micros % 100)]
        {
            two_digits(buffer, at, number);
        }
        text(buffer)
    }
}

/// The first second of the year 0, before which times have no RFC 3339 form.
const YEAR_ZERO: i64 = -62_167_219_200;
/// The first second behind the year 9999.
const YEAR_TEN_THOUSAND: i64 = 253_402_300_800;

#[cold]
fn outside(seconds: i64, nanos: i32) -> ProtoError {
    Cause::Value(format!("time outside of the years 0 to 9999: {seconds} seconds, {nanos} nanoseconds"))
        .into()
}

#[inline]
fn two_digits(out: &mut [u8; TIME_BYTES], at: usize, number: u32) {
    out[at] = b'0' + (number / 10) as u8;
    out[at + 1] = b'0' + (number % 10) as u8;
}

/// Year, month and day of a day, counted from 1970-01-01, in the calendar that RFC 3339 uses.
///
/// Years are counted from March here, so that the day that only some years have is the last one. The years 0 to
/// 9999 are within one span of 400 years or the next ones: nothing overflows.
fn civil(days: i64) -> (u32, u32, u32) {
    const DAYS_OF_400_YEARS: u32 = 146_097;
    /// From 0000-03-01 to 1970-01-01.
    const EPOCH: i64 = 719_468;
    // One span more, so that January and February of the year 0 have a span to be in.
    let days = (days + EPOCH + i64::from(DAYS_OF_400_YEARS)) as u32;
    let (span, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = span * 400 + year - 400;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

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

/// Hands JSON text to serde_json.
pub(super) fn parse<'de, T>(
    json: &'de str,
    take: impl FnOnce(&mut serde_json::Deserializer<serde_json::de::StrRead<'de>>) -> serde_json::Result<T>,
) -> Result<T, ProtoError> {
    let mut json = serde_json::Deserializer::from_str(json);
    take(&mut json)
        .and_then(|value| json.end().map(|()| value))
        .map_err(|error| Cause::Value(format!("json parse error: {error}")).into())
}

/// The bytes of field 1, of which the last counts.
fn first(bytes: &[u8]) -> Result<Option<&[u8]>, ProtoError> {
    let mut found = None;
    let mut reader = Reader::new(bytes);
    while let Some((tag, raw)) = reader.field()? {
        if tag.number() == 1 {
            found = Some(raw.bytes_of(tag, "raw")?);
        }
    }
    Ok(found)
}

/// Go's JSON has no point in whole numbers, and no way to write infinity.
pub(super) enum Number {
    Whole(i64),
    Float(f64),
}

pub(super) fn number(raw: Raw<'_>) -> Result<Number, ProtoError> {
    /// Below this, every whole number is exact.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    let value = f64::from_bits(raw.number);
    if !value.is_finite() {
        return Err(Cause::Value(format!("json: unsupported value: {value}")).into());
    }
    let minus_zero = value == 0.0 && value.is_sign_negative();
    if value.fract() == 0.0 && value.abs() <= WHOLE && !minus_zero {
        return Ok(Number::Whole(value as i64));
    }
    Ok(Number::Float(value))
}

pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
