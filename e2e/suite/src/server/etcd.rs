//! What tests ask of etcd, through its JSON gateway.

use http::Request;
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

async fn post(etcd: &Client, path: &str, body: &Value) -> Result<Value, ServerError> {
    let request = Request::post(path).body(body.to_string().into_bytes());
    let request = request.map_err(kube_client::Error::HttpError)?;
    Ok(etcd.request(request).await?)
}

/// The gateway writes 64-bit numbers as text.
fn revision(answer: &Value) -> Option<i64> {
    answer["header"]["revision"].as_str()?.parse().ok()
}
