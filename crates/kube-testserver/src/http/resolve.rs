//! From a method and a path to a verb and a resource, or to the reason why there is none.

use std::sync::Arc;

use http::Method;

use super::path::ResourcePath;
use super::query::Query;
use crate::kinds::{Catalog, Resource, Verb};
use crate::status::ApiError;

/// Why a path is not served.
#[derive(Debug)]
pub(super) enum Unserved {
    /// Nobody knows the path, which is said in plain text.
    NoSuchPath,
    Refused(ApiError),
}

/// What a method does to a path; none if it does nothing anywhere.
pub(super) fn verb_of(method: &Method, path: &ResourcePath, query: &Query) -> Option<Verb> {
    let collection = path.name.is_empty();
    match *method {
        Method::GET if path.watch => Some(Verb::Watch),
        _ if path.watch => None,
        // A named object cannot be watched like this: Kubernetes ignores the wish.
        Method::GET | Method::HEAD if collection && query.flag("watch") => Some(Verb::Watch),
        Method::GET | Method::HEAD if collection => Some(Verb::List),
        Method::GET | Method::HEAD => Some(Verb::Get),
        Method::POST => Some(Verb::Create),
        Method::PUT => Some(Verb::Update),
        Method::PATCH => Some(Verb::Patch),
        Method::DELETE if collection => Some(Verb::DeleteCollection),
        Method::DELETE => Some(Verb::Delete),
        _ => None,
    }
}

/// The resource of a path, if it takes the verb there. Built-in and custom resources refuse in different words.
pub(super) fn resolve(
    catalog: &Catalog,
    method: &Method,
    path: &ResourcePath,
    verb: Verb,
) -> Result<Arc<Resource>, Unserved> {
    let Some(resource) = catalog.find(&path.group, &path.version, &path.plural) else {
        let builtin = catalog.is_builtin_group(&path.group);
        return Err(if builtin { Unserved::Refused(ApiError::no_such_path()) } else { Unserved::NoSuchPath });
    };
    if resource.custom.is_some() {
        check_custom(resource, path, verb)?;
    } else {
        check_builtin(resource, method, path, verb).map_err(Unserved::Refused)?;
    }
    Ok(Arc::clone(resource))
}

fn check_builtin(
    resource: &Resource,
    method: &Method,
    path: &ResourcePath,
    verb: Verb,
) -> Result<(), ApiError> {
    if !resource.namespaced && !path.namespace.is_empty() {
        return Err(ApiError::no_such_path());
    }
    if lacks_namespace(resource, path, verb) {
        let collection = path.name.is_empty();
        return Err(if collection { ApiError::method_not_allowed() } else { ApiError::no_such_path() });
    }
    let verbs = if path.subresource.is_empty() {
        &resource.verbs
    } else {
        let (first, below) = path.subresource.split_once('/').unwrap_or((&path.subresource, ""));
        let found = resource.subresource(first).filter(|_| below.is_empty() || first == "proxy");
        &found.ok_or_else(ApiError::no_such_path)?.verbs
    };
    let whole = path.subresource.is_empty();
    let misplaced = match verb {
        Verb::Create => whole && !path.name.is_empty(),
        Verb::Update | Verb::Patch => path.name.is_empty(),
        _ => false,
    };
    if misplaced || *method == Method::HEAD || !verbs.contains(&verb) {
        return Err(ApiError::method_not_allowed());
    }
    Ok(())
}

/// Custom resources take any verb on any path, and look at the name only when they need it.
fn check_custom(resource: &Resource, path: &ResourcePath, verb: Verb) -> Result<(), Unserved> {
    if lacks_namespace(resource, path, verb) || (!resource.namespaced && !path.namespace.is_empty()) {
        return Err(Unserved::NoSuchPath);
    }
    if path.name.is_empty() && matches!(verb, Verb::Update | Verb::Patch) {
        return Err(Unserved::Refused(ApiError::bad_request("name must be provided")));
    }
    if path.subresource.is_empty() {
        return Ok(());
    }
    let first = path.subresource.split('/').next().unwrap_or("");
    let Some(subresource) = resource.subresource(first) else {
        return Err(Unserved::Refused(ApiError::not_found(resource.about(), &path.name)));
    };
    if !subresource.verbs.contains(&verb) {
        return Err(Unserved::Refused(ApiError::method_not_supported(resource.about(), verb.as_str())));
    }
    Ok(())
}

/// Only lists and watches go across namespaces.
fn lacks_namespace(resource: &Resource, path: &ResourcePath, verb: Verb) -> bool {
    let across = path.name.is_empty() && matches!(verb, Verb::List | Verb::Watch);
    resource.namespaced && path.namespace.is_empty() && !across
}

#[cfg(test)]
mod tests {
    use super::super::path::{Route, route};
    use super::*;

    fn verb(method: &Method, uri: &str) -> Option<Verb> {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let Route::Resource(path) = route(path) else { panic!("{uri} is no resource") };
        verb_of(method, &path, &Query::parse(query))
    }

    #[test]
    fn only_collections_are_watched_by_query_and_anything_by_the_old_path() {
        assert_eq!(verb(&Method::GET, "/api/v1/pods?watch=1"), Some(Verb::Watch));
        assert_eq!(verb(&Method::GET, "/api/v1/namespaces/a/pods/b?watch=1"), Some(Verb::Get));
        assert_eq!(verb(&Method::GET, "/api/v1/watch/namespaces/a/pods/b"), Some(Verb::Watch));
        assert_eq!(verb(&Method::POST, "/api/v1/watch/pods"), None);
        assert_eq!(verb(&Method::GET, "/api/v1/pods?watch=0"), Some(Verb::List));
    }
}
