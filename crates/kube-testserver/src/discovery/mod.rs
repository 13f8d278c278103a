//! Paths that are not resources: what is served (discovery, OpenAPI), which version, and is it well.

mod groups;
mod openapi;

use http::{HeaderValue, Method, Response, header};
use serde_json::json;

use crate::cluster::Cluster;
use crate::http::{Body, MediaRange, Query, media_types_error, ranges, reply};
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
    if let ["api" | "apis", ..] = path
        && !accept.trim().is_empty()
        && !ranges(accept).iter().any(MediaRange::takes_json)
    {
        return reply::error(&media_types_error());
    }
    // The others take any method, as in Kubernetes.
    let strict = match path {
        ["version"] | ["api", _] => true,
        ["apis", group, _] => catalog.is_builtin_group(group),
        _ => false,
    };
    if strict && method != Method::GET {
        return reply::error(&ApiError::method_not_allowed());
    }
    let aggregated = wants_aggregated(accept);
    match path {
        ["version"] => reply::json(200, &version()),
        ["healthz" | "livez" | "readyz"] => health(path[0], query),
        ["healthz" | "livez" | "readyz", _check] => reply::text(200, "ok"),
        ["api"] if aggregated => aggregated_reply(&groups::aggregated(&catalog, true)),
        ["apis"] if aggregated => aggregated_reply(&groups::aggregated(&catalog, false)),
        ["api"] => reply::json(
            200,
            &json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}),
        ),
        ["apis"] => reply::json(200, &groups::group_list(&catalog)),
        ["apis", group] => match groups::group(&catalog, group) {
            Some(found) => reply::json(200, &found),
            None => not_found(),
        },
        ["api", version] => match groups::resource_list(&catalog, "", version) {
            Some(found) => reply::json(200, &found),
            None => reply::error(&ApiError::no_such_path()),
        },
        ["apis", group, version] => match groups::resource_list(&catalog, group, version) {
            Some(found) => reply::json(200, &found),
            None if catalog.is_builtin_group(group) => reply::error(&ApiError::no_such_path()),
            None => not_found(),
        },
        ["openapi", "v2"] => reply::json(200, &openapi::v2(cluster)),
        ["openapi", "v3"] => reply::json(200, &openapi::index(cluster)),
        ["openapi", "v3", "api", version] => openapi_reply(openapi::v3(cluster, "", version)),
        ["openapi", "v3", "apis", group, version] => openapi_reply(openapi::v3(cluster, group, version)),
        [] => reply::json(200, &json!({"paths": groups::paths(&catalog)})),
        _ => not_found(),
    }
}

fn version() -> serde_json::Value {
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

fn wants_aggregated(accept: &str) -> bool {
    ranges(accept).iter().find(|range| range.takes_json()).is_some_and(|first| {
        first.parameter("as") == Some("APIGroupDiscoveryList") && first.parameter("v") == Some("v2")
    })
}

fn aggregated_reply(list: &serde_json::Value) -> Response<Body> {
    let mut response = reply::json(200, list);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
    );
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn openapi_reply(document: Option<serde_json::Value>) -> Response<Body> {
    document.map_or_else(not_found, |document| reply::json(200, &document))
}

fn not_found() -> Response<Body> {
    reply::text(404, "404 page not found\n")
}
