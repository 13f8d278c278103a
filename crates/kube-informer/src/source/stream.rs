//! From the body of an answer to a stream of objects.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
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
    let state = Some((body, ListItems::new(limits)));
    stream::unfold(state, move |state| async move {
        let (mut body, mut items) = state?;
        loop {
            match items.next_item() {
                Ok(Some(item)) => {
                    let part =
                        decode_object(&item, options).map_or_else(ListPart::Undecodable, ListPart::Item);
                    return Some((Ok(part), Some((body, items))));
                }
                Ok(None) => {}
                Err(error) => return Some((Err(SourceError::garbled(error)), None)),
            }
            let pushed = match next_bytes(&mut body).await {
                Ok(Some(bytes)) => items.push(&bytes),
                Ok(None) => {
                    let end = items.finish().map(ListPart::End).map_err(SourceError::garbled);
                    return Some((end, None));
                }
                Err(error) => return Some((Err(error), None)),
            };
            if let Err(error) = pushed {
                return Some((Err(SourceError::garbled(error)), None));
            }
        }
    })
    .boxed()
}

/// A watch, event by event.
pub(super) fn watch_stream<K>(body: Body, limits: Limits, options: DecodeOptions) -> WatchStream<K>
where
    K: DeserializeOwned + Send + 'static,
{
    let state = Some(Watch { body, frames: WatchFrames::new(limits) });
    stream::unfold(state, move |state| async move {
        let mut watch = state?;
        match watch.next_frame().await {
            Ok(Some(frame)) => match decode_event(&frame, options) {
                Ok(event) => Some((Ok(WatchPart::Event(event)), Some(watch))),
                Err(EventError::Object { event, error }) => {
                    Some((Ok(WatchPart::Undecodable { event, error }), Some(watch)))
                }
                Err(error) => Some((Err(SourceError::garbled(error)), None)),
            },
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    })
    .boxed()
}

struct Watch {
    body: Body,
    frames: WatchFrames,
}

impl Watch {
    async fn next_frame(&mut self) -> Result<Option<Bytes>, SourceError> {
        loop {
            if let Some(frame) = self.frames.next_frame().map_err(SourceError::garbled)? {
                return Ok(Some(frame));
            }
            match next_bytes(&mut self.body).await? {
                Some(bytes) => self.frames.push(&bytes).map_err(SourceError::garbled)?,
                // A frame without its line end was cut: asked again from the last version, it comes whole.
                None => return Ok(None),
            }
        }
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
