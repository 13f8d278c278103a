//! Lists: all objects or a page of them, now or at an earlier version.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use super::history::History;
use super::{Stored, TooOld};
use crate::selector::Selector;

/// What to list.
#[derive(Debug)]
pub(crate) struct PageQuery<'a> {
    /// Empty for all namespaces.
    pub(crate) namespace: &'a str,
    pub(crate) selector: &'a Selector,
    /// The version to list at; the present if none.
    pub(crate) at: Option<u64>,
    /// Only keys after this one.
    pub(crate) after: Option<&'a str>,
    /// At most so many objects.
    pub(crate) limit: Option<usize>,
}

/// What a list found.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) items: Vec<Arc<Stored>>,
    /// The version these objects were current at.
    pub(crate) version: u64,
    /// There is more: how many objects, counted without the selector.
    pub(crate) remaining: Option<usize>,
}

pub(super) fn page(
    objects: &BTreeMap<Arc<str>, Arc<Stored>>,
    history: &History,
    now: u64,
    query: &PageQuery<'_>,
) -> Result<Page, TooOld> {
    let version = query.at.unwrap_or(now);
    let (lower, upper) = (lower_bound(query), upper_bound(query.namespace));
    if is_empty_range(&lower, &upper) {
        // Also of nothing, only a version that is known can be told.
        let _ = history.back_to(version)?;
        return Ok(Page { items: Vec::new(), version, remaining: None });
    }
    let range = (lower.as_ref().map(String::as_str), upper.as_ref().map(String::as_str));
    let mut undone: BTreeMap<&str, Option<&Arc<Stored>>> = BTreeMap::new();
    for change in history.back_to(version)? {
        // Newest first, so the last insert is the state right after `version`.
        if RangeBounds::<str>::contains(&range, &**change.new.key()) {
            undone.insert(change.new.key(), change.old.as_ref());
        }
    }
    let past = undone.range::<str, _>(range).map(|(key, was)| (*key, *was));
    let present = objects.range::<str, _>(range).map(|(key, object)| (&**key, object));
    let mut all = AsOf { present: present.peekable(), past: past.peekable() };

    let limit = query.limit.unwrap_or(usize::MAX);
    let mut items = Vec::new();
    for object in all.by_ref() {
        if query.selector.matches(object) {
            items.push(Arc::clone(object));
            if items.len() == limit {
                break;
            }
        }
    }
    let remaining = if items.len() < limit { 0 } else { all.count() };
    Ok(Page { items, version, remaining: (remaining > 0).then_some(remaining) })
}

/// Whether no key can lie between the bounds; a map panics when it is asked for such a range.
fn is_empty_range(lower: &Bound<String>, upper: &Bound<String>) -> bool {
    match (lower, upper) {
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Excluded(upper)) => lower >= upper,
        _ => false,
    }
}

fn lower_bound(query: &PageQuery<'_>) -> Bound<String> {
    match query.after {
        Some(after) => Bound::Excluded(after.to_owned()),
        None if query.namespace.is_empty() => Bound::Unbounded,
        None => Bound::Included(format!("{}/", query.namespace)),
    }
}

fn upper_bound(namespace: &str) -> Bound<String> {
    // '0' is the character after '/'.
    if namespace.is_empty() { Bound::Unbounded } else { Bound::Excluded(format!("{namespace}0")) }
}

/// The present with some objects as they were; both sides are ordered by key.
struct AsOf<P: Iterator, Q: Iterator> {
    present: Peekable<P>,
    past: Peekable<Q>,
}

impl<'a, P, Q> Iterator for AsOf<P, Q>
where
    P: Iterator<Item = (&'a str, &'a Arc<Stored>)>,
    Q: Iterator<Item = (&'a str, Option<&'a Arc<Stored>>)>,
{
    type Item = &'a Arc<Stored>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((past_key, _)) = self.past.peek() else {
                return self.present.next().map(|(_, object)| object);
            };
            if let Some((key, object)) = self.present.next_if(|(key, _)| key < past_key) {
                let _ = key;
                return Some(object);
            }
            let past_key = *past_key;
            self.present.next_if(|(key, _)| *key == past_key);
            if let Some((_, Some(was))) = self.past.next() {
                return Some(was);
            }
        }
    }
}
