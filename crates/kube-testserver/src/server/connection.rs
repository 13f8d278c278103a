//! Connections: one task each, broken when the server stops or a fault says so.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cluster::Cluster;
use crate::http::{Body, answer};

pub(super) async fn accept(
    cluster: Arc<Cluster>,
    listener: TcpListener,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                // Events are small and each one matters: do not wait for more to send.
                let _ = stream.set_nodelay(true);
                tasks.spawn(serve(Arc::clone(&cluster), stream, stop.child_token()));
            }
            Err(error) => {
                // Out of file descriptors, most likely: later connections may find some.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        }
    }
}

async fn serve(cluster: Arc<Cluster>, stream: TcpStream, cut: CancellationToken) {
    let service = service_fn(|request: Request<Incoming>| {
        let (cluster, cut) = (Arc::clone(&cluster), cut.clone());
        async move {
            match answer(&cluster, request, cut.clone()).await {
                Ok(response) => Ok::<Response<Body>, Infallible>(response),
                Err(_hang_up) => {
                    // The connection goes before anything is written.
                    cut.cancel();
                    std::future::pending().await
                }
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        biased;
        () = cut.cancelled() => {}
        ended = connection => {
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended");
            }
        }
    }
}
