//! What a person may have meant.

use super::Resources;

/// How many names are suggested.
pub(crate) const MAX_NEAREST: usize = 3;

/// A longer name is no typing error of any other: Kubernetes has none longer than this.
const MAX_NAME: usize = 253;

/// A beginning of so many letters is as good as a name with one error.
const MIN_BEGINNING: usize = 3;

/// The full names of resources that are called nearly so, the nearest first.
pub(super) fn nearest(resources: &Resources, asked: &str) -> Vec<String> {
    let asked: Vec<char> = asked.chars().take(MAX_NAME + 1).collect();
    if asked.len() > MAX_NAME {
        return Vec::new();
    }
    let mut near: Vec<(usize, String)> = Vec::new();
    for one in resources.all.iter().filter(|one| one.can_be_followed()) {
        let names = [&one.resource.plural, &one.singular].into_iter().chain(&one.short_names);
        let Some(errors) = names.filter_map(|name| errors(&asked, name)).min() else { continue };
        let full_name = one.full_name();
        if !near.iter().any(|(_, known)| *known == full_name) {
            near.push((errors, full_name));
        }
    }
    // What comes first on the server comes first among equals.
    near.sort_by_key(|(errors, _)| *errors);
    near.into_iter().take(MAX_NEAREST).map(|(_, name)| name).collect()
}

/// How many typing errors make what was asked for, in small letters, of a name; none if it would take too many.
pub(crate) fn errors(asked: &[char], name: &str) -> Option<usize> {
    let name: Vec<char> = name.chars().take(MAX_NAME).flat_map(char::to_lowercase).collect();
    if asked.len() >= MIN_BEGINNING && name.len() > asked.len() && name.starts_with(asked) {
        return Some(1);
    }
    let allowed = (asked.len() / 3).min(3);
    if name.len().abs_diff(asked.len()) > allowed {
        return None;
    }
    let errors = distance(asked, &name);
    (errors <= allowed).then_some(errors)
}

/// Letters left out, put in, replaced, or swapped with their neighbour.
fn distance(one: &[char], two: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=two.len()).collect();
    for (row, a) in one.iter().enumerate() {
        let mut this = Vec::with_capacity(last.len());
        this.push(row + 1);
        for (column, b) in two.iter().enumerate() {
            let mut cost =
                (last[column] + usize::from(a != b)).min(last[column + 1] + 1).min(this[column] + 1);
            if row > 0 && column > 0 && *a == two[column - 1] && one[row - 1] == *b {
                cost = cost.min(before[column - 1] + 1);
            }
            this.push(cost);
        }
        before = std::mem::replace(&mut last, this);
    }
    last[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(one: &str, two: &str) -> Option<usize> {
        errors(&one.chars().collect::<Vec<_>>(), two)
    }

    #[test]
    fn each_kind_of_typing_error_counts_one() {
        assert_eq!(count("pods", "pods"), Some(0));
        assert_eq!(count("pod", "pods"), Some(1), "left out at the end");
        assert_eq!(count("podds", "pods"), Some(1), "put in");
        assert_eq!(count("pads", "pods"), Some(1), "replaced");
        assert_eq!(count("psod", "pods"), None, "two are too many for four letters");
        assert_eq!(count("pdos", "pods"), Some(1), "swapped");
        assert_eq!(count("deplyoments", "Deployments"), Some(1), "whatever the case");
    }

    #[test]
    fn short_names_are_near_to_nothing_but_themselves() {
        assert_eq!(count("pv", "po"), None);
        assert_eq!(count("", "po"), None);
        assert_eq!(count("po", "po"), Some(0));
    }

    #[test]
    fn a_beginning_is_near() {
        assert_eq!(count("dep", "deployments"), Some(1));
        assert_eq!(count("de", "deployments"), None);
    }
}
