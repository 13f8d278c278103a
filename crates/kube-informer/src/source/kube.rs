//! Lists and watches through a `kube_client::Client`.

use std::any::TypeId;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response, header};
use kube_client::Client;
use kube_client::client::Body;
use kube_core::{ClusterResourceScope, Resource, TypeMeta};
use kube_wire::{Codec, DecodeOptions, Encoding, Limits};
use serde::de::DeserializeOwned;

use super::stream::{Reading, list_stream, watch_stream};
use super::{ListStream, ListWatch, Scope, SourceError, Want, WatchStream, is_segment};
use crate::reflector::{ListRequest, WatchRequest};

/// The server does not have the encoding that was asked for.
const NOT_ACCEPTABLE: u16 = 406;

/// What may be changed about requests: what is selected, and parameters that this library knows nothing of.
///
/// What following relies on (versions, pages, bookmarks, initial events, time-outs) is not here, and parameters of
/// those names are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tweak {
    /// `labelSelector`; empty for none.
    pub label_selector: String,
    /// `fieldSelector`; empty for none.
    pub field_selector: String,
    /// Other parameters, for example `shardSelector`.
    pub parameters: Vec<(String, String)>,
}

/// The names of parameters that only the reflector sets.
const RESERVED: [&str; 10] = [
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
];

/// One kind on one API server, in one namespace or in all.
///
/// A client that kube makes by itself asks again when a server has no room (429, 503, 504), and says nothing of it: then
/// neither the status nor the error hook can. Set `default_retry` of its `Config` to false, and the informer waits as
/// long as the server asks for, and says so.
pub struct KubeSource<K> {
    client: Client,
    scope: Scope,
    path: String,
    /// The kind is the metadata of another one.
    metadata_only: bool,
    encoding: Encoding,
    /// What the objects are; none if that is not known.
    types: Option<Arc<TypeMeta>>,
    /// The server has refused to answer in that encoding.
    json_only: AtomicBool,
    tweak: Tweak,
    options: DecodeOptions,
    limits: Limits,
    codec: Codec<K>,
}

impl<K: Resource + DeserializeOwned + 'static> KubeSource<K> {
    /// All objects of a kind, in all namespaces.
    pub fn all(client: Client, kind: &K::DynamicType) -> Self {
        Self::decoding(Codec::serde(), client, None, kind)
    }

    /// The objects of a kind in one namespace; in all if its name is empty. Lists and watches of a type without
    /// namespaces fail.
    pub fn namespaced(client: Client, namespace: &str, kind: &K::DynamicType) -> Self {
        Self::decoding(Codec::serde(), client, Some(namespace), kind)
    }

    /// The objects of a kind in several namespaces: a source for each, for
    /// [`SharedInformer::across`](crate::SharedInformer::across).
    pub fn namespaces<N: AsRef<str>>(
        client: &Client,
        namespaces: impl IntoIterator<Item = N>,
        kind: &K::DynamicType,
    ) -> Vec<Self> {
        let one = |namespace: N| Self::namespaced(client.clone(), namespace.as_ref(), kind);
        namespaces.into_iter().map(one).collect()
    }
}

impl<K: Resource> KubeSource<K> {
    /// Only objects with these labels.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.tweak.label_selector = selector.into();
        self
    }

    /// Only objects with these fields.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.tweak.field_selector = selector.into();
        self
    }

    /// Leaves out the objects of these namespaces, for others to follow.
    #[must_use]
    pub fn except(mut self, namespaces: impl IntoIterator<Item: Into<String>>) -> Self {
        self.scope.except.extend(namespaces.into_iter().map(Into::into));
        self
    }

    /// Asks for the metadata of objects alone, whatever the kind.
    #[must_use]
    pub(crate) fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self.encoding = Encoding::best_for("meta.k8s.io", "v1", "PartialObjectMetadata");
        self
    }

    /// Changes what is asked for in ways that have no method here.
    #[must_use]
    pub fn tweak(mut self, change: impl FnOnce(&mut Tweak)) -> Self {
        change(&mut self.tweak);
        self
    }

    /// Asks for JSON, also where the server has something better.
    #[must_use]
    pub fn json(mut self) -> Self {
        self.encoding = Encoding::Json;
        self
    }

    /// Keeps `metadata.managedFields`, which are left out by default.
    #[must_use]
    pub fn keep_managed_fields(mut self, keep: bool) -> Self {
        self.options = self.options.keep_managed_fields(keep);
        self
    }

    /// Bounds on what the server may send.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The objects of a kind, in one namespace or in all, for a type that is decoded in this way.
    pub(crate) fn decoding(
        codec: Codec<K>,
        client: Client,
        namespace: Option<&str>,
        kind: &K::DynamicType,
    ) -> Self {
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        let scope = Scope {
            group: K::group(kind).into_owned(),
            version: K::version(kind).into_owned(),
            plural: K::plural(kind).into_owned(),
            namespace: namespace.map(str::to_owned),
            ..Scope::default()
        };
        Self {
            client,
            scope,
            path: K::url_path(kind, namespace),
            metadata_only: K::metadata_api(),
            encoding: match K::metadata_api() {
                true => Encoding::best_for("meta.k8s.io", "v1", "PartialObjectMetadata"),
                false => Encoding::best_for(&K::group(kind), &K::version(kind), &K::kind(kind)),
            },
            types: (!K::kind(kind).is_empty()).then(|| {
                let (api_version, kind) = (K::api_version(kind).into_owned(), K::kind(kind).into_owned());
                Arc::new(TypeMeta { api_version, kind })
            }),
            json_only: AtomicBool::new(false),
            tweak: Tweak::default(),
            options: DecodeOptions::default(),
            limits: Limits::default(),
            codec,
        }
    }
}

impl<K> KubeSource<K> {
    fn list_uri(&self, request: &ListRequest) -> String {
        let limit = request.limit.map(|limit| limit.to_string()).unwrap_or_default();
        // Without a match rule a limit would make the version exact.
        let matching = match request.resource_version.as_str() {
            "" | "0" => "",
            _ => "NotOlderThan",
        };
        self.uri(&[
            ("resourceVersion", &request.resource_version),
            ("resourceVersionMatch", matching),
            ("limit", &limit),
            ("continue", &request.continue_token),
        ])
    }

    fn watch_uri(&self, request: &WatchRequest) -> String {
        let timeout = request.timeout.as_secs().to_string();
        let (initial, matching) = if request.initial_events { ("true", "NotOlderThan") } else { ("", "") };
        self.uri(&[
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", &request.resource_version),
            ("resourceVersionMatch", matching),
            ("sendInitialEvents", initial),
            ("timeoutSeconds", &timeout),
        ])
    }

    fn field_selector(&self) -> Cow<'_, str> {
        if self.scope.except.is_empty() {
            return self.tweak.field_selector.as_str().into();
        }
        let terms = self.scope.except.iter().map(|namespace| format!("metadata.namespace!={namespace}"));
        let own = Some(self.tweak.field_selector.clone()).filter(|own| !own.is_empty());
        terms.chain(own).collect::<Vec<_>>().join(",").into()
    }

    /// The path with the parameters that have a value.
    fn uri(&self, parameters: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let fields = self.field_selector();
        let own = [("labelSelector", &*self.tweak.label_selector), ("fieldSelector", &fields)];
        for (name, value) in parameters.iter().chain(&own).filter(|(_, value)| !value.is_empty()) {
            query.append_pair(name, value);
        }
        for (name, value) in &self.tweak.parameters {
            if !RESERVED.contains(&name.as_str()) {
                query.append_pair(name, value);
            }
        }
        format!("{}?{}", self.path, query.finish())
    }

    /// Asks in the best encoding, and in JSON if the server does not have it; returns what it answered in.
    async fn get(&self, uri: &str, watch: bool) -> Result<(Body, Reading), SourceError> {
        let encoding = if self.json_only.load(Ordering::Relaxed) { Encoding::Json } else { self.encoding };
        let response = match self.send(uri, watch, encoding).await {
            Err(error) if error.code == NOT_ACCEPTABLE && encoding != Encoding::Json => {
                self.json_only.store(true, Ordering::Relaxed);
                self.send(uri, watch, Encoding::Json).await?
            }
            answer => answer?,
        };
        let content_type = response.headers().get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let encoding = encoding.of_answer(content_type);
        let metadata_only = self.metadata_only;
        let (limits, options, types) = (self.limits, self.options, self.types.clone());
        let reading = Reading { encoding, limits, options, metadata_only, types };
        Ok((response.into_body(), reading))
    }

    async fn send(&self, uri: &str, watch: bool, encoding: Encoding) -> Result<Response<Body>, SourceError> {
        let mut request = Request::get(uri).header(header::ACCEPT, self.accept(watch, encoding));
        if watch {
            // A compressed watch would wait for its compressor.
            request = request.header(header::ACCEPT_ENCODING, "identity");
        }
        let request = request.body(Body::empty()).map_err(|error| SourceError::connection(&error))?;
        let response = self.client.send(request).await.map_err(|error| SourceError::connection(&error))?;
        SourceError::unless_good(response).await
    }

    /// What to ask for.
    fn accept(&self, watch: bool, encoding: Encoding) -> String {
        if !self.metadata_only {
            return encoding.accept().to_owned();
        }
        let form = if watch { "PartialObjectMetadata" } else { "PartialObjectMetadataList" };
        let each = encoding.accept().split(", ");
        let each: Vec<String> = each.map(|kind| format!("{kind};as={form};g=meta.k8s.io;v=v1")).collect();
        each.join(", ")
    }
}

impl<K: Resource + 'static> KubeSource<K> {
    /// A server would say that there is no such thing, and not why.
    fn check_scope(&self) -> Result<(), SourceError> {
        match &self.scope.namespace {
            Some(namespace) if is_cluster_scoped::<K>() => {
                Err(SourceError::no_namespaces(&self.scope.resource(), namespace))
            }
            Some(namespace) if !is_segment(namespace) => Err(SourceError::bad_namespace(namespace)),
            _ => Ok(()),
        }
    }
}

/// Whether objects of a type have no namespaces. Of types whose kind is data, nothing is known.
pub(crate) fn is_cluster_scoped<K: Resource + 'static>() -> bool {
    TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>()
}

impl<K: Resource + Send + Sync + 'static> ListWatch<K> for KubeSource<K> {
    fn scope(&self) -> Scope {
        self.scope.clone()
    }

    fn list<'a>(
        &'a self,
        request: &'a ListRequest,
        want: &'a Arc<Want<K>>,
    ) -> BoxFuture<'a, Result<ListStream<K>, SourceError>> {
        async move {
            self.check_scope()?;
            let (body, reading) = self.get(&self.list_uri(request), false).await?;
            Ok(list_stream(body, reading, self.codec, want))
        }
        .boxed()
    }

    fn watch<'a>(
        &'a self,
        request: &'a WatchRequest,
        want: &'a Arc<Want<K>>,
    ) -> BoxFuture<'a, Result<WatchStream<K>, SourceError>> {
        async move {
            self.check_scope()?;
            let (body, reading) = self.get(&self.watch_uri(request), true).await?;
            Ok(watch_stream(body, reading, self.codec, want, request.initial_events))
        }
        .boxed()
    }
}

impl<K> fmt::Debug for KubeSource<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubeSource")
            .field("path", &self.path)
            .field("tweak", &self.tweak)
            .finish_non_exhaustive()
    }
}

impl<K, S: ListWatch<K> + ?Sized> ListWatch<K> for Arc<S> {
    fn scope(&self) -> Scope {
        (**self).scope()
    }

    fn list<'a>(
        &'a self,
        request: &'a ListRequest,
        want: &'a Arc<Want<K>>,
    ) -> BoxFuture<'a, Result<ListStream<K>, SourceError>> {
        (**self).list(request, want)
    }

    fn watch<'a>(
        &'a self,
        request: &'a WatchRequest,
        want: &'a Arc<Want<K>>,
    ) -> BoxFuture<'a, Result<WatchStream<K>, SourceError>> {
        (**self).watch(request, want)
    }
}
