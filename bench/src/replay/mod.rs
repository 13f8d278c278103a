//! The replay server: serves the same objects to every library, so quickly that it is never what is measured.
//!
//! It is not an API server: nothing can be written, and every reader sees the same. `GET /api/v1/pods` and
//! `GET /apis/bench.example.com/v1/widgets` list and watch, in pages, whole, and as initial events, as real servers do. What happens
//! next is said to `/bench/`: events, at a rate or as fast as they are read, or the end of all watches, after which
//! one object in a hundred has changed.

mod answer;
mod child;
mod kind;
mod template;
mod wire;

pub(crate) use answer::EVENT_VERSION;
pub(crate) use child::{Control, Replay};
pub(crate) use kind::{CHANGED_EACH, Form, one_pod, one_widget};
pub(crate) use template::{PER_NAMESPACE, PER_NODE};

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::Error;
use crate::report::{now, say};
use answer::{List, Phase, Watch};
use kind::{Kind, LIST_VERSION};
use template::MAX_OBJECTS;

/// What all connections share.
#[derive(Debug)]
struct State {
    pods: Arc<Kind>,
    widgets: Arc<Kind>,
    started: Instant,
    /// The wall clock at the start, in nanoseconds.
    started_unix: u64,
    /// One object in a hundred has changed.
    changed: AtomicBool,
    /// When somebody last asked for all objects, in nanoseconds of the wall clock.
    asked_unix: AtomicU64,
    command: watch::Sender<Command>,
}

impl State {
    fn new(pods: u64, widgets: u64) -> Result<Self, Error> {
        if pods.max(widgets) > MAX_OBJECTS {
            return Err(format!("there are names for {MAX_OBJECTS} objects, not for more").into());
        }
        Ok(Self {
            pods: Arc::new(Kind::pods(pods)?),
            widgets: Arc::new(Kind::widgets(widgets)?),
            started: now(),
            started_unix: unix_nanos()?,
            changed: AtomicBool::new(false),
            asked_unix: AtomicU64::new(0),
            command: watch::Sender::new(Command { task: Task::Nothing }),
        })
    }
}

/// What watches are to do.
#[derive(Clone, Copy, Debug)]
struct Command {
    task: Task,
}

#[derive(Clone, Copy, Debug)]
enum Task {
    Nothing,
    Events { count: u64, rate: u64 },
    Expire,
}

type Answer = Response<StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>>;

/// Serves until standard input ends.
pub(crate) async fn serve(pods: u64, widgets: u64) -> Result<(), Error> {
    let state = Arc::new(State::new(pods, widgets)?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    say(&format!("http://{}", listener.local_addr()?));
    tokio::spawn(accept(listener, state));
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        let state = Arc::clone(&state);
        let service = service_fn(move |request| {
            let answer = answer(&state, &request);
            async move { Ok::<_, Infallible>(answer) }
        });
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new();
            // A reader that goes away in the middle is no news.
            let _ = connection.serve_connection(TokioIo::new(socket), service).await;
        });
    }
}

fn answer(state: &Arc<State>, request: &Request<Incoming>) -> Answer {
    let query = request.uri().query().unwrap_or_default();
    let query: HashMap<String, String> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/api/v1/pods") => objects(state, &state.pods, accept, &query),
        (&Method::GET, "/apis/bench.example.com/v1/widgets") => {
            objects(state, &state.widgets, accept, &query)
        }
        (&Method::GET, "/bench/state") => {
            let asked = state.asked_unix.load(Ordering::SeqCst);
            let text = format!(r#"{{"started":{},"asked":{asked}}}"#, state.started_unix);
            whole(StatusCode::OK, "application/json", text)
        }
        (&Method::POST, path) => command(state, path, &query),
        (_, path) => whole(StatusCode::NOT_FOUND, "text/plain", format!("there is nothing at {path}")),
    }
}

/// Tells all watches what to do.
fn command(state: &State, path: &str, query: &HashMap<String, String>) -> Answer {
    let number = |name: &str| query.get(name).and_then(|value| value.parse().ok()).unwrap_or(0);
    let task = match path {
        "/bench/events" => Task::Events { count: number("count"), rate: number("rate") },
        "/bench/pause" => Task::Nothing,
        "/bench/reset" => {
            state.changed.store(false, Ordering::SeqCst);
            Task::Nothing
        }
        "/bench/expire" => {
            state.changed.store(true, Ordering::SeqCst);
            Task::Expire
        }
        _ => return whole(StatusCode::NOT_FOUND, "text/plain", format!("there is nothing at {path}")),
    };
    state.command.send_replace(Command { task });
    whole(StatusCode::OK, "text/plain", "ok".to_owned())
}

/// A list or a watch.
fn objects(state: &Arc<State>, kind: &Arc<Kind>, accept: &str, query: &HashMap<String, String>) -> Answer {
    let value = |name: &str| query.get(name).map_or("", String::as_str);
    let is_set = |name: &str| matches!(value(name), "true" | "1");
    let form = kind.form(accept);
    let content_type = match (form, is_set("watch")) {
        (Form::Json, _) => "application/json",
        (Form::Protobuf, false) => "application/vnd.kubernetes.protobuf",
        (Form::Protobuf, true) => "application/vnd.kubernetes.protobuf;stream=watch",
    };
    let changed = state.changed.load(Ordering::SeqCst);
    let (all, first) = (!is_set("watch") || is_set("sendInitialEvents"), value("continue").is_empty());
    if all && first {
        state.asked_unix.store(unix_nanos().unwrap_or(0), Ordering::SeqCst);
    }
    let kind = Arc::clone(kind);
    let pieces = if is_set("watch") {
        let phase = if is_set("sendInitialEvents") { Phase::Initial(0) } else { Phase::Idle };
        let (state, commands) = (Arc::clone(state), state.command.subscribe());
        let watch = Watch { state, kind, form, changed, commands, phase, version: LIST_VERSION };
        stream::unfold(watch, async |mut watch| Some((watch.next_piece().await?, watch))).boxed()
    } else {
        let (next, end) = page(kind.count, value("resourceVersion"), value("limit"), value("continue"));
        let token = end.to_string();
        let more = (end < kind.count).then(|| (token.as_str(), kind.count - end));
        let head = Some(kind.list_head(form, end - next, more));
        let list = List { kind, form, changed, next, end, head, ended: false };
        stream::unfold(list, async |mut list| Some((list.next_piece()?, list))).boxed()
    };
    reply(StatusCode::OK, content_type, pieces)
}

/// From which object to which a list goes. At version 0 real servers send everything, whatever the limit.
fn page(count: u64, version: &str, limit: &str, token: &str) -> (u64, u64) {
    let next: u64 = token.parse().unwrap_or(0).min(count);
    match limit.parse() {
        Ok(limit) if limit > 0 && version != "0" => (next, count.min(next.saturating_add(limit))),
        _ => (next, count),
    }
}

fn whole(status: StatusCode, content_type: &'static str, text: String) -> Answer {
    reply(status, content_type, stream::once(std::future::ready(Bytes::from(text))).boxed())
}

fn reply(status: StatusCode, content_type: &'static str, pieces: BoxStream<'static, Bytes>) -> Answer {
    let mut answer = Response::new(StreamBody::new(pieces.map(|piece| Ok(Frame::data(piece))).boxed()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    answer
}

/// The wall clock: the same for all processes of a machine.
#[expect(clippy::disallowed_methods, reason = "processes are compared by the wall clock")]
pub(crate) fn unix_nanos() -> Result<u64, Error> {
    Ok(u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_cut_as_real_servers_cut_them() {
        assert_eq!(page(1_000, "", "", ""), (0, 1_000));
        assert_eq!(page(1_000, "0", "500", ""), (0, 1_000), "from memory, whole");
        assert_eq!(page(1_000, "", "300", ""), (0, 300));
        assert_eq!(page(1_000, "", "300", "900"), (900, 1_000));
        assert_eq!(page(0, "", "300", ""), (0, 0));
    }
}
