//! From an HTTP request to its answer: who asks, what for, may they, does a fault strike, and the answer.

mod accept;
mod body;
mod path;
mod query;
pub(crate) mod reply;
mod resolve;

pub(crate) use accept::{Encoding, Encodings, Form, JSON, MetaVersion, ranges};
pub(crate) use body::{Body, BrokenBody, CHUNK_BYTES};
pub(crate) use query::{ListOptions, Query, VersionMatch, invalid_options, parse_version};
pub(crate) use reply::MAX_WARNINGS;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio_util::sync::CancellationToken;

use crate::access::{Attributes, User};
use crate::cluster::Cluster;
use crate::discovery;
use crate::faults::{FaultyBody, Plan, Subject};
use crate::kinds::{Resource, Verb};
use crate::log::RequestRecord;
use crate::status::ApiError;
use crate::verbs::{self, Call};
use path::{ResourcePath, Route};
use resolve::{Unserved, resolve, verb_of};

/// The connection is to be closed without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HangUp;

impl fmt::Display for HangUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection was closed by an injected fault")
    }
}

impl std::error::Error for HangUp {}

/// How long the body of a request may take, as in Kubernetes.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// Marks answers that last as long as the client likes: watches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongRunning;

/// Answers one request. `cut` breaks the connection it came on.
pub(crate) async fn answer<B>(
    cluster: &Arc<Cluster>,
    request: Request<B>,
    cut: CancellationToken,
) -> Result<Response<Body>, HangUp>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let headers = &head.headers;
    let query = Query::parse(head.uri.query().unwrap_or(""));
    let route = path::route(head.uri.path());
    let verb = match &route {
        Route::Resource(path) => verb_of(&head.method, path, &query),
        Route::Other(_) => None,
    };
    let authorization = header_text(headers, header::AUTHORIZATION.as_str());
    let user = cluster.access.authenticate(authorization, cluster.clock.now());
    let name = user.as_ref().map_or("", |user| user.name.as_str());
    let number = cluster.log.add(record(&head, &route, verb, name));

    let encoding = cluster.options.encodings.of_status(&accepted(headers));
    // The time limit is checked before everything else, authentication included.
    let limit = if is_long_running(&route, verb) { Ok(()) } else { query::check_timeout(&query) };
    let outcome = match (limit.and(user), route) {
        (Err(error), _) => Ok(reply::error(encoding, &error)),
        (Ok(user), Route::Other(segments)) => Ok(other(cluster, &head, &query, &user, &segments).await),
        (Ok(user), Route::Resource(path)) => {
            let asked = Asked { method: &head.method, headers, query, path, verb, user, encoding };
            resource(cluster, asked, body, cut).await
        }
    };
    if let Ok(response) = &outcome {
        let content_type = header_text(response.headers(), header::CONTENT_TYPE.as_str()).unwrap_or("");
        cluster.log.answered(number, response.status().as_u16(), content_type);
    }
    outcome
}

/// Returns whether a request has no time limit: watches, and connections to pods.
fn is_long_running(route: &Route, verb: Option<Verb>) -> bool {
    const CONNECTIONS: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];
    let Route::Resource(path) = route else { return false };
    let subresource = path.subresource.split('/').next().unwrap_or("");
    verb == Some(Verb::Watch) || CONNECTIONS.contains(&subresource)
}

/// A request for a resource, before it is known whether the resource exists.
struct Asked<'a> {
    method: &'a Method,
    headers: &'a HeaderMap,
    query: Query,
    path: ResourcePath,
    verb: Option<Verb>,
    user: User,
    /// In which errors are written.
    encoding: Encoding,
}

async fn resource<B>(
    cluster: &Arc<Cluster>,
    asked: Asked<'_>,
    body: B,
    cut: CancellationToken,
) -> Result<Response<Body>, HangUp>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let encoding = asked.encoding;
    let Some(verb) = asked.verb else {
        return Ok(reply::error(encoding, &ApiError::method_not_allowed()));
    };
    if let Err(error) = authorize(cluster, &asked, verb) {
        return Ok(reply::error(encoding, &error));
    }
    let resource = match resolve(&cluster.catalog(), asked.method, &asked.path, verb) {
        Ok(resource) => resource,
        Err(Unserved::NoSuchPath) => return Ok(reply::text(404, "404 page not found\n")),
        Err(Unserved::Refused(error)) => return Ok(reply::error(encoding, &error)),
    };
    let mut plan = if cluster.faults.is_empty() {
        Plan::default()
    } else {
        cluster.faults.plan(
            &Subject {
                verb,
                group: &resource.group,
                plural: &resource.plural,
                other_names: &resource.other_names(),
                namespace: &asked.path.namespace,
                name: &asked.path.name,
            },
            &cluster.fault_random,
        )
    };
    if !plan.delay.is_zero() {
        tokio::time::sleep(plan.delay).await;
    }
    if plan.no_reply {
        // The client gives up, or the server is dropped: both end this future.
        std::future::pending::<()>().await;
    }
    if let Some(error) = plan.error.take() {
        return Ok(reply::error(encoding, &error));
    }
    let Plan { lost_reply, cut_after, hang_after, .. } = plan;
    let warning = resource.warning.clone();
    let mut response = match prepare(cluster, asked, verb, resource, plan, body, cut).await {
        Ok(call) => verbs::dispatch(call).await.unwrap_or_else(|error| reply::error(encoding, &error)),
        Err(error) => reply::error(encoding, &error),
    };
    if verb == Verb::Watch && response.status().is_success() {
        response.extensions_mut().insert(LongRunning);
    }
    if let Some(warning) = warning {
        reply::warn(&mut response, &[warning.to_string()]);
    }
    if lost_reply {
        return Err(HangUp);
    }
    let response = match cut_after {
        Some(bytes) => response.map(|body| Body::new(FaultyBody::cut_after(body, bytes))),
        None => response,
    };
    Ok(match hang_after {
        Some(bytes) => response.map(|body| Body::new(FaultyBody::hang_after(body, bytes))),
        None => response,
    })
}

/// Reads the body and puts together what the verbs work with.
async fn prepare<B>(
    cluster: &Arc<Cluster>,
    asked: Asked<'_>,
    verb: Verb,
    resource: Arc<Resource>,
    plan: Plan,
    body: B,
    cut: CancellationToken,
) -> Result<Call, ApiError>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let headers = asked.headers;
    let text = |name: header::HeaderName| header_text(headers, name.as_str()).unwrap_or("").to_owned();
    let encodings = cluster.options.encodings;
    let (form, encoding) = accept::negotiate(&accepted(headers), encodings, &resource, verb)?;
    if matches!(form, Form::Table(_)) {
        query::check_include_object(&asked.query)?;
    }
    let body = tokio::time::timeout(BODY_TIMEOUT, read_body(body, cluster.options.body_limit)).await;
    let body = body.unwrap_or_else(|_| Err(ApiError::timeout()))?;
    let mut subresource = asked.path.subresource;
    if resource.custom.is_some() {
        // Custom resources ignore what is below.
        subresource.truncate(subresource.find('/').unwrap_or(subresource.len()));
    }
    Ok(Call {
        cluster: Arc::clone(cluster),
        resource,
        verb,
        namespace: asked.path.namespace,
        name: asked.path.name,
        subresource,
        query: asked.query,
        form,
        encoding,
        user: asked.user,
        user_agent: text(header::USER_AGENT),
        content_type: text(header::CONTENT_TYPE),
        gzip: reply::takes_gzip(&text(header::ACCEPT_ENCODING)),
        body,
        plan,
        cut,
    })
}

async fn other(
    cluster: &Arc<Cluster>,
    head: &http::request::Parts,
    query: &Query,
    user: &User,
    segments: &[String],
) -> Response<Body> {
    let verb = head.method.as_str().to_ascii_lowercase();
    let what = Attributes { verb: &verb, path: Some(head.uri.path()), ..Attributes::default() };
    let accept = accepted(&head.headers);
    if let Err(error) = cluster.access.authorize(user, &what) {
        return reply::error(cluster.options.encodings.of_status(&accept), &error);
    }
    let words: Vec<&str> = segments.iter().map(String::as_str).collect();
    let response = discovery::answer(cluster, &head.method, &words, query, &accept);
    let gzip = header_text(&head.headers, header::ACCEPT_ENCODING.as_str()).is_some_and(reply::takes_gzip);
    if gzip { reply::compressed(response).await } else { response }
}

fn authorize(cluster: &Cluster, asked: &Asked<'_>, verb: Verb) -> Result<(), ApiError> {
    let path = &asked.path;
    // A namespace is asked about as if it were inside itself, as Kubernetes does.
    let inside = path.group.is_empty() && path.plural == "namespaces" && !path.name.is_empty();
    let what = Attributes {
        verb: verb.as_str(),
        group: &path.group,
        resource: &path.plural,
        subresource: &path.subresource,
        namespace: if inside { &path.name } else { &path.namespace },
        name: &path.name,
        path: None,
    };
    cluster.access.authorize(&asked.user, &what)
}

async fn read_body<B>(body: B, limit: usize) -> Result<Bytes, ApiError>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::body_too_large(limit)),
        Err(error) => Err(ApiError::bad_request(format!("reading the request's body: {error}"))),
    }
}

fn record(head: &http::request::Parts, route: &Route, verb: Option<Verb>, user: &str) -> RequestRecord {
    let path = match route {
        Route::Resource(path) => path.clone(),
        Route::Other(_) => ResourcePath::default(),
    };
    let text = |name: header::HeaderName| header_text(&head.headers, name.as_str()).unwrap_or("").to_owned();
    RequestRecord {
        number: 0,
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or("").to_owned(),
        verb,
        group: path.group,
        version: path.version,
        resource: path.plural,
        subresource: path.subresource,
        namespace: path.namespace,
        name: path.name,
        user: user.to_owned(),
        user_agent: text(header::USER_AGENT),
        accept: accepted(&head.headers),
        content_type: text(header::CONTENT_TYPE),
        code: None,
        answer_type: String::new(),
    }
}

/// All `Accept` headers as one.
fn accepted(headers: &HeaderMap) -> String {
    let all: Vec<&str> =
        headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    all.join(",")
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
