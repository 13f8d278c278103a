//! What tests ask of etcd, through its JSON gateway.

use http::Request;
use k8s_openapi::ByteString;
use kube_client::{Client, Config};
use serde_json::{Value, json};

use super::ServerError;

/// Makes etcd forget everything but the present, and returns the present's revision.
pub(super) async fn compact(endpoint: &str) -> Result<i64, ServerError> {
    let etcd = Client::try_from(Config::new(endpoint.parse()?))?;
    // Any key: every answer says how far etcd is.
    let answer = post(&etcd, "/v3/kv/range", &json!({ "key": "AA==" })).await?;
    let revision = revision(&answer).ok_or_else(|| ServerError::Etcd(answer.to_string()))?;
    post(&etcd, "/v3/kv/compaction", &json!({ "revision": revision, "physical": true })).await?;
    Ok(revision)
}

/// A snapshot of everything that etcd has, as `etcdctl snapshot save` writes it.
pub(super) async fn snapshot(endpoint: &str) -> Result<Vec<u8>, ServerError> {
    let etcd = Client::try_from(Config::new(endpoint.parse()?))?;
    let request = Request::post("/v3/maintenance/snapshot").body(b"{}".to_vec());
    let answer = etcd.request_text(request.map_err(kube_client::Error::HttpError)?).await?;
    let mut snapshot = Vec::new();
    // One line of JSON for each piece.
    for line in answer.lines() {
        let piece: Value = serde_json::from_str(line).map_err(kube_client::Error::SerdeError)?;
        let bytes = serde_json::from_value::<ByteString>(piece["result"]["blob"].clone());
        snapshot.extend(
            bytes.map_err(|_| ServerError::Etcd("a piece of a snapshot without bytes".to_owned()))?.0,
        );
    }
    Ok(snapshot)
}

/// The bytes of a key.
pub(super) async fn get(endpoint: &str, key: &str) -> Result<Vec<u8>, ServerError> {
    let etcd = Client::try_from(Config::new(endpoint.parse()?))?;
    let answer = post(&etcd, "/v3/kv/range", &json!({ "key": text(key.as_bytes()) })).await?;
    let value = serde_json::from_value::<ByteString>(answer["kvs"][0]["value"].clone());
    Ok(value.map_err(|_| ServerError::Etcd(answer.to_string()))?.0)
}

/// Writes the bytes of a key.
pub(super) async fn put(endpoint: &str, key: &str, value: &[u8]) -> Result<(), ServerError> {
    let etcd = Client::try_from(Config::new(endpoint.parse()?))?;
    let body = json!({ "key": text(key.as_bytes()), "value": text(value) });
    post(&etcd, "/v3/kv/put", &body).await.map(drop)
}

/// The gateway writes bytes as text.
fn text(bytes: &[u8]) -> ByteString {
    ByteString(bytes.to_vec())
}

async fn post(etcd: &Client, path: &str, body: &Value) -> Result<Value, ServerError> {
    let request = Request::post(path).body(body.to_string().into_bytes());
    let request = request.map_err(kube_client::Error::HttpError)?;
    Ok(etcd.request(request).await?)
}

/// The gateway writes 64-bit numbers as text.
fn revision(answer: &Value) -> Option<i64> {
    answer["header"]["revision"].as_str()?.parse().ok()
}
