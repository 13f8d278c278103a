//! Server-side apply on custom kinds: lists and maps as their schema says.

use kube_client::Client;
use kube_client::Error;
use kube_client::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::custom_kinds::{define, widgets};
use crate::support::{definition, refused, start_with_client};

async fn define_widgets(client: &Client) {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "ports": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["port", "protocol"],
                        "items": {
                            "type": "object",
                            "required": ["port", "protocol"],
                            "properties": {
                                "port": {"type": "integer"},
                                "protocol": {"type": "string", "default": "TCP"},
                                "name": {"type": "string"},
                            },
                        },
                    },
                    "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                    "steps": {"type": "array", "items": {"type": "string"}},
                    "limits": {
                        "type": "object", "x-kubernetes-map-type": "atomic",
                        "additionalProperties": {"type": "string"},
                    },
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        },
    });
    define(client, definition("widgets", "Widget", &schema, &json!({"subresources": {"status": {}}}))).await;
}

async fn apply(client: &Client, manager: &str, spec: Value) -> Result<DynamicObject, Error> {
    let config =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec});
    widgets(client).patch("a", &PatchParams::apply(manager), &Patch::Apply(config)).await
}

fn owned(object: &DynamicObject, manager: &str) -> Value {
    let entries = object.metadata.managed_fields.as_ref().unwrap();
    let entry = entries.iter().find(|entry| entry.manager.as_deref() == Some(manager)).expect(manager);
    entry.fields_v1.as_ref().unwrap().0.clone()
}

#[tokio::test]
async fn list_maps_are_merged_by_all_their_keys() {
    let (_server, client) = start_with_client().await;
    define_widgets(&client).await;
    let http = json!({"port": 80, "protocol": "TCP", "name": "http"});
    let dns = json!({"port": 53, "protocol": "UDP", "name": "dns"});
    let dns_tcp = json!({"port": 53, "protocol": "TCP", "name": "dns-tcp"});
    let first = apply(&client, "one", json!({"ports": [http, dns]})).await.unwrap();
    assert_eq!(
        owned(&first, "one")["f:spec"]["f:ports"],
        json!({
            "k:{\"port\":53,\"protocol\":\"UDP\"}": {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}},
            "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}},
        })
    );
    let both = apply(&client, "two", json!({"ports": [dns_tcp]})).await.unwrap();
    assert_eq!(both.data["spec"]["ports"], json!([http, dns, dns_tcp]));
    let status = refused(
        apply(&client, "two", json!({"ports": [{"port": 80, "protocol": "TCP", "name": "web"}]})).await,
    );
    assert_eq!(status.code, 409);
    assert_eq!(status.details.unwrap().causes[0].field, ".spec.ports[port=80,protocol=\"TCP\"].name");
    let fewer = apply(&client, "one", json!({"ports": [dns]})).await.unwrap();
    assert_eq!(fewer.data["spec"]["ports"], json!([dns, dns_tcp]));
}

#[tokio::test]
async fn sets_are_united_and_atomic_values_are_owned_whole() {
    let (_server, client) = start_with_client().await;
    define_widgets(&client).await;
    apply(&client, "one", json!({"tags": ["a", "b"], "steps": ["x"], "limits": {"cpu": "1"}})).await.unwrap();
    let both = apply(&client, "two", json!({"tags": ["b", "c"]})).await.unwrap();
    assert_eq!(both.data["spec"]["tags"], json!(["a", "b", "c"]));
    assert_eq!(owned(&both, "two"), json!({"f:spec": {"f:tags": {"v:\"b\"": {}, "v:\"c\"": {}}}}));
    for (field, value) in [("steps", json!(["y"])), ("limits", json!({"memory": "1Gi"}))] {
        let status = refused(apply(&client, "two", json!({field: value})).await);
        assert_eq!(status.code, 409, "{field}");
        assert_eq!(status.details.unwrap().causes[0].field, format!(".spec.{field}"));
    }
    let without = apply(&client, "one", json!({"steps": ["x"]})).await.unwrap();
    assert_eq!(without.data["spec"], json!({"tags": ["b", "c"], "steps": ["x"]}));
}

#[tokio::test]
async fn status_of_a_custom_kind_has_its_own_owners() {
    let (_server, client) = start_with_client().await;
    define_widgets(&client).await;
    apply(&client, "one", json!({"steps": ["x"]})).await.unwrap();
    let config = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
        "spec": {"steps": ["ignored"]}, "status": {"ready": true}});
    let found = widgets(&client)
        .patch_status("a", &PatchParams::apply("controller"), &Patch::Apply(config))
        .await
        .unwrap();
    assert_eq!(found.data["status"], json!({"ready": true}));
    assert_eq!(found.data["spec"], json!({"steps": ["x"]}));
    let entries = found.metadata.managed_fields.unwrap();
    let entry = entries.iter().find(|entry| entry.manager.as_deref() == Some("controller")).unwrap();
    assert_eq!(entry.subresource.as_deref(), Some("status"));
    assert_eq!(entry.fields_v1.as_ref().unwrap().0, json!({"f:status": {"f:ready": {}}}));
}
