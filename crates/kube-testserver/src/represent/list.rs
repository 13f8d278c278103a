//! Lists, written item by item while the client reads: a list of any size needs one chunk of memory.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use serde_json::{Map, Value, json};

use super::View;
use crate::http::{Body, CHUNK_BYTES, reply};
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

/// The answer to a list.
pub(crate) fn list_reply(
    mut view: View,
    meta: &ListMeta,
    items: Vec<Arc<Stored>>,
    gzip: bool,
) -> Response<Body> {
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
        let next = Vec::with_capacity(if done { 0 } else { CHUNK_BYTES + CHUNK_BYTES / 4 });
        Some(Bytes::from(std::mem::replace(&mut buffer, next)))
    });
    reply::chunks(200, gzip, estimate, chunks)
}
