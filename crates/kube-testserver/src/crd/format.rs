//! The string formats that the server checks (`format: date-time` and friends). Unknown formats are not
//! checked; a client that creates such a definition gets a warning.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use crate::names::{is_label, is_subdomain};

/// A format with a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    BsonObjectId,
    Byte,
    Cidr,
    CreditCard,
    Date,
    DateTime,
    Duration,
    Email,
    HexColor,
    Hostname,
    Ipv4,
    Ipv6,
    Isbn,
    Isbn10,
    Isbn13,
    K8sLongName,
    K8sShortName,
    Mac,
    Password,
    RgbColor,
    Ssn,
    Uri,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
}

impl Format {
    /// The format with a name; dashes do not count.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name.replace('-', "").as_str() {
            "bsonobjectid" => Self::BsonObjectId,
            "byte" => Self::Byte,
            "cidr" => Self::Cidr,
            "creditcard" => Self::CreditCard,
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            "email" => Self::Email,
            "hexcolor" => Self::HexColor,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "k8slongname" => Self::K8sLongName,
            "k8sshortname" => Self::K8sShortName,
            "mac" => Self::Mac,
            "password" => Self::Password,
            "rgbcolor" => Self::RgbColor,
            "ssn" => Self::Ssn,
            "uri" => Self::Uri,
            "uuid" => Self::Uuid,
            "uuid3" => Self::Uuid3,
            "uuid4" => Self::Uuid4,
            "uuid5" => Self::Uuid5,
            _ => return None,
        })
    }

    /// Whether a text has this format.
    pub(super) fn accepts(self, text: &str) -> bool {
        match self {
            Self::BsonObjectId => text.len() == 24 && is_hex(text),
            Self::Byte => is_base64(text),
            Self::Cidr => is_cidr(text),
            Self::CreditCard => is_credit_card(text),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
            Self::Duration => is_duration(text),
            Self::Email => is_email(text),
            Self::HexColor => {
                let digits = text.strip_prefix('#').unwrap_or(text);
                matches!(digits.len(), 3 | 6) && is_hex(digits)
            }
            Self::Hostname => is_hostname(text),
            // An IPv4 address may be written as an IPv6 one, as long as it has dots.
            Self::Ipv4 => is_ipv4(text) || (text.contains('.') && text.parse::<Ipv6Addr>().is_ok()),
            Self::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Self::Isbn => is_isbn10(text) || is_isbn13(text),
            Self::Isbn10 => is_isbn10(text),
            Self::Isbn13 => is_isbn13(text),
            Self::K8sLongName => text.len() <= 253 && is_subdomain(text),
            Self::K8sShortName => text.len() <= 63 && is_label(text),
            Self::Mac => is_mac(text),
            Self::Password => true,
            Self::RgbColor => is_rgb(text),
            Self::Ssn => is_ssn(text),
            Self::Uri => is_uri(text),
            Self::Uuid => is_uuid(text, None),
            Self::Uuid3 => is_uuid(text, Some('3')),
            Self::Uuid4 => is_uuid(text, Some('4')),
            Self::Uuid5 => is_uuid(text, Some('5')),
        }
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn digits(text: &str) -> Vec<u32> {
    text.chars().filter_map(|c| c.to_digit(10)).collect()
}

/// Leading zeros are allowed, as in old versions of Go.
fn is_ipv4(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 4
        && parts.iter().all(|part| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_digit())
                && part.trim_start_matches('0').len() <= 3
                && part.parse::<u32>().is_ok_and(|number| number <= 255)
        })
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let Ok(bits) = bits.parse::<u8>() else { return false };
    match address.parse::<IpAddr>() {
        Ok(IpAddr::V6(_)) => bits <= 128,
        Ok(IpAddr::V4(_)) => bits <= 32,
        Err(_) => is_ipv4(address) && bits <= 32,
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let Some((date, time)) = lower.split_once('t') else { return false };
    let (clock, zone) = match time.find(['z', '+', '-']) {
        Some(at) => time.split_at(at),
        None => return false,
    };
    let (whole, fraction) = clock.split_at_checked(8).unwrap_or((clock, ""));
    let fraction_ok = fraction.is_empty()
        || (fraction.len() > 1 && fraction.chars().skip(1).all(|digit| digit.is_ascii_digit()));
    let zone_ok = zone == "z" || zone.get(1..).is_some_and(|offset| two_digit_parts(offset, &[99, 99]));
    is_date(date) && two_digit_parts(whole, &[23, 59, 59]) && fraction_ok && zone_ok
}

/// Numbers of two digits between colons, each up to a largest value.
fn two_digit_parts(text: &str, largest: &[u32]) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == largest.len()
        && parts.iter().zip(largest).all(|(part, most)| {
            part.len() == 2
                && part.bytes().all(|b| b.is_ascii_digit())
                && part.parse::<u32>().is_ok_and(|number| number <= *most)
        })
}

/// Go's durations (`1h30m`), and numbers with spelled-out units anywhere in the text (`22 seconds`).
fn is_duration(text: &str) -> bool {
    is_go_duration(text) || has_spelled_duration(text)
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (figures, after) = rest.split_at(number);
        if !figures.bytes().any(|b| b.is_ascii_digit()) || figures.matches('.').count() > 1 {
            return false;
        }
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        if !matches!(unit, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h") {
            return false;
        }
        rest = next;
    }
    true
}

fn has_spelled_duration(text: &str) -> bool {
    const EXACT: [&str; 12] = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk", "min"];
    const PREFIX: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[start..];
        let after = number.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let unit: String = after
            .chars()
            .take_while(|c| c.is_ascii_alphabetic() || *c == 'µ')
            .collect::<String>()
            .to_lowercase();
        if !unit.is_empty()
            && (EXACT.contains(&unit.as_str()) || PREFIX.iter().any(|prefix| unit.starts_with(prefix)))
        {
            return true;
        }
        rest = after;
    }
    false
}

/// A practical reading of RFC 5322: `local@domain`, optionally as `Name <local@domain>`.
fn is_email(text: &str) -> bool {
    let address = match text.rsplit_once('<') {
        Some((_, inner)) => match inner.strip_suffix('>') {
            Some(inner) => inner,
            None => return false,
        },
        None => text,
    };
    let atom = |part: &str| {
        !part.is_empty()
            && part.split('.').all(|word| {
                !word.is_empty()
                    && word
                        .chars()
                        .all(|c| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii())
            })
    };
    match address.trim().rsplit_once('@') {
        Some((local, domain)) => atom(local) && atom(domain),
        None => false,
    }
}

/// Groups of four letters, the last one filled up with `=`.
fn is_base64(text: &str) -> bool {
    let letters = text.trim_end_matches('=');
    let filled = text.len() - letters.len();
    !letters.is_empty()
        && filled <= 2
        && text.len().is_multiple_of(4)
        && letters.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
}

/// Names with dots end in at least two letters; a name without may have one dash, behind its first letter.
/// Symbols count as letters, as in Kubernetes.
fn is_hostname(text: &str) -> bool {
    static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let single = r"[0-9A-Za-z\p{S}\p{L}]-?[0-9A-Za-z\p{S}\p{L}]{0,62}";
        let label = r"[0-9A-Za-z\p{S}\p{L}](?:[-0-9A-Za-z\p{S}\p{L}]{0,61}[0-9A-Za-z\p{S}\p{L}])?";
        Regex::new(&format!(r"^(?:{single}|(?:{label}\.)+\p{{L}}{{2,63}})$")).ok()
    });
    text.len() <= 255
        && text.split('.').all(|part| part.len() <= 63)
        && NAME.as_ref().is_some_and(|name| name.is_match(text))
}

fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize, counts: [usize; 3]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len()) && parts.iter().all(|part| part.len() == width && is_hex(part))
    };
    let plain = matches!(text.len(), 12 | 16 | 40) && is_hex(text);
    plain || groups(':', 2, [6, 8, 20]) || groups('-', 2, [6, 8, 20]) || groups('.', 4, [3, 4, 10])
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    // Each dash may be left out on its own.
    let mut rest = text;
    let mut plain = String::with_capacity(32);
    for (at, width) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(width) else { return false };
        plain.push_str(group);
        rest = after;
    }
    let variant_ok = match version {
        Some('4' | '5') => matches!(plain.as_bytes().get(16), Some(b'8' | b'9' | b'a' | b'b' | b'A' | b'B')),
        _ => true,
    };
    rest.is_empty()
        && is_hex(&plain)
        && variant_ok
        && version.is_none_or(|v| plain.chars().nth(12) == Some(v))
}

fn is_uri(text: &str) -> bool {
    // An absolute URI or an absolute path, without spaces or control characters.
    let scheme_ok = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    if text.contains(|c: char| c.is_control()) {
        return false;
    }
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if scheme_ok(scheme) => (Some(scheme), rest),
        _ => (None, text),
    };
    // Behind a scheme, anything goes that is no path.
    if scheme.is_some() && !rest.is_empty() && !rest.starts_with('/') {
        return true;
    }
    let authority = rest.strip_prefix("//").and_then(|rest| rest.split(['/', '?', '#']).next());
    rest.starts_with('/') && authority.is_none_or(is_authority) && escapes_are_hex(rest)
}

/// A host, perhaps with a user before it and a port behind it.
fn is_authority(text: &str) -> bool {
    let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
    let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.contains(']'));
    !text.contains([' ', '<', '>', '"'])
        && port.is_none_or(|port| port.bytes().all(|digit| digit.is_ascii_digit()))
}

fn escapes_are_hex(text: &str) -> bool {
    text.split('%').skip(1).all(|after| after.get(..2).is_some_and(is_hex))
}

fn is_isbn10(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
    let Some((front, last)) = plain.split_at_checked(9) else { return false };
    let check = match last {
        "X" => 10,
        last if last.len() == 1 => match last.parse() {
            Ok(digit) => digit,
            Err(_) => return false,
        },
        _ => return false,
    };
    let figures = digits(front);
    let sum: u32 = figures.iter().zip(1..).map(|(figure, weight)| figure * weight).sum();
    figures.len() == 9 && (sum + 10 * check).is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
    let figures = digits(&plain);
    let sum: u32 =
        figures.iter().zip([1, 3].into_iter().cycle()).map(|(figure, weight)| figure * weight).sum();
    plain.len() == 13 && figures.len() == 13 && sum.is_multiple_of(10)
}

fn is_credit_card(text: &str) -> bool {
    let figures = digits(text);
    let number: String = figures.iter().filter_map(|figure| char::from_digit(*figure, 10)).collect();
    let two: u32 = number.get(..2).and_then(|two| two.parse().ok()).unwrap_or(0);
    let brand_ok = match number.len() {
        13 => number.starts_with('4'),
        14 => matches!(two, 36 | 38) || (two == 30 && number.as_bytes().get(2).is_some_and(|b| *b <= b'5')),
        15 => matches!(two, 34 | 37) || number.starts_with("2131") || number.starts_with("1800"),
        16 => {
            number.starts_with('4')
                || (51..=55).contains(&two)
                || matches!(two, 65 | 35)
                || number.starts_with("6011")
        }
        _ => false,
    };
    // The Luhn check.
    let sum: u32 = figures
        .iter()
        .rev()
        .enumerate()
        .map(|(at, figure)| match (at % 2, figure * 2) {
            (0, _) => *figure,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        })
        .sum();
    brand_ok && sum.is_multiple_of(10)
}

fn is_ssn(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['-', ' ']).collect();
    text.len() == 11
        && parts.iter().map(|part| part.len()).eq([3, 2, 4])
        && parts.iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()))
}

fn is_rgb(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else { return false };
    let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
    // A leading zero is not allowed.
    parts.len() == 3 && parts.iter().all(|part| part.parse::<u8>().is_ok_and(|n| n.to_string() == **part))
}

#[cfg(test)]
mod tests;
