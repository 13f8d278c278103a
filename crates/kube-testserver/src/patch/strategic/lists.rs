//! The lists of strategic merge patch: merging their elements and putting them in order.

use std::collections::HashSet;

use serde_json::Value;

use super::order::{self, Slot};
use super::{
    DIRECTIVE, Fields, SET_ELEMENT_ORDER, bad, internal, merge_object, new_value, no_merge_key, strategy,
};
use crate::patch::{PatchError, go_value};
use crate::schema::{Strategy, TypeRef};

/// Merges two lists the way the strategy of their field says; without one, the patch replaces.
pub(super) fn merge(
    doc: Vec<Value>,
    patch: Vec<Value>,
    item: Option<TypeRef<'_>>,
    strategy: Option<&Strategy>,
) -> Result<Vec<Value>, PatchError> {
    match strategy {
        Some(strategy) if strategy.merge => {
            if doc.is_empty() && patch.is_empty() {
                return Ok(doc);
            }
            if all_objects(&doc, &patch)? {
                let key = strategy
                    .merge_key
                    .as_deref()
                    .ok_or_else(|| internal("cannot merge lists without merge key for struct"))?;
                merge_objects(doc, patch, item, key)
            } else {
                Ok(merge_scalars(&doc, &patch))
            }
        }
        _ => Ok(patch),
    }
}

/// Whether the elements of both lists are objects; they must be of one kind.
pub(super) fn all_objects(doc: &[Value], patch: &[Value]) -> Result<bool, PatchError> {
    let mut all = doc.iter().chain(patch);
    let first = all.next().ok_or_else(|| internal("no elements in any of the given slices"))?;
    if first.is_array() {
        return Err(PatchError::Unprocessable("lists of lists are not supported".to_owned()));
    }
    if first.is_null() || all.any(|item| std::mem::discriminant(item) != std::mem::discriminant(first)) {
        let list = |items: &[Value]| go_value(&Value::Array(items.to_vec()));
        return Err(internal(format!(
            "list element types are not identical: [{} {}]",
            list(doc),
            list(patch)
        )));
    }
    Ok(first.is_object())
}

/// Puts lists in the order that `$setElementOrder/F` asks for, after merging the patch of `F` into them.
pub(super) fn set_element_order(
    doc: &mut Fields,
    patch: &mut Fields,
    ty: Option<TypeRef<'_>>,
) -> Result<(), PatchError> {
    let directives: Vec<String> =
        patch.keys().filter(|key| key.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let Some(order) = patch.remove(&directive) else { continue };
        let order = array(order)?;
        let field = directive
            .strip_prefix(SET_ELEMENT_ORDER)
            .and_then(|field| field.strip_prefix('/'))
            .ok_or_else(|| bad("invalid patch format of setElementOrder list"))?;
        let current = doc.get(field).cloned().map(array).transpose()?;
        let change = patch.get(field).cloned().map(array).transpose()?;
        let (below, strategy) = strategy(ty, field)?;
        let key = strategy.and_then(|strategy| strategy.merge_key.as_deref());
        check_order(change.as_deref().unwrap_or_default(), &order, key)?;
        let live = current.clone().unwrap_or_default();
        let merged = match (current, change.clone()) {
            (None, None) => continue,
            (Some(current), None) => current,
            (None, Some(change)) => change.into_iter().filter_map(new_value).collect(),
            (Some(current), Some(change)) => merge(current, change, below.and_then(TypeRef::item), strategy)?,
        };
        let change = change.unwrap_or_default();
        all_objects(&live, &change)?;
        let live = match key {
            Some(key) => live_order(&live, &change, key),
            None => live.iter().collect(),
        };
        doc.insert(field.to_owned(), Value::Array(arrange(merged, order.iter(), &live, key)?));
        patch.remove(field);
    }
    Ok(())
}

fn array(value: Value) -> Result<Vec<Value>, PatchError> {
    match value {
        Value::Array(items) => Ok(items),
        other => {
            let kind = match other {
                Value::Object(_) => "map[string]interface {}",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                Value::Number(number) if number.is_f64() => "float64",
                Value::Number(_) => "int64",
                // Arrays were taken above.
                Value::Null | Value::Array(_) => "%!s(<nil>)",
            };
            Err(internal(format!("expected a []interface {{}}, but received a {kind}")))
        }
    }
}

/// The elements that stay must come in the order that the patch asks for.
fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let directive = |item: &Value| item.get(DIRECTIVE).is_some();
    let mut staying = patch.iter().filter(|item| !is_delete(item)).peekable();
    let mut order_left = order.iter();
    while let Some(item) = staying.peek() {
        // Kubernetes does not look at anything any more once the order is used up, not even whether what is
        // left is only a directive.
        let Some(next) = order_left.as_slice().first() else {
            let list = |items: &[Value]| go_value(&Value::Array(items.to_vec()));
            return Err(internal(format!(
                "The order in patch list:\n{}\n doesn't match {SET_ELEMENT_ORDER} list:\n{}\n",
                list(patch),
                list(order)
            )));
        };
        if directive(item) {
            staying.next();
            continue;
        }
        if identity(item, key)? == identity(next, key)? {
            staying.next();
        }
        order_left.next();
    }
    Ok(())
}

fn is_delete(item: &Value) -> bool {
    item.get(DIRECTIVE).is_some_and(|directive| directive == "delete")
}

/// See [`order::live_order`].
fn live_order<'a>(live: &'a [Value], patch: &'a [Value], key: &str) -> Vec<&'a Value> {
    let keys = |items: &[&'a Value]| items.iter().map(|item| item.get(key)).collect::<Vec<_>>();
    let deleted: Vec<&Value> = patch.iter().filter(|item| is_delete(item)).collect();
    let replaced =
        patch.iter().any(|item| item.get(DIRECTIVE).is_some_and(|directive| directive == "replace"));
    let added: Vec<&Value> = patch.iter().filter(|item| !replaced && item.get(DIRECTIVE).is_none()).collect();
    let live: Vec<&Value> = live.iter().collect();
    let slots = order::live_order(&keys(&live), &keys(&deleted), &keys(&added));
    let element = |slot: Slot| match slot {
        Slot::Live(at) => live[at],
        Slot::Added(at) => added[at],
    };
    slots.into_iter().map(element).collect()
}

fn merge_scalars(doc: &[Value], patch: &[Value]) -> Vec<Value> {
    let (doc, patch): (Vec<&Value>, Vec<&Value>) = (doc.iter().collect(), patch.iter().collect());
    let merged = order::distinct(doc.iter().chain(&patch).copied());
    order::arrange(&merged, &patch, &doc).into_iter().map(|at| merged[at].clone()).collect()
}

fn merge_objects(
    mut doc: Vec<Value>,
    patch: Vec<Value>,
    item: Option<TypeRef<'_>>,
    key: &str,
) -> Result<Vec<Value>, PatchError> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut deleted = HashSet::new();
    let mut replace = false;
    for value in patch {
        let Value::Object(fields) = value else { continue };
        match fields.get(DIRECTIVE) {
            None => plain.push(fields),
            Some(directive) => match directive.as_str() {
                Some("delete") => {
                    let name = fields.get(key).ok_or_else(|| no_merge_key(&fields, key))?;
                    deleted.insert(name.clone());
                }
                Some("replace") => replace = true,
                Some("merge") => {
                    return Err(internal("merging lists cannot yet be specified in the patch"));
                }
                _ => {
                    let name = go_value(directive);
                    let item = go_value(&Value::Object(fields.clone()));
                    return Err(internal(format!("unknown patch type: {name} in map: {item}")));
                }
            },
        }
    }
    let order: Vec<Value> = plain.iter().map(|fields| named(fields, key)).collect::<Result<_, _>>()?;
    if replace {
        return Ok(plain.into_iter().map(Value::Object).collect());
    }
    doc.retain(|item| item.get(key).is_none_or(|name| !deleted.contains(name)));
    let live: Vec<Value> = doc.iter().map(|item| identity_only(item, key)).collect::<Result<_, _>>()?;
    let places = {
        let (known, wanted): (Vec<_>, Vec<_>) = (
            live.iter().map(|item| item.get(key)).collect(),
            order.iter().map(|item| item.get(key)).collect(),
        );
        order::places(&known, &wanted)
    };
    for (at, fields) in places.into_iter().zip(plain) {
        match doc.get_mut(at) {
            Some(found) => {
                let Value::Object(current) = found.take() else { continue };
                *found = Value::Object(merge_object(current, fields, item)?);
            }
            None => doc.push(Value::Object(fields)),
        }
    }
    let live: Vec<&Value> = live.iter().collect();
    arrange(doc, order.iter(), &live, Some(key))
}

/// An element with nothing but its merge key.
fn named(fields: &Fields, key: &str) -> Result<Value, PatchError> {
    let name = fields.get(key).ok_or_else(|| no_merge_key(fields, key))?;
    Ok(Value::Object(Fields::from_iter([(key.to_owned(), name.clone())])))
}

fn identity_only(item: &Value, key: &str) -> Result<Value, PatchError> {
    match item {
        Value::Object(fields) => named(fields, key),
        other => Ok(other.clone()),
    }
}

/// What tells an element from the others: the value of its merge key, or the scalar itself.
fn identity<'a>(item: &'a Value, key: Option<&str>) -> Result<&'a Value, PatchError> {
    match (item, key) {
        (Value::Object(fields), Some(key)) => fields.get(key).ok_or_else(|| no_merge_key(fields, key)),
        (item, _) => Ok(item),
    }
}

/// See [`order::arrange`].
fn arrange<'a>(
    mut merged: Vec<Value>,
    order: impl Iterator<Item = &'a Value>,
    live: &[&'a Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    let merged_keys = identities(merged.iter(), key)?;
    let (order, live) = (identities(order, key)?, identities(live.iter().copied(), key)?);
    let places = order::arrange(&merged_keys, &order, &live);
    Ok(places.into_iter().map(|at| merged[at].take()).collect())
}

fn identities<'a>(
    items: impl Iterator<Item = &'a Value>,
    key: Option<&str>,
) -> Result<Vec<&'a Value>, PatchError> {
    items.map(|item| identity(item, key)).collect()
}
