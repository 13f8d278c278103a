//! Resource versions, in the order in which they happened.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A resource version that can be compared: a decimal number of any length, without a leading zero.
///
/// Kubernetes' own kinds and custom resources have such versions. A server that extends the API may have others,
/// which cannot be compared, and so are no `Version`s.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version(Box<str>);

/// A text that is not a comparable version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a resource version that can be compared: a decimal number without leading zeros")]
pub struct NotAVersion(String);

impl Version {
    /// The version as the server writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        if is_comparable(text) { Ok(Self(text.into())) } else { Err(NotAVersion(text.to_owned())) }
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Whether `version` is before `other`, if both can be compared.
pub(crate) fn is_before(version: &str, other: &str) -> bool {
    is_comparable(version) && is_comparable(other) && compare(version, other).is_lt()
}

fn is_comparable(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Without leading zeros, the longer number is the greater one.
fn compare(one: &str, other: &str) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers_of_any_length() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        assert!(version("9") < version("10"));
        assert!(version("99999999999999999999999999") < version("100000000000000000000000000"));
        assert_eq!(version("7"), version("7"));
        for bad in ["", "0", "007", "a", "-1", "1.0", "１"] {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
    }
}
