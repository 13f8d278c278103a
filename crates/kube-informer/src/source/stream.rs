//! From the body of an answer to a stream of objects.

use std::marker::PhantomData;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http_body_util::BodyExt;
use kube_client::client::Body;
use kube_wire::{DecodeOptions, EventError, Limits, ListItems, WatchFrames, decode_event, decode_object};
use serde::de::DeserializeOwned;

use super::{ListPart, ListStream, SourceError, WatchPart, WatchStream};

/// A list, item by item.
pub(super) fn list_stream<K>(body: Body, limits: Limits, options: DecodeOptions) -> ListStream<K>
where
    K: DeserializeOwned + Send + 'static,
{
    parts(List { body, items: Some(ListItems::new(limits)), options, kind: PhantomData })
}

/// A watch, event by event.
pub(super) fn watch_stream<K>(body: Body, limits: Limits, options: DecodeOptions) -> WatchStream<K>
where
    K: DeserializeOwned + Send + 'static,
{
    parts(Watch { body, frames: WatchFrames::new(limits), options, kind: PhantomData })
}

/// Reads an answer part by part.
trait Reader: Send + 'static {
    type Part: Send;

    /// The next part; none at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Self::Part>, SourceError>> + Send;
}

/// All parts up to the end or the first error.
fn parts<R: Reader>(reader: R) -> BoxStream<'static, Result<R::Part, SourceError>> {
    stream::unfold(Some(reader), async |reader| {
        let mut reader = reader?;
        match reader.next().await {
            Ok(Some(part)) => Some((Ok(part), Some(reader))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    })
    .boxed()
}

struct List<K> {
    body: Body,
    /// None after the end.
    items: Option<ListItems>,
    options: DecodeOptions,
    kind: PhantomData<fn() -> K>,
}

impl<K: DeserializeOwned + Send + 'static> Reader for List<K> {
    type Part = ListPart<K>;

    async fn next(&mut self) -> Result<Option<ListPart<K>>, SourceError> {
        let Some(items) = &mut self.items else { return Ok(None) };
        if let Some(item) = items.next_item().map_err(SourceError::garbled)? {
            let decoded = decode_object(&item, self.options);
            return Ok(Some(decoded.map_or_else(ListPart::Undecodable, ListPart::Item)));
        }
        if let Some(bytes) = next_bytes(&mut self.body).await? {
            items.push(&bytes).map_err(SourceError::garbled)?;
            return Ok(Some(ListPart::Bytes(bytes.len())));
        }
        let Some(items) = self.items.take() else { return Ok(None) };
        let meta = items.finish().map_err(SourceError::garbled)?;
        // A table has rows, and no items: taken for a list, it would say that there is nothing.
        if meta.kind == "Table" && meta.api_version.starts_with("meta.k8s.io/") {
            return Err(SourceError::garbled("it is a table for people, not a list"));
        }
        Ok(Some(ListPart::End(meta)))
    }
}

struct Watch<K> {
    body: Body,
    frames: WatchFrames,
    options: DecodeOptions,
    kind: PhantomData<fn() -> K>,
}

impl<K: DeserializeOwned + Send + 'static> Reader for Watch<K> {
    type Part = WatchPart<K>;

    async fn next(&mut self) -> Result<Option<WatchPart<K>>, SourceError> {
        if let Some(frame) = self.frames.next_frame().map_err(SourceError::garbled)? {
            return match decode_event(&frame, self.options) {
                Ok(event) => Ok(Some(WatchPart::Event(event))),
                Err(EventError::Object { event, error }) => Ok(Some(WatchPart::Undecodable { event, error })),
                Err(error) => Err(SourceError::garbled(error)),
            };
        }
        // A frame without its line end was cut: asked again from the last version, it comes whole.
        let Some(bytes) = next_bytes(&mut self.body).await? else { return Ok(None) };
        self.frames.push(&bytes).map_err(SourceError::garbled)?;
        Ok(Some(WatchPart::Bytes(bytes.len())))
    }
}

/// The next bytes of a body; none at its end.
async fn next_bytes(body: &mut Body) -> Result<Option<Bytes>, SourceError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| SourceError::connection(&error))?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    async fn last_of<P>(mut parts: BoxStream<'static, Result<P, SourceError>>) -> Result<P, SourceError> {
        let mut last = None;
        while let Some(part) = parts.next().await {
            last = Some(part);
        }
        last.unwrap()
    }

    #[tokio::test]
    async fn a_table_is_not_an_empty_list_nor_an_object() {
        let table = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"columnDefinitions":[],"rows":[{"cells":["a"]}]}"#;
        let (limits, options) = (Limits::default(), DecodeOptions::default());
        let body = || Body::from(table.as_bytes().to_vec());
        let error = last_of(list_stream::<ConfigMap>(body(), limits, options)).await.unwrap_err();
        assert!(error.garbled && error.message.contains("table"), "{error}");
        let list = table.replace("meta.k8s.io/v1", "example.com/v1");
        let end = last_of(list_stream::<ConfigMap>(Body::from(list.into_bytes()), limits, options)).await;
        assert!(matches!(end, Ok(ListPart::End(_))), "somebody else's kind of that name: {end:?}");
        let event = format!("{{\"type\":\"ADDED\",\"object\":{table}}}\n");
        let body = Body::from(event.into_bytes());
        let part = last_of(watch_stream::<ConfigMap>(body, limits, options)).await;
        assert!(matches!(part, Ok(WatchPart::Undecodable { .. })), "{part:?}");
    }
}
