//! Create, get, update and patch: what the server adds, keeps, merges and refuses.

use http::Method;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube_client::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube_client::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::support::{
    config_map, config_maps, get_json, names, object, pod, pods, refusal, refused, send_as, send_json,
    start_with_client, version,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

pub(crate) fn deployment(name: &str) -> Deployment {
    object(json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "example/main:1"}]},
            },
        },
    }))
}

pub(crate) fn deployments(client: &Client) -> Api<Deployment> {
    Api::namespaced(client.clone(), "default")
}

#[tokio::test]
async fn a_new_object_gets_what_only_the_server_can_give() {
    let (server, client) = start_with_client().await;
    let sent = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z"},
        "data": {"value": "1"},
    });
    let found = send_json(&client, Method::POST, MAPS, &sent).await;
    assert_eq!(found.code, 201);
    let created = found.json();
    let metadata = &created["metadata"];
    assert_eq!(created["kind"], "ConfigMap");
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["resourceVersion"], server.resource_version().to_string());
    let uid = metadata["uid"].as_str().unwrap();
    assert_eq!((uid.len(), uid.matches('-').count()), (36, 4), "{uid}");
    let at = metadata["creationTimestamp"].as_str().unwrap();
    assert!(at.len() == 20 && at.ends_with('Z') && !at.starts_with("2001"), "{at}");
    assert_eq!(metadata.get("generation"), None, "config maps have no desired state to count");
    assert_eq!(get_json(&client, &format!("{MAPS}/a")).await, created);
}

#[tokio::test]
async fn status_is_not_taken_from_a_create() {
    let (_server, client) = start_with_client().await;
    let mut new = pod("a");
    new.status = Some(object(json!({"phase": "Running", "podIP": "10.0.0.1"})));
    let created = pods(&client).create(&PostParams::default(), &new).await.unwrap();
    let status = created.status.unwrap();
    assert_eq!((status.phase.as_deref(), status.pod_ip), (Some("Pending"), None));
}

#[tokio::test]
async fn creates_that_cannot_be_are_refused() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let again = refused(api.create(&PostParams::default(), &config_map("a", "1")).await);
    assert_eq!((again.code, again.reason.as_str()), (409, "AlreadyExists"));
    assert_eq!(again.message, "configmaps \"a\" already exists");

    let nowhere: Api<ConfigMap> = Api::namespaced(client.clone(), "nowhere");
    let homeless = refused(nowhere.create(&PostParams::default(), &config_map("a", "1")).await);
    assert_eq!((homeless.code, homeless.message.as_str()), (404, "namespaces \"nowhere\" not found"));

    let bad = refused(api.create(&PostParams::default(), &config_map("Not_A_Name", "1")).await);
    assert_eq!((bad.code, bad.reason.as_str()), (422, "Invalid"));
    assert_eq!(bad.details.unwrap().causes[0].field, "metadata.name");

    let elsewhere = json!({"metadata": {"name": "b", "namespace": "kube-system"}});
    assert_eq!(send_json(&client, Method::POST, MAPS, &elsewhere).await.code, 400);
    let versioned = json!({"metadata": {"name": "b", "resourceVersion": "5"}});
    assert_eq!(send_json(&client, Method::POST, MAPS, &versioned).await.code, 500);
    let nameless = refused(api.create(&PostParams::default(), &object(json!({"metadata": {}}))).await);
    assert_eq!(
        nameless.details.unwrap().causes[0].message,
        "Required value: name or generateName is required"
    );
    assert_eq!(names(&api.list(&ListParams::default()).await.unwrap().items), ["a"]);
}

#[tokio::test]
async fn names_are_generated_from_a_stem() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let new: ConfigMap = object(json!({"metadata": {"generateName": "job-"}}));
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..50 {
        let created = api.create(&PostParams::default(), &new).await.unwrap();
        let name = created.name_any();
        assert_eq!(created.metadata.generate_name.as_deref(), Some("job-"));
        let suffix = name.strip_prefix("job-").expect("the stem");
        assert!(
            suffix.len() == 5 && suffix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()),
            "{name}"
        );
        seen.insert(name);
    }
    assert_eq!(seen.len(), 50);
}

#[tokio::test]
async fn generation_counts_changes_of_the_desired_state_only() {
    let (_server, client) = start_with_client().await;
    let api = deployments(&client);
    let generation = |object: &Deployment| object.metadata.generation.unwrap();
    let mut new = deployment("a");
    new.metadata.generation = Some(7);
    let created = api.create(&PostParams::default(), &new).await.unwrap();
    assert_eq!(generation(&created), 1);
    let patch = |value: Value| Patch::Merge(value);
    let params = PatchParams::default();
    let labelled =
        api.patch("a", &params, &patch(json!({"metadata": {"labels": {"x": "y"}}}))).await.unwrap();
    assert_eq!(generation(&labelled), 1);
    let scaled = api.patch("a", &params, &patch(json!({"spec": {"replicas": 3}}))).await.unwrap();
    assert_eq!(generation(&scaled), 2);
    let same = api.patch("a", &params, &patch(json!({"spec": {"replicas": 3}}))).await.unwrap();
    assert_eq!((generation(&same), version(&same)), (2, version(&scaled)));
    let status = json!({"status": {"observedGeneration": 2, "replicas": 3}});
    let reported = api.patch_status("a", &params, &patch(status)).await.unwrap();
    assert_eq!(generation(&reported), 2);
    let forged = api.patch("a", &params, &patch(json!({"metadata": {"generation": 99}}))).await.unwrap();
    assert_eq!(generation(&forged), 2);
}

#[tokio::test]
async fn an_update_replaces_the_object_but_not_what_belongs_to_the_server() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let mut next = config_map("a", "2");
    next.data.as_mut().unwrap().insert("more".into(), "x".into());
    let updated = api.replace("a", &PostParams::default(), &next).await.unwrap();
    assert_eq!(updated.uid(), created.uid());
    assert_eq!(updated.creation_timestamp(), created.creation_timestamp());
    assert_eq!(updated.data, next.data);
    assert_eq!(version(&updated), version(&created) + 1);

    let mut fewer = updated.clone();
    fewer.data = None;
    let emptied = api.replace("a", &PostParams::default(), &fewer).await.unwrap();
    assert_eq!(emptied.data, None, "what is not sent is gone");
}

#[tokio::test]
async fn an_update_of_another_version_or_another_object_is_refused() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let mut mine = created.clone();
    mine.data = config_map("a", "2").data;
    api.replace("a", &PostParams::default(), &mine).await.unwrap();
    let stale = refused(api.replace("a", &PostParams::default(), &mine).await);
    assert_eq!((stale.code, stale.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        stale.message,
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes \
         to the latest version and try again"
    );
    let patch =
        json!({"metadata": {"resourceVersion": version(&created).to_string()}, "data": {"value": "3"}});
    let stale = api.patch("a", &PatchParams::default(), &Patch::Merge(patch)).await;
    assert_eq!(refusal(stale), (409, "Conflict".to_owned()));

    let mut other = config_map("a", "4");
    other.metadata.uid = Some("00000000-0000-0000-0000-000000000000".into());
    assert_eq!(refusal(api.replace("a", &PostParams::default(), &other).await), (409, "Conflict".to_owned()));
    assert_eq!(refused(api.replace("b", &PostParams::default(), &config_map("a", "4")).await).code, 400);
    let missing = refused(api.replace("b", &PostParams::default(), &config_map("b", "4")).await);
    assert_eq!((missing.code, missing.message.as_str()), (404, "configmaps \"b\" not found"));
    assert_eq!(api.get("a").await.unwrap().data.unwrap()["value"], "2");
}

#[tokio::test]
async fn some_kinds_are_created_by_an_update() {
    let (_server, client) = start_with_client().await;
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}});
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    assert_eq!(send_json(&client, Method::PUT, path, &lease).await.code, 201);
    assert_eq!(get_json(&client, path).await["metadata"]["name"], "l");
}

#[tokio::test]
async fn a_json_patch_changes_exactly_what_it_says() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let patch = |value: Value| Patch::<()>::Json(object(value));
    let steps = json!([
        {"op": "test", "path": "/data/value", "value": "1"},
        {"op": "replace", "path": "/data/value", "value": "2"},
        {"op": "add", "path": "/metadata/labels", "value": {"a~/b": "c"}},
        {"op": "copy", "from": "/data/value", "path": "/data/copy"},
    ]);
    // A label key with a tilde is not valid: nothing of the patch may remain.
    assert_eq!(refused(api.patch("a", &PatchParams::default(), &patch(steps)).await).code, 422);
    let steps = json!([
        {"op": "test", "path": "/data/value", "value": "1"},
        {"op": "replace", "path": "/data/value", "value": "2"},
        {"op": "add", "path": "/metadata/annotations", "value": {"example.com/x": "y"}},
        {"op": "copy", "from": "/data/value", "path": "/data/copy"},
        {"op": "move", "from": "/data/copy", "path": "/data/moved"},
    ]);
    let patched = api.patch("a", &PatchParams::default(), &patch(steps)).await.unwrap();
    let data: Vec<(&str, &str)> =
        patched.data.iter().flatten().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(data, [("moved", "2"), ("value", "2")]);
    assert_eq!(patched.annotations()["example.com/x"], "y");
    let failing = json!([{"op": "test", "path": "/data/value", "value": "1"}]);
    let status = refused(api.patch("a", &PatchParams::default(), &patch(failing)).await);
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
}

#[tokio::test]
async fn a_merge_patch_replaces_lists_and_removes_with_null() {
    let (_server, client) = start_with_client().await;
    let api = deployments(&client);
    let mut new = deployment("a");
    new.metadata.labels = Some([("one".into(), "1".into()), ("two".into(), "2".into())].into());
    api.create(&PostParams::default(), &new).await.unwrap();
    let patch = json!({
        "metadata": {"labels": {"one": null}},
        "spec": {"template": {"spec": {"containers": [{"name": "other", "image": "example/other"}]}}},
    });
    let patched = api.patch("a", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    assert_eq!(patched.labels().keys().collect::<Vec<_>>(), ["two"]);
    let containers = patched.spec.template.spec.unwrap().containers;
    assert_eq!(containers.len(), 1);
    assert_eq!(containers[0].name, "other");
}

#[tokio::test]
async fn a_strategic_patch_merges_lists_by_their_key() {
    let (_server, client) = start_with_client().await;
    let api = deployments(&client);
    api.create(&PostParams::default(), &deployment("a")).await.unwrap();
    let containers = |found: Deployment| -> Vec<(String, Option<String>)> {
        let list = found.spec.template.spec.unwrap().containers;
        list.into_iter().map(|container| (container.name, container.image)).collect()
    };
    let patch = json!({"spec": {"template": {"spec": {"containers": [
        {"name": "main", "image": "example/main:2"},
        {"name": "side", "image": "example/side:1"},
    ]}}}});
    let patched = api.patch("a", &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
    let pair = |name: &str, image: &str| (name.to_owned(), Some(image.to_owned()));
    let mut found = containers(patched);
    found.sort();
    assert_eq!(found, [pair("main", "example/main:2"), pair("side", "example/side:1")]);
    let patch =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "$patch": "delete"}]}}}});
    let patched = api.patch("a", &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
    assert_eq!(containers(patched), [pair("side", "example/side:1")]);
}

#[tokio::test]
async fn patches_of_an_unknown_type_or_form_are_refused() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let path = format!("{MAPS}/a");
    let patch = json!({"data": {"value": "2"}});
    assert_eq!(send_as(&client, Method::PATCH, &path, "application/json", &patch).await.code, 415);
    let missing = api.patch("b", &PatchParams::default(), &Patch::Merge(&patch)).await;
    assert_eq!(refusal(missing), (404, "NotFound".to_owned()));
    let list = json!(["not", "an", "object"]);
    let found = send_as(&client, Method::PATCH, &path, "application/merge-patch+json", &list).await;
    assert_eq!(found.code, 400, "{}", found.text());
    assert_eq!(api.get("a").await.unwrap().data.unwrap()["value"], "1");
}

#[tokio::test]
async fn a_dry_run_answers_and_leaves_nothing() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let before = server.resource_version();
    let dry = PostParams { dry_run: true, ..PostParams::default() };

    let preview = api.create(&dry, &config_map("b", "1")).await.unwrap();
    assert!(preview.uid().is_some());
    let preview = api.replace("a", &dry, &config_map("a", "2")).await.unwrap();
    assert_eq!(preview.data.unwrap()["value"], "2");
    let patch = Patch::Merge(json!({"data": {"value": "3"}}));
    let preview = api.patch("a", &PatchParams::default().dry_run(), &patch).await.unwrap();
    assert_eq!(preview.data.unwrap()["value"], "3");
    let apply = Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": "4"}}));
    let preview = api.patch("c", &PatchParams::apply("me").dry_run(), &apply).await.unwrap();
    assert_eq!(preview.data.unwrap()["value"], "4");
    api.delete("a", &kube_client::api::DeleteParams::default().dry_run()).await.unwrap();
    // It refuses what the real request would refuse.
    assert_eq!(refused(api.create(&dry, &config_map("a", "1")).await).code, 409);

    assert_eq!(server.resource_version(), before);
    let list = api.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items, [created]);
}

#[tokio::test]
async fn unknown_fields_are_ignored_warned_of_or_refused() {
    let (_server, client) = start_with_client().await;
    let mut new = serde_json::to_value(deployment("a")).unwrap();
    new["spec"]["colour"] = json!("green");
    let strict =
        send_json(&client, Method::POST, &format!("{DEPLOYMENTS}?fieldValidation=Strict"), &new).await;
    assert_eq!(strict.code, 400);
    assert!(
        strict.json()["message"].as_str().unwrap().contains("unknown field \"spec.colour\""),
        "{}",
        strict.text()
    );
    let ignored =
        send_json(&client, Method::POST, &format!("{DEPLOYMENTS}?fieldValidation=Ignore&dryRun=All"), &new)
            .await;
    assert_eq!((ignored.code.as_u16(), ignored.header("warning")), (201, ""));
    let warned = send_json(&client, Method::POST, DEPLOYMENTS, &new).await;
    assert_eq!(warned.code, 201);
    assert_eq!(warned.header("warning"), "299 - \"unknown field \\\"spec.colour\\\"\"");
    assert_eq!(warned.json()["spec"].get("colour"), None);
}

#[tokio::test]
async fn values_of_the_wrong_type_are_refused() {
    let (_server, client) = start_with_client().await;
    let mut new = serde_json::to_value(deployment("a")).unwrap();
    new["spec"]["replicas"] = json!("three");
    let found = send_json(&client, Method::POST, DEPLOYMENTS, &new).await;
    assert_eq!((found.code.as_u16(), found.json()["reason"].as_str().unwrap()), (400, "BadRequest"));
    let garbage = send_as(&client, Method::POST, DEPLOYMENTS, "application/json", &json!("text")).await;
    assert_eq!(garbage.code, 400, "{}", garbage.text());
}

#[tokio::test]
async fn plain_text_of_a_secret_ends_up_in_its_data() {
    let (_server, client) = start_with_client().await;
    let api: Api<Secret> = Api::namespaced(client, "default");
    let new = object(json!({"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}}));
    let created = api.create(&PostParams::default(), &new).await.unwrap();
    assert_eq!(created.data.unwrap()["password"].0, b"hunter2");
    assert_eq!(created.string_data, None);
}

#[tokio::test]
async fn lists_come_in_the_order_of_names_and_by_selector() {
    let (_server, client) = start_with_client().await;
    let api: Api<Pod> = pods(&client);
    for (name, labels) in [("c", json!({"tier": "web"})), ("a", json!({"tier": "db"})), ("b", json!({}))] {
        let mut new = pod(name);
        new.metadata.labels = object(labels);
        api.create(&PostParams::default(), &new).await.unwrap();
    }
    for (selector, wanted) in [
        ("", &["a", "b", "c"][..]),
        ("tier", &["a", "c"]),
        ("!tier", &["b"]),
        ("tier=web", &["c"]),
        ("tier!=web", &["a", "b"]),
        ("tier in (web,db)", &["a", "c"]),
        ("tier notin (db)", &["b", "c"]),
    ] {
        let list = api.list(&ListParams::default().labels(selector)).await.unwrap();
        assert_eq!(names(&list.items), wanted, "{selector}");
    }
    assert_eq!(refused(api.list(&ListParams::default().labels("tier=(")).await).code, 400);
    let by_name = api.list(&ListParams::default().fields("metadata.name!=b")).await.unwrap();
    assert_eq!(names(&by_name.items), ["a", "c"]);
}

#[tokio::test]
async fn empty_maps_and_lists_of_metadata_are_left_out() {
    let (_server, client) = start_with_client().await;
    let new = json!({"metadata": {
        "name": "a", "labels": {}, "annotations": {}, "finalizers": [], "ownerReferences": [],
    }});
    let created = send_json(&client, Method::POST, MAPS, &new).await.json();
    let mut fields: Vec<&String> = created["metadata"].as_object().unwrap().keys().collect();
    fields.retain(|field| *field != "managedFields");
    assert_eq!(fields, ["creationTimestamp", "name", "namespace", "resourceVersion", "uid"]);
}

#[tokio::test]
async fn a_dry_run_takes_an_object_with_a_version_and_answers_with_that_version() {
    let (_server, client) = start_with_client().await;
    for version in ["5", "x", "0"] {
        let new = json!({"metadata": {"name": "a", "resourceVersion": version}});
        let tried = send_json(&client, Method::POST, &format!("{MAPS}?dryRun=All"), &new).await;
        assert_eq!(tried.code, 201, "{}", tried.text());
        assert_eq!(tried.json()["metadata"]["resourceVersion"], version);
    }
    let new = json!({"metadata": {"name": "a", "resourceVersion": "5"}});
    assert_eq!(send_json(&client, Method::POST, MAPS, &new).await.code, 500);
}

#[tokio::test]
async fn a_new_object_with_a_version_is_refused_after_all_other_checks() {
    let (_server, client) = start_with_client().await;
    let elsewhere = "/api/v1/namespaces/nowhere/configmaps";
    let why = "resourceVersion should not be set on objects to be created";
    let new = |name: &str, version: &str| json!({"metadata": {"name": name, "resourceVersion": version}});
    assert_eq!(send_json(&client, Method::POST, MAPS, &new("a", "x")).await.code, 201, "it counts as none");
    for (path, name, code) in [
        (MAPS, "Bad Name", 422),
        (elsewhere, "b", 404),
        (elsewhere, "Bad Name", 404),
        (MAPS, "b", 500),
        (MAPS, "a", 500),
    ] {
        let refused = send_json(&client, Method::POST, path, &new(name, "5")).await;
        assert_eq!(refused.code, code, "{path} {name}");
        assert_eq!(refused.json()["message"] == why, code == 500, "{}", refused.text());
    }
}
