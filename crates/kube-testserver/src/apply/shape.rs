//! How apply looks at types: what is a leaf, and what has parts with owners of their own.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::element;
use crate::schema::{ListMerge, Object, Type, TypeRef};

/// The type of a value; none where the schema says nothing about it.
pub(super) type Ty<'a> = Option<TypeRef<'a>>;

/// What apply does with values of a type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'a> {
    /// Owned and replaced as a whole: scalars, and whatever the schema calls atomic.
    Leaf,
    /// Fields with owners of their own.
    Fields,
    /// Elements with owners of their own.
    List(Elements<'a>),
    /// Known only from the value: objects have fields, everything else is a leaf.
    Deduced,
}

/// How to tell the elements of a list apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements<'a> {
    /// The fields that identify an element; none in a set of scalars.
    keys: Option<&'a [Box<str>]>,
    /// The type of the elements.
    pub(super) item: TypeRef<'a>,
}

impl<'a> Shape<'a> {
    pub(super) fn of(ty: Ty<'a>) -> Self {
        let Some(ty) = ty else { return Self::Deduced };
        match ty.ty() {
            Type::Any => Self::Deduced,
            Type::Object(Object { atomic: false, .. }) | Type::Map { atomic: false, .. } => Self::Fields,
            Type::Scalar(_) | Type::Object(_) | Type::Map { .. } => Self::Leaf,
            Type::List { item, merge } => {
                let item = ty.schema.at(*item);
                match merge {
                    ListMerge::Atomic => Self::Leaf,
                    ListMerge::Set => Self::List(Elements { keys: None, item }),
                    ListMerge::Map(keys) => Self::List(Elements { keys: Some(keys), item }),
                }
            }
        }
    }

    /// The shape of a value whose type may leave it to the value.
    pub(super) fn of_value(ty: Ty<'a>, value: &Value) -> Self {
        match Self::of(ty) {
            Self::Deduced if value.is_object() => Self::Fields,
            Self::Deduced => Self::Leaf,
            shape => shape,
        }
    }
}

impl Elements<'_> {
    /// The path element of a list element, or why it has none.
    pub(super) fn element(self, item: &Value) -> Result<String, String> {
        match self.keys {
            Some(keys) => element::keyed_item(item, keys, Some(self.item)),
            None => element::set_item(item),
        }
    }
}

/// The type below a field or key, and whether the schema names that field.
///
/// The difference matters: a key of a map is owned by whoever set it, while a named field is owned only
/// through what is below it.
pub(super) fn child<'a>(ty: Ty<'a>, name: &str) -> (Ty<'a>, bool) {
    let Some(ty) = ty else { return (None, false) };
    match ty.ty() {
        Type::Map { value, .. } => (Some(ty.schema.at(*value)), false),
        _ => match ty.field(name) {
            Some(field) => (Some(ty.schema.at(field.ty)), true),
            None => (None, false),
        },
    }
}

/// The fields of an object; none for anything else.
pub(super) fn fields(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// The elements of an array; none for anything else.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Whether two values are equal; `1` and `1.0` are.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// An object without fields.
pub(super) fn empty_object() -> &'static Value {
    static EMPTY: LazyLock<Value> = LazyLock::new(|| Value::Object(Map::new()));
    &EMPTY
}

/// The value of a field that the JSON leaves out but the Go struct behind it cannot: structs that are not
/// behind a pointer, and lists that are always written.
///
/// Kubernetes compares Go structs, so whoever sets the first field of such a struct does not become the owner
/// of the struct itself.
pub(super) fn implied(ty: Ty<'_>, name: &str) -> Option<&'static Value> {
    let ty = ty?;
    let Type::Object(object) = ty.ty() else { return None };
    let field = ty.field(name)?;
    match ty.schema.at(field.ty).ty() {
        Type::Object(below) if !object.name.is_empty() && !below.name.is_empty() => {
            (field.required || ty.is_pointer(name) == Some(false)).then(empty_object)
        }
        Type::List { .. } | Type::Map { .. } if !object.name.is_empty() => {
            field.required.then_some(&Value::Null)
        }
        _ => None,
    }
}
