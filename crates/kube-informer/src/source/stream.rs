//! From the body of an answer to a stream of objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use kube_client::client::Body;
use kube_core::Resource;
use kube_wire::{
    DecodeError, DecodeOptions, Event, EventError, Limits, ListItems, WatchFrames, WireError, decode_event,
    decode_object, peek_key, split_event, strip_managed_fields,
};
use serde::de::DeserializeOwned;

use super::pipeline::{Cut, pipeline};
use super::{ListPart, ListStream, SourceError, Want, WatchPart, WatchStream};
use crate::object::{Codec, Object};

/// A list, item by item.
pub(super) fn list_stream<K>(
    body: Body,
    limits: Limits,
    options: DecodeOptions,
    want: &Arc<Want<K>>,
) -> ListStream<K>
where
    K: Resource + DeserializeOwned + Send + Sync + 'static,
{
    let maker = Maker { want: Arc::clone(want), options };
    let decode = move |item: Bytes| {
        if let Some(object) = maker.want.known(|| peek_key(&item)) {
            return Ok(ListPart::Item(object));
        }
        let object = decode_object(&item, options).and_then(|object| maker.make(object, Some(&item)));
        Ok(object.map_or_else(ListPart::Undecodable, ListPart::Item))
    };
    pipeline(body, ListItems::new(limits), decode)
}

/// A watch, event by event; `initial` if it begins with what is there.
pub(super) fn watch_stream<K>(
    body: Body,
    limits: Limits,
    options: DecodeOptions,
    want: &Arc<Want<K>>,
    initial: bool,
) -> WatchStream<K>
where
    K: Resource + DeserializeOwned + Send + Sync + 'static,
{
    let maker = Maker { want: Arc::clone(want), options };
    let initial = AtomicBool::new(initial);
    let decode = move |frame: Bytes| {
        let object = || split_event(&frame).map(|(_, object)| object);
        // Much of what is there may be known; what comes later is new.
        let known = || {
            split_event(&frame).filter(|(kind, _)| *kind == "ADDED").and_then(|(_, object)| peek_key(object))
        };
        if initial.load(Ordering::Relaxed)
            && let Some(object) = maker.want.known(known)
        {
            return Ok(WatchPart::Event(Event::Added(object)));
        }
        match decode_event(&frame, options) {
            Ok(event) => {
                if matches!(event, Event::Bookmark { initial_events_end: true, .. }) {
                    initial.store(false, Ordering::Relaxed);
                }
                Ok(taken(event, |decoded| maker.make(decoded, object())))
            }
            Err(EventError::Object { event, error }) => Ok(WatchPart::Undecodable { event, error }),
            Err(error) => Err(SourceError::garbled(error)),
        }
    };
    pipeline(body, WatchFrames::new(limits), decode)
}

/// Makes handles of what was decoded.
struct Maker<K> {
    want: Arc<Want<K>>,
    options: DecodeOptions,
}

impl<K: Resource + DeserializeOwned + Send + Sync + 'static> Maker<K> {
    /// A handle to an object, and the text that it was decoded from, if that is known.
    fn make(&self, object: K, text: Option<&[u8]>) -> Result<Object<K>, DecodeError> {
        let options = self.options;
        let packed = || {
            let text = text?;
            let kept = if options.keep_managed_fields { text.to_vec() } else { strip_managed_fields(text) };
            Some(kept.into_boxed_slice())
        };
        let codec = |warm| Codec::new(move |text: &[u8]| decode_object(text, options), warm);
        self.want.take_bytes(object, packed, codec)
    }
}

/// Makes handles of the objects of events.
pub(crate) fn taken<K: Resource>(
    event: Event<K>,
    make: impl FnOnce(K) -> Result<Object<K>, DecodeError>,
) -> WatchPart<K> {
    let (name, object) = match event {
        Event::Added(object) => ("ADDED", make(object).map(Event::Added)),
        Event::Modified(object) => ("MODIFIED", make(object).map(Event::Modified)),
        Event::Deleted(object) => ("DELETED", make(object).map(Event::Deleted)),
        Event::Bookmark { resource_version, initial_events_end } => {
            return WatchPart::Event(Event::Bookmark { resource_version, initial_events_end });
        }
        Event::Error(status) => return WatchPart::Event(Event::Error(status)),
        Event::Unknown(kind) => return WatchPart::Event(Event::Unknown(kind)),
        // What a newer kube-wire may know.
        _ => return WatchPart::Event(Event::Unknown(String::new())),
    };
    match object {
        Ok(event) => WatchPart::Event(event),
        Err(error) => WatchPart::Undecodable { event: name.to_owned(), error },
    }
}

impl<K: Send + 'static> Cut<ListPart<K>> for ListItems {
    fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        ListItems::push(self, bytes)
    }

    fn next_piece(&mut self) -> Result<Option<Bytes>, WireError> {
        self.next_item()
    }

    fn heard(bytes: usize) -> ListPart<K> {
        ListPart::Bytes(bytes)
    }

    fn finish(self) -> Result<Option<ListPart<K>>, WireError> {
        ListItems::finish(self).map(|meta| Some(ListPart::End(meta)))
    }
}

impl<K: Send + 'static> Cut<WatchPart<K>> for WatchFrames {
    fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        WatchFrames::push(self, bytes)
    }

    fn next_piece(&mut self) -> Result<Option<Bytes>, WireError> {
        self.next_frame()
    }

    fn heard(bytes: usize) -> WatchPart<K> {
        WatchPart::Bytes(bytes)
    }

    /// A frame without its end was cut: asked again from the last version, it comes whole.
    fn finish(self) -> Result<Option<WatchPart<K>>, WireError> {
        Ok(None)
    }
}
