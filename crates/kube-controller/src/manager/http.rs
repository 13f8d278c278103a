//! A server for a few small pages.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connections::Connections;
use super::runnable::Running;
use super::tls::Secure;
use super::{BuildError, Group, Runnable};

/// The head of a request may have so many bytes.
const MAX_HEADER_BYTES: usize = 64 << 10;

/// What is shown.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    /// After how many seconds to ask again, if that may help.
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: Bytes,
}

/// A request for a page, by GET or HEAD.
#[derive(Debug)]
pub(crate) struct PageRequest {
    pub(crate) path: String,
    pub(crate) query: String,
    /// The host of the request line, if it names one.
    pub(crate) authority: Option<Authority>,
    pub(crate) headers: HeaderMap,
}

/// Answers a request with a page.
pub(crate) type Answer = Arc<dyn Fn(PageRequest) -> Pin<Box<dyn Future<Output = Page> + Send>> + Send + Sync>;

/// Pages on a port that is already held.
pub(crate) struct Server {
    what: &'static str,
    listener: TcpListener,
    answer: Answer,
    /// None for plain HTTP.
    secure: Option<Arc<Secure>>,
}

impl Page {
    pub(crate) fn text(status: u16, body: String) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", retry_after: None, body: body.into() }
    }

    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self { content_type: "application/json", ..Self::text(200, value.to_string()) }
    }

    pub(crate) fn not_found() -> Self {
        Self::text(404, "404 page not found\n".to_owned())
    }
}

impl Server {
    /// Takes the port. Nobody is answered before it runs.
    pub(crate) async fn bind(
        what: &'static str,
        address: SocketAddr,
        answer: Answer,
        secure: Option<Secure>,
    ) -> Result<(Self, SocketAddr), BuildError> {
        let failed = |source| BuildError::Bind { what, address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        Ok((Self { what, listener, answer, secure: secure.map(Arc::new) }, bound))
    }
}

impl Runnable for Server {
    fn name(&self) -> String {
        format!("server of {}", self.what)
    }

    fn group(&self) -> Group {
        Group::Servers
    }

    fn run(self: Box<Self>, stop: CancellationToken) -> Running<'static> {
        Box::pin(async move {
            let (connections, tasks) = (Connections::new(), TaskTracker::new());
            if let Some(secure) = self.secure.clone() {
                let stop = stop.clone();
                tasks.spawn(async move { secure.follow(&stop).await });
            }
            while let Some(accepted) = stop.run_until_cancelled(self.listener.accept()).await {
                // One that is gone before it was accepted is nobody's concern; others are a lack of files that ends.
                let Ok((stream, _)) = accepted else {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let Some(place) = stop.run_until_cancelled(connections.admit()).await else { break };
                let (secure, answer, stop) = (self.secure.clone(), Arc::clone(&self.answer), stop.clone());
                tasks.spawn(async move {
                    let work = greet(stream, secure, answer, place.on_request());
                    place.serve(&stop, work).await;
                });
            }
            tasks.close();
            tasks.wait().await;
            Ok(())
        })
    }
}

/// Serves a connection, over TLS if that is wanted. A failed handshake closes it. The caller bounds the time.
async fn greet(
    stream: TcpStream,
    secure: Option<Arc<Secure>>,
    answer: Answer,
    on_request: impl Fn() + Send + Sync + 'static,
) {
    let Some(secure) = secure else { return serve(stream, answer, on_request).await };
    if let Some(stream) = secure.greet(stream).await {
        serve(stream, answer, on_request).await;
    }
}

/// Answers one request. Calls `on_request` when its head has been read.
async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: Answer,
    on_request: impl Fn() + Send + Sync + 'static,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        on_request();
        let answer = Arc::clone(&answer);
        async move { Ok::<_, Infallible>(reply(&request, &answer).await) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .header_read_timeout(None)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // A connection that breaks concerns the other side only.
    let _ = connection.await;
}

async fn reply(request: &Request<Incoming>, answer: &Answer) -> Response<Full<Bytes>> {
    let page = if [Method::GET, Method::HEAD].contains(request.method()) {
        let request = PageRequest {
            path: request.uri().path().to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            authority: request.uri().authority().cloned(),
            headers: request.headers().clone(),
        };
        answer(request).await
    } else {
        Page::text(405, "this page can only be read\n".to_owned())
    };
    let mut response = Response::new(Full::new(page.body));
    *response.status_mut() = http::StatusCode::from_u16(page.status).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.extend(page.retry_after.map(|seconds| (RETRY_AFTER, seconds.into())));
    response
}
