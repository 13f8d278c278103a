//! Times: seconds in protobuf, text in JSON.

use super::error::{Cause, ProtoError};
use super::table::Kind;
use super::wire::{Reader, Tag, VARINT, put_varint, text};

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
            _ => Err(outside()),
        }
    }

    /// Whether it is so far away that types which know zones may not reach it.
    pub(super) fn is_extreme(self) -> bool {
        const WEEK: i64 = 7 * 86_400;
        !(YEAR_ZERO + WEEK..YEAR_TEN_THOUSAND - WEEK).contains(&self.seconds)
    }

    /// Its seconds and what is left in nanoseconds, as exact as JSON has them.
    pub(super) fn parts(self, kind: Kind) -> (i64, i32) {
        let micros = if kind == Kind::MicroTime { self.micros } else { 0 };
        (self.seconds, (micros * 1000).cast_signed())
    }

    /// The text of it, as Go writes it.
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

// Parsing is for encoding only.
impl Time {
    /// Reads the text of a time: RFC 3339, with a point in the seconds or without.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (date, rest) = text.split_at_checked("2006-01-02".len())?;
        let (clock, rest) = rest.strip_prefix(['T', 't'])?.split_at_checked("15:04:05".len())?;
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
        let digits =
            rest.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
        let (fraction, zone) = if digits == 0 { ("", rest) } else { rest[1..].split_at(digits) };
        let exists =
            (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 60;
        let days = days(year, month, day);
        // A day that the month does not have is one of the next month.
        if !exists || civil(days) != (year, month, day) {
            return None;
        }
        let seconds = days * 86_400 + i64::from(hour * 3600 + minute * 60 + second) - offset(zone)?;
        let micros = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
        (YEAR_ZERO..YEAR_TEN_THOUSAND).contains(&seconds).then_some(Self { seconds, micros })
    }

    /// Writes the fields of it.
    pub(super) fn write(self, kind: Kind, out: &mut Vec<u8>) {
        let nanos = if kind == Kind::MicroTime { self.micros * 1000 } else { 0 };
        for (number, value) in [(1, self.seconds as u64), (2, u64::from(nanos))] {
            put_varint(Tag::new(number, VARINT).bits(), out);
            put_varint(value, out);
        }
    }
}

/// Three numbers of as many digits as said.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[u32; 3]> {
    let mut parts = text.split(separator);
    let mut found = [0; 3];
    for (place, digits) in found.iter_mut().zip(digits) {
        let part = parts.next()?;
        let plain = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *place = part.parse().ok().filter(|_| plain)?;
    }
    parts.next().is_none().then_some(found)
}

/// How many seconds a zone is ahead.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let [hours, minutes, _] = numbers(&format!("{}:00", zone.strip_prefix(['+', '-'])?), ':', [2, 2, 2])?;
    (hours < 24 && minutes < 60).then_some(sign * i64::from(hours * 3600 + minutes * 60))
}

/// The first second of the year 0, before which times have no RFC 3339 form.
const YEAR_ZERO: i64 = -62_167_219_200;
/// The first second behind the year 9999.
const YEAR_TEN_THOUSAND: i64 = 253_402_300_800;

#[cold]
fn outside() -> ProtoError {
    Cause::Value("time outside of the years 0 to 9999".to_owned()).into()
}

#[inline]
fn two_digits(out: &mut [u8; TIME_BYTES], at: usize, number: u32) {
    out[at] = b'0' + (number / 10) as u8;
    out[at + 1] = b'0' + (number % 10) as u8;
}

const DAYS_OF_400_YEARS: u32 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// Year, month and day of a day, counted from 1970-01-01, in the calendar that RFC 3339 uses.
///
/// Years are counted from March here, so that the day that only some years have is the last one. Days of the
/// years 0 to 9999 do not overflow.
fn civil(days: i64) -> (u32, u32, u32) {
    // One span more, so that January and February of the year 0 have a span to be in.
    let days = (days + EPOCH + i64::from(DAYS_OF_400_YEARS)) as u32;
    let (span, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    // January and February belong to the next year.
    let year = span * 400 + year + u32::from(month >= 10) - 400;
    (year, if month < 10 { month + 3 } else { month - 9 }, day)
}

/// The day of a date, counted from 1970-01-01: the way back from [`civil`].
fn days(year: u32, month: u32, day: u32) -> i64 {
    let (year, month) = if month > 2 { (year + 400, month - 3) } else { (year + 399, month + 9) };
    let days_before = 365 * year + year / 4 - year / 100 + year / 400;
    i64::from(days_before + (153 * month + 2) / 5 + day - 1) - EPOCH - i64::from(DAYS_OF_400_YEARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(seconds: i64, micros: u32, kind: Kind) -> String {
        let mut message = Vec::new();
        Time { seconds, micros }.write(kind, &mut message);
        let time = Time::read(&message).unwrap().unwrap();
        time.text(kind, &mut [0; TIME_BYTES]).unwrap().to_owned()
    }

    #[test]
    fn times_are_seconds_since_1970() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (YEAR_ZERO, "0000-01-01T00:00:00Z"),
            (YEAR_TEN_THOUSAND - 1, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(show(seconds, 0, Kind::Time), text);
            assert_eq!(Time::parse(text), Some(Time { seconds, micros: 0 }), "{text}");
        }
        assert_eq!(show(1, 7, Kind::MicroTime), "1970-01-01T00:00:01.000007Z");
    }

    #[test]
    fn every_day_is_read_as_it_was_written() {
        for day in (YEAR_ZERO / 86_400)..(YEAR_TEN_THOUSAND / 86_400) {
            let (year, month, date) = civil(day);
            assert_eq!(days(year, month, date), day);
        }
    }

    #[test]
    fn a_time_that_was_never_set_is_none() {
        assert_eq!(Time::read(b""), Ok(None));
    }

    #[test]
    fn times_that_json_cannot_show_are_errors() {
        for (seconds, nanos) in
            [(YEAR_ZERO - 1, 0), (YEAR_TEN_THOUSAND, 0), (i64::MAX, 0), (0, -1), (0, i32::MAX)]
        {
            let mut message = Vec::new();
            for (number, value) in [(1, seconds as u64), (2, i64::from(nanos) as u64)] {
                put_varint(Tag::new(number, VARINT).bits(), &mut message);
                put_varint(value, &mut message);
            }
            assert!(Time::read(&message).is_err(), "{seconds} {nanos}");
        }
        assert!(Time::read(b"\x0a\x00").is_err());
    }

    #[test]
    fn texts_of_times_have_zones_and_fractions() {
        let at = |text| Time::parse(text).map(|time| (time.seconds, time.micros));
        assert_eq!(at("1970-01-01T02:00:00+02:00"), Some((0, 0)));
        assert_eq!(at("1969-12-31T19:00:00-05:00"), Some((0, 0)));
        assert_eq!(at("1970-01-01T00:00:00.5Z"), Some((0, 500_000)));
        assert_eq!(at("1970-01-01T00:00:00.1234567891Z"), Some((0, 123_456)));
        for wrong in [
            "",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-01-01 00:00:00Z",
            "1970-02-29T00:00:00Z",
            "1970-13-01T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00+2:00",
            "+970-01-01T00:00:00Z",
            "1970-01-01T00:00:00Zx",
        ] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
