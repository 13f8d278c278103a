//! Quantities (`500m`, `1.5Gi`, `1e3`) in the one way that Kubernetes writes each of them.
//!
//! The Go type keeps a number and a family of suffixes, not the text it came from, so what a client wrote as
//! `1000m` is stored and shown as `1`. Server-side apply and "nothing changed" both depend on that.

use std::borrow::Cow;

/// The text Kubernetes would write for this quantity; borrowed when that is the same text.
pub(crate) fn canonical(text: &str) -> Result<Cow<'_, str>, QuantityError> {
    let parsed = Parsed::from_text(text)?;
    if parsed.keeps_text {
        return Ok(Cow::Borrowed(text));
    }
    let Some(written) = parsed.write() else { return Ok(Cow::Borrowed(text)) };
    Ok(if written == text { Cow::Borrowed(text) } else { Cow::Owned(written) })
}

/// Converts a quantity to units of 10^-9, the finest unit. Returns 0 for a text that is no quantity, and `i128::MAX` for one
/// that is too large.
pub(crate) fn in_nanos(text: &str) -> i128 {
    let Ok(parsed) = Parsed::from_text(text) else { return 0 };
    let (power, exponent) = match parsed.suffix {
        Suffix::Decimal(exponent) | Suffix::Exponent(exponent) => (Some(1), exponent),
        Suffix::Binary(power) => (1024_u128.checked_pow(power), 0),
    };
    let exponent = exponent.saturating_sub(parsed.scale).saturating_add(9);
    let digits = parsed.mantissa.zip(power).and_then(|(mantissa, power)| mantissa.checked_mul(power));
    let scale = 10_u128.checked_pow(exponent.unsigned_abs());
    let nanos = match (digits, scale) {
        (Some(0), _) => 0,
        (Some(digits), Some(scale)) if exponent >= 0 => digits.saturating_mul(scale),
        // What is finer rounds away from zero.
        (Some(digits), Some(scale)) => digits.div_ceil(scale),
        (Some(_), None) if exponent < 0 => 1,
        _ => u128::MAX,
    };
    let nanos = i128::try_from(nanos).unwrap_or(i128::MAX);
    if parsed.negative { -nanos } else { nanos }
}

/// Adds two quantities. The sum is written with the suffixes of the first one that is not zero, as in Kubernetes. Returns the
/// first one if the sum is too large to be written.
pub(crate) fn sum(one: &str, other: &str) -> String {
    let (first, second) = (in_nanos(one), in_nanos(other));
    if first == 0 || second == 0 {
        return if first == 0 { other } else { one }.to_owned();
    }
    let written = || {
        let nanos = first.checked_add(second).filter(|sum| *sum != i128::MAX)?;
        let suffix = match Parsed::from_text(one).ok()?.suffix {
            Suffix::Decimal(_) => Suffix::Decimal(0),
            Suffix::Exponent(_) => Suffix::Exponent(0),
            Suffix::Binary(_) => Suffix::Binary(0),
        };
        let mantissa = Some(nanos.unsigned_abs());
        Parsed { negative: nanos < 0, mantissa, scale: 9, suffix, keeps_text: false }.write()
    };
    written().unwrap_or_else(|| one.to_owned())
}

/// Why a text is no quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuantityError {
    Format,
    Suffix,
}

impl std::fmt::Display for QuantityError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Format => {
                "quantities must match the regular expression \
                 '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            Self::Suffix => "unable to parse quantity's suffix",
        })
    }
}

/// A number `mantissa * base ^ exponent`, and the family of suffixes it was written with.
struct Parsed {
    negative: bool,
    /// The digits as an integer; none when they do not fit, and the text is then left alone.
    mantissa: Option<u128>,
    /// How many of the digits stood behind the point.
    scale: i32,
    suffix: Suffix,
    /// Whether Go's shortcut for texts that are probably canonical applies. It keeps them as they are, even
    /// where it is wrong (`1.500k`).
    keeps_text: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Suffix {
    /// A power of ten, as a letter.
    Decimal(i32),
    /// A power of ten, as `e6`.
    Exponent(i32),
    /// A power of 1024.
    Binary(u32),
}

impl Parsed {
    fn from_text(text: &str) -> Result<Self, QuantityError> {
        let (negative, rest) = match text.as_bytes().first() {
            None => return Err(QuantityError::Format),
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            Some(_) => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let suffix = parse_suffix(suffix)?;
        if fraction.contains('.') {
            return Err(QuantityError::Format);
        }
        let digits = whole.bytes().chain(fraction.bytes());
        let mantissa = digits
            .into_iter()
            .try_fold(0_u128, |value, digit| value.checked_mul(10)?.checked_add(u128::from(digit - b'0')));
        let scale = i32::try_from(fraction.len()).map_err(|_| QuantityError::Format)?;
        let keeps_text = looks_canonical(whole.trim_start_matches('0'), fraction, mantissa, suffix);
        Ok(Self { negative, mantissa, scale, suffix, keeps_text })
    }

    /// None for numbers that are out of the ordinary range.
    fn write(&self) -> Option<String> {
        let mantissa = self.mantissa?;
        if mantissa == 0 {
            return Some("0".to_owned());
        }
        if let Suffix::Binary(power) = self.suffix
            && let Some(value) = self.whole(mantissa, power)
            && value >= 1024
        {
            return Some(self.signed(&binary(value)));
        }
        let (mut mantissa, mut exponent) = match self.suffix {
            Suffix::Decimal(power) | Suffix::Exponent(power) => (mantissa, power.saturating_sub(self.scale)),
            Suffix::Binary(power) => (mantissa.checked_mul(1024_u128.checked_pow(power)?)?, -self.scale),
        };
        // Nothing is kept below 10^-9; what is there rounds away from zero. No mantissa has as many as 40 digits.
        if exponent < -9 - 40 {
            (mantissa, exponent) = (1, -9);
        }
        while exponent < -9 {
            mantissa = mantissa.div_ceil(10);
            exponent += 1;
        }
        while mantissa.is_multiple_of(10) {
            mantissa /= 10;
            exponent += 1;
        }
        while exponent.rem_euclid(3) != 0 {
            mantissa = mantissa.checked_mul(10)?;
            exponent -= 1;
        }
        let suffix = match self.suffix {
            Suffix::Exponent(_) if exponent != 0 => format!("e{exponent}"),
            Suffix::Exponent(_) => String::new(),
            _ => DECIMAL.iter().find(|(_, power)| *power == exponent)?.0.to_owned(),
        };
        Some(self.signed(&format!("{mantissa}{suffix}")))
    }

    /// The value of a number with a binary suffix, if it has no fraction.
    fn whole(&self, mantissa: u128, power: u32) -> Option<u128> {
        let value = mantissa.checked_mul(1024_u128.checked_pow(power)?)?;
        let divisor = 10_u128.checked_pow(u32::try_from(self.scale).ok()?)?;
        value.is_multiple_of(divisor).then(|| value / divisor)
    }

    fn signed(&self, text: &str) -> String {
        if self.negative { format!("-{text}") } else { text.to_owned() }
    }
}

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

fn looks_canonical(whole: &str, fraction: &str, mantissa: Option<u128>, suffix: Suffix) -> bool {
    let digits = whole.len() + fraction.len();
    match suffix {
        Suffix::Binary(power) => {
            // The limits are those within which Go computes with 64 bits.
            fraction.is_empty()
                && digits + 3 * power as usize <= 14
                && mantissa.is_some_and(|mantissa| mantissa & 7 != 0)
        }
        Suffix::Decimal(power) | Suffix::Exponent(power) => {
            let scale = i64::from(power) - fraction.len() as i64;
            let trailing = if fraction.is_empty() { whole } else { fraction };
            digits <= 18
                && scale >= -9
                && scale % 3 == 0
                && !whole.is_empty()
                && !(trailing.ends_with("000")
                    || fraction.len() < 3 && mantissa.is_some_and(|m| m % 1000 == 0))
        }
    }
}

fn parse_suffix(text: &str) -> Result<Suffix, QuantityError> {
    if let Some((_, power)) = DECIMAL.iter().find(|(suffix, _)| *suffix == text) {
        return Ok(Suffix::Decimal(*power));
    }
    if let Some(power) = BINARY.iter().position(|suffix| *suffix == text) {
        return u32::try_from(power).map(Suffix::Binary).map_err(|_| QuantityError::Suffix);
    }
    if let Some(power) = text.strip_prefix(['e', 'E']) {
        return power.parse().map(Suffix::Exponent).map_err(|_| QuantityError::Suffix);
    }
    let known = |c: char| "eEinumkKMGTP+-".contains(c) || c.is_ascii_digit();
    Err(if text.chars().all(known) { QuantityError::Suffix } else { QuantityError::Format })
}

fn binary(mut value: u128) -> String {
    let mut power = 0;
    while power + 1 < BINARY.len() && value.is_multiple_of(1024) {
        value /= 1024;
        power += 1;
    }
    format!("{value}{}", BINARY[power])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_written_in_one_way() {
        // Pairs as client-go writes them.
        let pairs = [
            ("0", "0"),
            ("0Gi", "0"),
            ("1", "1"),
            ("+1", "+1"),
            ("1000m", "1"),
            ("500m", "500m"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("5.", "5."),
            (".", "0"),
            ("m", "0"),
            ("0.500", "500m"),
            ("2048Ki", "2Mi"),
            ("1.000k", "1k"),
            ("1000e0", "1e3"),
            ("1.0", "1"),
            ("010", "010"),
            ("1.500k", "1.500k"),
            ("12e-1", "1200e-3"),
            ("1e1000", "10e999"),
            ("1E", "1E"),
            ("8Mi", "8Mi"),
            ("-1.5Gi", "-1536Mi"),
            ("1500", "1500"),
            ("1000", "1k"),
            ("100000k", "100M"),
            ("1024", "1024"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("0.3Gi", "322122547200m"),
            ("1e3", "1e3"),
            ("12E6", "12E6"),
            ("1e2", "100"),
            ("0.0001", "100u"),
            ("0.1n", "1n"),
            ("-1000m", "-1"),
            ("-0", "0"),
        ];
        for (text, expected) in pairs {
            assert_eq!(canonical(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        for text in ["", "abc", "1.2.3", "1 Gi", "true", "1KI"] {
            assert_eq!(canonical(text), Err(QuantityError::Format), "{text}");
        }
        for text in ["1mm", "1e", "1ki", "1Mi1", "i"] {
            assert_eq!(canonical(text), Err(QuantityError::Suffix), "{text}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_left_alone() {
        let text = "9".repeat(60);
        assert_eq!(canonical(&text).as_deref(), Ok(text.as_str()));
    }

    #[test]
    fn exponents_without_measure_cost_nothing() {
        for text in ["1.5e-2147483648", "1e-2147483648", "1E-2147483647"] {
            assert_eq!(canonical(text).unwrap(), "1e-9", "{text}");
            assert_eq!(in_nanos(text), 1, "{text}");
        }
        assert_eq!(in_nanos("1e2147483647"), i128::MAX);
    }

    #[test]
    fn a_sum_is_written_like_its_first_part() {
        for (one, other, sum_of_both) in [
            ("100m", "100m", "200m"),
            ("500m", "500m", "1"),
            ("1Gi", "512Mi", "1536Mi"),
            ("1Gi", "1", "1073741825"),
            ("1", "1Ki", "1025"),
            ("0", "1Gi", "1Gi"),
            ("1Gi", "0", "1Gi"),
            ("1e3", "1", "1001"),
            ("1Ki", "100m", "1024100m"),
        ] {
            assert_eq!(sum(one, other), sum_of_both, "{one} + {other}");
        }
        let huge = "9".repeat(60);
        assert_eq!(sum(&huge, "1"), huge);
    }

    #[test]
    fn quantities_that_are_equal_are_so_in_nanos() {
        for (one, other) in [("1", "1000m"), ("1Gi", "1024Mi"), ("0.5", "500m"), ("1e3", "1k"), ("0", "0Gi")]
        {
            assert_eq!(in_nanos(one), in_nanos(other), "{one} {other}");
        }
        assert_eq!((in_nanos("1n"), in_nanos("-1"), in_nanos("words")), (1, -1_000_000_000, 0));
        assert_eq!(in_nanos("0.1n"), 1, "what is finer rounds away from zero");
        assert_eq!(in_nanos("99999999999999999999999999999999999999999"), i128::MAX);
    }
}
