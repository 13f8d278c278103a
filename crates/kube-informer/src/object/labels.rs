//! Labels of an object, wherever they are kept.

use std::collections::BTreeMap;
use std::fmt;

use kube_core::{Expression, Selector};

use super::head::Head;

/// The labels of an object.
#[derive(Clone, Copy)]
pub struct Labels<'a>(Kept<'a>);

#[derive(Clone, Copy)]
enum Kept<'a> {
    Map(Option<&'a BTreeMap<String, String>>),
    Head(&'a Head),
}

impl<'a> Labels<'a> {
    pub(crate) fn map(labels: Option<&'a BTreeMap<String, String>>) -> Self {
        Self(Kept::Map(labels))
    }

    pub(super) fn head(head: &'a Head) -> Self {
        Self(Kept::Head(head))
    }

    /// The value of a label.
    pub fn get(&self, label: &str) -> Option<&'a str> {
        match self.0 {
            Kept::Map(labels) => labels?.get(label).map(String::as_str),
            Kept::Head(head) => head.labels().find(|(known, _)| *known == label).map(|(_, value)| value),
        }
    }

    /// Whether there is such a label.
    pub fn contains_key(&self, label: &str) -> bool {
        self.get(label).is_some()
    }

    /// All labels and their values, in the order of the labels.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let (map, head) = match self.0 {
            Kept::Map(labels) => (labels, None),
            Kept::Head(head) => (None, Some(head)),
        };
        let in_map = map.into_iter().flatten().map(|(label, value)| (label.as_str(), value.as_str()));
        in_map.chain(head.into_iter().flat_map(Head::labels))
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
}
