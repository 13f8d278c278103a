//! What the fields of a kind are.
//!
//! One description serves everything that has to know more about an object than its JSON: strategic
//! merge patch, server-side apply, dropping unknown fields, type errors, and OpenAPI. The built-in
//! kinds come from a table of facts ([`builtin`]); custom resources are compiled into the same form
//! from their CustomResourceDefinition.
//!
//! A [`Schema`] is a flat list of types that refer to each other by [`TypeId`], because Kubernetes
//! types are recursive (`JSONSchemaProps` contains itself). Readers walk it with [`TypeRef`].

mod builtin;
mod coerce;
pub(crate) mod openapi;
pub(crate) mod protobuf;
mod quantity;
mod times;

pub(crate) use builtin::builtin;
pub(crate) use coerce::coerce;
pub(crate) use quantity::{in_nanos as quantity_in_nanos, sum as quantity_sum};

use std::collections::HashMap;

use serde_json::Value;

/// A set of types and the kinds that start from them.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    types: Vec<Type>,
    /// The OpenAPI names of named types that are not structs (a struct has its own).
    names: HashMap<TypeId, Box<str>>,
    /// `(apiVersion, kind)`, for example `("apps/v1", "Deployment")`.
    roots: HashMap<(Box<str>, Box<str>), TypeId>,
    /// What Go knows of structs beyond their JSON. Only built-in kinds have any, and [`Schema::import`] leaves them
    /// behind.
    go_fields: HashMap<TypeId, Vec<GoField>>,
}

/// The place of a type in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeId(pub(crate) u32);

/// What a JSON value may look like.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    /// Any JSON: `RawExtension`, `JSON`, and custom fields that preserve what they do not know.
    Any,
    /// A value without parts.
    Scalar(Scalar),
    /// A struct: named fields, each with its own type.
    Object(Object),
    /// String keys, values of one type.
    Map {
        /// The type of each value.
        value: TypeId,
        /// Owned and replaced as a whole by server-side apply.
        atomic: bool,
    },
    /// An array.
    List {
        /// The type of each element.
        item: TypeId,
        /// How server-side apply tells elements apart.
        merge: ListMerge,
    },
}

/// A value without parts, by the way it is written in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    String,
    /// Base64 in a JSON string.
    Bytes,
    Boolean,
    Int32,
    Int64,
    Number,
    IntOrString,
    /// A string or a number.
    Quantity,
    Time,
    MicroTime,
    Duration,
}

/// A struct.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// The name in OpenAPI, for example `io.k8s.api.core.v1.Pod`; empty for nested custom objects.
    pub(crate) name: Box<str>,
    /// Sorted by name.
    pub(crate) fields: Vec<Field>,
    /// Owned and replaced as a whole by server-side apply.
    pub(crate) atomic: bool,
    /// Fields that are not listed are kept, with any value.
    pub(crate) preserve_unknown: bool,
}

/// One field of a struct.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Box<str>,
    pub(crate) ty: TypeId,
    pub(crate) required: bool,
    /// How strategic merge patch treats this field (it is a property of the field, not of its type).
    pub(crate) strategy: Strategy,
    pub(crate) default: Option<Value>,
}

/// One field of a Go struct, which is not always a field in JSON.
#[derive(Clone, Debug)]
struct GoField {
    /// The name in JSON; none for a struct whose fields JSON shows as fields of the outer one.
    name: Option<&'static str>,
    ty: TypeId,
    /// A Go pointer: absent and zero are different values.
    pointer: bool,
}

/// The strategic-merge-patch directives of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strategy {
    /// Lists are merged element by element instead of replaced.
    pub(crate) merge: bool,
    /// The field that identifies an element; none for lists of scalars.
    pub(crate) merge_key: Option<Box<str>>,
    /// The patch must say which keys to keep (`$retainKeys`).
    pub(crate) retain_keys: bool,
    /// A struct is replaced instead of merged field by field (the selector of a `PodDisruptionBudget`).
    pub(crate) replace: bool,
}

/// How server-side apply tells the elements of a list apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListMerge {
    /// Owned and replaced as a whole.
    Atomic,
    /// A set of scalars.
    Set,
    /// Objects identified by these fields.
    Map(Box<[Box<str>]>),
}

impl Schema {
    /// Adds a type and returns its place.
    pub(crate) fn push(&mut self, ty: Type) -> TypeId {
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        self.types.push(ty);
        id
    }

    /// Replaces a type; used to close cycles while building.
    pub(crate) fn set(&mut self, id: TypeId, ty: Type) {
        self.types[id.0 as usize] = ty;
    }

    /// Names a type that is not a struct, for example `io.k8s.api.core.v1.Protocol`.
    pub(crate) fn set_name(&mut self, id: TypeId, name: &str) {
        self.names.insert(id, name.into());
    }

    /// Says what the Go struct of a type has.
    fn set_go_fields(&mut self, id: TypeId, fields: Vec<GoField>) {
        self.go_fields.insert(id, fields);
    }

    /// Names the type of a kind.
    pub(crate) fn set_root(&mut self, api_version: &str, kind: &str, id: TypeId) {
        self.roots.insert((api_version.into(), kind.into()), id);
    }

    /// The type of a kind.
    pub(crate) fn root(&self, api_version: &str, kind: &str) -> Option<TypeRef<'_>> {
        let id = *self.roots.get(&(api_version.into(), kind.into()))?;
        Some(TypeRef { schema: self, id })
    }

    /// Every kind with its type, in no particular order.
    pub(crate) fn roots(&self) -> impl Iterator<Item = (&str, &str, TypeRef<'_>)> {
        self.roots
            .iter()
            .map(|((version, kind), id)| (&**version, &**kind, TypeRef { schema: self, id: *id }))
    }

    /// The type at a place.
    pub(crate) fn at(&self, id: TypeId) -> TypeRef<'_> {
        TypeRef { schema: self, id }
    }

    /// Copies a type and everything below it from another schema.
    pub(crate) fn import(&mut self, from: TypeRef<'_>) -> TypeId {
        self.import_seen(from, &mut HashMap::new())
    }

    fn import_seen(&mut self, from: TypeRef<'_>, seen: &mut HashMap<TypeId, TypeId>) -> TypeId {
        if let Some(id) = seen.get(&from.id) {
            return *id;
        }
        let id = self.push(Type::Any);
        seen.insert(from.id, id);
        let mut ty = from.ty().clone();
        match &mut ty {
            Type::Any | Type::Scalar(_) => {}
            Type::Object(object) => {
                for field in &mut object.fields {
                    field.ty = self.import_seen(from.schema.at(field.ty), seen);
                }
            }
            Type::Map { value, .. } => *value = self.import_seen(from.schema.at(*value), seen),
            Type::List { item, .. } => *item = self.import_seen(from.schema.at(*item), seen),
        }
        if let Some(name) = from.schema.names.get(&from.id) {
            self.set_name(id, name);
        }
        self.set(id, ty);
        id
    }
}

/// A type together with the schema it lives in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeRef<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) id: TypeId,
}

impl<'a> TypeRef<'a> {
    /// What the value looks like.
    pub(crate) fn ty(self) -> &'a Type {
        &self.schema.types[self.id.0 as usize]
    }

    /// The OpenAPI name of a named type; a nested struct of a custom resource has none.
    pub(crate) fn name(self) -> Option<&'a str> {
        match self.ty() {
            Type::Object(object) => (!object.name.is_empty()).then_some(&*object.name),
            _ => self.schema.names.get(&self.id).map(|name| &**name),
        }
    }

    /// The field of a struct.
    pub(crate) fn field(self, name: &str) -> Option<&'a Field> {
        let Type::Object(object) = self.ty() else { return None };
        let at = object.fields.binary_search_by(|field| (*field.name).cmp(name)).ok()?;
        Some(&object.fields[at])
    }

    /// Whether a field is behind a pointer in Go; none for what is no Go type, like custom resources.
    pub(crate) fn is_pointer(self, name: &str) -> Option<bool> {
        self.schema.go_fields.get(&self.id)?.iter().find_map(|field| match field.name {
            Some(known) => (known == name).then_some(field.pointer),
            None => self.schema.at(field.ty).is_pointer(name),
        })
    }

    /// The type below `name`: of a struct's field or of a map's values.
    pub(crate) fn child(self, name: &str) -> Option<TypeRef<'a>> {
        let id = match self.ty() {
            Type::Map { value, .. } => *value,
            _ => self.field(name)?.ty,
        };
        Some(self.schema.at(id))
    }

    /// The type of a list's elements.
    pub(crate) fn item(self) -> Option<TypeRef<'a>> {
        match self.ty() {
            Type::List { item, .. } => Some(self.schema.at(*item)),
            _ => None,
        }
    }
}
