//! The order of versions: `v10`, `v2`, `v1`, `v2beta1`, `v1alpha1`, and then everything else.

use std::cmp::Ordering;

/// Compares two versions by preference: the preferred one is greater.
pub(crate) fn compare_versions(one: &str, other: &str) -> Ordering {
    match (Rank::parse(one), Rank::parse(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        // Names that are no versions at all are in alphabetical order.
        (None, None) => other.cmp(one),
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    maturity: Maturity,
    major: u64,
    minor: u64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Maturity {
    Alpha,
    Beta,
    Stable,
}

impl Rank {
    /// Reads `v1`, `v1beta2` or `v1alpha3`. Numbers do not start with a zero.
    fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix('v')?;
        let number = |text: &str| {
            let plain = !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
            if plain { text.parse::<u64>().ok() } else { None }
        };
        for (word, maturity) in [("alpha", Maturity::Alpha), ("beta", Maturity::Beta)] {
            if let Some((major, minor)) = rest.split_once(word) {
                return Some(Self { maturity, major: number(major)?, minor: number(minor)? });
            }
        }
        Some(Self { maturity: Maturity::Stable, major: number(rest)?, minor: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first_and_higher_numbers_before_lower_ones() {
        let mut names =
            ["foo1", "v1", "v1alpha1", "v10", "bar", "v2", "v3beta1", "v11beta2", "v12alpha1", "v1beta0"];
        names.sort_by(|one, other| compare_versions(other, one));
        assert_eq!(
            names,
            ["v10", "v2", "v1", "v11beta2", "v3beta1", "v12alpha1", "v1alpha1", "bar", "foo1", "v1beta0"]
        );
    }
}
