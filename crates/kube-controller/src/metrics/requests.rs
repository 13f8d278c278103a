//! Requests to API servers, counted where clients send them.

use std::collections::BTreeMap;
use std::fmt::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Method, Request, Response, Uri};
use parking_lot::Mutex;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use tower::{Layer, Service};

/// What stands for the code of a request that was not answered, as in client-go.
const NOT_ANSWERED: &str = "<error>";

/// How many requests there were, by host, method and code. The hosts are those that a program has clients for.
#[derive(Debug, Default)]
pub(super) struct Requests(Mutex<BTreeMap<Series, u64>>);

/// Host, method and code.
type Series = (Arc<str>, String, String);

impl Requests {
    fn count(&self, host: &Arc<str>, method: &Method, code: Option<u16>) {
        let code = code.map_or_else(|| NOT_ANSWERED.to_owned(), |code| code.to_string());
        *self.0.lock().entry((Arc::clone(host), method.to_string(), code)).or_default() += 1;
    }

    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let counts = self.0.lock().clone();
        let help = "Requests to API servers, by code, method and host";
        let mut family =
            encoder.encode_descriptor("rest_client_requests", help, None, MetricType::Counter)?;
        counts.iter().try_for_each(|((host, method, code), count)| {
            let labels = [("code", code.as_str()), ("method", method.as_str()), ("host", host)];
            ConstCounter::new(*count).encode(family.encode_family(&labels)?)
        })
    }
}

/// Counts the requests of a client; see [`Metrics::requests`](super::Metrics::requests).
#[derive(Clone, Debug)]
pub struct CountRequests {
    requests: Arc<Requests>,
    host: Arc<str>,
}

impl CountRequests {
    pub(super) fn new(requests: &Arc<Requests>, server: &Uri) -> Self {
        let host = server.authority().map_or("", |authority| authority.as_str());
        // What stands before it is nobody's business.
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        Self { requests: Arc::clone(requests), host: host.into() }
    }
}

impl<S> Layer<S> for CountRequests {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, counts: self.clone() }
    }
}

/// A service whose requests are counted.
#[derive(Clone, Debug)]
pub struct Counted<S> {
    inner: S,
    counts: CountRequests,
}

impl<S, A, B> Service<Request<A>> for Counted<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let (counts, method) = (self.counts.clone(), request.method().clone());
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            counts.requests.count(&counts.host, &method, code);
            answer
        })
    }
}
