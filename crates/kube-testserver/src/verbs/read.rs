//! Get and list: at the present, at an exact version, not older than one, and page by page.

use std::sync::Arc;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use http::Response;
use serde::{Deserialize, Serialize};

use super::Call;
use crate::cluster::Cluster;
use crate::http::{Body, ListOptions, VersionMatch, reply};
use crate::kinds::Resource;
use crate::represent::{ListMeta, list_reply};
use crate::selector::{FieldSelector, LabelSelector, Selector};
use crate::status::ApiError;
use crate::storage::{Page, PageQuery, Stored, TooOld, object_key};

pub(crate) async fn get(call: &Call) -> Result<Response<Body>, ApiError> {
    let object = find(call).await?;
    object_reply(call, 200, &object)
}

/// The object that a request names, at the version it asks for.
pub(crate) async fn find(call: &Call) -> Result<Arc<Stored>, ApiError> {
    let store = &call.cluster.store;
    let asked = ListOptions { version: call.query.text("resourceVersion"), ..ListOptions::default() };
    if let Some(version) = asked.version_number()? {
        wait_for(&call.cluster, version).await?;
    }
    let key = object_key(&call.namespace, &call.name);
    let found = match call.plan.stale_by {
        Some(writes) => {
            let at = store.version().saturating_sub(writes).max(1);
            store
                .get_at(call.resource.table, &key, at)
                .unwrap_or_else(|_| store.get(call.resource.table, &key))
        }
        None => store.get(call.resource.table, &key),
    };
    found.ok_or_else(|| ApiError::not_found(call.resource.about(), &call.name))
}

/// An answer that holds one object, in the form the client asked for.
pub(crate) fn object_reply(call: &Call, code: u16, object: &Stored) -> Result<Response<Body>, ApiError> {
    let mut out = Vec::with_capacity(object.text().len() + 64);
    call.view().write_object(object, &mut out)?;
    if call.gzip && out.len() > reply::GZIP_ABOVE_BYTES {
        let bytes = out.len();
        return Ok(reply::chunks(code, call.encoding, true, bytes, std::iter::once(out.into())));
    }
    Ok(reply::bytes(code, call.encoding, out))
}

pub(crate) async fn list(call: Call) -> Result<Response<Body>, ApiError> {
    let (meta, items) = listed(&call).await?;
    list_reply(call.view(), &meta, items, call.gzip).await
}

/// What a request selects, and what is said of it.
pub(crate) async fn listed(call: &Call) -> Result<(ListMeta, Vec<Arc<Stored>>), ApiError> {
    let options = ListOptions::parse(&call.query, false)?;
    let selector = parse_selector(&call.resource, &options)?;
    let (page, limit) = if options.continue_token.is_empty() {
        first_page(call, &options, &selector).await?
    } else {
        next_page(call, &options, &selector)?
    };
    let meta = ListMeta {
        version: page.version,
        continue_token: match (page.remaining, limit, page.items.last()) {
            (Some(_), Some(_), Some(last)) => Some(Token::new(Some(page.version), last.key()).encode()),
            _ => None,
        },
        // With a selector nobody knows how many of the rest it selects.
        remaining: page.remaining.filter(|_| selector.is_empty()),
    };
    Ok((meta, page.items))
}

pub(crate) fn parse_selector(resource: &Resource, options: &ListOptions) -> Result<Selector, ApiError> {
    let labels = LabelSelector::parse(&options.labels).map_err(ApiError::bad_request)?;
    let unknown = |path: &str| resource.unselectable(path);
    let fields = FieldSelector::parse(&options.fields, &resource.selectable_labels(), unknown)
        .map_err(ApiError::bad_request)?;
    Ok(Selector { labels, fields })
}

/// Waits until the cluster has reached a version, but not for long.
pub(crate) async fn wait_for(cluster: &Cluster, version: u64) -> Result<(), ApiError> {
    if cluster.store.version() >= version {
        return Ok(());
    }
    let reached = tokio::time::timeout(cluster.options.freshness_timeout, cluster.store.reach(version)).await;
    reached.map_err(|_| ApiError::version_too_large(version, cluster.store.version()))
}

async fn first_page(
    call: &Call,
    options: &ListOptions,
    selector: &Selector,
) -> Result<(Page, Option<usize>), ApiError> {
    let store = &call.cluster.store;
    let version = options.version_number()?;
    let mut limit = options.limit;
    let mut at = None;
    match version {
        Some(0) if call.cluster.options.watch_cache => limit = None,
        None | Some(0) => {}
        Some(version) => {
            wait_for(&call.cluster, version).await?;
            // Without a match rule, a limit makes the version exact.
            let exact = match options.version_match {
                Some(chosen) => chosen == VersionMatch::Exact,
                None => limit.is_some(),
            };
            at = exact.then_some(version);
        }
    }
    let query = PageQuery { namespace: &call.namespace, selector, at, after: None, limit };
    if let (Some(writes), None) = (call.plan.stale_by, at) {
        let stale = store.version().saturating_sub(writes).max(1);
        if let Ok(page) = store.page(call.resource.table, &PageQuery { at: Some(stale), ..query }) {
            return Ok((page, limit));
        }
    }
    match store.page(call.resource.table, &query) {
        Ok(page) => Ok((page, limit)),
        Err(TooOld { .. }) => Err(ApiError::expired("The resourceVersion for the provided list is too old.")),
    }
}

fn next_page(
    call: &Call,
    options: &ListOptions,
    selector: &Selector,
) -> Result<(Page, Option<usize>), ApiError> {
    if !options.version.is_empty() && options.version != "0" {
        return Err(ApiError::bad_request("specifying resource version is not allowed when using continue"));
    }
    let token = Token::decode(&options.continue_token)?;
    let after = token.start.strip_suffix('\0').unwrap_or(&token.start);
    let at = u64::try_from(token.rv).ok();
    let inside = after.strip_prefix(&call.namespace).is_some_and(|rest| rest.starts_with('/'));
    let foreign = !call.namespace.is_empty() && !inside;
    if foreign || at.is_some_and(|at| at > call.cluster.store.version()) {
        return Err(ApiError::bad_request(
            "invalid continue token: continue key is not valid: it was not made for this list",
        ));
    }
    // Any version will do, so the rest comes from memory at once, as for the first page.
    let at_once = options.version == "0" && call.cluster.options.watch_cache;
    let limit = options.limit.filter(|_| !at_once);
    let query = PageQuery { namespace: &call.namespace, selector, at, after: Some(after), limit };
    call.cluster.store.page(call.resource.table, &query).map(|page| (page, limit)).map_err(|_| {
        let mut error = ApiError::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new \
             list without the continue parameter, or use the continue token in this response to retrieve the \
             remainder of the results. Continuing with the provided token results in an inconsistent list - \
             objects that were created, modified, or deleted between the time the first chunk was returned and \
             now may show up in the list.",
        );
        error.continue_token = Some(Token::new(None, after).encode());
        error
    })
}

/// Where a list goes on.
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    v: String,
    /// The version of the first page; -1 to go on at the present.
    rv: i64,
    /// The last key sent, followed by a NUL.
    start: String,
}

/// Kubernetes is not strict about the last bits of a token.
const CONTINUE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

impl Token {
    fn new(version: Option<u64>, last_key: &str) -> Self {
        let rv = version.and_then(|version| i64::try_from(version).ok()).unwrap_or(-1);
        Self { v: TOKEN_VERSION.to_owned(), rv, start: format!("{last_key}\0") }
    }

    fn encode(&self) -> String {
        CONTINUE.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    fn decode(text: &str) -> Result<Self, ApiError> {
        let invalid = |why: &str| {
            ApiError::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = CONTINUE
            .decode(text.trim_end_matches('='))
            .map_err(|_| invalid("illegal base64 data at input byte 0"))?;
        let value = super::json::parse(&bytes).map_err(|why| invalid(&why))?.value;
        if value.get("v").and_then(|v| v.as_str()) != Some(TOKEN_VERSION) {
            let version = value.get("v").and_then(|v| v.as_str()).unwrap_or_default();
            return Err(invalid(&format!("server does not recognize this encoded version {version}")));
        }
        let token: Self = serde_json::from_value(value).map_err(|error| invalid(&error.to_string()))?;
        if token.start.is_empty() || token.rv == 0 {
            return Err(invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        Ok(token)
    }
}
