//! Connections: one task each, broken when the server stops, a fault says so, or the client takes too long.

mod activity;
mod waiting;

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cluster::Cluster;
use crate::http::{Body, answer};
use activity::Activity;
use waiting::Waiting;

/// How long the head of the first request may take, as in Kubernetes.
const HEADER_TIMEOUT: Duration = Duration::from_secs(32);

/// How long a connection may wait for its next request, head included. Clients close idle connections after
/// 90 seconds; that they do so first spares them a request on a connection that is just being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a client may leave an answer unread. Watches are exempt: the history bounds them.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// The bytes that one connection buffers: the largest head of a request, and unsent parts of an answer.
const BUFFER_BYTES: usize = 64 * 1024;

/// What a connection gets when all others are busy, as in Kubernetes.
const TOO_MANY_REQUESTS: &[u8] =
    b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Type: text/plain\r\n\
    Content-Length: 44\r\nConnection: close\r\n\r\nToo many connections, please try again later";

/// Accepts connections until the server stops.
///
/// At most as many are open as the options say. Beyond that, the connection that has waited longest for the rest of a
/// request makes room; if all are being answered, the new one is refused. It makes room as well where the process has no file
/// descriptor for another connection.
pub(super) async fn accept(
    cluster: Arc<Cluster>,
    listener: TcpListener,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    let slots = Arc::new(Semaphore::new(cluster.options.max_connections));
    let waiting = Arc::new(Waiting::default());
    loop {
        let Some(accepted) = stop.run_until_cancelled(listener.accept()).await else { return };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // A client that is gone again takes no room. Else the process is out of file descriptors, most likely.
                let is_gone = matches!(
                    error.kind(),
                    std::io::ErrorKind::ConnectionAborted | std::io::ErrorKind::ConnectionReset
                );
                let cut = !is_gone && waiting.cut_oldest();
                tracing::warn!(%error, cut, "a connection could not be accepted");
                // A connection that was cut ends meanwhile.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        if slots.available_permits() == 0 && !waiting.cut_oldest() {
            tracing::warn!("a connection was refused: all that may be open are being answered");
            let _ = stream.try_write(TOO_MANY_REQUESTS);
            continue;
        }
        // A connection that was cut ends at once.
        let slot = Arc::clone(&slots).acquire_owned();
        let Some(Ok(slot)) = stop.run_until_cancelled(slot).await else { return };
        // Events are small and each one matters: do not wait for more to send.
        let _ = stream.set_nodelay(true);
        let served = serve(Arc::clone(&cluster), stream, stop.child_token(), Arc::clone(&waiting));
        tasks.spawn(async move {
            served.await;
            drop(slot);
        });
    }
}

async fn serve(
    cluster: Arc<Cluster>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    cut: CancellationToken,
    waiting: Arc<Waiting>,
) {
    let activity = Activity::start(cut.clone(), waiting);
    let service = service_fn(|request: Request<Incoming>| {
        let (cluster, cut) = (Arc::clone(&cluster), cut.clone());
        let (request, answering) = activity.begin(request);
        async move {
            match answer(&cluster, request, cut.clone()).await {
                Ok(response) => Ok::<Response<Body>, Infallible>(answering.with(response)),
                Err(_hang_up) => {
                    // The connection goes before anything is written.
                    cut.cancel();
                    std::future::pending().await
                }
            }
        }
    });
    // The activity knows the time-outs: hyper's own ends idle connections as early as slow ones.
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(TokioIo::new(activity.observe(stream)), service);
    let mut connection = pin!(connection);
    let mut timer = pin!(sleep_until(activity.started()));
    let served = poll_fn(|context| {
        if let Poll::Ready(ended) = connection.as_mut().poll(context) {
            return Poll::Ready(Some(ended));
        }
        // All that changes the deadline happens while the connection is polled.
        let Some(deadline) = activity.deadline() else { return Poll::Pending };
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(context).map(|()| None)
    });
    tokio::select! {
        biased;
        () = cut.cancelled() => {}
        ended = served => match ended {
            Some(Ok(())) => {}
            Some(Err(error)) => tracing::debug!(%error, "a connection ended"),
            None => tracing::debug!("a connection was closed: its client took too long"),
        }
    }
}

#[cfg(test)]
mod tests;
