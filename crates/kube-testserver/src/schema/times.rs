//! Times as Kubernetes reads and writes them: RFC 3339, in UTC, with whole seconds or with microseconds.

use std::borrow::Cow;

use jiff::Timestamp;

/// A time with whole seconds (`metadata.creationTimestamp`) as Kubernetes writes it; a fraction is cut off.
pub(crate) fn seconds(text: &str) -> Result<Cow<'_, str>, String> {
    let end = check(text, SECONDS, false)?;
    if end == "Z" && text.len() == "2006-01-02T15:04:05Z".len() && every_month_has_the_day(text) {
        return Ok(Cow::Borrowed(text));
    }
    let time = in_utc(text)?;
    Ok(Cow::Owned(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

/// A time with microseconds (`Lease.spec.renewTime`), exactly six digits of them.
pub(crate) fn micros(text: &str) -> Result<Cow<'_, str>, String> {
    let end = check(text, MICROS, true)?;
    if end == "Z" && every_month_has_the_day(text) {
        return Ok(Cow::Borrowed(text));
    }
    let time = in_utc(text)?;
    Ok(Cow::Owned(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()))
}

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// The parts of a time in the notation of Go's layouts, with the largest number allowed and its name.
const PARTS: [(&str, u32, &str); 11] = [
    ("2006", 9999, "year"),
    ("-", 0, ""),
    ("01", 12, "month"),
    ("-", 0, ""),
    ("02", 31, "day"),
    ("T", 0, ""),
    ("15", 23, "hour"),
    (":", 0, ""),
    ("04", 59, "minute"),
    (":", 0, ""),
    ("05", 59, "second"),
];

/// Checks a text against a layout and returns the part for the zone; errors read like Go's.
fn check<'a>(text: &'a str, layout: &str, micros: bool) -> Result<&'a str, String> {
    let mut rest = text;
    let mut out_of_range = None;
    let wrong = |rest: &str, part: &str| {
        format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}")
    };
    for (part, largest, name) in PARTS {
        if name.is_empty() {
            rest = rest.strip_prefix(part).ok_or_else(|| wrong(rest, part))?;
            continue;
        }
        let digits = rest.get(..part.len()).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        let number: u32 = digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| wrong(rest, part))?;
        let smallest = u32::from(name == "month" || name == "day");
        if number > largest || number < smallest {
            out_of_range.get_or_insert(name);
        }
        rest = &rest[part.len()..];
    }
    let fraction = rest
        .strip_prefix('.')
        .map_or(0, |digits| digits.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len()));
    if micros && fraction < 6 {
        return Err(wrong(rest, ".000000"));
    }
    if micros || fraction > 0 {
        let digits = if micros { 6 } else { fraction };
        rest = &rest[1 + digits..];
    }
    if !is_zone(rest) {
        return Err(wrong(rest, "Z07:00"));
    }
    match out_of_range {
        Some(name) => Err(format!("parsing time {text:?}: {name} out of range")),
        None => Ok(rest),
    }
}

fn is_zone(text: &str) -> bool {
    match text.as_bytes() {
        [b'Z'] => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|b| b.is_ascii_digit()),
        _ => false,
    }
}

/// The common case, for which no calendar is needed. The form of the text has been checked.
fn every_month_has_the_day(text: &str) -> bool {
    text.get(8..10).is_some_and(|day| day <= "28")
}

fn in_utc(text: &str) -> Result<Timestamp, String> {
    // The form is right already: what is left is a day that its month does not have.
    text.parse().map_err(|_| format!("parsing time {text:?}: day out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_with_whole_seconds() {
        assert!(matches!(seconds("2024-02-28T01:02:03Z"), Ok(Cow::Borrowed(_))));
        assert_eq!(seconds("2024-02-29T01:02:03Z").as_deref(), Ok("2024-02-29T01:02:03Z"));
        assert_eq!(seconds("2024-01-01T00:00:00.123+01:00").as_deref(), Ok("2023-12-31T23:00:00Z"));
    }

    #[test]
    fn micro_times_are_written_in_utc_with_six_digits() {
        assert!(matches!(micros("2024-01-01T00:00:00.000001Z"), Ok(Cow::Borrowed(_))));
        assert_eq!(micros("2024-01-01T00:00:00.120000+01:00").as_deref(), Ok("2023-12-31T23:00:00.120000Z"));
    }

    #[test]
    fn errors_read_like_those_of_go() {
        let layout = "\"2006-01-02T15:04:05Z07:00\"";
        let message = |text| seconds(text).expect_err("not a time");
        assert_eq!(
            message("abc"),
            format!("parsing time \"abc\" as {layout}: cannot parse \"abc\" as \"2006\"")
        );
        assert_eq!(
            message("2024-01-01"),
            format!("parsing time \"2024-01-01\" as {layout}: cannot parse \"\" as \"T\"")
        );
        assert_eq!(
            message("2024-13-01T00:00:00Z"),
            "parsing time \"2024-13-01T00:00:00Z\": month out of range"
        );
        assert_eq!(
            message("2023-02-29T00:00:00Z"),
            "parsing time \"2023-02-29T00:00:00Z\": day out of range"
        );
        assert_eq!(
            micros("2024-01-01T00:00:00Z").expect_err("no fraction"),
            "parsing time \"2024-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": \
             cannot parse \"Z\" as \".000000\""
        );
    }
}
