//! The kinds that are served: pods in both encodings, and a custom kind in JSON.

use bytes::Bytes;
use kube_wire::{ProtoEnvelope, ProtoMessage, encode_object_proto};
use serde_json::{Value, json};

use super::template::{Template, mark};
use super::wire::{put_bytes, put_varint, varint_len};
use crate::Error;

const POD: &str = include_str!("../../../crates/kube-testserver/data/pod.json");
const WIDGET: &str = include_str!("../../data/widget.json");

/// The version of an object that has not changed since the start is this and its number.
const FIRST_VERSION: u64 = 1_000_000_000;

/// The version of an object that a relist finds changed is this and its number.
const CHANGED_VERSION: u64 = 1_500_000_000;

/// The version of lists. Events have later ones.
pub(crate) const LIST_VERSION: u64 = 1_900_000_000;

/// One object in so many has changed when a copy is made anew.
pub(crate) const CHANGED_EACH: u64 = 100;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Protobuf,
}

/// One kind: how many objects there are, and their bytes.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) count: u64,
    api_version: &'static str,
    name: &'static str,
    json: Shapes,
    protobuf: Option<Shapes>,
}

/// An object as it stands in a list and in the events of a watch, and what else is said in a watch.
#[derive(Debug)]
struct Shapes {
    item: Template,
    added: Template,
    modified: Template,
    initial_end: Bytes,
    expired: Bytes,
}

impl Kind {
    pub(crate) fn pods(count: u64) -> Result<Self, Error> {
        let (api_version, name) = ("v1", "Pod");
        let text = mark(POD);
        // Items of lists of built-in kinds do not say what they are.
        let item = text.replacen(r#""apiVersion":"v1","kind":"Pod","#, "", 1);
        let message = ProtoMessage::of("", api_version, name).ok_or("pods have no protobuf")?;
        let json = Shapes::json(api_version, name, &item, &text)?;
        let protobuf = Some(Shapes::protobuf(message, &text)?);
        Ok(Self { count, api_version, name, json, protobuf })
    }

    pub(crate) fn widgets(count: u64) -> Result<Self, Error> {
        let (api_version, name) = ("bench.example.com/v1", "Widget");
        let text = mark(WIDGET);
        let json = Shapes::json(api_version, name, &text, &text)?;
        Ok(Self { count, api_version, name, json, protobuf: None })
    }

    /// The form that an `Accept` header asks for, as far as the kind has it.
    pub(crate) fn form(&self, accept: &str) -> Form {
        let wants = accept.contains("application/vnd.kubernetes.protobuf");
        if wants && self.protobuf.is_some() { Form::Protobuf } else { Form::Json }
    }

    /// What is before the items of a list that has so many, and says that more follow.
    pub(crate) fn list_head(&self, form: Form, items: u64, more: Option<(&str, u64)>) -> Vec<u8> {
        let version = LIST_VERSION.to_string();
        let (api_version, name) = (self.api_version, self.name);
        match form {
            Form::Json => {
                let mut meta = format!(r#""resourceVersion":"{version}""#);
                if let Some((token, left)) = more {
                    meta += &format!(r#","continue":"{token}","remainingItemCount":{left}"#);
                }
                format!(
                    r#"{{"kind":"{name}List","apiVersion":"{api_version}","metadata":{{{meta}}},"items":["#
                )
                .into_bytes()
            }
            Form::Protobuf => {
                let (mut meta, mut list) = (Vec::new(), Vec::new());
                put_bytes(1, b"", &mut meta);
                put_bytes(2, version.as_bytes(), &mut meta);
                put_bytes(3, more.map_or("", |(token, _)| token).as_bytes(), &mut meta);
                if let Some((_, left)) = more {
                    put_varint(4 << 3, &mut meta);
                    put_varint(left, &mut meta);
                }
                put_bytes(1, &meta, &mut list);
                let item = self.shapes(form).item.len();
                let all = list.len() as u64 + items * (1 + varint_len(item as u64) + item as u64);
                let mut head = b"k8s\0".to_vec();
                let mut types = Vec::new();
                put_bytes(1, api_version.as_bytes(), &mut types);
                put_bytes(2, format!("{name}List").as_bytes(), &mut types);
                put_bytes(1, &types, &mut head);
                put_varint(2 << 3 | 2, &mut head);
                put_varint(all, &mut head);
                head.append(&mut list);
                head
            }
        }
    }

    /// One item of a list; `first` if none is before it.
    pub(crate) fn list_item(&self, form: Form, number: u64, first: bool, changed: bool, out: &mut Vec<u8>) {
        let item = &self.shapes(form).item;
        match form {
            Form::Json if first => {}
            Form::Json => out.push(b','),
            Form::Protobuf => {
                put_varint(2 << 3 | 2, out);
                put_varint(item.len() as u64, out);
            }
        }
        item.write(number, self.count, version(number, changed), out);
    }

    /// What is behind the items of a list.
    pub(crate) fn list_tail(form: Form) -> &'static [u8] {
        match form {
            Form::Json => b"]}\n",
            // The envelope's encoding and type, both empty.
            Form::Protobuf => &[3 << 3 | 2, 0, 4 << 3 | 2, 0],
        }
    }

    /// An object that was there when the watch began.
    pub(crate) fn added(&self, form: Form, number: u64, changed: bool, out: &mut Vec<u8>) {
        self.shapes(form).added.write(number, self.count, version(number, changed), out);
    }

    /// An object that has changed.
    pub(crate) fn modified(&self, form: Form, number: u64, version: u64, out: &mut Vec<u8>) {
        self.shapes(form).modified.write(number, self.count, version, out);
    }

    /// Everything that was there has been sent.
    pub(crate) fn initial_end(&self, form: Form) -> Bytes {
        self.shapes(form).initial_end.clone()
    }

    /// The watch is too old: the reader has to begin anew.
    pub(crate) fn expired(&self, form: Form) -> Bytes {
        self.shapes(form).expired.clone()
    }

    fn shapes(&self, form: Form) -> &Shapes {
        match (form, &self.protobuf) {
            (Form::Protobuf, Some(protobuf)) => protobuf,
            _ => &self.json,
        }
    }
}

impl Shapes {
    fn json(api_version: &str, kind: &str, item: &str, object: &str) -> Result<Self, Error> {
        let event = |event: &str, object: &str| {
            format!("{{\"type\":\"{event}\",\"object\":{object}}}\n").into_bytes()
        };
        Ok(Self {
            item: Template::new(item.as_bytes().to_vec())?,
            added: Template::new(event("ADDED", object))?,
            modified: Template::new(event("MODIFIED", object))?,
            initial_end: event("BOOKMARK", &bookmark(api_version, kind).to_string()).into(),
            expired: event("ERROR", &expired().to_string()).into(),
        })
    }

    fn protobuf(message: ProtoMessage, object: &str) -> Result<Self, Error> {
        let status = ProtoMessage::of("", "v1", "Status").ok_or("there is no status in protobuf")?;
        let item = encode_object_proto(&serde_json::from_str(object)?, message)?;
        let event = |event: &str, message: ProtoMessage, object: &[u8]| {
            let (api_version, kind) = (message.api_version(), message.kind());
            let (mut raw, mut frame) = (Vec::new(), Vec::new());
            put_bytes(1, &ProtoEnvelope { api_version, kind, object }.to_bytes(), &mut raw);
            put_bytes(1, event.as_bytes(), &mut frame);
            put_bytes(2, &raw, &mut frame);
            let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
            [&length.to_be_bytes()[..], &frame].concat()
        };
        let end = encode_object_proto(&bookmark(message.api_version(), message.kind()), message)?;
        Ok(Self {
            added: Template::new(event("ADDED", message, &item))?,
            modified: Template::new(event("MODIFIED", message, &item))?,
            item: Template::new(item)?,
            initial_end: event("BOOKMARK", message, &end).into(),
            expired: event("ERROR", status, &encode_object_proto(&expired(), status)?).into(),
        })
    }
}

/// The realistic pod, in a form: what is decoded by itself.
pub(crate) fn one_pod(form: Form) -> Result<Vec<u8>, Error> {
    match form {
        Form::Json => Ok(POD.trim().as_bytes().to_vec()),
        Form::Protobuf => {
            let message = ProtoMessage::of("", "v1", "Pod").ok_or("pods have no protobuf")?;
            Ok(encode_object_proto(&serde_json::from_str(POD)?, message)?)
        }
    }
}

/// The custom object, in JSON.
pub(crate) fn one_widget() -> Vec<u8> {
    WIDGET.trim().as_bytes().to_vec()
}

/// The version that an object has in lists.
fn version(number: u64, changed: bool) -> u64 {
    // The last of each hundred, so that the last of all is among them.
    if changed && number % CHANGED_EACH == CHANGED_EACH - 1 {
        CHANGED_VERSION + number
    } else {
        FIRST_VERSION + number
    }
}

fn bookmark(api_version: &str, kind: &str) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {
        "resourceVersion": LIST_VERSION.to_string(),
        "annotations": {"k8s.io/initial-events-end": "true"},
    }});
    if kind == "Pod" {
        // What a bookmark of a typed kind looks like.
        object["spec"] = json!({"containers": []});
        object["status"] = json!({});
    }
    object
}

fn expired() -> Value {
    json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "reason": "Expired",
        "message": "too old resource version", "code": 410})
}
