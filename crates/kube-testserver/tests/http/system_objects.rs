//! The objects that a real API server creates at its start, and a test server on request.

use kube_client::Client;
use kube_testserver::TestServer;
use serde_json::{Value, json};

use crate::support::{get, get_json, start_with_client};

const FLOW_CONTROL: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";

async fn with_system_objects() -> (TestServer, Client) {
    let server = TestServer::builder().system_objects(true).start().await.unwrap();
    let client = server.client().unwrap();
    (server, client)
}

async fn names(client: &Client, path: &str) -> Vec<String> {
    let list = get_json(client, path).await;
    let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
    list["items"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn the_service_kubernetes_leads_to_the_server() {
    let (server, client) = with_system_objects().await;
    let (ip, port) = (server.address().ip().to_string(), server.address().port());
    let service = get_json(&client, "/api/v1/namespaces/default/services/kubernetes").await;
    assert_eq!(
        service["spec"],
        json!({
            "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "sessionAffinity": "None", "type": "ClusterIP",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
        })
    );
    let endpoints = get_json(&client, "/api/v1/namespaces/default/endpoints/kubernetes").await;
    assert_eq!(
        endpoints["subsets"],
        json!([{"addresses": [{"ip": ip}], "ports": [{"name": "https", "port": port, "protocol": "TCP"}]}])
    );
    let slice =
        get_json(&client, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes").await;
    assert_eq!(slice["metadata"]["labels"], json!({"kubernetes.io/service-name": "kubernetes"}));
    assert_eq!(slice["endpoints"], json!([{"addresses": [ip], "conditions": {"ready": true}}]));
    let range = get_json(&client, "/apis/networking.k8s.io/v1/servicecidrs/kubernetes").await;
    assert_eq!(range["spec"], json!({"cidrs": ["10.0.0.0/24"]}));
    assert_eq!(range["status"]["conditions"][0]["status"], "True");
    assert_eq!(names(&client, "/apis/networking.k8s.io/v1/ipaddresses").await, ["10.0.0.1"]);
}

#[tokio::test]
async fn every_flow_schema_names_a_priority_level_that_is_there() {
    let (_server, client) = with_system_objects().await;
    let levels = names(&client, &format!("{FLOW_CONTROL}/prioritylevelconfigurations")).await;
    assert_eq!(
        levels,
        [
            "catch-all",
            "exempt",
            "global-default",
            "leader-election",
            "node-high",
            "system",
            "workload-high",
            "workload-low",
        ]
    );
    let schemas = get_json(&client, &format!("{FLOW_CONTROL}/flowschemas")).await;
    let schemas = schemas["items"].as_array().unwrap();
    assert_eq!(schemas.len(), 11);
    for schema in schemas {
        let level = schema["spec"]["priorityLevelConfiguration"]["name"].as_str().unwrap();
        assert!(levels.iter().any(|name| name == level), "{level}");
        let condition = &schema["status"]["conditions"][0];
        assert_eq!((&condition["type"], &condition["status"]), (&json!("Dangling"), &json!("False")));
        let managers: Vec<&Value> = schema["metadata"]["managedFields"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["manager"])
            .collect();
        assert_eq!(
            managers,
            ["api-priority-and-fairness-config-consumer-v1", "api-priority-and-fairness-config-producer-v1"]
        );
    }
}

#[tokio::test]
async fn the_components_beside_the_server_are_not_there_but_for_its_store() {
    let (_server, client) = with_system_objects().await;
    let list = get_json(&client, "/api/v1/componentstatuses").await;
    let healthy: Vec<(&Value, &Value)> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (&item["metadata"]["name"], &item["conditions"][0]["status"]))
        .collect();
    let expected = [("controller-manager", "False"), ("etcd-0", "True"), ("scheduler", "False")];
    let expected = expected.map(|(name, status)| (json!(name), json!(status)));
    assert_eq!(healthy, expected.each_ref().map(|(name, status)| (name, status)));
    let one = get_json(&client, "/api/v1/componentstatuses/etcd-0").await;
    assert_eq!(one["metadata"].get("uid"), None, "it is no stored object");
    assert_eq!(get(&client, "/api/v1/componentstatuses/nothing").await.code, 404);
}

#[tokio::test]
async fn a_server_for_tests_begins_with_its_namespaces_alone() {
    let (server, _client) = start_with_client().await;
    assert_eq!(server.stats().objects, 4);
}
