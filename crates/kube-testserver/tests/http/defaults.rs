//! Defaults and computed fields of built-in kinds.

use http::Method;
use kube_client::Client;
use serde_json::{Value, json};

use crate::support::{get_json, send_as, send_json, start_with_client};

const DEFAULT: &str = "namespaces/default";

/// What the server makes of an object, without storing it.
async fn made(client: &Client, collection: &str, object: Value) -> Value {
    let mut object = object;
    if object["metadata"].is_null() {
        object["metadata"] = json!({"name": "a"});
    }
    let found = send_json(client, Method::POST, &format!("{collection}?dryRun=All"), &object).await;
    assert_eq!(found.code, 201, "{collection}: {}", found.text());
    found.json()
}

#[tokio::test]
async fn the_class_of_a_pod_follows_from_its_resources() {
    let (_server, client) = start_with_client().await;
    let full = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
    let same =
        json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1024Mi"}});
    let none = json!({});
    for (containers, init, class) in [
        (vec![&none], vec![], "BestEffort"),
        (vec![&full], vec![], "Guaranteed"),
        (vec![&same], vec![], "Guaranteed"),
        (vec![&full], vec![&full], "Guaranteed"),
        (vec![&full], vec![&none], "Burstable"),
        (vec![&full, &none], vec![], "Burstable"),
        (vec![&json!({"requests": {"cpu": "1"}})], vec![], "Burstable"),
        (vec![&json!({"limits": {"cpu": "1"}})], vec![], "Burstable"),
        (vec![&json!({"requests": {"cpu": "0"}})], vec![], "BestEffort"),
        (vec![&json!({"limits": {"ephemeral-storage": "1Gi"}})], vec![], "BestEffort"),
        (vec![&json!({"limits": {"example.com/gpu": "1"}})], vec![], "BestEffort"),
    ] {
        let container = |resources: &&Value| json!({"name": "c", "image": "i:1", "resources": resources});
        let containers: Vec<Value> = containers.iter().map(container).collect();
        let init: Vec<Value> = init.iter().map(container).collect();
        let spec = json!({"containers": containers, "initContainers": init});
        let pod = made(&client, &format!("/api/v1/{DEFAULT}/pods"), json!({"spec": spec})).await;
        assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": class}), "{spec}");
    }
    // Resources of the pod as a whole come before those of its containers.
    for (resources, class) in [(&full, "Guaranteed"), (&json!({"requests": {"cpu": "1"}}), "Burstable")] {
        let spec = json!({"containers": [{"name": "c", "image": "i:1"}], "resources": resources});
        let pod = made(&client, &format!("/api/v1/{DEFAULT}/pods"), json!({"spec": spec})).await;
        assert_eq!(pod["status"]["qosClass"], class, "{spec}");
    }
}

#[tokio::test]
async fn resources_of_a_pod_replace_those_of_its_containers_even_if_they_are_empty() {
    let (_server, client) = start_with_client().await;
    let container =
        json!({"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}});
    for (resources, class) in [
        (json!(null), "Guaranteed"),
        (json!({}), "BestEffort"),
        (json!({"limits": {}, "requests": {}}), "BestEffort"),
        (json!({"limits": {"hugepages-2Mi": "4Mi"}}), "Burstable"),
        (json!({"requests": {"cpu": "1"}}), "Burstable"),
    ] {
        let spec = json!({"containers": [container], "resources": resources});
        let pod = made(&client, &format!("/api/v1/{DEFAULT}/pods"), json!({"spec": spec})).await;
        assert_eq!(pod["status"]["qosClass"], class, "{spec}");
    }
}

#[tokio::test]
async fn missing_requests_are_filled_in_from_limits() {
    let (_server, client) = start_with_client().await;
    let container = json!({"name": "c", "image": "i:1", "resources": {
        "limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}});
    let pod =
        made(&client, &format!("/api/v1/{DEFAULT}/pods"), json!({"spec": {"containers": [container]}})).await;
    assert_eq!(
        pod["spec"]["containers"][0]["resources"],
        json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}})
    );
}

#[tokio::test]
async fn the_class_of_a_pod_stays_when_its_status_is_written_without_it() {
    let (_server, client) = start_with_client().await;
    let pods = format!("/api/v1/{DEFAULT}/pods");
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}});
    assert_eq!(send_json(&client, Method::POST, &pods, &pod).await.code, 201);
    let status = format!("{pods}/a/status");
    let running = json!({"metadata": {"name": "a"}, "status": {"phase": "Running"}});
    let written = send_json(&client, Method::PUT, &status, &running).await.json();
    assert_eq!(written["status"], json!({"phase": "Running", "qosClass": "BestEffort"}));
    let other = json!({"metadata": {"name": "a"}, "status": {"qosClass": "Guaranteed"}});
    let refused = send_json(&client, Method::PUT, &status, &other).await;
    assert_eq!(refused.code, 422);
    assert_eq!(
        refused.json()["details"]["causes"],
        json!([{"reason": "FieldValueInvalid", "field": "status.qosClass",
            "message": "Invalid value: \"Guaranteed\": field is immutable"}])
    );
}

#[tokio::test]
async fn an_autoscaler_has_a_cpu_metric_by_default_and_no_generation() {
    let (_server, client) = start_with_client().await;
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"});
    let path = |version: &str| format!("/apis/autoscaling/{version}/{DEFAULT}/horizontalpodautoscalers");
    let cpu = |percent: i64| {
        json!([{"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}}])
    };
    let spec = json!({"maxReplicas": 3, "scaleTargetRef": target});
    let plain = made(&client, &path("v2"), json!({"spec": spec})).await;
    assert_eq!(plain["spec"]["metrics"], cpu(80));
    assert_eq!(plain["metadata"].get("generation"), None);
    let mut empty = spec.clone();
    empty["metrics"] = json!([]);
    assert_eq!(made(&client, &path("v2"), json!({"spec": empty})).await["spec"]["metrics"], cpu(80));
    let mut own = spec.clone();
    own["metrics"] = cpu(7);
    assert_eq!(made(&client, &path("v2"), json!({"spec": own})).await["spec"]["metrics"], cpu(7));

    let old = made(&client, &path("v1"), json!({"spec": spec})).await;
    assert_eq!(old["spec"]["targetCPUUtilizationPercentage"], 80);
    let new = json!({"metadata": {"name": "a"}, "spec": spec});
    assert_eq!(send_json(&client, Method::POST, &path("v1"), &new).await.code, 201);
    let converted = get_json(&client, &format!("{}/a", path("v2"))).await;
    assert_eq!(converted["spec"]["metrics"], cpu(80));
    let patch = json!({"spec": {"maxReplicas": 5}});
    let url = format!("{}/a", path("v2"));
    let patched = send_as(&client, Method::PATCH, &url, "application/merge-patch+json", &patch).await.json();
    assert_eq!(patched["metadata"].get("generation"), None);
}

#[tokio::test]
async fn a_write_through_an_old_version_of_an_autoscaler_keeps_its_metrics_and_behavior() {
    let (_server, client) = start_with_client().await;
    let path = |version: &str| format!("/apis/autoscaling/{version}/{DEFAULT}/horizontalpodautoscalers");
    let memory = json!({"type": "Resource", "resource": {
        "name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}});
    let spec = json!({"maxReplicas": 3, "minReplicas": 2, "metrics": [memory],
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
        "behavior": {"scaleUp": {"stabilizationWindowSeconds": 5}}});
    let new = json!({"metadata": {"name": "a"}, "spec": spec});
    assert_eq!(send_json(&client, Method::POST, &path("v2"), &new).await.code, 201);
    let old = format!("{}/a", path("v1"));
    let patch = json!({"spec": {"maxReplicas": 5}});
    let patched = send_as(&client, Method::PATCH, &old, "application/merge-patch+json", &patch).await;
    assert_eq!(patched.code, 200);
    assert_eq!(patched.json()["spec"].get("targetCPUUtilizationPercentage"), None);
    let mut expected = spec.clone();
    expected["maxReplicas"] = json!(5);
    let policy = |kind: &str, value: i64| json!({"type": kind, "value": value, "periodSeconds": 15});
    expected["behavior"] = json!({
        "scaleUp": {"policies": [policy("Pods", 4), policy("Percent", 100)], "selectPolicy": "Max",
            "stabilizationWindowSeconds": 5},
        "scaleDown": {"policies": [policy("Percent", 100)], "selectPolicy": "Max"},
    });
    let stored = get_json(&client, &format!("{}/a", path("v2"))).await;
    assert_eq!(stored["spec"], expected);
    assert_eq!(stored["metadata"].get("annotations"), None);

    let patch = json!({"spec": {"targetCPUUtilizationPercentage": 7}});
    send_as(&client, Method::PATCH, &old, "application/merge-patch+json", &patch).await;
    let metrics = get_json(&client, &format!("{}/a", path("v2"))).await["spec"]["metrics"].clone();
    assert_eq!(
        (metrics[0].clone(), metrics[1]["resource"]["target"]["averageUtilization"].clone()),
        (memory, json!(7))
    );
}

#[tokio::test]
async fn the_behavior_of_an_autoscaler_is_complete() {
    let (_server, client) = start_with_client().await;
    let path = |version: &str| format!("/apis/autoscaling/{version}/{DEFAULT}/horizontalpodautoscalers");
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"});
    let spec = json!({"maxReplicas": 3, "scaleTargetRef": target});
    assert_eq!(made(&client, &path("v2"), json!({"spec": spec})).await["spec"].get("behavior"), None);
    let policy = |kind: &str, value: i64| json!({"type": kind, "value": value, "periodSeconds": 15});
    let up = json!({"policies": [policy("Pods", 4), policy("Percent", 100)], "selectPolicy": "Max",
        "stabilizationWindowSeconds": 0});
    let down = json!({"policies": [policy("Percent", 100)], "selectPolicy": "Max"});
    let with = |rules: &Value, field: &str, value: Value| {
        let mut rules = rules.clone();
        rules[field] = value;
        rules
    };
    let own = json!([policy("Pods", 7)]);
    for (behavior, expected_up, expected_down) in [
        (json!({}), up.clone(), down.clone()),
        (json!({"scaleUp": null, "scaleDown": {}}), up.clone(), down.clone()),
        (
            json!({"scaleUp": {"stabilizationWindowSeconds": 5}}),
            with(&up, "stabilizationWindowSeconds", json!(5)),
            down.clone(),
        ),
        (json!({"scaleUp": {"selectPolicy": "Min"}}), with(&up, "selectPolicy", json!("Min")), down.clone()),
        (
            json!({"scaleDown": {"policies": own, "tolerance": "0.1"}}),
            up.clone(),
            with(&with(&down, "policies", own.clone()), "tolerance", json!("100m")),
        ),
    ] {
        let mut spec = spec.clone();
        spec["behavior"] = behavior.clone();
        let got = made(&client, &path("v2"), json!({"spec": spec})).await["spec"]["behavior"].clone();
        assert_eq!(got, json!({"scaleUp": expected_up, "scaleDown": expected_down}), "{behavior}");
    }
    // Through v1 the behavior comes in an annotation.
    for (name, annotation, expected) in [
        (
            "a",
            r#"{"ScaleDown": {"SelectPolicy": "Min"}}"#,
            json!({"scaleUp": up, "scaleDown": with(&down, "selectPolicy", json!("Min"))}),
        ),
        ("b", "{}", Value::Null),
    ] {
        let annotations = json!({"autoscaling.alpha.kubernetes.io/behavior": annotation});
        let old = json!({"metadata": {"name": name, "annotations": annotations}, "spec": spec});
        assert_eq!(send_json(&client, Method::POST, &path("v1"), &old).await.code, 201);
        let stored = get_json(&client, &format!("{}/{name}", path("v2"))).await;
        assert_eq!(stored["spec"]["behavior"], expected, "{annotation}");
    }
}

#[tokio::test]
async fn a_range_of_limits_has_defaults_from_its_bounds() {
    let (_server, client) = start_with_client().await;
    for (said, default, request) in [
        (json!({"max": {"cpu": "2"}}), json!({"cpu": "2"}), json!({"cpu": "2"})),
        (json!({"max": {"cpu": "2"}, "min": {"cpu": "1"}}), json!({"cpu": "2"}), json!({"cpu": "2"})),
        (json!({"min": {"cpu": "1"}}), Value::Null, json!({"cpu": "1"})),
        (
            json!({"default": {"cpu": "1"}, "max": {"cpu": "2", "memory": "1Gi"}}),
            json!({"cpu": "1", "memory": "1Gi"}),
            json!({"cpu": "1", "memory": "1Gi"}),
        ),
        (
            json!({"defaultRequest": {"cpu": "1"}, "max": {"cpu": "2"}}),
            json!({"cpu": "2"}),
            json!({"cpu": "1"}),
        ),
        (
            json!({"min": {"memory": "1Mi"}, "max": {"cpu": "2"}}),
            json!({"cpu": "2"}),
            json!({"cpu": "2", "memory": "1Mi"}),
        ),
        (json!({}), Value::Null, Value::Null),
        (json!({"type": "Pod", "max": {"cpu": "2"}}), Value::Null, Value::Null),
    ] {
        let mut limit = said.clone();
        if limit.get("type").is_none() {
            limit["type"] = json!("Container");
        }
        let range = json!({"spec": {"limits": [limit]}});
        let got = made(&client, &format!("/api/v1/{DEFAULT}/limitranges"), range).await;
        let got = &got["spec"]["limits"][0];
        assert_eq!((&got["default"], &got["defaultRequest"]), (&default, &request), "{said}");
    }
}

#[tokio::test]
async fn a_priority_class_has_a_preemption_policy_by_default() {
    let (_server, client) = start_with_client().await;
    let path = "/apis/scheduling.k8s.io/v1/priorityclasses";
    let plain = made(&client, path, json!({"value": 7})).await;
    assert_eq!(plain["preemptionPolicy"], "PreemptLowerPriority");
    let never = made(&client, path, json!({"value": 7, "preemptionPolicy": "Never"})).await;
    assert_eq!(never["preemptionPolicy"], "Never");
}

#[tokio::test]
async fn an_empty_status_is_written() {
    let (_server, client) = start_with_client().await;
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    let deployments = format!("/apis/apps/v1/{DEFAULT}/deployments");
    assert_eq!(made(&client, &deployments, json!({"spec": spec})).await["status"], json!({}));
    let new = json!({"metadata": {"name": "a"}, "spec": spec, "status": {"replicas": 5}});
    assert_eq!(send_json(&client, Method::POST, &deployments, &new).await.json()["status"], json!({}));
    let url = format!("{deployments}/a");
    let patch = json!({"status": null});
    let patched =
        send_as(&client, Method::PATCH, &format!("{url}/status"), "application/merge-patch+json", &patch)
            .await;
    assert_eq!(patched.json()["status"], json!({}));
    assert_eq!(get_json(&client, &url).await["status"], json!({}));
    let replica_set =
        made(&client, &format!("/apis/apps/v1/{DEFAULT}/replicasets"), json!({"spec": spec})).await;
    assert_eq!(replica_set["status"], json!({"replicas": 0}));
    let request =
        json!({"spec": {"request": "eA==", "signerName": "example.com/x", "usages": ["client auth"]}});
    let requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    assert_eq!(made(&client, requests, request).await["status"], json!({}));
}
