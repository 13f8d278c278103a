//! Values without parts, from their protobuf form to their JSON form.
//!
//! Several of them are scalars only in JSON: in protobuf a quantity, a time and a "number or name" are
//! messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Number, Value};

use super::Cause;
use super::wire::{Raw, Reader};
use crate::schema::{Scalar, quantity};

/// What a field of this kind is in JSON; `null` for a time that was never set.
pub(super) fn scalar(kind: Scalar, raw: Raw<'_>) -> Result<Value, Cause> {
    Ok(match kind {
        Scalar::String => Value::from(raw.text()?),
        Scalar::Bytes => Value::String(STANDARD.encode(raw.bytes()?)),
        Scalar::Boolean => Value::Bool(raw.varint()? != 0),
        Scalar::Int32 => Value::from(int32(raw)?),
        Scalar::Int64 => Value::from(int64(raw)?),
        Scalar::Number => number(raw.double()?)?,
        Scalar::IntOrString => int_or_string(raw.bytes()?)?,
        Scalar::Quantity => quantity_text(raw.bytes()?)?,
        Scalar::Time => time(raw.bytes()?, "%Y-%m-%dT%H:%M:%SZ")?,
        Scalar::MicroTime => time(raw.bytes()?, "%Y-%m-%dT%H:%M:%S.%6fZ")?,
        Scalar::Duration => Value::String(duration(raw.bytes()?)?),
    })
}

/// What a map has for a key whose value was left out.
pub(super) fn zero(kind: Scalar) -> Value {
    match kind {
        Scalar::String | Scalar::Bytes => Value::from(""),
        Scalar::Boolean => Value::Bool(false),
        Scalar::Int32 | Scalar::Int64 | Scalar::Number | Scalar::IntOrString => Value::from(0),
        Scalar::Quantity => Value::from("0"),
        Scalar::Time | Scalar::MicroTime => Value::Null,
        Scalar::Duration => Value::from("0s"),
    }
}

/// Integers of 32 bits are written with 64; like Go, ignore what does not fit.
fn int32(raw: Raw<'_>) -> Result<i32, Cause> {
    Ok(raw.varint()? as i32)
}

/// Negative integers are written as their two's complement.
fn int64(raw: Raw<'_>) -> Result<i64, Cause> {
    Ok(raw.varint()? as i64)
}

/// Go's JSON has no point in whole numbers, and no way to write infinity.
fn number(value: f64) -> Result<Value, Cause> {
    /// Below this, every whole number is exact.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= WHOLE && !(value == 0.0 && value.is_sign_negative()) {
        return Ok(Value::from(value as i64));
    }
    Number::from_f64(value)
        .map(Value::Number)
        .ok_or_else(|| Cause::Value(format!("json: unsupported value: {value}")))
}

fn int_or_string(bytes: &[u8]) -> Result<Value, Cause> {
    let (mut kind, mut number, mut text) = (0, 0, "");
    let mut reader = Reader::new(bytes);
    while let Some((field, raw)) = reader.next()? {
        match field {
            1 => kind = int64(raw)?,
            2 => number = int32(raw)?,
            3 => text = raw.text()?,
            _ => {}
        }
    }
    match kind {
        0 => Ok(Value::from(number)),
        1 => Ok(Value::from(text)),
        _ => Err(Cause::Value("impossible IntOrString.Type".to_owned())),
    }
}

fn quantity_text(bytes: &[u8]) -> Result<Value, Cause> {
    let mut text = "0";
    let mut reader = Reader::new(bytes);
    while let Some((field, raw)) = reader.next()? {
        if field == 1 {
            text = raw.text()?;
        }
    }
    let written = quantity::canonical(text).map_err(|error| Cause::Value(error.to_string()))?;
    Ok(Value::String(written.into_owned()))
}

fn time(bytes: &[u8], format: &str) -> Result<Value, Cause> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader::new(bytes);
    while let Some((field, raw)) = reader.next()? {
        match field {
            1 => seconds = int64(raw)?,
            2 => nanos = int32(raw)?,
            _ => {}
        }
    }
    let outside = || Cause::Value(format!("time outside of the years 0 to 9999: {seconds} seconds"));
    let time = Timestamp::new(seconds, nanos).map_err(|_| outside())?;
    if time.as_second() < YEAR_ZERO {
        return Err(outside());
    }
    Ok(Value::String(time.strftime(format).to_string()))
}

/// The first second of the year 0, before which times have no RFC 3339 form.
const YEAR_ZERO: i64 = -62_167_219_200;

/// A duration as Go writes it: `1h0m0.5s`, and below a second `1.5ms`.
fn duration(bytes: &[u8]) -> Result<String, Cause> {
    let mut nanos = 0;
    let mut reader = Reader::new(bytes);
    while let Some((field, raw)) = reader.next()? {
        if field == 1 {
            nanos = int64(raw)?;
        }
    }
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let (unit, digits, name) = match nanos {
        0 => return Ok("0s".to_owned()),
        1..1_000 => (1, 0, "ns"),
        1_000..1_000_000 => (1_000, 3, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, 6, "ms"),
        _ => (1_000_000_000, 9, "s"),
    };
    let (whole, part) = (nanos / unit, nanos % unit);
    let part = if part == 0 { String::new() } else { format!(".{part:0digits$}") };
    let part = part.trim_end_matches('0');
    if whole < 60 || name != "s" {
        return Ok(format!("{sign}{whole}{part}{name}"));
    }
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    let hours = if hours == 0 { String::new() } else { format!("{hours}h") };
    Ok(format!("{sign}{hours}{minutes}m{seconds}{part}s"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A message of one number with the field number 1.
    fn message(value: i64) -> Vec<u8> {
        let mut bytes = vec![0x08];
        let mut rest = value as u64;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes
    }

    #[test]
    fn integers_have_a_sign() {
        assert_eq!(scalar(Scalar::Int32, Raw::Varint(u64::MAX)), Ok(json!(-1)));
        assert_eq!(scalar(Scalar::Int64, Raw::Varint(u64::MAX)), Ok(json!(-1)));
        assert_eq!(scalar(Scalar::Int64, Raw::Varint(1 << 40)), Ok(json!(1_i64 << 40)));
    }

    #[test]
    fn whole_numbers_have_no_point() {
        assert_eq!(number(2.0), Ok(json!(2)));
        assert_eq!(number(2.5), Ok(json!(2.5)));
        assert_eq!(number(1e300), Ok(json!(1e300)));
        assert!(number(f64::NAN).is_err());
        assert!(number(f64::INFINITY).is_err());
    }

    #[test]
    fn a_port_is_a_number_or_a_name() {
        assert_eq!(int_or_string(&[0x08, 0, 0x10, 80, 0x1a, 0]), Ok(json!(80)));
        assert_eq!(int_or_string(&[0x08, 1, 0x10, 0, 0x1a, 1, b'a']), Ok(json!("a")));
        assert_eq!(int_or_string(&[]), Ok(json!(0)));
        assert!(int_or_string(&[0x08, 2]).is_err());
    }

    #[test]
    fn quantities_are_written_in_one_way() {
        assert_eq!(quantity_text(b"\x0a\x051000m"), Ok(json!("1")));
        assert_eq!(quantity_text(b""), Ok(json!("0")));
        assert!(quantity_text(b"\x0a\x00").is_err());
        assert!(quantity_text(b"\x0a\x04many").is_err());
    }

    #[test]
    fn times_are_seconds_since_1970() {
        let at = |seconds| scalar(Scalar::Time, Raw::Bytes(&message(seconds)));
        assert_eq!(at(0), Ok(json!("1970-01-01T00:00:00Z")));
        assert_eq!(at(-1), Ok(json!("1969-12-31T23:59:59Z")));
        assert_eq!(at(YEAR_ZERO), Ok(json!("0000-01-01T00:00:00Z")));
        assert!(at(YEAR_ZERO - 1).is_err());
        assert!(at(i64::MAX).is_err());
        assert_eq!(scalar(Scalar::Time, Raw::Bytes(&[])), Ok(Value::Null));
        let nanos = [0x08, 1, 0x10, 0xe8, 0x07];
        assert_eq!(scalar(Scalar::Time, Raw::Bytes(&nanos)), Ok(json!("1970-01-01T00:00:01Z")));
        assert_eq!(scalar(Scalar::MicroTime, Raw::Bytes(&nanos)), Ok(json!("1970-01-01T00:00:01.000001Z")));
    }

    /// Texts as Go's `time.Duration` gives them.
    #[test]
    fn durations_read_like_those_of_go() {
        let cases = [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5µs"),
            (100_000_000, "100ms"),
            (1_000_000_000, "1s"),
            (-1_500_000_000, "-1.5s"),
            (60_000_000_000, "1m0s"),
            (3_600_000_000_001, "1h0m0.000000001s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(duration(&message(nanos)).as_deref(), Ok(text));
        }
    }
}
