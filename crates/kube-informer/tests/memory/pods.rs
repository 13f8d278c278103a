//! A server of pods that keeps none of them: it makes each piece of an answer when it is asked for it.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, Stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube_client::Client;
use kube_client::client::Body;
use kube_wire::{ProtoEnvelope, ProtoListWriter, ProtoMessage, encode_event_proto, encode_object_proto};
use serde_json::{Value, json};
use tokio::sync::watch;

/// A pod as clusters have many of.
const POD: &str = include_str!("../../../kube-testserver/data/pod.json");

/// What is different in each pod; always so long. The first two are for its number, the last one for its version.
const MARKS: [&str; 3] = ["~NAME~~~", "~UID~~~~~~~~", "~VERSION~~"];

/// How large a piece of an answer is, at least.
const PIECE: usize = 16 << 10;

/// One pod in so many has changed when all are asked for again.
pub(crate) const CHANGED_EACH: usize = 100;

/// Its version is a later one than this.
pub(crate) const CHANGED_FROM: &str = "1500000000";

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Protobuf,
}

/// The server.
pub(crate) struct Pods {
    count: usize,
    form: Form,
    item: Template,
    added: Template,
    /// What is before the first item of a list, and behind the last.
    around: [Vec<u8>; 2],
    /// Everything that was there has been sent.
    initial_end: Vec<u8>,
    /// The watch is too old.
    too_old: Vec<u8>,
    /// How often everything became too old.
    expired: watch::Sender<usize>,
}

impl Pods {
    pub(crate) fn new(count: usize, form: Form) -> Arc<Self> {
        let text =
            [("x2k9p\"", "~NAME~~~\""), ("2f3a4b5c6d7e\"", "~UID~~~~~~~~\""), ("184467", "~VERSION~~")]
                .iter()
                .fold(POD.to_owned(), |text, (from, to)| text.replacen(from, to, 1));
        let pod: Value = serde_json::from_str(&text).unwrap();
        let bookmark = json!({"apiVersion": "v1", "kind": "Pod", "metadata":
            {"resourceVersion": "1900000000", "annotations": {"k8s.io/initial-events-end": "true"}}});
        let too_old = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Expired",
            "code": 410, "message": "too old resource version"});
        let item = form.object("Pod", &pod);
        let expired = watch::Sender::new(0);
        Arc::new(Self {
            count,
            form,
            around: form.list(count, item.len()),
            item: Template::new(item),
            added: Template::new(form.event("ADDED", "Pod", &pod)),
            initial_end: form.event("BOOKMARK", "Pod", &bookmark),
            too_old: form.event("ERROR", "Status", &too_old),
            expired,
        })
    }

    pub(crate) fn client(self: &Arc<Self>) -> Client {
        let pods = Arc::clone(self);
        let answer = move |request: Request<Body>| {
            let answer = pods.answer(&request);
            async move { Ok::<_, Infallible>(answer) }
        };
        Client::new(tower::service_fn(answer), "default")
    }

    /// Ends all watches: everything has to be asked for again, and some of it has changed.
    pub(crate) fn expire(&self) {
        self.expired.send_modify(|times| *times += 1);
    }

    fn answer(
        self: &Arc<Self>,
        request: &Request<Body>,
    ) -> Response<StreamBody<impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + use<>>> {
        let asked = request.uri().query().unwrap_or("");
        let pieces = match (asked.contains("watch=true"), asked.contains("sendInitialEvents=true")) {
            (true, true) => {
                self.pieces([Vec::new(), self.initial_end.clone()], true).chain(self.end()).boxed()
            }
            (true, false) => self.end().boxed(),
            (false, _) => self.pieces(self.around.clone(), false).boxed(),
        };
        let body = StreamBody::new(pieces.map(|piece| Ok(Frame::data(piece))));
        let kind = if self.form == Form::Json { "json" } else { "vnd.kubernetes.protobuf" };
        Response::builder().header("content-type", format!("application/{kind}")).body(body).unwrap()
    }

    /// All pods, in pieces, and what is around them.
    fn pieces(self: &Arc<Self>, around: [Vec<u8>; 2], events: bool) -> impl Stream<Item = Bytes> + use<> {
        let (pods, times) = (Arc::clone(self), *self.expired.borrow());
        let [head, tail] = around;
        stream::unfold((0, head, Some(tail)), move |(mut next, mut out, mut tail)| {
            while out.len() < PIECE && next < pods.count {
                let changed = times > 0 && next % CHANGED_EACH == 0;
                let version = next + if changed { 1_500_000_000 + times } else { 1_000_000_000 };
                match (events, pods.form) {
                    (true, _) => pods.added.write(next, version, &mut out),
                    (false, form) => {
                        form.before_item(next, pods.item.bytes.len(), &mut out);
                        pods.item.write(next, version, &mut out);
                    }
                }
                next += 1;
            }
            if next == pods.count {
                out.append(&mut tail.take().unwrap_or_default());
            }
            std::future::ready((!out.is_empty()).then(|| (out.into(), (next, Vec::new(), tail))))
        })
    }

    /// Nothing, until everything is too old; and that.
    fn end(self: &Arc<Self>) -> impl Stream<Item = Bytes> + use<> {
        let (mut expired, too_old) = (self.expired.subscribe(), self.too_old.clone());
        stream::once(async move {
            let _ = expired.changed().await;
            too_old.into()
        })
    }
}

impl Form {
    fn object(self, kind: &str, object: &Value) -> Vec<u8> {
        match self {
            Form::Json => object.to_string().into_bytes(),
            Form::Protobuf => encode_object_proto(object, message(kind)).unwrap(),
        }
    }

    fn event(self, event: &str, kind: &str, object: &Value) -> Vec<u8> {
        match self {
            Form::Json => format!("{}\n", json!({"type": event, "object": object})).into_bytes(),
            Form::Protobuf => {
                let object = &self.object(kind, object);
                encode_event_proto(event, &ProtoEnvelope { api_version: "v1", kind, object })
            }
        }
    }

    /// What is before the items of a list, and behind them.
    fn list(self, count: usize, item: usize) -> [Vec<u8>; 2] {
        let metadata = json!({"resourceVersion": "1900000000"});
        match self {
            Form::Json => {
                let head = format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{metadata},"items":["#);
                [head.into_bytes(), b"]}".to_vec()]
            }
            Form::Protobuf => {
                let list = ProtoListWriter::new(message("PodList"), "v1", &metadata).unwrap();
                let (mut head, mut tail) = (Vec::new(), Vec::new());
                list.begin(std::iter::repeat_n(item, count), &mut head);
                list.end(&mut tail);
                [head, tail]
            }
        }
    }

    /// What is before one item.
    fn before_item(self, number: usize, length: usize, out: &mut Vec<u8>) {
        match self {
            Form::Json if number == 0 => {}
            Form::Json => out.push(b','),
            Form::Protobuf => {
                // The field of the items, and the length in two bytes.
                assert!((1 << 7..1 << 14).contains(&length), "{length}");
                out.extend([0x12, length as u8 | 0x80, (length >> 7) as u8]);
            }
        }
    }
}

fn message(kind: &str) -> ProtoMessage {
    ProtoMessage::of("", "v1", kind).unwrap()
}

/// A pod of which some places are written over.
struct Template {
    bytes: Vec<u8>,
    places: [usize; 3],
}

impl Template {
    fn new(bytes: Vec<u8>) -> Self {
        let place = |mark: &str| bytes.windows(mark.len()).position(|part| part == mark.as_bytes()).unwrap();
        Self { places: MARKS.map(place), bytes }
    }

    fn write(&self, number: usize, version: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        for ((place, mark), value) in self.places.iter().zip(MARKS).zip([number, number, version]) {
            let text = format!("{value:0width$}", width = mark.len());
            out[start + place..][..mark.len()].copy_from_slice(text.as_bytes());
        }
    }
}
