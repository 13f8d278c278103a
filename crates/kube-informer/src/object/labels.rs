//! Labels of an object.

use std::collections::BTreeMap;
use std::fmt;

use kube_core::{Expression, Selector};

use super::label_set::{LabelSet, LabelsId};

/// The labels of an object.
#[derive(Clone, Copy)]
pub struct Labels<'a>(Kept<'a>);

#[derive(Clone, Copy)]
enum Kept<'a> {
    Map(Option<&'a BTreeMap<String, String>>),
    Set(Option<&'a LabelSet>),
}

impl<'a> Labels<'a> {
    pub(crate) fn map(labels: Option<&'a BTreeMap<String, String>>) -> Self {
        Self(Kept::Map(labels))
    }

    pub(super) fn set(labels: Option<&'a LabelSet>) -> Self {
        Self(Kept::Set(labels))
    }

    /// The value of a label.
    pub fn get(&self, label: &str) -> Option<&'a str> {
        match self.0 {
            Kept::Map(labels) => labels?.get(label).map(String::as_str),
            Kept::Set(labels) => labels?.get(label),
        }
    }

    /// Whether there is such a label.
    pub fn contains_key(&self, label: &str) -> bool {
        self.get(label).is_some()
    }

    /// All labels and their values, in the order of the labels.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let (map, set) = match self.0 {
            Kept::Map(labels) => (labels, None),
            Kept::Set(labels) => (None, labels),
        };
        let in_map = map.into_iter().flatten().map(|(label, value)| (label.as_str(), value.as_str()));
        in_map.chain(set.into_iter().flat_map(LabelSet::iter))
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl fmt::Debug for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// A label selector, ready to be asked often.
pub(crate) struct Matcher(Vec<Expression>);

impl Matcher {
    pub(crate) fn new(selector: &Selector) -> Self {
        Self(selector.clone().into_iter().collect())
    }

    /// One that every object matches.
    pub(crate) fn everything() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn matches_all(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, labels: Labels<'_>) -> bool {
        self.0.iter().all(|expression| match expression {
            Expression::In(label, values) => labels.get(label).is_some_and(|value| values.contains(value)),
            Expression::NotIn(label, values) => labels.get(label).is_none_or(|value| !values.contains(value)),
            Expression::Equal(label, wanted) => labels.get(label).is_some_and(|value| value == wanted),
            Expression::NotEqual(label, unwanted) => labels.get(label).is_none_or(|value| value != unwanted),
            Expression::Exists(label) => labels.get(label).is_some(),
            Expression::DoesNotExist(label) => labels.get(label).is_none(),
        })
    }

    /// The same for so many objects, of which many have the same labels.
    pub(crate) fn remembering(&self, objects: usize) -> Remembering<'_> {
        let places = objects.clamp(1, REMEMBERED).next_power_of_two();
        Remembering { matcher: self, known: vec![(LabelsId::default(), None); places].into() }
    }
}

/// Of so many different labels it is remembered at most whether they match. A power of two.
const REMEMBERED: usize = 4_096;

/// A label selector that remembers what it was asked.
pub(crate) struct Remembering<'a> {
    matcher: &'a Matcher,
    /// What was asked last of those that share a place.
    known: Box<[(LabelsId, Option<bool>)]>,
}

impl Remembering<'_> {
    /// Whether labels match that have a number, and may have been asked before.
    #[inline]
    pub(crate) fn matches<'l>(&mut self, id: LabelsId, labels: impl FnOnce() -> Labels<'l>) -> bool {
        let at = id.place(self.known.len());
        if let Some((known, Some(matches))) = self.known.get(at)
            && *known == id
            && id.is_of_one_set()
        {
            return *matches;
        }
        let matches = self.matcher.matches(labels());
        if let Some(known) = self.known.get_mut(at) {
            *known = (id, Some(matches));
        }
        matches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_that_share_the_last_number_are_not_taken_for_each_other() {
        let matcher = Matcher::new(&Selector::from_iter([Expression::Equal("app".into(), "web".into())]));
        let mut remembering = matcher.remembering(1);
        let (web, other) = (BTreeMap::from([("app".to_owned(), "web".to_owned())]), BTreeMap::new());
        for id in [LabelsId::from_bits(7), LabelsId::LAST] {
            assert!(remembering.matches(id, || Labels::map(Some(&web))));
            // Whoever has a number of its own is not asked again.
            let again = remembering.matches(id, || Labels::map(Some(&other)));
            assert_eq!(again, id != LabelsId::LAST);
        }
    }
}
