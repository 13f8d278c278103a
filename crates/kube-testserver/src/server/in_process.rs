//! Clients of a server: their configuration, a kubeconfig, and one without sockets.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body::Frame;
use kube_client::Client;
use kube_client::client::Body as ClientBody;
use kube_client::config::{AuthInfo, Config};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::cluster::Cluster;
use crate::http::{Body, BrokenBody, answer};

/// The configuration of a client over HTTP.
pub(super) fn config(address: SocketAddr, token: &str) -> Config {
    // A socket address always makes a valid authority.
    let url = http::Uri::builder()
        .scheme("http")
        .authority(address.to_string())
        .path_and_query("/")
        .build()
        .unwrap_or_default();
    let mut config = Config::new(url);
    config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
    // Tests count requests: a client that retries by itself would hide what the server was told to do.
    config.default_retry = false;
    config
}

/// A client that hands its requests over inside the process, until the server stops.
pub(super) fn client(cluster: &Arc<Cluster>, token: &str, stop: &CancellationToken) -> Client {
    let (cluster, stop) = (Arc::clone(cluster), stop.clone());
    let authorization = HeaderValue::from_str(&format!("Bearer {token}"));
    let service = tower::service_fn(move |mut request: Request<ClientBody>| {
        // Each request has a connection of its own, as it were.
        let (cluster, cut) = (Arc::clone(&cluster), stop.child_token());
        if let Ok(authorization) = &authorization {
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
        }
        async move {
            let response = tokio::select! {
                biased;
                () = cut.cancelled() => return Err(BrokenBody.into()),
                response = answer(&cluster, request, cut.clone()) => response?,
            };
            let whole = |body| CutBody { body, cut: Box::pin(cut.cancelled_owned()) };
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(response.map(whole))
        }
    });
    Client::new(service, "default")
}

/// A body that breaks off when its connection would.
struct CutBody {
    body: Body,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl http_body::Body for CutBody {
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenBody>>> {
        if self.cut.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(BrokenBody)));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }
}

/// A kubeconfig with one cluster, one user and one context.
pub(super) fn kubeconfig(url: &str, token: &str) -> String {
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: kube-testserver\n\
         \x20 cluster:\n\
         \x20   server: {url}\n\
         users:\n\
         - name: kubernetes-admin\n\
         \x20 user:\n\
         \x20   token: {token}\n\
         contexts:\n\
         - name: kube-testserver\n\
         \x20 context:\n\
         \x20   cluster: kube-testserver\n\
         \x20   user: kubernetes-admin\n\
         \x20   namespace: default\n\
         current-context: kube-testserver\n"
    )
}
