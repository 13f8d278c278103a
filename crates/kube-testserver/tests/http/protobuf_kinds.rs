//! Every built-in kind, written in protobuf and read in both encodings: what comes back is what JSON would have made.

use std::io::Read;

use flate2::read::GzDecoder;
use http::{Method, Request};
use kube_client::Client;
use kube_client::client::Body;
use kube_testserver::TestServer;
use serde_json::{Value, json};

use crate::protobuf::drop_zeros;
use crate::support::{Answer, PROTOBUF, answer, get_json, get_with, to_protobuf};

/// One object that Go wrote.
struct Sample {
    api_version: String,
    kind: String,
    json: Value,
}

/// Objects of every kind with nothing, zeros and anything set, which the tests of kube-wire decode.
fn samples() -> Vec<Sample> {
    let compressed =
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../kube-wire/tests/proto/samples.gz"));
    let mut bytes = Vec::new();
    GzDecoder::new(&compressed[..]).read_to_end(&mut bytes).unwrap();
    let mut rest = &bytes[..];
    let mut next = || {
        let (length, behind) = rest.split_first_chunk()?;
        let (text, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
        rest = behind;
        Some(text)
    };
    let mut samples = Vec::new();
    while let Some(api_version) = next() {
        let [kind, _protobuf, json, _encoded] = std::array::from_fn(|_| next().unwrap());
        samples.push(Sample {
            api_version: String::from_utf8(api_version.to_vec()).unwrap(),
            kind: String::from_utf8(kind.to_vec()).unwrap(),
            json: serde_json::from_slice(json).unwrap(),
        });
    }
    samples
}

/// A resource that can be created and read.
struct Target {
    api_version: String,
    kind: String,
    path: String,
}

async fn targets(client: &Client) -> Vec<Target> {
    let mut group_versions = vec!["v1".to_owned()];
    for group in get_json(client, "/apis").await["groups"].as_array().unwrap() {
        let versions = group["versions"].as_array().unwrap();
        group_versions
            .extend(versions.iter().map(|version| version["groupVersion"].as_str().unwrap().to_owned()));
    }
    let mut targets = Vec::new();
    for api_version in group_versions {
        let root = if api_version.contains('/') { "apis" } else { "api" };
        let list = get_json(client, &format!("/{root}/{api_version}")).await;
        for resource in list["resources"].as_array().unwrap() {
            let (name, verbs) = (resource["name"].as_str().unwrap(), resource["verbs"].as_array().unwrap());
            if name.contains('/') || !verbs.contains(&json!("create")) || !verbs.contains(&json!("get")) {
                continue;
            }
            let inside = if resource["namespaced"] == true { "namespaces/default/" } else { "" };
            targets.push(Target {
                path: format!("/{root}/{api_version}/{inside}{name}"),
                api_version: api_version.clone(),
                kind: resource["kind"].as_str().unwrap().to_owned(),
            });
        }
    }
    targets
}

async fn create(client: &Client, path: &str, media_type: &str, body: Vec<u8>) -> Answer {
    let request = Request::post(path).header("content-type", media_type).body(Body::from(body)).unwrap();
    answer(client, request).await
}

/// Takes away what differs from one creation to the next.
fn comparable(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    for name in ["uid", "resourceVersion", "creationTimestamp"] {
        metadata.remove(name);
    }
    for entry in metadata.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
        entry.as_object_mut().unwrap().remove("time");
    }
    drop_zeros(&mut object);
    object
}

#[tokio::test(start_paused = true)]
async fn every_kind_written_in_protobuf_is_what_json_makes_of_it() {
    let server = TestServer::start().await.unwrap();
    let client = server.in_process_client();
    let samples = samples();
    let (mut kinds, mut stored, mut refused) = (0, 0, 0);
    for Target { api_version, kind, path } in targets(&client).await {
        let of_kind =
            samples.iter().filter(|sample| sample.api_version == api_version && sample.kind == kind);
        kinds += 1;
        for (at, sample) in of_kind.enumerate() {
            let what = format!("{api_version} {kind} {at}");
            let mut object = sample.json.clone();
            // The rest is the server's, or has rules of its own.
            object["metadata"] = json!({"name": "a", "annotations": {"text": "ünïcode ✓\n"}});
            let protobuf = to_protobuf(&object);
            let json = serde_json::to_vec(&object).unwrap();
            let expected = create(&client, &format!("{path}?dryRun=All"), "application/json", json).await;
            let created = create(&client, &path, PROTOBUF, protobuf).await;
            assert_eq!(created.code, expected.code, "{what}: {} {}", created.text(), expected.text());
            if created.code != 201 {
                assert_eq!(created.json(), expected.json(), "{what}");
                refused += 1;
                continue;
            }
            let one = format!("{path}/{}", created.json()["metadata"]["name"].as_str().unwrap());
            let read = get_json(&client, &one).await;
            assert_eq!(comparable(read.clone()), comparable(expected.json()), "{what}");
            let in_protobuf = answer(&client, get_with(&one, &[("accept", PROTOBUF)])).await.protobuf();
            assert_eq!(comparable(in_protobuf), comparable(read), "{what}");
            let deletion =
                Request::builder().method(Method::DELETE).uri(format!("{one}?gracePeriodSeconds=0"));
            assert!(answer(&client, deletion.body(Body::empty()).unwrap()).await.code.is_success(), "{what}");
            stored += 1;
        }
    }
    assert!(kinds > 60 && stored > 2 * kinds, "{kinds} kinds, {stored} objects stored, {refused} refused");
}
