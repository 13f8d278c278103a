//! The paths of a document: which requests each resource takes.

use serde_json::{Map, Value, json};

use super::{Components, Dialect, GVK, OpenApiResource, OpenApiSubresource, base_path, gvk};

/// Adds the paths of a resource and of its subresources.
pub(super) fn add<'a>(
    paths: &mut Map<String, Value>,
    components: &mut Components<'a>,
    resource: &OpenApiResource<'a>,
) {
    let base = base_path(resource.group, resource.version);
    let (scope, prefix) =
        if resource.namespaced { ("/namespaces/{namespace}", "Namespaced") } else { ("", "") };
    let collection = format!("{base}{scope}/{}", resource.plural);
    let (item, list) = components.resource(resource);
    let names = Names { resource, scope: prefix };

    let mut operations = Operations::new(components, resource, resource.namespaced, false);
    for verb in resource.verbs {
        match *verb {
            "list" => {
                operations.add(components, "get", "list", &names.id("list", ""), Shape::reads(&list, LIST));
            }
            "create" => {
                operations.add(components, "post", "post", &names.id("create", ""), Shape::writes(&item));
            }
            "deletecollection" => {
                let id = names.id("delete", "Collection");
                let shape = Shape::deletes(components, DELETE_COLLECTION);
                operations.add(components, "delete", "deletecollection", &id, shape);
            }
            _ => {}
        }
    }
    operations.finish(paths, &collection);

    if resource.namespaced && resource.verbs.contains(&"list") {
        let mut operations = Operations::new(components, resource, false, false);
        let id = Names { resource, scope: "" }.id("list", "") + "ForAllNamespaces";
        operations.add(components, "get", "list", &id, Shape::reads(&list, LIST));
        operations.finish(paths, &format!("{base}/{}", resource.plural));
    }

    let mut operations = Operations::new(components, resource, resource.namespaced, true);
    operations.add_item(components, &names, "", resource.verbs, &item, !is_custom(resource));
    operations.finish(paths, &format!("{collection}/{{name}}"));

    for subresource in resource.subresources {
        let mut operations = Operations::new(components, resource, resource.namespaced, true);
        operations.kind = gvk(subresource.group, subresource.version, subresource.kind);
        operations.connect = is_connect(subresource);
        let body = match subresource.ty {
            Some(ty) if ty.name().is_some() && !operations.connect => components.named(ty),
            _ => item.clone(),
        };
        let suffix = upper_first(subresource.name);
        operations.add_item(components, &names, &suffix, subresource.verbs, &body, !is_custom(resource));
        operations.finish(paths, &format!("{collection}/{{name}}/{}", subresource.name));
    }
}

/// The path that lists the resources of a group and version.
pub(super) fn discovery(components: &mut Components<'_>, group: &str, version: &str) -> Value {
    let list = components.kind("v1", "APIResourceList");
    let id = format!("get{}{}APIResources", group_name(group), upper_first(version));
    let mut operation = json!({ "operationId": id, "tags": [tag(group, version)] });
    components.set_responses(&mut operation, &list);
    json!({ "get": operation })
}

type Parameter = (&'static str, &'static str);

const LIST: &[Parameter] = &[
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];
const WRITE: &[Parameter] =
    &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")];
const PATCH: &[Parameter] =
    &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"), ("force", "boolean")];
const DELETE: &[Parameter] = &[
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];
const DELETE_COLLECTION: &[Parameter] = &[
    ("continue", "string"),
    ("dryRun", "string"),
    ("fieldSelector", "string"),
    ("gracePeriodSeconds", "integer"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("timeoutSeconds", "integer"),
];

/// What goes in and out of an operation.
struct Shape {
    parameters: &'static [Parameter],
    body: Option<Value>,
    body_required: bool,
    /// The content types of the body.
    consumes: &'static [&'static str],
    response: Value,
}

const ANY_CONTENT: &[&str] = &["*/*"];
const PATCHES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

impl Shape {
    fn reads(response: &Value, parameters: &'static [Parameter]) -> Self {
        let response = response.clone();
        Self { parameters, body: None, body_required: false, consumes: ANY_CONTENT, response }
    }

    fn writes(body: &Value) -> Self {
        let (response, body) = (body.clone(), Some(body.clone()));
        Self { parameters: WRITE, body, body_required: true, consumes: ANY_CONTENT, response }
    }

    fn deletes(components: &mut Components<'_>, parameters: &'static [Parameter]) -> Self {
        let body = Some(components.kind("v1", "DeleteOptions"));
        let response = components.kind("v1", "Status");
        Self { parameters, body, body_required: false, consumes: ANY_CONTENT, response }
    }

    /// Custom resources have no strategic merge patch; `kubectl apply` looks here to find out.
    fn patches(components: &mut Components<'_>, response: &Value, strategic: bool) -> Self {
        let body = Some(components.patch());
        let consumes = if strategic { PATCHES } else { &PATCHES[..3] };
        Self { parameters: PATCH, body, body_required: true, consumes, response: response.clone() }
    }
}

/// The operations of one path.
struct Operations {
    dialect: Dialect,
    path: Map<String, Value>,
    kind: Value,
    tag: String,
    /// Requests that open a stream to a pod or node.
    connect: bool,
}

impl Operations {
    fn new(components: &Components<'_>, resource: &OpenApiResource<'_>, namespace: bool, name: bool) -> Self {
        let dialect = components.dialect;
        let mut parameters = Vec::new();
        for (wanted, parameter) in [(name, "name"), (namespace, "namespace")] {
            if wanted {
                let mut parameter = components.parameter(parameter, "path", "string");
                parameter["required"] = json!(true);
                parameters.push(parameter);
            }
        }
        parameters.push(components.parameter("pretty", "query", "string"));
        let path = Map::from_iter([("parameters".to_owned(), Value::Array(parameters))]);
        let kind = gvk(resource.group, resource.version, resource.kind);
        Self { dialect, path, kind, tag: tag(resource.group, resource.version), connect: false }
    }

    /// Adds what can be done to one object, or to a subresource of it.
    fn add_item(
        &mut self,
        components: &mut Components<'_>,
        names: &Names<'_>,
        suffix: &str,
        verbs: &[&str],
        body: &Value,
        strategic: bool,
    ) {
        for verb in verbs {
            let (method, action, word, shape) = match *verb {
                "get" => ("get", "get", "read", Shape::reads(body, &[])),
                "update" => ("put", "put", "replace", Shape::writes(body)),
                "patch" => ("patch", "patch", "patch", Shape::patches(components, body, strategic)),
                "delete" => ("delete", "delete", "delete", Shape::deletes(components, DELETE)),
                "create" if !suffix.is_empty() => ("post", "post", "create", Shape::writes(body)),
                _ => continue,
            };
            if self.connect {
                let shape = Shape { response: json!({ "type": "string" }), ..Shape::reads(body, &[]) };
                let id = names.id("connect", &upper_first(method)) + suffix;
                self.add(components, method, "connect", &id, shape);
            } else {
                self.add(components, method, action, &(names.id(word, "") + suffix), shape);
            }
        }
    }

    fn add(&mut self, components: &Components<'_>, method: &str, action: &str, id: &str, shape: Shape) {
        let mut parameters: Vec<Value> =
            shape.parameters.iter().map(|(name, ty)| components.parameter(name, "query", ty)).collect();
        let mut operation = json!({
            "operationId": id,
            "tags": [self.tag],
            "x-kubernetes-action": action,
            GVK: self.kind,
        });
        match (self.dialect, shape.body) {
            (Dialect::V3, Some(body)) => {
                let content: Map<String, Value> =
                    shape.consumes.iter().map(|ty| ((*ty).to_owned(), json!({ "schema": body }))).collect();
                operation["requestBody"] = json!({ "content": content });
                if shape.body_required {
                    operation["requestBody"]["required"] = json!(true);
                }
            }
            (Dialect::V2, Some(body)) => {
                let mut parameter = json!({ "name": "body", "in": "body", "schema": body });
                if shape.body_required {
                    parameter["required"] = json!(true);
                }
                parameters.insert(0, parameter);
                operation["consumes"] = json!(shape.consumes);
            }
            (_, None) => {}
        }
        if !parameters.is_empty() {
            operation["parameters"] = Value::Array(parameters);
        }
        components.set_responses(&mut operation, &shape.response);
        self.path.insert(method.to_owned(), operation);
    }

    /// A path without operations (only its parameters) is left out.
    fn finish(self, paths: &mut Map<String, Value>, path: &str) {
        if self.path.len() > 1 {
            paths.insert(path.to_owned(), Value::Object(self.path));
        }
    }
}

impl Components<'_> {
    fn parameter(&self, name: &str, place: &str, ty: &str) -> Value {
        match self.dialect {
            Dialect::V2 => json!({ "name": name, "in": place, "type": ty, "uniqueItems": true }),
            Dialect::V3 => {
                json!({ "name": name, "in": place, "schema": { "type": ty, "uniqueItems": true } })
            }
        }
    }

    fn set_responses(&self, operation: &mut Value, schema: &Value) {
        operation["responses"] = match self.dialect {
            Dialect::V2 => {
                operation["produces"] = json!(["application/json"]);
                json!({ "200": { "description": "OK", "schema": schema } })
            }
            Dialect::V3 => {
                let content = json!({ "application/json": { "schema": schema } });
                json!({ "200": { "description": "OK", "content": content } })
            }
        };
    }
}

/// Operation ids, which have to be unique in a document: `listAppsV1NamespacedDeployment`.
struct Names<'a> {
    resource: &'a OpenApiResource<'a>,
    scope: &'static str,
}

impl Names<'_> {
    fn id(&self, verb: &str, middle: &str) -> String {
        let OpenApiResource { group, version, kind, .. } = self.resource;
        format!("{verb}{}{}{middle}{}{kind}", group_name(group), upper_first(version), self.scope)
    }
}

fn group_name(group: &str) -> String {
    match group.strip_suffix(".k8s.io").unwrap_or(group) {
        "" => "Core".to_owned(),
        group => group.split(['.', '-']).map(upper_first).collect(),
    }
}

fn upper_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect()
}

/// `apps_v1`, `rbacAuthorization_v1`.
fn tag(group: &str, version: &str) -> String {
    let name = group_name(group);
    let mut chars = name.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).chain(['_']).chain(version.chars()).collect()
}

fn is_custom(resource: &OpenApiResource<'_>) -> bool {
    resource.raw_schema.is_some() || resource.ty.is_none_or(|ty| ty.name().is_none())
}

fn is_connect(subresource: &OpenApiSubresource<'_>) -> bool {
    subresource.kind.ends_with("Options")
}
