//! The kinds that are served: built-in kinds in both encodings, custom kinds in JSON.

use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use kube_wire::{ProtoEnvelope, ProtoMessage, encode_object_proto};
use serde_json::{Value, json};

use super::set::{Set, Share};
use super::template::{Template, mark};
use super::wire::{put_bytes, put_varint};
use crate::Error;
use crate::objects::{Sample, shapes};

const POD: &str = include_str!("../../../crates/kube-testserver/data/pod.json");

/// All runs serve the same objects.
const SEED: u64 = 42;

/// How many workloads the objects of a kind are from. Each is a template for its own objects.
pub(crate) const WORKLOADS: u64 = 1_000;

/// How many states each template is in, one after the other.
pub(crate) const STATES: usize = 4;

/// The resource version of an object that has not changed since the start is this plus its number.
const FIRST_VERSION: u64 = 1_000_000_000;

/// The resource version of an object that a relist finds changed is this plus its number.
const CHANGED_VERSION: u64 = 1_500_000_000;

/// The resource version of lists. Events have later ones.
pub(crate) const LIST_VERSION: u64 = 1_900_000_000;

/// Ends the envelope of a protobuf object: its encoding and its type, both empty.
const ENVELOPE_TAIL: &[u8] = &[3 << 3 | 2, 0, 4 << 3 | 2, 0];

/// The encoding of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Protobuf,
}

/// What an object is part of.
#[derive(Clone, Copy, Debug)]
enum Part {
    Item,
    Added,
    Modified,
}

/// Where a kind is served and what it is called.
#[derive(Clone, Copy, Debug)]
struct Api {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
}

impl Api {
    fn of(sample: Sample) -> Self {
        let (group, kind, plural) = match sample {
            Sample::Pods => ("", "Pod", "pods"),
            Sample::Nodes => ("", "Node", "nodes"),
            Sample::EndpointSlices => ("discovery.k8s.io", "EndpointSlice", "endpointslices"),
            Sample::ConfigMaps => ("", "ConfigMap", "configmaps"),
            Sample::Secrets => ("", "Secret", "secrets"),
            Sample::Leases => ("coordination.k8s.io", "Lease", "leases"),
            Sample::Events => ("", "Event", "events"),
            Sample::Widgets => ("bench.example.com", "Widget", "widgets"),
            Sample::Blobs => ("bench.example.com", "Blob", "blobs"),
        };
        Self { group, version: "v1", kind, plural }
    }

    fn api_version(self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    fn path(self) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        format!("{root}/{}/{}", self.api_version(), self.plural)
    }
}

/// One kind: how many objects there are, and their templates.
#[derive(Debug)]
pub(crate) struct Kind {
    api: Api,
    pub(crate) count: u64,
    /// How many of a hundred updates of the set are of this kind.
    pub(crate) updates: u64,
    /// How many updates the next watch begins with: those that its reader missed.
    pub(crate) missed: AtomicU64,
    /// When a reader last asked for all objects, in nanoseconds of the wall clock.
    pub(crate) asked_unix: AtomicU64,
    json: Templates,
    protobuf: Option<Templates>,
}

/// The templates of a kind in one encoding.
#[derive(Debug)]
struct Templates {
    /// By workload and state.
    shapes: Vec<Vec<Shape>>,
    /// What ends an event, after its object.
    event_tail: &'static [u8],
    initial_end: Bytes,
    expired: Bytes,
}

/// An object, and what precedes it as an item of a list, as one that was added, and as one that was modified.
#[derive(Debug)]
struct Shape {
    object: Template,
    heads: [Vec<u8>; 3],
}

impl Kind {
    /// Makes the objects that one kind has in a set of `total` objects.
    pub(crate) fn new(share: Share, total: u64) -> Result<Self, Error> {
        let api = Api::of(share.sample.unwrap_or(Sample::Pods));
        let count = total * share.objects / 100;
        let objects = match share.sample {
            Some(sample) => shapes(sample, SEED, WORKLOADS.min(count) as usize, STATES),
            None => vec![vec![serde_json::from_str(&mark(POD))?]],
        };
        let message = ProtoMessage::of(api.group, api.version, api.kind);
        Ok(Self {
            api,
            count,
            updates: share.updates,
            missed: AtomicU64::new(0),
            asked_unix: AtomicU64::new(0),
            json: Templates::json(api, &objects)?,
            protobuf: message.map(|message| Templates::protobuf(message, &objects)).transpose()?,
        })
    }

    pub(crate) fn path(&self) -> String {
        self.api.path()
    }

    pub(crate) fn name(&self) -> &'static str {
        self.api.kind
    }

    #[cfg(test)]
    pub(crate) fn group(&self) -> &'static str {
        self.api.group
    }

    /// The encoding that an `Accept` header asks for, as far as the kind has it.
    pub(crate) fn encoding(&self, accept: &str) -> Encoding {
        let wants = accept.contains("application/vnd.kubernetes.protobuf");
        if wants && self.protobuf.is_some() { Encoding::Protobuf } else { Encoding::Json }
    }

    /// Whether a relist finds this object changed if `percent` of all are: the last ones of each hundred.
    fn is_changed(number: u64, percent: u64) -> bool {
        number % 100 >= 100 - percent
    }

    /// How many objects a relist finds changed.
    pub(crate) fn changed(&self, percent: u64) -> u64 {
        (0..self.count).filter(|&number| Self::is_changed(number, percent)).count() as u64
    }

    /// Begins the list of these objects, and says whether more follow.
    pub(crate) fn list_head(
        &self,
        encoding: Encoding,
        numbers: std::ops::Range<u64>,
        percent: u64,
        more: Option<(&str, u64)>,
    ) -> Vec<u8> {
        let version = LIST_VERSION.to_string();
        let (api_version, name) = (self.api.api_version(), self.api.kind);
        match encoding {
            Encoding::Json => {
                let mut meta = format!(r#""resourceVersion":"{version}""#);
                if let Some((token, left)) = more {
                    meta += &format!(r#","continue":"{token}","remainingItemCount":{left}"#);
                }
                format!(
                    r#"{{"kind":"{name}List","apiVersion":"{api_version}","metadata":{{{meta}}},"items":["#
                )
                .into_bytes()
            }
            Encoding::Protobuf => {
                let (mut meta, mut list) = (Vec::new(), Vec::new());
                put_bytes(1, b"", &mut meta);
                put_bytes(2, version.as_bytes(), &mut meta);
                put_bytes(3, more.map_or("", |(token, _)| token).as_bytes(), &mut meta);
                if let Some((_, left)) = more {
                    put_varint(4 << 3, &mut meta);
                    put_varint(left, &mut meta);
                }
                put_bytes(1, &meta, &mut list);
                let items =
                    numbers.map(|number| self.listed(encoding, number, percent).0.len(Part::Item) as u64);
                let length = list.len() as u64 + items.sum::<u64>();
                let mut head = b"k8s\0".to_vec();
                let mut types = Vec::new();
                put_bytes(1, api_version.as_bytes(), &mut types);
                put_bytes(2, format!("{name}List").as_bytes(), &mut types);
                put_bytes(1, &types, &mut head);
                put_varint(2 << 3 | 2, &mut head);
                put_varint(length, &mut head);
                head.append(&mut list);
                head
            }
        }
    }

    /// Appends one item of a list; `first` if none is before it.
    pub(crate) fn put_item(
        &self,
        encoding: Encoding,
        number: u64,
        first: bool,
        percent: u64,
        out: &mut Vec<u8>,
    ) {
        if encoding == Encoding::Json && !first {
            out.push(b',');
        }
        let (shape, version) = self.listed(encoding, number, percent);
        shape.put(Part::Item, number, self.count, version, out);
    }

    /// Ends a list.
    pub(crate) fn list_tail(encoding: Encoding) -> &'static [u8] {
        match encoding {
            Encoding::Json => b"]}\n",
            Encoding::Protobuf => ENVELOPE_TAIL,
        }
    }

    /// Appends the event of an object that was there when the watch began.
    pub(crate) fn put_added(&self, encoding: Encoding, number: u64, percent: u64, out: &mut Vec<u8>) {
        let (shape, version) = self.listed(encoding, number, percent);
        shape.put(Part::Added, number, self.count, version, out);
        out.extend_from_slice(self.templates(encoding).event_tail);
    }

    /// Appends the event of an object's `update`-th change; the first has number 1.
    pub(crate) fn put_modified(
        &self,
        encoding: Encoding,
        number: u64,
        update: u64,
        version: u64,
        out: &mut Vec<u8>,
    ) {
        self.shape(encoding, number, update).put(Part::Modified, number, self.count, version, out);
        out.extend_from_slice(self.templates(encoding).event_tail);
    }

    /// The bookmark that ends the initial events.
    pub(crate) fn initial_end(&self, encoding: Encoding) -> Bytes {
        self.templates(encoding).initial_end.clone()
    }

    /// The event that ends a watch whose version is too old.
    pub(crate) fn expired(&self, encoding: Encoding) -> Bytes {
        self.templates(encoding).expired.clone()
    }

    /// What a list has of an object, and the object's version there.
    fn listed(&self, encoding: Encoding, number: u64, percent: u64) -> (&Shape, u64) {
        if Self::is_changed(number, percent) {
            (self.shape(encoding, number, 1), CHANGED_VERSION + number)
        } else {
            (self.shape(encoding, number, 0), FIRST_VERSION + number)
        }
    }

    fn shape(&self, encoding: Encoding, number: u64, state: u64) -> &Shape {
        let shapes = &self.templates(encoding).shapes;
        let states = &shapes[(scatter(number) % shapes.len() as u64) as usize];
        &states[(state % states.len() as u64) as usize]
    }

    fn templates(&self, encoding: Encoding) -> &Templates {
        match (encoding, &self.protobuf) {
            (Encoding::Protobuf, Some(protobuf)) => protobuf,
            _ => &self.json,
        }
    }
}

impl Templates {
    fn json(api: Api, objects: &[Vec<Value>]) -> Result<Self, Error> {
        let typed = format!(r#"{{"apiVersion":"{}","kind":"{}","#, api.api_version(), api.kind);
        // Items of lists of built-in kinds do not name their type.
        let item = if api.group == "bench.example.com" { typed.clone() } else { "{".to_owned() };
        let event = |event: &str| format!(r#"{{"type":"{event}","object":"#);
        let heads = [item, event("ADDED") + &typed, event("MODIFIED") + &typed];
        let shape = |object: &Value| {
            let mut object = object.clone();
            if let Some(fields) = object.as_object_mut() {
                fields.remove("apiVersion");
                fields.remove("kind");
            }
            let object = Template::new(object.to_string().split_off(1).into_bytes())?;
            Ok(Shape { object, heads: heads.clone().map(String::into_bytes) })
        };
        let frame = |name: &str, object: &Value| Bytes::from(format!("{}{object}}}\n", event(name)));
        Ok(Self {
            shapes: map_states(objects, shape)?,
            event_tail: b"}\n",
            initial_end: frame("BOOKMARK", &bookmark(&api.api_version(), api.kind)),
            expired: frame("ERROR", &expired()),
        })
    }

    fn protobuf(message: ProtoMessage, objects: &[Vec<Value>]) -> Result<Self, Error> {
        let status = ProtoMessage::of("", "v1", "Status").ok_or("there is no status in protobuf")?;
        let event = |event: &str, message: ProtoMessage, object: &[u8]| {
            let (api_version, kind) = (message.api_version(), message.kind());
            let (mut raw, mut frame) = (Vec::new(), Vec::new());
            put_bytes(1, &ProtoEnvelope { api_version, kind, object }.to_bytes(), &mut raw);
            put_bytes(1, event.as_bytes(), &mut frame);
            put_bytes(2, &raw, &mut frame);
            let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
            [&length.to_be_bytes()[..], &frame].concat()
        };
        let shape = |object: &Value| {
            let object = encode_object_proto(object, message)?;
            let mut item = Vec::new();
            put_varint(2 << 3 | 2, &mut item);
            put_varint(object.len() as u64, &mut item);
            let [added, modified] = ["ADDED", "MODIFIED"].map(|name| {
                let mut whole = event(name, message, &object);
                whole.truncate(whole.len() - object.len() - ENVELOPE_TAIL.len());
                whole
            });
            Ok(Shape { object: Template::new(object)?, heads: [item, added, modified] })
        };
        let end = encode_object_proto(&bookmark(message.api_version(), message.kind()), message)?;
        Ok(Self {
            shapes: map_states(objects, shape)?,
            event_tail: ENVELOPE_TAIL,
            initial_end: event("BOOKMARK", message, &end).into(),
            expired: event("ERROR", status, &encode_object_proto(&expired(), status)?).into(),
        })
    }
}

impl Shape {
    fn len(&self, part: Part) -> usize {
        self.heads[part as usize].len() + self.object.len()
    }

    fn put(&self, part: Part, number: u64, of: u64, version: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.heads[part as usize]);
        self.object.write(number, of, version, out);
    }
}

/// Makes a shape of each state of each object.
fn map_states(
    objects: &[Vec<Value>],
    shape: impl Fn(&Value) -> Result<Shape, Error>,
) -> Result<Vec<Vec<Shape>>, Error> {
    objects.iter().map(|states| states.iter().map(&shape).collect()).collect()
}

/// Spreads consecutive numbers, so that the workload of an object says nothing of its namespace.
fn scatter(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// Encoded objects to decode by themselves: states of many workloads, or the one template.
pub(crate) fn corpus(set: Set, encoding: Encoding, count: u64) -> Result<Vec<Vec<u8>>, Error> {
    let share = set.shares().first().ok_or("an empty set")?;
    let kind = Kind::new(*share, count)?;
    let typed = |object: &Shape| match encoding {
        Encoding::Protobuf => Vec::new(),
        Encoding::Json => object.heads[Part::Added as usize][r#"{"type":"ADDED","object":"#.len()..].to_vec(),
    };
    let object = |number: u64| {
        let shape = kind.shape(encoding, number, number);
        let mut bytes = typed(shape);
        shape.object.write(number, count, FIRST_VERSION + number, &mut bytes);
        bytes
    };
    Ok((0..count).map(object).collect())
}

fn bookmark(api_version: &str, kind: &str) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {
        "resourceVersion": LIST_VERSION.to_string(),
        "annotations": {"k8s.io/initial-events-end": "true"},
    }});
    if kind == "Pod" {
        // Bookmarks of typed kinds have their required fields.
        object["spec"] = json!({"containers": []});
        object["status"] = json!({});
    }
    object
}

fn expired() -> Value {
    json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "reason": "Expired",
        "message": "too old resource version", "code": 410})
}
