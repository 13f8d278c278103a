//! The replay server: serves the same objects to every library, cheaply enough that it is never what is measured.
//!
//! It is not an API server: nothing can be written, and every reader sees the same. The kinds of a [`Set`] are listed
//! and watched as on real servers: in pages, whole, and as initial events; over TLS or plain. Requests to `/bench/`
//! tell all watches what to do:
//!
//! - `events`: send updates, at a rate or as fast as they are read;
//! - `expire`: end with 410, after which a part of all objects has changed;
//! - `restart`: end; the watches that follow begin with the updates that were missed.

mod answer;
mod child;
mod kind;
mod set;
mod template;
mod tls;
mod wire;

pub(crate) use answer::EVENT_VERSION;
pub(crate) use child::{Control, Described, Replay, Served};
pub(crate) use kind::{Encoding, corpus};
pub(crate) use set::Set;
pub(crate) use tls::{CERTIFICATE_FILE, client};

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::Error;
use crate::report::{now, say};
use answer::{List, Phase, Watch};
use kind::{Kind, LIST_VERSION};
use template::MAX_OBJECTS;

/// What all connections share.
#[derive(Debug)]
struct State {
    kinds: Vec<Arc<Kind>>,
    started: Instant,
    /// The wall clock at the start, in nanoseconds.
    started_unix: u64,
    /// How many of a hundred objects have changed.
    percent: AtomicU64,
    command: watch::Sender<Command>,
}

impl State {
    fn new(set: Set, objects: u64) -> Result<Self, Error> {
        if objects > MAX_OBJECTS {
            return Err(format!("there are names for {MAX_OBJECTS} objects, not for more").into());
        }
        let kinds = set.shares().iter().map(|share| Ok(Arc::new(Kind::new(*share, objects)?)));
        Ok(Self {
            kinds: kinds.collect::<Result<_, Error>>()?,
            started: now(),
            started_unix: unix_nanos()?,
            percent: AtomicU64::new(0),
            command: watch::Sender::new(Command::Nothing),
        })
    }

    /// What readers have to know: the clocks, and how much there is of each kind.
    fn describe(&self) -> String {
        let kinds = self.kinds.iter().map(|kind| {
            let changed = |percent| kind.changed(percent);
            json!({"kind": kind.name(), "path": kind.path(), "count": kind.count, "updates": kind.updates,
                "asked": kind.asked_unix.load(Ordering::SeqCst),
                "changed": {"1": changed(1), "50": changed(50)}})
        });
        json!({
            "started": self.started_unix,
            "kinds": kinds.collect::<Vec<_>>(),
        })
        .to_string()
    }
}

/// What watches are to do.
#[derive(Clone, Copy, Debug)]
enum Command {
    Nothing,
    Updates { count: u64, rate: u64 },
    Expire,
    Restart,
}

type Answer = Response<StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>>;

/// Serves until standard input ends.
pub(crate) async fn serve(set: Set, objects: u64, tls: bool) -> Result<(), Error> {
    let state = Arc::new(State::new(set, objects)?);
    let acceptor = tls.then(tls::acceptor).transpose()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let scheme = if tls { "https" } else { "http" };
    say(&format!("{scheme}://{}", listener.local_addr()?));
    tokio::spawn(accept(listener, acceptor, state));
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}

async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, state: Arc<State>) {
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        let (state, acceptor) = (Arc::clone(&state), acceptor.clone());
        tokio::spawn(async move {
            match acceptor {
                None => connection(socket, state).await,
                // A reader that gives up its handshake is no news.
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(socket).await {
                        connection(stream, state).await;
                    }
                }
            }
        });
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, state: Arc<State>) {
    let service = service_fn(move |request| {
        let answer = answer(&state, &request);
        async move { Ok::<_, Infallible>(answer) }
    });
    // A reader that goes away in the middle is no news.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

fn answer(state: &Arc<State>, request: &Request<Incoming>) -> Answer {
    let query = request.uri().query().unwrap_or_default();
    let query: HashMap<String, String> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
    let path = request.uri().path();
    match *request.method() {
        Method::GET if path == "/bench/state" => whole(StatusCode::OK, "application/json", state.describe()),
        Method::POST => command(state, path, &query),
        Method::GET => match state.kinds.iter().find(|kind| kind.path() == path) {
            Some(kind) => objects(state, kind, accept, &query),
            None => nothing_at(path),
        },
        _ => nothing_at(path),
    }
}

/// Tells all watches what to do.
fn command(state: &State, path: &str, query: &HashMap<String, String>) -> Answer {
    let number = |name: &str| query.get(name).and_then(|value| value.parse().ok()).unwrap_or(0);
    let command = match path {
        "/bench/events" => Command::Updates { count: number("count"), rate: number("rate") },
        "/bench/pause" => Command::Nothing,
        "/bench/reset" => {
            state.percent.store(0, Ordering::SeqCst);
            for kind in &state.kinds {
                kind.missed.store(0, Ordering::SeqCst);
            }
            Command::Nothing
        }
        "/bench/expire" => {
            state.percent.store(number("changed").min(100), Ordering::SeqCst);
            Command::Expire
        }
        "/bench/restart" => {
            for kind in &state.kinds {
                kind.missed.store(number("count") * kind.updates / 100, Ordering::SeqCst);
            }
            Command::Restart
        }
        _ => return nothing_at(path),
    };
    state.command.send_replace(command);
    whole(StatusCode::OK, "text/plain", "ok".to_owned())
}

/// A list or a watch.
fn objects(state: &Arc<State>, kind: &Arc<Kind>, accept: &str, query: &HashMap<String, String>) -> Answer {
    let value = |name: &str| query.get(name).map_or("", String::as_str);
    let is_set = |name: &str| matches!(value(name), "true" | "1");
    let encoding = kind.encoding(accept);
    let content_type = match (encoding, is_set("watch")) {
        (Encoding::Json, _) => "application/json",
        (Encoding::Protobuf, false) => "application/vnd.kubernetes.protobuf",
        (Encoding::Protobuf, true) => "application/vnd.kubernetes.protobuf;stream=watch",
    };
    let percent = state.percent.load(Ordering::SeqCst);
    let (all, first) = (!is_set("watch") || is_set("sendInitialEvents"), value("continue").is_empty());
    if all && first {
        kind.asked_unix.store(unix_nanos().unwrap_or(0), Ordering::SeqCst);
    }
    let kind = Arc::clone(kind);
    let pieces = if is_set("watch") {
        let phase = if is_set("sendInitialEvents") { Phase::Initial(0) } else { Phase::Idle };
        let missed = kind.missed.swap(0, Ordering::SeqCst);
        let (state, commands) = (Arc::clone(state), state.command.subscribe());
        let (version, ends) = (LIST_VERSION, is_set("benchEnds"));
        let mut watch = Watch { state, kind, encoding, percent, commands, phase, version, missed, ends };
        if missed > 0 && !all {
            watch.send(missed, 0);
        }
        stream::unfold(watch, async |mut watch| Some((watch.next_piece().await?, watch))).boxed()
    } else {
        let (next, end) = page(kind.count, value("resourceVersion"), value("limit"), value("continue"));
        let token = end.to_string();
        let more = (end < kind.count).then(|| (token.as_str(), kind.count - end));
        let head = Some(kind.list_head(encoding, next..end, percent, more));
        let list = List { kind, encoding, percent, next, end, head, ended: false };
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

fn nothing_at(path: &str) -> Answer {
    whole(StatusCode::NOT_FOUND, "text/plain", format!("there is nothing at {path}"))
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
