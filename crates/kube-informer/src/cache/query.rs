//! What is listed.

use kube_core::Selector;

/// Which objects a list is to have: all, unless something is said.
#[derive(Clone, Debug, Default)]
pub struct Query {
    pub(super) namespace: Option<String>,
    pub(super) labels: Selector,
    pub(super) terms: Vec<(String, String)>,
    pub(super) limit: Option<usize>,
}

impl Query {
    /// All objects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only those of a namespace. Means nothing for kinds without namespaces.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into()).filter(|namespace| !namespace.is_empty());
        self
    }

    /// Only those with these labels. [`parse_labels`](crate::selector::parse_labels) reads selectors as people write them.
    #[must_use]
    pub fn labels(mut self, selector: Selector) -> Self {
        self.labels = selector;
        self
    }

    /// Only those with a value in an index. Several have to be true together.
    #[must_use]
    pub fn index(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.terms.push((name.into(), value.into()));
        self
    }

    /// At most so many, whichever.
    #[must_use]
    pub fn limit(mut self, objects: usize) -> Self {
        self.limit = Some(objects);
        self
    }
}
