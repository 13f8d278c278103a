//! From the body of an answer to a stream of objects.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::pipeline::{Cut, pipeline};
use super::{ListPart, ListStream, SourceError, Want, WatchPart, WatchStream};
use crate::object::{DecodeContext, Object, Warm, say_kind};
use crate::panics;
use kube_client::client::Body;
use kube_core::{Resource, TypeMeta};
use kube_wire::{
    Codec, DecodeError, DecodeOptions, Encoding, Event, EventError, Frames, Items, Limits, Piece,
    ProtoMessage, TooLarge, WireError,
};

/// How the pieces of an answer are read.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) encoding: Encoding,
    pub(super) limits: Limits,
    pub(super) options: DecodeOptions,
    /// There is nothing but metadata in it.
    pub(super) metadata_only: bool,
    /// What the objects are, if that is known.
    pub(super) types: Option<Arc<TypeMeta>>,
}

/// A list, item by item.
pub(super) fn list_stream<K>(
    body: Body,
    reading: Reading,
    decoding: Codec<K>,
    want: &Arc<Want<K>>,
) -> ListStream<K>
where
    K: Resource + Send + Sync + 'static,
{
    let Reading { encoding, limits, options, metadata_only, types } = reading;
    let cut = List { items: encoding.items(limits), of: types.as_deref().and_then(built_in) };
    let maker = Maker::new(want, decoding, encoding, options, metadata_only, types);
    let decode = move |item: Piece| {
        let item = match item {
            Piece::Whole(item) => item,
            Piece::TooLarge(item) => return Ok(ListPart::Undecodable(item.into())),
        };
        if let Some(object) = maker.want.known(|| encoding.peek_key(&item)) {
            return Ok(ListPart::Item(object));
        }
        let object = unless_panic(|| {
            if let Some(object) = maker.make_unseen(&item, true)? {
                return Ok(object);
            }
            // Packed before it is decoded: what stays is then not among what goes.
            let packed = maker.pack(&item);
            let made = decoding
                .object(encoding, &item, options, None)
                .and_then(|object| maker.make(object, packed, true));
            made.map(|object| object.arrived_as(item.len()))
        });
        let object = object
            .unwrap_or_else(|why| Err(DecodeError::panicked(encoding.peek_key(&item).map(Box::new), why)));
        Ok(object.map_or_else(ListPart::Undecodable, ListPart::Item))
    };
    pipeline(body, cut, want.tracker(), decode, |_| {})
}

/// A watch, event by event; `initial` if it begins with what is there.
pub(super) fn watch_stream<K>(
    body: Body,
    reading: Reading,
    decoding: Codec<K>,
    want: &Arc<Want<K>>,
    initial: bool,
) -> WatchStream<K>
where
    K: Resource + Send + Sync + 'static,
{
    let Reading { encoding, limits, options, metadata_only, types } = reading;
    let maker = Maker::new(want, decoding, encoding, options, metadata_only, types);
    let (initial, spent) = (AtomicBool::new(initial), Arc::clone(want.spent()));
    let decode = move |frame: Piece| {
        let frame = match frame {
            Piece::Whole(frame) => frame,
            Piece::TooLarge(frame) => return too_large(frame),
        };
        // Much of what is there may be known; what comes later is new.
        let known = || {
            let (kind, object) = encoding.split_event(&frame)?;
            if kind == "ADDED" { encoding.peek_key(object) } else { None }
        };
        if initial.load(Ordering::Relaxed)
            && let Some(object) = maker.want.known(known)
        {
            return Ok(WatchPart::Event(Event::Added(object)));
        }
        let spare = spent.take_spare(frame.len());
        // Of what is there, nobody is told before all of it has come.
        let at_rest = initial.load(Ordering::Relaxed);
        let part = unless_panic(|| {
            let part = match maker.take_unseen(&frame, at_rest) {
                Some(part) => part,
                None => {
                    let packed = encoding.split_event(&frame).and_then(|(_, object)| maker.pack(object));
                    let event = decoding.event(encoding, &frame, options, spare);
                    let make = |decoded| Ok(maker.make(decoded, packed, at_rest)?.arrived_as(frame.len()));
                    event.map(|event| taken(event, make))
                }
            };
            if let Ok(WatchPart::Event(Event::Bookmark { initial_events_end: true, .. })) = &part {
                initial.store(false, Ordering::Relaxed);
            }
            match part {
                Err(EventError::Object { event, error }) => Ok(WatchPart::Undecodable { event, error }),
                part => part.map_err(SourceError::garbled),
            }
        });
        part.unwrap_or_else(|why| match encoding.split_event(&frame) {
            Some((event, object)) => {
                let key = encoding.peek_key(object).map(Box::new);
                Ok(WatchPart::Undecodable { event: event.to_owned(), error: DecodeError::panicked(key, why) })
            }
            None => Err(SourceError::garbled(why)),
        })
    };
    let spent = Arc::clone(want.spent());
    pipeline(body, encoding.frames(limits), want.tracker(), decode, move |busy| spent.want(busy))
}

/// An event that was passed over. It is one object's trouble, if it is about an object.
fn too_large<K>(frame: TooLarge) -> Result<WatchPart<K>, SourceError> {
    match frame.event.as_str() {
        "ADDED" | "MODIFIED" | "DELETED" => {
            Ok(WatchPart::Undecodable { event: frame.event.clone(), error: frame.into() })
        }
        _ => Err(SourceError::garbled(format_args!(
            "an event that is not about an object has {} bytes; no more than {} are taken",
            frame.bytes, frame.limit
        ))),
    }
}

/// What a function returns, or what its panic says: a type may have a way of decoding of its own.
fn unless_panic<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(decode)).map_err(panics::decoding)
}

/// Makes handles of what was decoded.
struct Maker<K> {
    want: Arc<Want<K>>,
    decoding: Codec<K>,
    encoding: Encoding,
    options: DecodeOptions,
    metadata_only: bool,
    types: Option<Arc<TypeMeta>>,
    /// What arrives need not be decoded at once.
    unseen: bool,
}

impl<K: Resource + Send + Sync + 'static> Maker<K> {
    fn new(
        want: &Arc<Want<K>>,
        decoding: Codec<K>,
        encoding: Encoding,
        options: DecodeOptions,
        metadata_only: bool,
        types: Option<Arc<TypeMeta>>,
    ) -> Self {
        let unseen = decoding.is_complete() && want.takes_unseen() && encoding.is_plain();
        Self { want: Arc::clone(want), decoding, encoding, options, metadata_only, types, unseen }
    }

    /// What is kept of an object that is to rest as bytes.
    fn pack(&self, bytes: &[u8]) -> Option<Box<[u8]>> {
        if !self.want.packs() {
            return None;
        }
        let kept = match self.options.keep_managed_fields {
            true => bytes.to_vec(),
            false => self.encoding.strip_managed_fields(bytes).ok()?,
        };
        Some(kept.into_boxed_slice())
    }

    /// A handle to an object, and the bytes that it is to rest as; `at_rest` if nobody is about to look into it.
    fn make(
        &self,
        mut object: Box<K>,
        packed: Option<Box<[u8]>>,
        at_rest: bool,
    ) -> Result<Object<K>, DecodeError> {
        if object.meta().name.as_deref().unwrap_or("").is_empty() {
            return Err(nameless());
        }
        if let Some(types) = &self.types {
            say_kind(&mut *object, types);
        }
        let written = (self.encoding, self.metadata_only);
        self.want.take_bytes(object, written, packed, at_rest, |warm| self.codec(warm))
    }

    /// A handle to an object that nobody has to look into yet; none if it has to be decoded.
    fn make_unseen(&self, object: &[u8], at_rest: bool) -> Result<Option<Object<K>>, DecodeError> {
        if !self.unseen {
            return Ok(None);
        }
        // What is wrong with it is said by the type, which may not even have the field that is.
        let Ok(Some(metadata)) = self.encoding.check_object(object, self.options) else { return Ok(None) };
        // Of labels that come twice, or in another order, decoding makes what it is said to.
        if !metadata.labels().map(|(label, _)| label).is_sorted_by(|one, next| one < next) {
            return Ok(None);
        }
        if metadata.name().is_empty() {
            return Err(nameless());
        }
        let Some(packed) = self.pack(object) else { return Ok(None) };
        let codec = |warm| self.codec(warm);
        Ok(Some(self.want.take_unseen(metadata, packed, self.encoding, at_rest, codec)))
    }

    /// An event whose object nobody has to look into yet; none if it has to be decoded.
    fn take_unseen(&self, frame: &[u8], at_rest: bool) -> Option<Result<WatchPart<K>, EventError>> {
        if !self.unseen || (!at_rest && self.want.decodes_ahead(self.encoding)) {
            return None;
        }
        let event = match self.encoding.open_event(frame)? {
            Ok(event) => event,
            Err(error) => return Some(Err(error)),
        };
        let mut unseen = true;
        let part = taken(event, |object| {
            let object = self.make_unseen(object, at_rest)?;
            object.ok_or_else(|| {
                unseen = false;
                nameless()
            })
        });
        unseen.then_some(Ok(part))
    }

    fn codec(&self, warm: Option<Warm<K>>) -> DecodeContext<K> {
        let (decoding, encoding, options, types) =
            (self.decoding, self.encoding, self.options, self.types.clone());
        let decode = move |bytes: &[u8], spare: Option<Box<K>>| {
            let mut object = decoding.object(encoding, bytes, options, spare)?;
            if let Some(types) = &types {
                say_kind(&mut *object, types);
            }
            Ok(object)
        };
        DecodeContext::new(decode, warm).of_bytes_in(encoding, options)
    }
}

fn nameless() -> DecodeError {
    DecodeError::new(None, "it has no name")
}

/// Makes handles of the objects of events.
pub(crate) fn taken<T, K: Resource>(
    event: Event<T>,
    make: impl FnOnce(T) -> Result<Object<K>, DecodeError>,
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

/// A list, and the kind that its items have to be, if that is a built-in one: of others nobody knows what their lists are
/// called.
struct List {
    items: Items,
    of: Option<ProtoMessage>,
}

fn built_in(types: &TypeMeta) -> Option<ProtoMessage> {
    let (group, version) = types.api_version.split_once('/').unwrap_or(("", &types.api_version));
    ProtoMessage::of(group, version, &types.kind)
}

/// What a list of metadata is called, whatever it is the metadata of.
const METADATA_LIST: &str = "PartialObjectMetadataList";

impl<K: Send + 'static> Cut<ListPart<K>> for List {
    fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.items.push(bytes)
    }

    fn next_piece(&mut self) -> Result<Option<Piece>, WireError> {
        self.items.next_item()
    }

    fn heard(bytes: usize) -> ListPart<K> {
        ListPart::Bytes(bytes)
    }

    fn finish(self) -> Result<Option<ListPart<K>>, WireError> {
        let meta = self.items.finish()?;
        if let Some(of) = self.of
            && !matches!(meta.kind.as_str(), "" | METADATA_LIST)
            && meta.kind.strip_suffix("List") != Some(of.kind())
        {
            let (kind, api_version) = (meta.kind, meta.api_version);
            return Err(WireError::OtherKind { kind, api_version, expected: of.kind() });
        }
        Ok(Some(ListPart::End(meta)))
    }
}

impl<K: Send + 'static> Cut<WatchPart<K>> for Frames {
    fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        Frames::push(self, bytes);
        Ok(())
    }

    fn next_piece(&mut self) -> Result<Option<Piece>, WireError> {
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

#[cfg(test)]
mod tests {
    use futures::StreamExt;
    use futures::stream::BoxStream;
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use kube_core::DynamicObject;
    use kube_wire::{ProtoEnvelope, ProtoMessage, encode_event_proto, encode_object_proto};

    use super::*;
    use crate::object::Residency;
    use crate::projection::{Brief, Projection};

    async fn last_of<P>(mut parts: BoxStream<'static, Result<P, SourceError>>) -> Result<P, SourceError> {
        let mut last = None;
        while let Some(part) = parts.next().await {
            last = Some(part);
        }
        last.unwrap()
    }

    /// An answer that is written so.
    fn reading_as(encoding: Encoding) -> Reading {
        let (limits, options) = (Limits::default(), DecodeOptions::default());
        Reading { encoding, limits, options, metadata_only: false, types: None }
    }

    fn want<K: Resource + 'static>() -> Arc<Want<K>> {
        Arc::new(Want::new())
    }

    #[tokio::test]
    async fn a_table_is_not_an_empty_list_nor_an_object() {
        let table = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"columnDefinitions":[],"rows":[{"cells":["a"]}]}"#;
        let reading = reading_as(Encoding::Json);
        let body = || Body::from(table.as_bytes().to_vec());
        let error = last_of(list_stream::<ConfigMap>(body(), reading.clone(), Codec::serde(), &want()))
            .await
            .unwrap_err();
        assert!(error.garbled && error.message.contains("Table"), "{error}");
        let list = table.replace("meta.k8s.io/v1", "example.com/v1").replace("rows", "items");
        let end = last_of(list_stream::<ConfigMap>(
            Body::from(list.into_bytes()),
            reading.clone(),
            Codec::serde(),
            &want(),
        ))
        .await;
        assert!(matches!(end, Ok(ListPart::End(_))), "somebody else's kind of that name: {end:?}");
        let event = format!("{{\"type\":\"ADDED\",\"object\":{table}}}\n");
        let body = || Body::from(event.clone().into_bytes());
        let part =
            last_of(watch_stream::<ConfigMap>(body(), reading.clone(), Codec::serde(), &want(), false)).await;
        assert!(matches!(part, Ok(WatchPart::Undecodable { .. })), "{part:?}");
        let part =
            last_of(watch_stream::<DynamicObject>(body(), reading, Codec::serde(), &want(), false)).await;
        assert!(matches!(part, Ok(WatchPart::Undecodable { .. })), "whatever the type takes: {part:?}");
    }

    /// What a watch makes of frames of pods in protobuf.
    async fn watched(frames: Vec<u8>, residency: Residency) -> Vec<WatchPart<Pod>> {
        let reading = reading_as(Encoding::best_for("", "v1", "Pod"));
        let want = Arc::new(Want::new().residency(residency));
        let parts = watch_stream::<Pod>(Body::from(frames), reading, Codec::serde(), &want, false);
        let parts: Vec<_> = parts.map(Result::unwrap).collect().await;
        parts.into_iter().filter(|part| !matches!(part, WatchPart::Bytes(_))).collect()
    }

    fn frame(object: &[u8]) -> Vec<u8> {
        encode_event_proto("MODIFIED", &ProtoEnvelope { api_version: "v1", kind: "Pod", object })
    }

    #[tokio::test]
    async fn a_pod_that_rests_as_bytes_is_known_to_be_right_and_decoded_when_somebody_looks() {
        let kind = ProtoMessage::of("", "v1", "Pod").unwrap();
        let metadata = serde_json::json!({"name": "x", "namespace": "a", "uid": "u", "resourceVersion": "7",
            "labels": {"app": "web", "tier": "front"}});
        let pod = serde_json::json!({"metadata": metadata, "spec": {"nodeName": "n", "containers": []}});
        let right = encode_object_proto(&pod, kind).unwrap();
        // The name of the node is not text any more.
        let at = right.windows(3).rposition(|window| window == b"\x52\x01n").unwrap();
        let mut wrong = right.clone();
        wrong[at + 2] = 0xff;
        for residency in [Residency::Packed, Residency::default(), Residency::Decoded] {
            let parts = watched([frame(&right), frame(&wrong)].concat(), residency).await;
            let [WatchPart::Event(Event::Modified(object)), WatchPart::Undecodable { event, error }] =
                &parts[..]
            else {
                panic!("{parts:?}")
            };
            assert_eq!(object.is_decoded(), residency == Residency::Decoded, "{residency:?}");
            assert_eq!((object.key(), object.uid(), object.resource_version()), ("a/x", "u", "7"));
            assert!((right.len()..right.len() + 100).contains(&object.bytes()), "the queue counts its bytes");
            assert_eq!(object.labels().iter().collect::<Vec<_>>(), [("app", "web"), ("tier", "front")]);
            let copy = object.clone();
            assert_eq!(copy.spec.as_ref().unwrap().node_name.as_deref(), Some("n"));
            assert!(
                object.is_decoded() && std::ptr::eq(&**object, &*copy),
                "decoded once for all who hear of it"
            );
            assert_eq!((event.as_str(), error.key.as_ref().unwrap().name.as_str()), ("MODIFIED", "x"));
            assert!(error.why.contains("UTF-8"), "{error}");
        }
    }

    #[tokio::test]
    async fn what_is_going_to_be_looked_into_is_decoded_before_it_is_told() {
        let kind = ProtoMessage::of("", "v1", "Pod").unwrap();
        let pod = serde_json::json!({"metadata": {"name": "x", "namespace": "a"}, "spec": {"nodeName": "n", "containers": []}});
        let pod = encode_object_proto(&pod, kind).unwrap();
        let reading = reading_as(Encoding::best_for("", "v1", "Pod"));
        let want = Arc::new(Want::new().residency(Residency::Packed));
        let watched = async || {
            let body = Body::from([frame(&pod), frame(&pod)].concat());
            let parts: Vec<_> =
                watch_stream::<Pod>(body, reading.clone(), Codec::serde(), &want, false).collect().await;
            let object = |part| match part {
                Ok(WatchPart::Event(Event::Modified(object))) => Some(object),
                _ => None,
            };
            parts.into_iter().filter_map(object).collect::<Vec<Object<Pod>>>()
        };
        let objects = watched().await;
        assert_eq!(objects.iter().map(Object::is_decoded).collect::<Vec<_>>(), [false, false]);
        assert!(objects.iter().all(|object| object.spec.is_some()));
        objects[0].came_late();
        let decoded: Vec<bool> = watched().await.iter().map(Object::is_decoded).collect();
        assert_eq!(decoded, [false, true], "but for one, to see whether anybody looks");
    }

    #[derive(Debug, serde::Deserialize)]
    struct Placement {
        spec: Spec,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        node_name: Option<String>,
    }

    #[tokio::test]
    async fn a_projection_keeps_its_fields_and_not_the_bytes_of_the_whole_from_both_encodings() {
        let kind = ProtoMessage::of("", "v1", "Pod").unwrap();
        let pod = serde_json::json!({"metadata": {"name": "x", "namespace": "a", "labels": {"app": "web"}, "annotations": {"b": "c"}}, "spec": {"nodeName": "n", "containers": []}});
        let json = format!("{}\n", serde_json::json!({"type": "MODIFIED", "object": pod})).into_bytes();
        let proto = frame(&encode_object_proto(&pod, kind).unwrap());
        for (encoding, bytes) in [(Encoding::Json, json), (Encoding::best_for("", "v1", "Pod"), proto)] {
            let reading = reading_as(encoding);
            let want = Arc::new(Want::new().residency(Residency::default()));
            let body = Body::from(bytes.clone());
            let part = last_of(watch_stream::<Projection<Pod, Placement>>(
                body,
                reading,
                Codec::serde(),
                &want,
                false,
            ));
            let Ok(WatchPart::Event(Event::Modified(object))) = part.await else { panic!("{encoding:?}") };
            assert_eq!(object.spec.node_name.as_deref(), Some("n"));
            assert_eq!((object.key(), object.packed_bytes()), ("a/x", 0));
            assert!(object.metadata.annotations.is_some());
            assert!(object.resting().is_decoded());

            type Short = Projection<Pod, Placement, Brief>;
            let want = Arc::new(Want::new().residency(Residency::default()));
            let part = last_of(watch_stream::<Short>(
                Body::from(bytes),
                reading_as(encoding),
                Codec::serde(),
                &want,
                false,
            ));
            let Ok(WatchPart::Event(Event::Modified(object))) = part.await else { panic!("{encoding:?}") };
            assert_eq!(object.spec.node_name.as_deref(), Some("n"));
            assert_eq!((object.key(), object.labels().get("app")), ("a/x", Some("web")));
            assert!(object.metadata.annotations.is_none(), "it is passed over");
        }
    }
}
