//! Lists, written item by item while the client reads: a list of any size needs one chunk of memory.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use kube_wire::ProtoListWriter;
use serde_json::{Map, Value, json};

use super::View;
use super::proto::{Messages, cannot};
use crate::http::{Body, CHUNK_BYTES, Encoding, reply};
use crate::status::ApiError;
use crate::storage::Stored;

/// The metadata of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListMeta {
    pub(crate) version: u64,
    pub(crate) continue_token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl ListMeta {
    pub(super) fn to_value(&self) -> Value {
        let mut meta = Map::new();
        meta.insert("resourceVersion".to_owned(), json!(self.version.to_string()));
        if let Some(token) = &self.continue_token {
            meta.insert("continue".to_owned(), json!(token));
        }
        if let Some(remaining) = self.remaining {
            meta.insert("remainingItemCount".to_owned(), json!(remaining));
        }
        Value::Object(meta)
    }
}

/// How much of a list in protobuf is kept when its length is found out. The rest is encoded again when it is sent, so
/// that a list of any size needs no more memory than this.
const KEPT_BYTES: usize = 4 << 20;

/// The answer to a list.
pub(crate) async fn list_reply(
    view: View,
    meta: &ListMeta,
    items: Vec<Arc<Stored>>,
    gzip: bool,
) -> Result<Response<Body>, ApiError> {
    match view.messages {
        None => Ok(json_reply(view, meta, items, gzip)),
        Some(messages) => protobuf_reply(view, messages, meta, items, gzip).await,
    }
}

fn json_reply(mut view: View, meta: &ListMeta, items: Vec<Arc<Stored>>, gzip: bool) -> Response<Body> {
    let estimate = items.iter().map(|item| item.text().len() + 1).sum();
    view.look_at_all(&items);
    let mut buffer = view.list_head(meta);
    let mut items = items.into_iter();
    let (mut first, mut done) = (true, false);
    let chunks = std::iter::from_fn(move || {
        if done {
            return None;
        }
        loop {
            let Some(item) = items.next() else {
                done = true;
                buffer.extend_from_slice(b"]}");
                break;
            };
            if !std::mem::replace(&mut first, false) {
                buffer.push(b',');
            }
            view.write_item(&item, &mut buffer);
            if buffer.len() >= CHUNK_BYTES {
                break;
            }
        }
        Some(next_chunk(&mut buffer, done))
    });
    reply::chunks(200, Encoding::Json, gzip, estimate, chunks)
}

async fn protobuf_reply(
    view: View,
    messages: Messages,
    meta: &ListMeta,
    items: Vec<Arc<Stored>>,
    gzip: bool,
) -> Result<Response<Body>, ApiError> {
    let kind = messages.list.ok_or_else(|| ApiError::internal("this kind has no lists"))?;
    let list = ProtoListWriter::new(kind, kind.api_version(), &meta.to_value());
    let list = list.map_err(|error| cannot(&error))?;
    let measured = measure(&view, messages, &items).await?;
    let mut buffer = Vec::new();
    list.begin(measured.lengths.iter().map(|length| *length as usize), &mut buffer);
    let estimate = measured.lengths.iter().map(|length| *length as usize).sum();
    let (mut items, mut kept, mut done) = (items.into_iter(), measured.kept.into_iter(), false);
    let chunks = std::iter::from_fn(move || {
        if done {
            return None;
        }
        loop {
            let Some(item) = items.next() else {
                done = true;
                list.end(&mut buffer);
                break;
            };
            // What was encoded once is encoded again.
            let message = kept.next().map_or_else(|| view.message(&item, messages), Ok);
            list.item(&message.unwrap_or_default(), &mut buffer);
            if buffer.len() >= CHUNK_BYTES {
                break;
            }
        }
        Some(next_chunk(&mut buffer, done))
    });
    Ok(reply::chunks(200, Encoding::Protobuf, gzip, estimate, chunks))
}

/// How long the messages of all items are, and the first of the messages.
struct Measured {
    lengths: Vec<u32>,
    kept: Vec<Vec<u8>>,
}

async fn measure(view: &View, messages: Messages, items: &[Arc<Stored>]) -> Result<Measured, ApiError> {
    let mut measured = Measured { lengths: Vec::with_capacity(items.len()), kept: Vec::new() };
    let (mut bytes, mut since_pause) = (0, 0);
    for item in items {
        let message = view.message(item, messages)?;
        // No object is near 4 GiB: requests have a limit.
        measured.lengths.push(u32::try_from(message.len()).unwrap_or(u32::MAX));
        (bytes, since_pause) = (bytes + message.len(), since_pause + message.len());
        if bytes <= KEPT_BYTES {
            measured.kept.push(message);
        }
        if since_pause >= CHUNK_BYTES {
            // A long list must not hold up everybody else.
            since_pause = 0;
            tokio::task::yield_now().await;
        }
    }
    Ok(measured)
}

/// Takes what has been written.
fn next_chunk(buffer: &mut Vec<u8>, done: bool) -> Bytes {
    let next = Vec::with_capacity(if done { 0 } else { CHUNK_BYTES + CHUNK_BYTES / 4 });
    Bytes::from(std::mem::replace(buffer, next))
}
