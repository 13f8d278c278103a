//! What a server says of itself: groups, resources, version, health and OpenAPI.

use std::collections::BTreeSet;

use kube_client::Client;
use kube_client::core::discovery::{Scope, verbs};
use kube_client::discovery::{ApiGroup, Discovery};
use serde_json::{Value, json};

use crate::custom_kinds::define;
use crate::support::{answer, definition, get, get_json, get_with, start_with_client};

/// Everything that discovery found, in words.
fn words(discovery: &Discovery) -> BTreeSet<String> {
    let of_group = |group: &ApiGroup| -> Vec<String> {
        let versions: Vec<&str> = group.versions().collect();
        let mut all = Vec::new();
        for version in versions {
            for (resource, capabilities) in group.versioned_resources(version) {
                let namespaced = matches!(capabilities.scope, Scope::Namespaced);
                let mut operations = capabilities.operations.clone();
                operations.sort();
                let mut subresources: Vec<String> =
                    capabilities.subresources.iter().map(|(sub, _)| sub.plural.clone()).collect();
                subresources.sort();
                all.push(format!(
                    "{} {} {} {namespaced} {operations:?} {subresources:?}",
                    resource.api_version, resource.kind, resource.plural
                ));
            }
        }
        all
    };
    discovery.groups().flat_map(of_group).collect()
}

async fn with_widgets(client: &Client) {
    let extra = json!({"subresources": {"status": {}}});
    define(client, definition("widgets", "Widget", &json!({"type": "object"}), &extra)).await;
}

#[tokio::test]
async fn both_forms_of_discovery_say_the_same() {
    let (server, client) = start_with_client().await;
    with_widgets(&client).await;
    let legacy = Discovery::new(client.clone()).run().await.unwrap();
    let before = server.stats().requests;
    let aggregated = Discovery::new(client.clone()).run_aggregated().await.unwrap();
    assert_eq!(server.stats().requests - before, 2, "two requests for everything");
    assert_eq!(words(&legacy), words(&aggregated));

    for discovery in [&legacy, &aggregated] {
        let (resource, capabilities) = discovery.get("apps").unwrap().recommended_kind("Deployment").unwrap();
        assert_eq!((resource.plural.as_str(), resource.api_version.as_str()), ("deployments", "apps/v1"));
        assert_eq!(capabilities.scope, Scope::Namespaced);
        for verb in
            [verbs::GET, verbs::LIST, verbs::WATCH, verbs::CREATE, verbs::UPDATE, verbs::PATCH, verbs::DELETE]
        {
            assert!(capabilities.supports_operation(verb), "{verb}");
        }
        let subresources: BTreeSet<&str> =
            capabilities.subresources.iter().map(|(sub, _)| sub.plural.rsplit('/').next().unwrap()).collect();
        assert_eq!(subresources, ["scale", "status"].into());
        let (widget, _) = discovery.get("example.com").unwrap().recommended_kind("Widget").unwrap();
        assert_eq!(widget.plural, "widgets");
        let core = discovery.get(ApiGroup::CORE_GROUP).unwrap();
        assert_eq!(core.recommended_kind("Node").unwrap().1.scope, Scope::Cluster);
        assert_eq!(discovery.get("autoscaling").unwrap().preferred_version(), Some("v2"));
    }
}

#[tokio::test]
async fn the_aggregated_form_has_the_type_that_clients_look_for() {
    let (_server, client) = start_with_client().await;
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    for path in ["/api", "/apis"] {
        let found = answer(&client, get_with(path, &[("accept", accept)])).await;
        assert_eq!(
            found.header("content-type"),
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        );
        let list = found.json();
        assert_eq!(
            (list["kind"].as_str(), list["apiVersion"].as_str()),
            (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io/v2"))
        );
        assert!(!list["items"].as_array().unwrap().is_empty());
    }
    let plain = get(&client, "/apis").await;
    assert_eq!(
        (plain.header("content-type"), plain.json()["kind"].as_str().unwrap()),
        ("application/json", "APIGroupList")
    );
    assert_eq!(get_json(&client, "/api").await["versions"], json!(["v1"]));
}

#[tokio::test]
async fn what_is_not_served_is_not_found() {
    let (_server, client) = start_with_client().await;
    for path in ["/apis/example.com", "/apis/example.com/v1", "/apis/apps/v9", "/api/v2", "/nowhere"] {
        assert_eq!(get(&client, path).await.code, 404, "{path}");
    }
}

#[tokio::test]
async fn the_version_is_that_of_kubernetes() {
    let (_server, client) = start_with_client().await;
    let version = client.apiserver_version().await.unwrap();
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "37"));
    assert!(version.git_version.starts_with("v1.37."), "{}", version.git_version);
}

#[tokio::test]
async fn the_server_is_well() {
    let (_server, client) = start_with_client().await;
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping"] {
        let found = get(&client, path).await;
        assert_eq!((found.code.as_u16(), found.text().as_str()), (200, "ok"), "{path}");
    }
    let verbose = get(&client, "/readyz?verbose").await.text();
    assert!(verbose.ends_with("readyz check passed\n"), "{verbose}");
}

#[tokio::test]
async fn the_root_names_every_path() {
    let (_server, client) = start_with_client().await;
    let paths = get_json(&client, "/").await["paths"].clone();
    for path in ["/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/version"] {
        assert!(paths.as_array().unwrap().contains(&json!(path)), "{path} is not in {paths}");
    }
}

fn properties<'a>(schema: &'a Value, kind: &str) -> &'a Value {
    let found = &schema[kind]["properties"];
    assert!(found.is_object(), "{kind} has no properties");
    found
}

#[tokio::test]
async fn openapi_v2_describes_all_kinds_in_one_document() {
    let (_server, client) = start_with_client().await;
    let extra = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}});
    define(&client, definition("widgets", "Widget", &extra, &json!({}))).await;
    let document = get_json(&client, "/openapi/v2").await;
    assert_eq!(document["swagger"], "2.0");
    let deployment = properties(&document["definitions"], "io.k8s.api.apps.v1.Deployment");
    assert!(deployment.get("spec").is_some());
    let kind = &document["definitions"]["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"];
    assert_eq!(*kind, json!([{"group": "apps", "kind": "Deployment", "version": "v1"}]));
    let widget = properties(&document["definitions"], "com.example.v1.Widget");
    assert_eq!(widget["spec"]["properties"]["size"]["type"], "integer");
    assert!(document["paths"].get("/apis/apps/v1/namespaces/{namespace}/deployments/{name}").is_some());
}

#[tokio::test]
async fn openapi_v3_has_a_document_for_each_group_and_version() {
    let (_server, client) = start_with_client().await;
    with_widgets(&client).await;
    let index = get_json(&client, "/openapi/v3").await;
    for (path, kind) in [
        ("api/v1", "io.k8s.api.core.v1.Pod"),
        ("apis/apps/v1", "io.k8s.api.apps.v1.Deployment"),
        ("apis/example.com/v1", "com.example.v1.Widget"),
    ] {
        let url = index["paths"][path]["serverRelativeURL"]
            .as_str()
            .unwrap_or_else(|| panic!("{path} is not in {index}"));
        assert!(url.starts_with(&format!("/openapi/v3/{path}?hash=")), "{url}");
        let document = get_json(&client, url).await;
        assert!(document["openapi"].as_str().unwrap().starts_with("3."));
        properties(&document["components"]["schemas"], kind);
    }
    assert_eq!(get(&client, "/openapi/v3/apis/nobody.example.com/v1").await.code, 404);
}

#[tokio::test]
async fn the_version_is_json_for_every_accept_header_that_includes_json() {
    const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
    let (_server, client) = start_with_client().await;
    for (accept, code) in [
        (&*format!("{PROTOBUF},application/json"), 200),
        ("text/html,application/json", 200),
        ("application/json;q=0.5,text/html", 200),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", 200),
        ("*/*", 200),
        ("", 200),
        (PROTOBUF, 406),
        ("text/html", 406),
        ("application/*", 406),
    ] {
        let found = answer(&client, get_with("/version", &[("accept", accept)])).await;
        assert_eq!(found.code, code, "{accept}");
        if code == 406 && accept != PROTOBUF {
            let refused = found.json();
            assert_eq!(
                refused["message"],
                "406: Not Acceptable\n\nAvailable representations: application/json"
            );
            assert_eq!((&refused["reason"], &refused["details"]), (&json!("NotAcceptable"), &json!({})));
        }
    }
    for path in ["/", "/healthz", "/openapi/v3", "/nowhere"] {
        let plain = get(&client, path).await;
        let html = answer(&client, get_with(path, &[("accept", "text/html")])).await;
        assert_eq!((html.code, html.text()), (plain.code, plain.text()), "{path} has one form");
    }
}

#[tokio::test]
async fn openapi_in_a_form_that_is_not_served_is_406_with_an_empty_body() {
    let (_server, client) = start_with_client().await;
    let protobuf =
        |version: &str| format!("application/com.github.proto-openapi.spec.{version}@v1.0+protobuf");
    for (path, version) in [("/openapi/v2", "v2"), ("/openapi/v3/api/v1", "v3")] {
        for accept in ["text/html", "application/vnd.kubernetes.protobuf", &protobuf(version)] {
            let found = answer(&client, get_with(path, &[("accept", accept)])).await;
            assert_eq!((found.code.as_u16(), found.text().as_str()), (406, ""), "{path} {accept}");
        }
        for accept in
            ["application/*", &format!("{},application/json", protobuf(version)), "application/json;as=Table"]
        {
            let found = answer(&client, get_with(path, &[("accept", accept)])).await;
            assert_eq!(
                (found.code.as_u16(), found.header("content-type")),
                (200, "application/json"),
                "{accept}"
            );
        }
    }
}

#[tokio::test]
async fn an_invalid_timeout_is_400_on_every_path_before_authentication() {
    let (server, client) = start_with_client().await;
    let nobody = server.client_with_token("who?").unwrap();
    let why = "invalid timeout specified in the request URL - time: invalid duration \"soon\"";
    for path in [
        "/",
        "/version",
        "/healthz",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps",
        "/openapi/v2",
        "/nowhere",
        "/apis/nowhere.io/v1/things",
        "/api/v1/nothings",
        "/api/v1/configmaps",
        "/api/v1/configmaps/a",
    ] {
        for client in [&client, &nobody] {
            let found = get(client, &format!("{path}?timeout=soon")).await;
            assert_eq!((found.code.as_u16(), found.json()["message"].as_str()), (400, Some(why)), "{path}");
        }
        let plain = get(&client, path).await;
        for timeout in ["", "1s", "-1s", "0"] {
            assert_eq!(get(&client, &format!("{path}?timeout={timeout}")).await.code, plain.code, "{path}");
        }
    }
    for (timeout, why) in
        [("3000000h", "invalid duration \"3000000h\""), ("1x", "unknown unit \"x\" in duration \"1x\"")]
    {
        let found = get(&client, &format!("/version?timeout={timeout}")).await;
        let why = format!("invalid timeout specified in the request URL - time: {why}");
        assert_eq!((found.code.as_u16(), &found.json()["message"]), (400, &json!(why)));
    }
    // Watches and connections to pods have no time limit.
    let watch = "/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion=x&timeout=soon";
    assert_eq!(get(&client, watch).await.code, 500, "its version is looked at");
    for subresource in ["log", "exec", "attach", "portforward"] {
        let path = format!("/api/v1/namespaces/default/pods/x/{subresource}?timeout=soon");
        assert_eq!(get(&client, &path).await.code, 404, "{subresource}");
    }
}

#[tokio::test]
async fn openapi_v2_has_no_fields_of_a_kind_that_preserves_unknown_fields() {
    let (_server, client) = start_with_client().await;
    let open = json!({"type": "object", "description": "words", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"spec": {"type": "object"}}});
    define(&client, definition("widgets", "Widget", &open, &json!({}))).await;
    let inner = json!({"type": "object", "properties": {
        "any": {"type": "object", "description": "gone", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"a": {"type": "string"}}},
        "maybe": {"type": "object", "nullable": true, "description": "kept", "properties": {"a": {"type": "string"}}},
    }});
    define(&client, definition("gears", "Gear", &inner, &json!({}))).await;
    let kind = |kind: &str| json!([{"group": "example.com", "kind": kind, "version": "v1"}]);

    let v2 = get_json(&client, "/openapi/v2").await["definitions"].clone();
    let widget = json!({"type": "object", "x-kubernetes-group-version-kind": kind("Widget")});
    assert_eq!(v2["com.example.v1.Widget"], widget);
    let gear = properties(&v2, "com.example.v1.Gear");
    assert_eq!(gear["any"], json!({"x-kubernetes-preserve-unknown-fields": true, "description": "gone"}));
    assert_eq!(gear["maybe"], json!({"description": "kept"}));

    let v3 = get_json(&client, "/openapi/v3/apis/example.com/v1").await["components"]["schemas"].clone();
    let widget = &v3["com.example.v1.Widget"];
    assert_eq!(widget["description"], "words");
    assert_eq!(widget["x-kubernetes-preserve-unknown-fields"], true);
    assert!(properties(&v3, "com.example.v1.Widget").get("spec").is_some());
}

#[tokio::test]
async fn openapi_describes_api_version_kind_and_metadata() {
    let (_server, client) = start_with_client().await;
    with_widgets(&client).await;
    let v2 = get_json(&client, "/openapi/v2").await["definitions"].clone();
    let v3 = get_json(&client, "/openapi/v3/apis/example.com/v1").await["components"]["schemas"].clone();
    for (schemas, kind) in [
        (&v2, "com.example.v1.Widget"),
        (&v2, "com.example.v1.WidgetList"),
        (&v3, "com.example.v1.Widget"),
        (&v2, "io.k8s.api.core.v1.ConfigMap"),
        (&v2, "io.k8s.api.core.v1.ConfigMapList"),
    ] {
        for field in ["apiVersion", "kind", "metadata"] {
            let description = properties(schemas, kind)[field]["description"].as_str().unwrap_or("");
            assert!(!description.is_empty(), "{kind} {field}");
        }
    }
    // In v3 a reference stands alone, so the description goes around it.
    assert!(properties(&v3, "com.example.v1.Widget")["metadata"]["allOf"][0]["$ref"].is_string());
}
