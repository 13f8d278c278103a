//! What of a kind is asked for with one watch.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::options::ObjectOptions;
use crate::object::{Labels, Matcher};
use crate::selector::{may_match_fields, parse_labels};
use crate::source::{AnyTransform, Scope};

/// What is asked for with one watch.
#[derive(Clone)]
pub(super) struct Part {
    /// None for all.
    pub(super) namespace: Option<String>,
    /// But not these.
    pub(super) except: BTreeSet<String>,
    pub(super) labels: String,
    pub(super) fields: String,
    pub(super) transform: Option<AnyTransform>,
    /// How often listeners are told it again; zero for never.
    pub(super) resync: Duration,
}

impl Part {
    pub(super) fn new(
        namespace: Option<String>,
        except: BTreeSet<String>,
        options: ObjectOptions,
        namespaced: bool,
    ) -> Self {
        let fields = options.fields.unwrap_or_default();
        // Whoever may only read one namespace may say so with a selector.
        let pinned = || fields.split(',').find_map(|term| pinned_namespace(term.trim()));
        let may_pin = namespaced && except.is_empty();
        let namespace = namespace.or_else(|| pinned().filter(|_| may_pin).map(str::to_owned));
        Self {
            namespace,
            except,
            labels: options.labels.unwrap_or_default(),
            fields,
            transform: options.transform.flatten(),
            resync: options.resync.unwrap_or_default(),
        }
    }

    /// Objects are changed in the same way.
    fn changes_the_same(&self, other: &Self) -> bool {
        match (&self.transform, &other.transform) {
            (None, None) => true,
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            _ => false,
        }
    }

    /// Some object is changed in the one way here, and in another there.
    pub(super) fn differs_in_transform(&self, other: &Self) -> bool {
        !self.changes_the_same(other) && self.scope().overlaps(&other.scope())
    }

    /// Which namespaces it has.
    pub(super) fn scope(&self) -> Scope {
        let (namespace, except) = (self.namespace.clone(), self.except.clone());
        Scope { namespace, except, ..Scope::default() }
    }

    /// The same is asked for.
    pub(super) fn asks_the_same(&self, other: &Self) -> bool {
        self.changes_the_same(other)
            && (&self.namespace, &self.except, &self.labels, &self.fields)
                == (&other.namespace, &other.except, &other.labels, &other.fields)
    }

    /// Whether an object, as the server has it, is among what is asked for; if that cannot be seen, it is.
    pub(super) fn keeps(&self, meta: &ObjectMeta, object: &Value) -> bool {
        let selector = parse_labels(&self.labels).unwrap_or_default();
        self.covers(meta.namespace.as_deref().unwrap_or_default())
            && Matcher::new(&selector).matches(Labels::map(meta.labels.as_ref()))
            && may_match_fields(&self.fields, object)
    }

    pub(super) fn covers(&self, namespace: &str) -> bool {
        self.namespace.as_deref().map_or(!self.except.contains(namespace), |only| only == namespace)
    }
}

/// `metadata.namespace=shop` pins the namespace.
fn pinned_namespace(term: &str) -> Option<&str> {
    let value = term.strip_prefix("metadata.namespace=")?;
    let value = value.strip_prefix('=').unwrap_or(value);
    Some(value.trim()).filter(|value| !value.is_empty())
}
