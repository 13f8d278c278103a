//! The server of one run, what was written to it, and what must be there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use kube_client::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_client::{Client, Error};
use kube_core::DynamicObject;
use kube_informer_e2e::RealServer;
use kube_testserver::{Fault, InjectedFault, RequestRecord, TestServer, Verb};
use serde_json::{Value, json};

use crate::log::State;
use crate::resources::{Known, widgets};
use crate::scenario::{FaultKind, FaultStep, Informer, Object, ServerSettings, Texts};

/// The finalizer of objects that have one.
const FINALIZER: &str = "judge.example.com/wait";

/// How often a new resource is looked for.
const POLL: std::time::Duration = std::time::Duration::from_millis(50);

/// How large an oversized event is: larger than anything that a server sends.
const OVERSIZED: usize = 5 << 20;

/// The server of one run.
pub struct Stage {
    server: Server,
    client: Client,
    kubeconfig: String,
    /// Stands before the names of namespaces, and of objects without one, where runs share a server.
    prefix: String,
    /// What must be there.
    objects: BTreeMap<(Known, String), Written>,
    /// The version that each write got.
    versions: BTreeMap<u64, u64>,
    writes: u64,
    faults: HashMap<String, Vec<InjectedFault>>,
}

#[derive(Debug)]
enum Server {
    Embedded(TestServer),
    Real,
}

/// An object as it was written last.
#[derive(Clone, Debug)]
struct Written {
    state: State,
    labels: Texts,
    finalizer: bool,
}

impl Stage {
    /// An embedded server of its own.
    pub async fn embedded(settings: Option<&ServerSettings>) -> Result<Self, String> {
        let settings = settings.cloned().unwrap_or_default();
        let mut builder =
            TestServer::builder().watch_list(!settings.no_watch_list).watch_cache(!settings.no_watch_cache);
        if let Some(bookmarks) = settings.bookmarks {
            builder = builder.bookmark_interval(std::time::Duration::from_millis(bookmarks));
        }
        let server = builder.start().await.map_err(text)?;
        let (client, kubeconfig) = (server.client().map_err(text)?, server.kubeconfig());
        server.put(&widgets()).map_err(text)?;
        Self::new(Server::Embedded(server), client, kubeconfig, String::new()).await
    }

    /// Namespaces of its own on a real server, which has to know the custom resource.
    pub async fn real(server: &RealServer, run: &str) -> Result<Self, String> {
        let client = server.client().await.map_err(text)?;
        let kubeconfig = std::fs::read_to_string(server.kubeconfig()).map_err(text)?;
        Self::new(Server::Real, client, kubeconfig, format!("{run}-")).await
    }

    async fn new(server: Server, client: Client, kubeconfig: String, prefix: String) -> Result<Self, String> {
        let stage = Self {
            server,
            client,
            kubeconfig,
            prefix,
            objects: BTreeMap::new(),
            versions: BTreeMap::new(),
            writes: 0,
            faults: HashMap::new(),
        };
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(stage.client.clone());
        for name in ["one", "two"] {
            let name = stage.namespace(name);
            let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).map_err(text)?;
            namespaces.create(&PostParams::default(), &namespace).await.map_err(text)?;
        }
        Ok(stage)
    }

    /// Whether it is a real server, which others write to as well.
    pub fn is_real(&self) -> bool {
        matches!(self.server, Server::Real)
    }

    /// A client that may do everything.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The same, for other programs.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// What a namespace is called here; all namespaces are all everywhere.
    pub fn namespace(&self, name: &str) -> String {
        if name.is_empty() { String::new() } else { format!("{}{name}", self.prefix) }
    }

    /// What an object is called here.
    fn name(&self, known: &Known, name: &str) -> String {
        if known.namespaced { name.to_owned() } else { format!("{}{name}", self.prefix) }
    }

    /// What a key is everywhere.
    pub fn common<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(self.prefix.as_str()).unwrap_or(key)
    }

    /// Labels that informers have to ask for, so that they see nothing of other runs.
    pub fn own_labels(&self) -> Texts {
        match self.server {
            Server::Embedded(_) => Texts::new(),
            Server::Real => [("run".to_owned(), self.prefix.trim_end_matches('-').to_owned())].into(),
        }
    }

    /// What an informer must have, by key: of those that this says yes to.
    pub fn wanted(&self, informer: &Informer, filter: &Texts) -> BTreeMap<String, State> {
        let has = |labels: &Texts, wanted: &Texts| wanted.iter().all(|(k, v)| labels.get(k) == Some(v));
        let field = |key: &str, field: &str| {
            let (namespace, name) = key.split_once('/').unwrap_or(("", key));
            if field == "metadata.name" { name.to_owned() } else { self.common(namespace).to_owned() }
        };
        let objects = self.objects.iter().filter(|((known, key), written)| {
            let namespace = key.split_once('/').map_or("", |(namespace, _)| namespace);
            known.plural == informer.resource
                && (informer.namespace.is_empty() || self.namespace(&informer.namespace) == namespace)
                && informer.fields.iter().all(|(name, value)| field(key, name) == *value)
                && has(&written.labels, &informer.labels)
                && has(&written.labels, filter)
        });
        objects.map(|((_, key), written)| (key.clone(), written.state)).collect()
    }

    /// The last write whose version is no later than this one, and whether that is its version.
    pub fn write_at(&self, version: &str) -> Option<(u64, bool)> {
        let version: u64 = version.parse().ok()?;
        let before = self.versions.iter().rev().find(|(_, written)| **written <= version);
        before.map(|(write, written)| (*write, *written == version))
    }

    /// The version that a write got.
    pub fn version_of(&self, write: u64) -> Option<u64> {
        self.versions.get(&write).copied()
    }

    /// The version of the last write.
    pub fn last_version(&self) -> u64 {
        self.versions.values().copied().max().unwrap_or(0)
    }

    fn place(&self, object: &Object) -> Result<(Known, Api<DynamicObject>, String, String), String> {
        let known = Known::find(&object.resource)?;
        let (resource, name) = (known.api_resource(), self.name(&known, &object.name));
        let namespace = self.namespace(&object.namespace);
        if known.namespaced {
            let api = Api::namespaced_with(self.client.clone(), &namespace, &resource);
            Ok((known, api, format!("{namespace}/{name}"), name))
        } else {
            Ok((known, Api::all_with(self.client.clone(), &resource), name.clone(), name))
        }
    }

    /// Makes an object.
    pub async fn create(&mut self, object: &Object) -> Result<(), String> {
        let (known, api, key, name) = self.place(object)?;
        let mut labels = object.labels.clone();
        self.writes += 1;
        let write = self.writes;
        let mut metadata = json!({
            "name": name,
            "annotations": {"write": write.to_string(), "words": object.words},
            "finalizers": if object.finalizer { vec![FINALIZER] } else { Vec::new() },
        });
        labels.extend(self.own_labels());
        metadata["labels"] = json!(labels);
        let resource = known.api_resource();
        let new = json!({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata});
        let new: DynamicObject = serde_json::from_value(new).map_err(text)?;
        let made = api.create(&PostParams::default(), &new).await.map_err(text)?;
        self.note(write, &made);
        let state = State { write, deleting: false };
        let written = Written { state, labels: object.labels.clone(), finalizer: object.finalizer };
        self.objects.insert((known, key), written);
        Ok(())
    }

    /// Changes an object.
    pub async fn update(&mut self, object: &Object) -> Result<(), String> {
        self.writes += 1;
        let write = self.writes;
        let mut annotations = json!({"write": write.to_string()});
        if !object.words.is_empty() {
            annotations["words"] = json!(object.words);
        }
        let patch = json!({"metadata": {"annotations": annotations, "labels": object.labels}});
        let (known, key, made) = self.patch(object, patch).await?;
        self.note(write, &made);
        if let Some(written) = self.objects.get_mut(&(known, key)) {
            written.state.write = write;
            written.labels.extend(object.labels.clone());
        }
        Ok(())
    }

    /// Writes an object as it is.
    pub async fn touch(&mut self, object: &Object) -> Result<(), String> {
        self.patch(object, json!({"metadata": {}})).await.map(|_| ())
    }

    /// Takes its finalizers from an object.
    pub async fn finalize(&mut self, object: &Object) -> Result<(), String> {
        let (known, key, _) = self.patch(object, json!({"metadata": {"finalizers": null}})).await?;
        self.objects.remove(&(known, key));
        Ok(())
    }

    async fn patch(&self, object: &Object, patch: Value) -> Result<(Known, String, DynamicObject), String> {
        let (known, api, key, name) = self.place(object)?;
        let patched = api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.map_err(text)?;
        Ok((known, key, patched))
    }

    /// Deletes an object.
    pub async fn delete(&mut self, object: &Object) -> Result<(), String> {
        let (known, api, key, name) = self.place(object)?;
        api.delete(&name, &DeleteParams::default()).await.map_err(text)?;
        match self.objects.get_mut(&(known, key.clone())) {
            Some(written) if written.finalizer => written.state.deleting = true,
            _ => drop(self.objects.remove(&(known, key))),
        }
        Ok(())
    }

    fn note(&mut self, write: u64, made: &DynamicObject) {
        let version = made.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
        self.versions.insert(write, version.unwrap_or(0));
    }

    fn embedded_server(&self) -> Result<&TestServer, String> {
        match &self.server {
            Server::Embedded(server) => Ok(server),
            Server::Real => Err("only the embedded server can do that".to_owned()),
        }
    }

    /// Waits until the server's memory has what was written: a list at version 0 may show an older state.
    pub async fn remembered(&self, informer: &Informer) -> Result<(), String> {
        if !self.is_real() {
            return Ok(());
        }
        let known = Known::find(&informer.resource)?;
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &known.api_resource());
        let own: Vec<String> =
            self.own_labels().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let from_memory = ListParams::default().labels(&own.join(",")).match_any();
        let everything = Informer {
            labels: Texts::new(),
            fields: Texts::new(),
            namespace: String::new(),
            ..informer.clone()
        };
        let wanted = self.wanted(&everything, &Texts::new());
        loop {
            let list = api.list_metadata(&from_memory).await.map_err(text)?;
            let written = |object: &kube_core::metadata::PartialObjectMeta<DynamicObject>| {
                let annotations = object.metadata.annotations.as_ref()?;
                annotations.get("write")?.parse::<u64>().ok()
            };
            let has: BTreeSet<Option<u64>> = list.items.iter().map(written).collect();
            if has == wanted.values().map(|state| Some(state.write)).collect() {
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Lets something go wrong.
    pub fn fault(&mut self, step: &FaultStep) -> Result<(), String> {
        let after = usize::try_from(step.after).map_err(text)?;
        let mut fault = match step.kind {
            FaultKind::Reply => Fault::reply(step.code),
            FaultKind::ErrorInStream => Fault::error_in_stream(step.code, step.after),
            FaultKind::Cut => Fault::cut_after(after),
            FaultKind::Truncated => Fault::truncated_frame(step.after),
            FaultKind::Garbage => Fault::garbage_frame(step.after),
            FaultKind::Oversized => Fault::oversized_frame(OVERSIZED, step.after),
            FaultKind::CloseAtOnce => Fault::close_at_once(),
        };
        fault = match step.on.as_deref() {
            Some("list") => fault.on(Verb::List),
            Some("watch") => fault.on(Verb::Watch),
            _ => fault.on(Verb::List).on(Verb::Watch),
        };
        fault = fault.skip(step.skip);
        if let Some(times) = step.times {
            fault = fault.times(times);
        }
        let injected = self.embedded_server()?.inject(fault);
        self.faults.entry(step.name.clone()).or_default().push(injected);
        Ok(())
    }

    /// How often it went wrong.
    pub fn hits(&self, name: &str) -> u64 {
        self.faults.get(name).into_iter().flatten().map(InjectedFault::hits).sum()
    }

    /// Lets it go wrong no longer.
    pub fn clear(&mut self, name: &str) {
        for fault in self.faults.remove(name).into_iter().flatten() {
            fault.remove();
        }
    }

    /// Refuses all requests of an informer, and ends its watches.
    pub fn offline(&mut self, name: &str, informer: &Informer) -> Result<(), String> {
        let mut fault = Fault::reply(503).on(Verb::List).on(Verb::Watch).resource(informer.resource.as_str());
        if !informer.namespace.is_empty() {
            fault = fault.namespace(self.namespace(&informer.namespace));
        }
        let server = self.embedded_server()?;
        let injected = server.inject(fault);
        let known = Known::find(&informer.resource)?;
        let resource = format!("{}.{}", known.plural, known.group);
        server.stop_watches_of(resource.trim_end_matches('.'));
        self.faults.entry(name.to_owned()).or_default().push(injected);
        Ok(())
    }

    /// Ends all watches in good order; returns how many requests there will have been when all have come back.
    pub fn stop_watches(&self) -> Result<u64, String> {
        let server = self.embedded_server()?;
        let before = server.stats().requests;
        Ok(before + server.stop_watches() as u64)
    }

    /// Whether so many watches are open, as far as that can be known.
    pub fn has_watches(&self, count: usize) -> bool {
        match &self.server {
            Server::Embedded(server) => server.stats().watches >= count,
            Server::Real => true,
        }
    }

    /// How many requests there have been.
    pub fn count_requests(&self) -> Result<u64, String> {
        Ok(self.embedded_server()?.stats().requests)
    }

    /// Forgets all history.
    pub fn compact(&self) -> Result<(), String> {
        self.embedded_server().map(|server| _ = server.compact())
    }

    /// How often everything was asked for, and answered.
    pub fn lists(&self, informer: &Informer) -> Result<u64, String> {
        let namespace = self.namespace(&informer.namespace);
        let requests = self.embedded_server()?.requests();
        let lists = requests.iter().filter(|request| {
            let whole = match request.verb {
                // A list of one object is a probe of ours: whether the server has come as far as the copy.
                Some(Verb::List) => {
                    request.parameter("continue").is_none()
                        && request.parameter("limit").as_deref() != Some("1")
                }
                Some(Verb::Watch) => request.parameter("sendInitialEvents").as_deref() == Some("true"),
                _ => false,
            };
            whole
                && request.code == Some(200)
                && request.resource == informer.resource
                && request.namespace == namespace
        });
        Ok(lists.count() as u64)
    }

    /// What was asked for and answered, in words: the lists and watches of one informer.
    pub fn asked(&self, informer: &Informer) -> Vec<String> {
        let Server::Embedded(server) = &self.server else { return Vec::new() };
        let namespace = self.namespace(&informer.namespace);
        let requests = server.requests();
        let answered = requests.iter().filter(|request| {
            request.code == Some(200)
                && matches!(request.verb, Some(Verb::List | Verb::Watch))
                && request.resource == informer.resource
                && request.namespace == namespace
        });
        answered.map(|request| self.in_words(request)).collect()
    }

    fn in_words(&self, request: &RequestRecord) -> String {
        let text = |name: &str| request.parameter(name).unwrap_or_default();
        let version = match text("resourceVersion").as_str() {
            "" => "the latest".to_owned(),
            "0" => "any".to_owned(),
            version => match self.write_at(version) {
                Some((write, true)) => format!("#{write}"),
                Some((write, false)) => format!("after #{write}"),
                None => "before #1".to_owned(),
            },
        };
        let limit = Some(text("limit")).filter(|limit| !matches!(limit.as_str(), "" | "0"));
        let limit = limit.map(|limit| format!(" in pages of {limit}")).unwrap_or_default();
        match request.verb {
            Some(Verb::Watch) if text("sendInitialEvents") == "true" => format!("stream at {version}"),
            Some(Verb::Watch) => format!("watch from {version}"),
            _ if text("continue").is_empty() => format!("list at {version}{limit}"),
            _ => format!("next page{limit}"),
        }
    }

    /// What was asked, for people.
    pub fn requests(&self) -> Vec<String> {
        let Server::Embedded(server) = &self.server else { return Vec::new() };
        let line = |request: &RequestRecord| {
            format!("{} {}?{} -> {:?}", request.method, request.path, request.query, request.code)
        };
        server.requests().iter().filter(|request| request.method == "GET").map(line).collect()
    }
}

/// Makes the custom resource on a real server, and waits until it can be used.
pub async fn define_widgets(server: &RealServer) -> Result<(), String> {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    let client = server.client().await.map_err(text)?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = serde_json::from_value(widgets()).map_err(text)?;
    definitions.create(&PostParams::default(), &definition).await.map_err(text)?;
    let known = Known::find("widgets")?;
    let widgets: Api<DynamicObject> = Api::all_with(client, &known.api_resource());
    loop {
        match widgets.list(&Default::default()).await {
            // At first nobody knows it, and then nobody can read it yet.
            Err(Error::Api(status)) if matches!(status.code, 404 | 429) => tokio::time::sleep(POLL).await,
            other => return other.map(|_| ()).map_err(text),
        }
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage")
            .field("server", &self.server)
            .field("writes", &self.writes)
            .finish_non_exhaustive()
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
