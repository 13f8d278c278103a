use serde_json::json;

use super::super::builtin;
use super::*;

fn run(mut value: Value) -> (Value, Result<Vec<String>, String>) {
    let api_version = value["apiVersion"].as_str().expect("apiVersion");
    let kind = value["kind"].as_str().expect("kind");
    let ty = builtin().root(api_version, kind).expect("a known kind");
    let result = coerce(&mut value, ty);
    let result = result
        .map(|unknown| unknown.iter().map(ToString::to_string).collect())
        .map_err(|error| error.to_string());
    (value, result)
}

fn pod(spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "spec": spec})
}

fn deployment(spec: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec})
}

#[test]
fn a_good_object_is_left_alone() {
    let object = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "a", "labels": {"b": "c"}, "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}],
            "livenessProbe": {"httpGet": {"port": "http"}},
            "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}}}]}});
    assert_eq!(run(object.clone()), (object, Ok(vec![])));
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let (value, unknown) =
        run(json!({"apiVersion": "v1", "kind": "Pod", "Spec": {}, "metadata": {"Name": "a"},
        "spec": {"foo": 1, "containers": [{"name": "a", "livenessProbe": {"httpGet": {"foo": 1}}}]}}));
    let expected = [
        "unknown field \"Spec\"",
        "unknown field \"metadata.Name\"",
        "unknown field \"spec.containers[0].livenessProbe.httpGet.foo\"",
        "unknown field \"spec.foo\"",
    ];
    assert_eq!(unknown, Ok(expected.map(str::to_owned).to_vec()));
    let expected = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {},
        "spec": {"containers": [{"name": "a", "livenessProbe": {"httpGet": {}}}]}});
    assert_eq!(value, expected);
}

#[test]
fn paths_go_through_map_keys() {
    let (_, unknown) =
        run(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a": {"bar": 1}}}}}]}}));
    let path = "spec.versions[0].schema.openAPIV3Schema.properties.a.bar";
    assert_eq!(unknown, Ok(vec![format!("unknown field \"{path}\"")]));
}

#[test]
fn null_is_absent_for_fields_and_zero_for_elements() {
    let (value, _) =
        run(json!({"apiVersion": "v1", "kind": "Pod", "status": null, "spec": {"containers": [null]},
        "metadata": {"creationTimestamp": null, "finalizers": [null], "labels": {"a": null}}}));
    let expected = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{}]},
        "metadata": {"finalizers": [""], "labels": {"a": ""}}});
    assert_eq!(value, expected);
}

#[test]
fn quantities_times_and_bytes_are_written_as_kubernetes_does() {
    let limits = json!({"cpu": 1, "memory": "1024Mi", "a": 0.5, "b": "1000m"});
    let (value, result) = run(pod(&json!({"containers": [{"resources": {"limits": limits}}]})));
    assert_eq!(result, Ok(vec![]));
    let expected = json!({"cpu": "1", "memory": "1Gi", "a": "500m", "b": "1"});
    assert_eq!(value["spec"]["containers"][0]["resources"]["limits"], expected);

    let (value, _) = run(json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "YQ\n=="},
        "metadata": {"creationTimestamp": "2024-01-01T01:00:00+01:00"}}));
    assert_eq!(value["data"]["a"], "YQ==");
    assert_eq!(value["metadata"]["creationTimestamp"], "2024-01-01T00:00:00Z");
}

/// Messages as the decoder of client-go 0.37 gives them.
#[test]
fn a_wrong_type_reads_like_gos_error() {
    let field = |found: &str, field: &str, ty: &str| {
        Err(format!("json: cannot unmarshal {found} into Go struct field {field} of type {ty}"))
    };
    let cases = [
        (deployment(&json!({"replicas": "3"})), field("string", "DeploymentSpec.spec.replicas", "int32")),
        (deployment(&json!({"replicas": 3.5})), field("number 3.5", "DeploymentSpec.spec.replicas", "int32")),
        (
            deployment(&json!({"replicas": 3_000_000_000_u32})),
            field("number 3000000000", "DeploymentSpec.spec.replicas", "int32"),
        ),
        (deployment(&json!([])), field("array", "Deployment.spec", "v1.DeploymentSpec")),
        (deployment(&json!(5)), field("number", "Deployment.spec", "v1.DeploymentSpec")),
        (
            deployment(&json!({"template": {"spec": {"containers": [{"image": 5}]}}})),
            field("number", "Container.spec.template.spec.containers.image", "string"),
        ),
        (pod(&json!({"containers": {}})), field("object", "PodSpec.spec.containers", "[]v1.Container")),
        (pod(&json!({"containers": ["a"]})), field("string", "PodSpec.spec.containers", "v1.Container")),
        (
            pod(&json!({"restartPolicy": 5})),
            field("number", "PodSpec.spec.restartPolicy", "v1.RestartPolicy"),
        ),
        (pod(&json!({"hostNetwork": "true"})), field("string", "PodSpec.spec.hostNetwork", "bool")),
        (pod(&json!({"nodeSelector": {"a": {}}})), field("object", "PodSpec.spec.nodeSelector", "string")),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"uid": 5}}),
            field("number", "ObjectMeta.metadata.uid", "types.UID"),
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": []}}),
            field("array", "ObjectMeta.metadata.labels", "map[string]string"),
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": true}}),
            field("bool", "ObjectMeta.metadata.creationTimestamp", "string"),
        ),
        (
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": 5}}),
            field("number", "Secret.data", "[]uint8"),
        ),
        (
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "!!"}}),
            Err("illegal base64 data at input byte 0".to_owned()),
        ),
    ];
    for (object, expected) in cases {
        assert_eq!(run(object.clone()).1, expected, "{object}");
    }
}

#[test]
fn a_value_that_is_no_object_at_all_is_an_error() {
    let ty = builtin().root("v1", "Pod").expect("a known kind");
    let error = coerce(&mut json!([]), ty).expect_err("an array");
    assert_eq!(error.message, "json: cannot unmarshal array into Go value of type v1.Pod");
}

#[test]
fn fields_are_found_whatever_the_order_of_the_keys() {
    let pod = builtin().root("v1", "Pod").expect("a known kind");
    let object = match pod.ty() {
        Type::Object(object) => Some(object),
        _ => None,
    };
    let object = object.expect("a struct");
    let mut next = 0;
    for name in ["status", "kind", "spec", "apiVersion", "metadata"] {
        assert_eq!(find(&object.fields, &mut next, name).map(|field| &*field.name), Some(name));
    }
    assert!(find(&object.fields, &mut next, "spek").is_none());
}
