//! Every built-in kind: where it is served, what it is called, and that objects of it can live.
//!
//! The kinds are those of `k8s-openapi`, which makes its types from Kubernetes' own description.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};

use http::{Method, Request};
use k8s_openapi::{ListableResource, NamespaceResourceScope, Resource};
use kube_client::Client;
use kube_client::client::Body;
use serde_json::{Value, json};

use crate::support::{answer, get, get_json, send_json, start_with_client};

/// What `k8s-openapi` says of a kind.
#[derive(Clone, Copy, Debug)]
struct Fact {
    group: &'static str,
    version: &'static str,
    api_version: &'static str,
    plural: &'static str,
    kind: &'static str,
    list_kind: &'static str,
    namespaced: bool,
}

impl Fact {
    fn of<K: ListableResource + Resource<Scope: 'static>>() -> Self {
        Self {
            group: K::GROUP,
            version: K::VERSION,
            api_version: K::API_VERSION,
            plural: K::URL_PATH_SEGMENT,
            kind: K::KIND,
            list_kind: K::LIST_KIND,
            namespaced: TypeId::of::<K::Scope>() == TypeId::of::<NamespaceResourceScope>(),
        }
    }

    fn root(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}", self.api_version)
        }
    }

    fn collection(&self) -> String {
        let home = if self.namespaced { "/namespaces/default" } else { "" };
        format!("{}{home}/{}", self.root(), self.plural)
    }
}

macro_rules! facts {
    ($($kind:path,)*) => { vec![$({ use k8s_openapi::*; Fact::of::<$kind>() }),*] };
}

fn facts() -> Vec<Fact> {
    facts![
        api::admissionregistration::v1::MutatingAdmissionPolicy,
        api::admissionregistration::v1::MutatingAdmissionPolicyBinding,
        api::admissionregistration::v1::MutatingWebhookConfiguration,
        api::admissionregistration::v1::ValidatingAdmissionPolicy,
        api::admissionregistration::v1::ValidatingAdmissionPolicyBinding,
        api::admissionregistration::v1::ValidatingWebhookConfiguration,
        api::admissionregistration::v1alpha1::MutatingAdmissionPolicy,
        api::admissionregistration::v1alpha1::MutatingAdmissionPolicyBinding,
        api::admissionregistration::v1beta1::MutatingAdmissionPolicy,
        api::admissionregistration::v1beta1::MutatingAdmissionPolicyBinding,
        api::apiserverinternal::v1alpha1::StorageVersion,
        api::apps::v1::ControllerRevision,
        api::apps::v1::DaemonSet,
        api::apps::v1::Deployment,
        api::apps::v1::ReplicaSet,
        api::apps::v1::StatefulSet,
        api::autoscaling::v1::HorizontalPodAutoscaler,
        api::autoscaling::v2::HorizontalPodAutoscaler,
        api::batch::v1::CronJob,
        api::batch::v1::Job,
        api::certificates::v1::CertificateSigningRequest,
        api::certificates::v1::ClusterTrustBundle,
        api::certificates::v1::PodCertificateRequest,
        api::certificates::v1beta1::ClusterTrustBundle,
        api::certificates::v1beta1::PodCertificateRequest,
        api::coordination::v1::Lease,
        api::coordination::v1alpha2::LeaseCandidate,
        api::coordination::v1beta1::LeaseCandidate,
        api::core::v1::ComponentStatus,
        api::core::v1::ConfigMap,
        api::core::v1::Endpoints,
        api::core::v1::Event,
        api::core::v1::LimitRange,
        api::core::v1::Namespace,
        api::core::v1::Node,
        api::core::v1::PersistentVolume,
        api::core::v1::PersistentVolumeClaim,
        api::core::v1::Pod,
        api::core::v1::PodTemplate,
        api::core::v1::ReplicationController,
        api::core::v1::ResourceQuota,
        api::core::v1::Secret,
        api::core::v1::Service,
        api::core::v1::ServiceAccount,
        api::discovery::v1::EndpointSlice,
        api::events::v1::Event,
        api::flowcontrol::v1::FlowSchema,
        api::flowcontrol::v1::PriorityLevelConfiguration,
        api::lifecycle::v1alpha1::Eviction,
        api::lifecycle::v1alpha1::EvictionRequest,
        api::networking::v1::IPAddress,
        api::networking::v1::Ingress,
        api::networking::v1::IngressClass,
        api::networking::v1::NetworkPolicy,
        api::networking::v1::ServiceCIDR,
        api::node::v1::RuntimeClass,
        api::policy::v1::PodDisruptionBudget,
        api::rbac::v1::ClusterRole,
        api::rbac::v1::ClusterRoleBinding,
        api::rbac::v1::Role,
        api::rbac::v1::RoleBinding,
        api::resource::v1::DeviceClass,
        api::resource::v1::DeviceTaintRule,
        api::resource::v1::ResourceClaim,
        api::resource::v1::ResourceClaimTemplate,
        api::resource::v1::ResourceSlice,
        api::resource::v1alpha3::DeviceTaintRule,
        api::resource::v1alpha3::ResourcePoolStatusRequest,
        api::resource::v1beta1::DeviceClass,
        api::resource::v1beta1::ResourceClaim,
        api::resource::v1beta1::ResourceClaimTemplate,
        api::resource::v1beta1::ResourceSlice,
        api::resource::v1beta2::DeviceClass,
        api::resource::v1beta2::DeviceTaintRule,
        api::resource::v1beta2::ResourceClaim,
        api::resource::v1beta2::ResourceClaimTemplate,
        api::resource::v1beta2::ResourceSlice,
        api::scheduling::v1::PriorityClass,
        api::scheduling::v1alpha3::CompositePodGroup,
        api::scheduling::v1alpha3::PodGroup,
        api::scheduling::v1alpha3::Workload,
        api::scheduling::v1beta1::PodGroup,
        api::scheduling::v1beta1::Workload,
        api::storage::v1::CSIDriver,
        api::storage::v1::CSINode,
        api::storage::v1::CSIStorageCapacity,
        api::storage::v1::StorageClass,
        api::storage::v1::VolumeAttachment,
        api::storage::v1::VolumeAttributesClass,
        api::storagemigration::v1::StorageVersionMigration,
        api::storagemigration::v1beta1::StorageVersionMigration,
        apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
        kube_aggregator::pkg::apis::apiregistration::v1::APIService,
    ]
}

/// All resources of a server, by group, version and plural name, without subresources.
async fn discovered(client: &Client) -> BTreeMap<(String, String), Value> {
    let groups = get_json(client, "/apis").await;
    let mut roots = vec!["/api/v1".to_owned()];
    for version in
        groups["groups"].as_array().unwrap().iter().flat_map(|group| group["versions"].as_array().unwrap())
    {
        roots.push(format!("/apis/{}", version["groupVersion"].as_str().unwrap()));
    }
    let mut found = BTreeMap::new();
    for root in roots {
        for resource in get_json(client, &root).await["resources"].as_array().unwrap() {
            let name = resource["name"].as_str().unwrap();
            if !name.contains('/') {
                found.insert((root.clone(), name.to_owned()), resource.clone());
            }
        }
    }
    found
}

#[tokio::test]
async fn discovery_shows_exactly_the_kinds_of_kubernetes() {
    let (_server, client) = start_with_client().await;
    let found = discovered(&client).await;
    let facts = facts();
    assert_eq!(facts.len(), 93);
    for fact in &facts {
        let resource =
            found.get(&(fact.root(), fact.plural.to_owned())).unwrap_or_else(|| panic!("{fact:?}"));
        assert_eq!(resource["kind"], fact.kind, "{fact:?}");
        assert_eq!(resource["namespaced"], fact.namespaced, "{fact:?}");
        assert_eq!(resource["singularName"], fact.kind.to_lowercase(), "{fact:?}");
    }
    let listed: BTreeSet<(String, String)> = found
        .into_iter()
        .filter(|(_, resource)| resource["verbs"].as_array().unwrap().contains(&json!("list")))
        .map(|(place, _)| place)
        .collect();
    let known: BTreeSet<(String, String)> =
        facts.iter().map(|fact| (fact.root(), fact.plural.to_owned())).collect();
    assert_eq!(listed, known);
}

#[tokio::test]
async fn every_kind_can_be_listed_under_its_own_name() {
    let (_server, client) = start_with_client().await;
    for fact in facts() {
        for path in [fact.collection(), format!("{}/{}", fact.root(), fact.plural)] {
            let list = get_json(&client, &path).await;
            assert_eq!(list["kind"], fact.list_kind, "{path}");
            assert_eq!(list["apiVersion"], fact.api_version, "{path}");
            let count = list["items"].as_array().unwrap().len();
            assert_eq!(count, if fact.kind == "Namespace" { 4 } else { 0 }, "{path}");
            assert!(list["metadata"]["resourceVersion"].is_string(), "{path}");
        }
    }
}

/// The smallest object of a kind.
fn smallest(fact: &Fact) -> Value {
    let name = match fact.kind {
        "CustomResourceDefinition" => "widgets.example.com",
        "APIService" => "v1.example.com",
        "IPAddress" => "10.0.0.1",
        _ => "one",
    };
    let mut object = json!({"apiVersion": fact.api_version, "kind": fact.kind, "metadata": {"name": name}});
    match fact.kind {
        "CustomResourceDefinition" => {
            object["spec"] = crate::support::definition(
                "widgets",
                "Widget",
                &json!({"type": "object"}),
                &json!({}),
            )["spec"]
                .take();
        }
        "Event" if fact.group.is_empty() => object["involvedObject"] = json!({"namespace": "default"}),
        "Event" => object["regarding"] = json!({"namespace": "default"}),
        _ => {}
    }
    object
}

#[tokio::test]
async fn objects_of_every_kind_live_from_create_to_delete() {
    let (_server, client) = start_with_client().await;
    for fact in facts() {
        let collection = fact.collection();
        if fact.kind == "ComponentStatus" {
            // These are only read: Kubernetes makes them up.
            assert_eq!(send_json(&client, Method::POST, &collection, &smallest(&fact)).await.code, 405);
            continue;
        }
        let created = send_json(&client, Method::POST, &collection, &smallest(&fact)).await;
        assert_eq!(created.code, 201, "{collection}: {}", created.text());
        let created = created.json();
        assert_eq!(
            (created["kind"].as_str(), created["apiVersion"].as_str()),
            (Some(fact.kind), Some(fact.api_version))
        );
        assert_eq!(created["metadata"].get("namespace").is_some(), fact.namespaced, "{collection}");
        let path = format!("{collection}/{}", created["metadata"]["name"].as_str().unwrap());
        assert_eq!(get_json(&client, &path).await, created);
        let list = get_json(&client, &collection).await;
        let items = list["items"].as_array().unwrap();
        let same = |item: &&Value| item["metadata"]["uid"] == created["metadata"]["uid"];
        let item = items.iter().find(same).unwrap_or_else(|| panic!("{collection}: {list}"));
        assert_eq!(item.get("kind"), None, "items leave out what the list says: {collection}");
        let deleted = answer(&client, Request::delete(&path).body(Body::from(Vec::new())).unwrap()).await;
        assert_eq!(deleted.code, 200, "{path}: {}", deleted.text());
        if fact.kind == "Namespace" {
            assert_eq!(get_json(&client, &path).await["status"]["phase"], "Terminating");
        } else {
            let gone = get(&client, &path).await;
            assert_eq!(gone.code, 404, "{path}: {}", gone.text());
        }
    }
}

#[tokio::test]
async fn well_known_short_names_are_there() {
    let (_server, client) = start_with_client().await;
    let found = discovered(&client).await;
    for (root, plural, short) in [
        ("/api/v1", "pods", "po"),
        ("/api/v1", "services", "svc"),
        ("/api/v1", "configmaps", "cm"),
        ("/api/v1", "namespaces", "ns"),
        ("/api/v1", "nodes", "no"),
        ("/api/v1", "serviceaccounts", "sa"),
        ("/api/v1", "endpoints", "ep"),
        ("/api/v1", "events", "ev"),
        ("/api/v1", "limitranges", "limits"),
        ("/api/v1", "persistentvolumes", "pv"),
        ("/api/v1", "persistentvolumeclaims", "pvc"),
        ("/api/v1", "replicationcontrollers", "rc"),
        ("/api/v1", "resourcequotas", "quota"),
        ("/api/v1", "componentstatuses", "cs"),
        ("/apis/apps/v1", "deployments", "deploy"),
        ("/apis/apps/v1", "replicasets", "rs"),
        ("/apis/apps/v1", "daemonsets", "ds"),
        ("/apis/apps/v1", "statefulsets", "sts"),
        ("/apis/batch/v1", "cronjobs", "cj"),
        ("/apis/autoscaling/v2", "horizontalpodautoscalers", "hpa"),
        ("/apis/networking.k8s.io/v1", "ingresses", "ing"),
        ("/apis/networking.k8s.io/v1", "networkpolicies", "netpol"),
        ("/apis/policy/v1", "poddisruptionbudgets", "pdb"),
        ("/apis/scheduling.k8s.io/v1", "priorityclasses", "pc"),
        ("/apis/storage.k8s.io/v1", "storageclasses", "sc"),
        ("/apis/certificates.k8s.io/v1", "certificatesigningrequests", "csr"),
        ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", "crd"),
    ] {
        let resource = &found[&(root.to_owned(), plural.to_owned())];
        let names =
            resource["shortNames"].as_array().unwrap_or_else(|| panic!("{plural} has no short names"));
        assert!(names.contains(&json!(short)), "{plural}: {names:?}");
    }
    let all = &found[&("/apis/apps/v1".to_owned(), "deployments".to_owned())]["categories"];
    assert_eq!(*all, json!(["all"]));
}

#[tokio::test]
async fn the_two_apis_of_events_show_the_same_objects() {
    let (_server, client) = start_with_client().await;
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"},
        "eventTime": "2024-01-01T00:00:00.000000Z", "reportingController": "example.com/c", "reportingInstance": "i",
        "action": "Doing", "reason": "Because", "type": "Normal", "note": "hello",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
    });
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    let created = send_json(&client, Method::POST, path, &event).await;
    assert_eq!(created.code, 201, "{}", created.text());
    let core = get_json(&client, "/api/v1/namespaces/default/events/e").await;
    assert_eq!(core["message"], "hello");
    assert_eq!(core["involvedObject"]["name"], "p");
    assert_eq!(core["reportingComponent"], "example.com/c");
    assert_eq!(core.get("note"), None);
    let new = get_json(&client, &format!("{path}/e")).await;
    assert_eq!(new["note"], "hello");
    assert_eq!(new["metadata"]["resourceVersion"], core["metadata"]["resourceVersion"]);
    for (path, count) in [
        ("/api/v1/events?fieldSelector=involvedObject.name%3Dp", 1),
        ("/api/v1/events?fieldSelector=involvedObject.name%3Dq", 0),
        ("/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dp", 1),
        ("/api/v1/events?fieldSelector=reportingComponent%3Dexample.com/c", 1),
        // It has no source, so the controller that reports it stands in.
        ("/api/v1/events?fieldSelector=source%3Dexample.com/c", 1),
        ("/api/v1/events?fieldSelector=source%3D", 0),
        ("/apis/events.k8s.io/v1/events?fieldSelector=reportingController%3Dexample.com/c", 1),
    ] {
        assert_eq!(get_json(&client, path).await["items"].as_array().unwrap().len(), count, "{path}");
    }
}

#[tokio::test]
async fn only_the_fields_that_kubernetes_names_select_events() {
    let (_server, client) = start_with_client().await;
    for (path, field) in [
        ("/api/v1/events", "reportingController"),
        ("/apis/events.k8s.io/v1/events", "deprecatedSource.component"),
    ] {
        let found = get(&client, &format!("{path}?fieldSelector={field}%3Dx")).await;
        assert_eq!(found.json()["message"], format!("field label not supported: {field}"));
    }
}

/// The hash of a resource's stored version, as discovery shows it.
async fn storage_hash(client: &Client, root: &str, plural: &str) -> Value {
    let list = get_json(client, root).await;
    let resources = list["resources"].as_array().unwrap();
    resources.iter().find(|resource| resource["name"] == plural).unwrap()["storageVersionHash"].clone()
}

#[tokio::test]
async fn discovery_has_a_hash_of_the_version_in_which_objects_are_stored() {
    let (server, client) = start_with_client().await;
    let mut crd = crate::support::definition("widgets", "Widget", &json!({"type": "object"}), &json!({}));
    let mut older = crd["spec"]["versions"][0].clone();
    (older["name"], older["storage"]) = (json!("v1beta1"), json!(false));
    crd["spec"]["versions"].as_array_mut().unwrap().push(older);
    server.put(&crd).unwrap();
    // What kube-apiserver 1.36 shows.
    for (root, plural, hash) in [
        ("/api/v1", "pods", "xPOwRZ+Yhw8="),
        ("/api/v1", "events", "r2yiGXH7wu8="),
        ("/apis/events.k8s.io/v1", "events", "r2yiGXH7wu8="),
        ("/apis/autoscaling/v1", "horizontalpodautoscalers", "qwQve8ut294="),
        ("/apis/autoscaling/v2", "horizontalpodautoscalers", "qwQve8ut294="),
        ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", "jfWCUB31mvA="),
        ("/apis/example.com/v1", "widgets", "gIwvi5rymmg="),
        ("/apis/example.com/v1beta1", "widgets", "gIwvi5rymmg="),
    ] {
        assert_eq!(storage_hash(&client, root, plural).await, hash, "{root} {plural}");
    }
    let mut moved = crate::support::definition("gears", "Gear", &json!({"type": "object"}), &json!({}));
    moved["spec"]["versions"][0]["storage"] = json!(false);
    let mut unserved = moved["spec"]["versions"][0].clone();
    (unserved["name"], unserved["served"], unserved["storage"]) = (json!("v2"), json!(false), json!(true));
    moved["spec"]["versions"].as_array_mut().unwrap().push(unserved);
    server.put(&moved).unwrap();
    // Kinds that are not stored, or in a version that is not served, have none.
    for (root, plural) in [
        ("/apis/example.com/v1", "gears"),
        ("/api/v1", "bindings"),
        ("/api/v1", "componentstatuses"),
        ("/api/v1", "pods/status"),
        ("/apis/authentication.k8s.io/v1", "tokenreviews"),
    ] {
        assert_eq!(storage_hash(&client, root, plural).await, Value::Null, "{root} {plural}");
    }
}
