//! OpenAPI documents: what `/openapi/v3`, `/openapi/v3/apis/…` and `/openapi/v2` say.
//!
//! They are made for the readers that exist: `kubectl explain` (paths and schemas), `kubectl apply` and
//! `create` (does PATCH know `fieldValidation`; merge keys for a three-way patch), and generators of typed
//! clients. Fields have no descriptions but those that every object has.

mod custom;
mod paths;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hasher;

use serde_json::{Map, Value, json};

use self::custom::custom_name;
use super::{Field, ListMerge, Object, Scalar, Type, TypeId, TypeRef, builtin};

/// A resource to describe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenApiResource<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) plural: &'a str,
    pub(crate) namespaced: bool,
    /// As in discovery: `create`, `list`, `patch`, ….
    pub(crate) verbs: &'a [&'a str],
    pub(crate) subresources: &'a [OpenApiSubresource<'a>],
    /// The type of a built-in kind.
    pub(crate) ty: Option<TypeRef<'a>>,
    /// A custom resource's own `openAPIV3Schema`; it comes before `ty`.
    pub(crate) raw_schema: Option<&'a Value>,
}

/// A subresource: `status`, `scale`, `eviction`, ….
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenApiSubresource<'a> {
    pub(crate) name: &'a str,
    /// The kind of its body, which may be of another group than its resource (`autoscaling/v1` `Scale`).
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) verbs: &'a [&'a str],
    /// The type of the body; none when it is the resource's own.
    pub(crate) ty: Option<TypeRef<'a>>,
}

/// The OpenAPI v3 document of one group and version. Resources of others are left out.
pub(crate) fn v3(group: &str, version: &str, resources: &[OpenApiResource<'_>]) -> Value {
    let resources: Vec<_> =
        resources.iter().filter(|r| r.group == group && r.version == version).copied().collect();
    let mut components = Components::new(Dialect::V3, &resources);
    let mut paths = Map::new();
    let base = base_path(group, version);
    paths.insert(format!("{base}/"), paths::discovery(&mut components, group, version));
    for resource in &resources {
        paths::add(&mut paths, &mut components, resource);
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "v1" },
        "paths": paths,
        "components": {
            "schemas": components.finish(),
            "securitySchemes": { "BearerToken": bearer_token() },
        },
    })
}

/// The OpenAPI v2 document of all resources.
pub(crate) fn v2(resources: &[OpenApiResource<'_>]) -> Value {
    let mut components = Components::new(Dialect::V2, resources);
    let mut paths = Map::new();
    for resource in resources {
        let base = base_path(resource.group, resource.version);
        let discovery = paths::discovery(&mut components, resource.group, resource.version);
        paths.entry(format!("{base}/")).or_insert(discovery);
        paths::add(&mut paths, &mut components, resource);
    }
    json!({
        "swagger": "2.0",
        "info": { "title": "Kubernetes", "version": "v1" },
        "paths": paths,
        "definitions": components.finish(),
        "securityDefinitions": { "BearerToken": bearer_token() },
        "security": [{ "BearerToken": [] }],
    })
}

/// What `/openapi/v3` lists, from each group and version with the [`content_hash`] of its document.
pub(crate) fn v3_index<'a>(documents: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> Value {
    let mut paths = Map::new();
    for (group, version, hash) in documents {
        let base = base_path(group, version);
        let url = format!("/openapi/v3{base}?hash={hash}");
        paths.insert(base[1..].to_owned(), json!({ "serverRelativeURL": url }));
    }
    json!({ "paths": paths })
}

/// Changes when a document changes: clients keep documents on disk by the address that contains it.
pub(crate) fn content_hash(document: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(document);
    format!("{:016X}", hasher.finish())
}

/// `/api/v1` or `/apis/apps/v1`.
fn base_path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn bearer_token() -> Value {
    json!({ "type": "apiKey", "name": "authorization", "in": "header" })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    V2,
    V3,
}

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";

/// The schemas of a document: whatever was referred to, and what that refers to.
struct Components<'a> {
    dialect: Dialect,
    schemas: Map<String, Value>,
    queue: Vec<TypeRef<'a>>,
    /// By name and whether it is atomic: the same struct can be both, in different places.
    queued: BTreeSet<(&'a str, bool)>,
    /// The kinds of each built-in type, as far as the document is about their versions.
    kinds: HashMap<TypeId, Vec<(&'static str, &'static str)>>,
}

impl<'a> Components<'a> {
    fn new(dialect: Dialect, resources: &[OpenApiResource<'_>]) -> Self {
        let served: BTreeSet<String> = resources.iter().map(|r| api_version(r.group, r.version)).collect();
        let mut kinds: HashMap<TypeId, Vec<(&'static str, &'static str)>> = HashMap::new();
        for (version, kind, ty) in builtin().roots() {
            kinds.entry(ty.id).or_default().push((version, kind));
        }
        for kinds in kinds.values_mut() {
            // DeleteOptions and WatchEvent are registered in every version of every group.
            if kinds.len() > 1 {
                kinds.retain(|(version, _)| *version == "v1" || served.contains(*version));
            }
            kinds.sort_unstable();
        }
        Self { dialect, schemas: Map::new(), queue: Vec::new(), queued: BTreeSet::new(), kinds }
    }

    /// The schemas of everything that was referred to.
    fn finish(mut self) -> Map<String, Value> {
        while let Some(ty) = self.queue.pop() {
            let schema = match ty.ty() {
                Type::Object(object) => self.object(object, ty),
                _ if ty
                    .name()
                    .is_some_and(|name| name.ends_with("RawExtension") || name.ends_with("FieldsV1")) =>
                {
                    json!({ "type": "object" })
                }
                _ => json!({}),
            };
            let name = ty.name().unwrap_or_default().to_owned();
            if !self.schemas.contains_key(&name) || is_atomic(ty) {
                self.schemas.insert(name, schema);
            }
        }
        self.schemas
    }

    /// A reference to a schema that is, or will be, in the document.
    fn reference(&self, name: &str) -> Value {
        let prefix = match self.dialect {
            Dialect::V2 => "#/definitions/",
            Dialect::V3 => "#/components/schemas/",
        };
        json!({ "$ref": format!("{prefix}{name}") })
    }

    /// A reference to a built-in kind such as `v1` `Status`.
    fn kind(&mut self, api_version: &str, kind: &str) -> Value {
        builtin().root(api_version, kind).map_or_else(|| json!({}), |ty| self.named(ty))
    }

    /// A reference to the body of a patch, which can be anything.
    fn patch(&mut self) -> Value {
        let name = format!("{META}.Patch");
        let reference = self.reference(&name);
        self.schemas.insert(name, json!({ "type": "object" }));
        reference
    }

    /// References to the schema of a resource and to that of a list of it.
    fn resource(&mut self, resource: &OpenApiResource<'a>) -> (Value, Value) {
        if let (Some(ty), None) = (resource.ty, resource.raw_schema)
            && ty.name().is_some()
        {
            let version = api_version(resource.group, resource.version);
            let list = ty.schema.root(&version, &format!("{}List", resource.kind)).unwrap_or(ty);
            return (self.named(ty), self.named(list));
        }
        let name = custom_name(resource);
        let (item, list) = (self.reference(&name), self.reference(&format!("{name}List")));
        if !self.schemas.contains_key(&name) {
            let schema = self.custom(resource);
            self.schemas.insert(name.clone(), schema);
            let schema = self.custom_list(resource, &item);
            self.schemas.insert(format!("{name}List"), schema);
        }
        (item, list)
    }

    /// A schema with more to say about it. In v3 a reference stands alone, so the rest goes around it.
    fn extended(&self, mut schema: Value, extra: Map<String, Value>) -> Value {
        if self.dialect == Dialect::V3 && !extra.is_empty() && schema.get("$ref").is_some() {
            schema = json!({ "allOf": [schema] });
        }
        if let Value::Object(schema) = &mut schema {
            schema.extend(extra);
        }
        schema
    }

    /// A reference to the type of `metadata`, by way of a kind that has it.
    fn meta(&mut self, kind: &str) -> Value {
        let ty = builtin().root("v1", kind).and_then(|ty| ty.child("metadata"));
        ty.map_or_else(|| json!({ "type": "object" }), |ty| self.named(ty))
    }

    /// A reference to a type with a name, which is then part of the document.
    fn named(&mut self, ty: TypeRef<'a>) -> Value {
        let name = ty.name().unwrap_or_default();
        if self.queued.insert((name, is_atomic(ty))) {
            self.queue.push(ty);
        }
        self.reference(name)
    }

    fn object(&mut self, object: &'a Object, ty: TypeRef<'a>) -> Value {
        let mut schema = json!({ "type": "object" });
        let properties: Map<String, Value> =
            object.fields.iter().map(|field| (field.name.to_string(), self.field(field, ty))).collect();
        if !properties.is_empty() {
            schema["properties"] = Value::Object(properties);
        }
        let required: Vec<&str> =
            object.fields.iter().filter(|field| field.required).map(|field| &*field.name).collect();
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if object.atomic {
            schema["x-kubernetes-map-type"] = json!("atomic");
        }
        if object.preserve_unknown {
            schema[PRESERVE] = json!(true);
        }
        if let Some(kinds) = self.kinds.get(&ty.id) {
            let split = |version: &'static str| version.rsplit_once('/').unwrap_or(("", version));
            let kinds: Vec<_> = kinds.iter().map(|(version, kind)| (split(version), kind)).collect();
            if let [((group, version), kind)] = kinds[..] {
                schema["description"] = json!(format!("{kind} in {}", api_version(group, version)));
            }
            schema[GVK] = kinds.iter().map(|((group, version), kind)| gvk(group, version, kind)).collect();
        }
        schema
    }

    fn field(&mut self, field: &Field, owner: TypeRef<'a>) -> Value {
        let schema = self.ty(owner.schema.at(field.ty));
        let mut extra = Map::new();
        let strategy = &field.strategy;
        let words =
            [(strategy.merge, "merge"), (strategy.replace, "replace"), (strategy.retain_keys, "retainKeys")];
        let words: Vec<&str> = words.into_iter().filter(|(set, _)| *set).map(|(_, word)| word).collect();
        if !words.is_empty() {
            extra.insert("x-kubernetes-patch-strategy".to_owned(), json!(words.join(",")));
        }
        if let Some(key) = &strategy.merge_key {
            extra.insert("x-kubernetes-patch-merge-key".to_owned(), json!(key));
        }
        if let Some(default) = &field.default {
            extra.insert("default".to_owned(), default.clone());
        }
        if self.kinds.contains_key(&owner.id) && COMMON_FIELDS.contains(&&*field.name) {
            extra.insert("description".to_owned(), json!(common_description(&field.name)));
        }
        self.extended(schema, extra)
    }

    fn ty(&mut self, ty: TypeRef<'a>) -> Value {
        match ty.ty() {
            Type::Any | Type::Object(_) if ty.name().is_some() => self.named(ty),
            Type::Any => json!({ PRESERVE: true }),
            Type::Scalar(scalar) => self.scalar(*scalar),
            Type::Object(object) => self.object(object, ty),
            Type::Map { value, atomic } => {
                let value = self.ty(ty.schema.at(*value));
                let mut schema = json!({ "type": "object", "additionalProperties": value });
                if *atomic {
                    schema["x-kubernetes-map-type"] = json!("atomic");
                }
                schema
            }
            Type::List { item, merge } => {
                let items = self.ty(ty.schema.at(*item));
                let mut schema = json!({ "type": "array", "items": items });
                schema["x-kubernetes-list-type"] = match merge {
                    ListMerge::Atomic => json!("atomic"),
                    ListMerge::Set => json!("set"),
                    ListMerge::Map(keys) => {
                        schema["x-kubernetes-list-map-keys"] = json!(keys);
                        json!("map")
                    }
                };
                schema
            }
        }
    }

    fn scalar(&mut self, scalar: Scalar) -> Value {
        let v2 = self.dialect == Dialect::V2;
        let (name, schema) = match scalar {
            Scalar::String => return json!({ "type": "string" }),
            Scalar::Bytes => return json!({ "type": "string", "format": "byte" }),
            Scalar::Boolean => return json!({ "type": "boolean" }),
            Scalar::Int32 => return json!({ "type": "integer", "format": "int32" }),
            Scalar::Int64 => return json!({ "type": "integer", "format": "int64" }),
            Scalar::Number => return json!({ "type": "number", "format": "double" }),
            Scalar::IntOrString if v2 => {
                (INT_OR_STRING.to_owned(), json!({ "type": "string", "format": "int-or-string" }))
            }
            Scalar::IntOrString => (
                INT_OR_STRING.to_owned(),
                json!({ "format": "int-or-string", "oneOf": [{ "type": "integer" }, { "type": "string" }] }),
            ),
            Scalar::Quantity if v2 => (QUANTITY.to_owned(), json!({ "type": "string" })),
            Scalar::Quantity => {
                (QUANTITY.to_owned(), json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] }))
            }
            Scalar::Time => (format!("{META}.Time"), json!({ "type": "string", "format": "date-time" })),
            Scalar::MicroTime => {
                (format!("{META}.MicroTime"), json!({ "type": "string", "format": "date-time" }))
            }
            Scalar::Duration => (format!("{META}.Duration"), json!({ "type": "string" })),
        };
        let reference = self.reference(&name);
        self.schemas.entry(name).or_insert(schema);
        reference
    }
}

fn is_atomic(ty: TypeRef<'_>) -> bool {
    matches!(ty.ty(), Type::Object(Object { atomic: true, .. }))
}

/// Objects may have fields that their schema does not name.
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

const GVK: &str = "x-kubernetes-group-version-kind";

fn gvk(group: &str, version: &str, kind: &str) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}

/// The fields that every object has.
const COMMON_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

fn common_description(field: &str) -> &'static str {
    match field {
        "apiVersion" => "The group and version of the schema of this object, for example apps/v1.",
        "kind" => "The kind of this object, in CamelCase. The path of a request implies it.",
        _ => "Name, version, labels and what else every object or list has.",
    }
}

#[cfg(test)]
mod tests;
