//! Paths that are not resources: what is served (discovery, OpenAPI), which version, and is it well.

mod groups;
mod openapi;

use http::{HeaderValue, Method, Response, header};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::http::{Body, Encoding, Encodings, JSON, Query, ranges, reply};
use crate::status::ApiError;

/// The version of Kubernetes whose kinds the server knows.
const KUBERNETES_VERSION: (&str, &str, &str) = ("1", "37", "v1.37.1+kube-testserver");

/// Answers a path that is not a resource.
pub(crate) fn answer(
    cluster: &Cluster,
    method: &Method,
    path: &[&str],
    query: &Query,
    accept: &str,
) -> Response<Body> {
    let catalog = cluster.catalog();
    let encodings = cluster.options.encodings;
    let encoding = encodings.of_status(accept);
    let error = |error: &ApiError| reply::error(encoding, error);
    let value = |value: &Value| match encodings.plain(accept) {
        Some(encoding) => reply::value(200, encoding, value),
        None => error(&encodings.not_acceptable()),
    };
    let aggregated = aggregated_encoding(accept, encodings);
    // The others take any method, as in Kubernetes.
    let strict = match path {
        ["version"] | ["api", _] => true,
        ["apis", group, _] => catalog.is_builtin_group(group),
        _ => false,
    };
    if strict && method != Method::GET {
        return error(&ApiError::method_not_allowed());
    }
    match (path, aggregated) {
        (["version"], _) if takes(accept, &[JSON, "*/*"]) => reply::json(200, &version()),
        (["version"], _) => error(&ApiError::no_such_representation(JSON)),
        (["healthz" | "livez" | "readyz"], _) => health(path[0], query),
        (["healthz" | "livez" | "readyz", _check], _) => reply::text(200, "ok"),
        (["api"], Some(encoding)) => aggregated_reply(encoding, &groups::aggregated(&catalog, true)),
        (["apis"], Some(encoding)) => aggregated_reply(encoding, &groups::aggregated(&catalog, false)),
        (["api"], None) => {
            value(&json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}))
        }
        (["apis"], None) => value(&groups::group_list(&catalog)),
        (["apis", group], _) => match groups::group(&catalog, group) {
            Some(found) => value(&found),
            None => not_found(),
        },
        (["api", version], _) => match groups::resource_list(&catalog, "", version) {
            Some(found) => value(&found),
            None => error(&ApiError::no_such_path()),
        },
        (["apis", group, version], _) => match groups::resource_list(&catalog, group, version) {
            Some(found) => value(&found),
            None if catalog.is_builtin_group(group) => error(&ApiError::no_such_path()),
            None => not_found(),
        },
        // The index has one form, whatever is asked for.
        (["openapi", "v3"], _) => reply::text(200, &openapi::index(cluster).to_string()),
        (["openapi", "v2"] | ["openapi", "v3", _, ..], _)
            if !takes(accept, &[JSON, "application/*", "*/*"]) =>
        {
            reply::empty(406)
        }
        (["openapi", "v2"], _) => reply::json(200, &openapi::v2(cluster)),
        (["openapi", "v3", "api", version], _) => openapi_reply(openapi::v3(cluster, "", version)),
        (["openapi", "v3", "apis", group, version], _) => openapi_reply(openapi::v3(cluster, group, version)),
        ([], _) => reply::json(200, &json!({"paths": groups::paths(&catalog)})),
        _ => not_found(),
    }
}

fn version() -> Value {
    let (major, minor, version) = KUBERNETES_VERSION;
    json!({
        "major": major,
        "minor": minor,
        "gitVersion": version,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

fn health(check: &str, query: &Query) -> Response<Body> {
    if query.get("verbose").is_some() {
        return reply::text(200, &format!("[+]ping ok\n{check} check passed\n"));
    }
    reply::text(200, "ok")
}

/// Returns whether an `Accept` header names one of these media types, with any parameters; an empty one accepts everything.
fn takes(accept: &str, kinds: &[&str]) -> bool {
    accept.trim().is_empty() || ranges(accept).iter().any(|range| kinds.contains(&range.kind))
}

/// The encoding in which everything is asked for at once; none if it is asked for piece by piece.
fn aggregated_encoding(accept: &str, encodings: Encodings) -> Option<Encoding> {
    let ranges = ranges(accept);
    let (encoding, first) = ranges.iter().find_map(|range| Some((encodings.of(range)?, range)))?;
    let whole = first.parameter("as") == Some("APIGroupDiscoveryList") && first.parameter("v") == Some("v2");
    whole.then_some(encoding)
}

fn aggregated_reply(encoding: Encoding, list: &Value) -> Response<Body> {
    let mut response = reply::value(200, encoding, list);
    let content_type = match encoding {
        Encoding::Json => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        Encoding::Protobuf => {
            "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn openapi_reply(document: Option<Value>) -> Response<Body> {
    document.map_or_else(not_found, |document| reply::json(200, &document))
}

fn not_found() -> Response<Body> {
    reply::text(404, "404 page not found\n")
}
