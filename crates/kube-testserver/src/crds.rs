//! Custom resources come and go with their definitions: what a write of a CustomResourceDefinition does to
//! the catalog, and what its deletion does to the objects.

use std::sync::Arc;

use parking_lot::ReentrantMutexGuard;
use serde_json::{Value, json};

use crate::apply::{self, Manager, Operation, ResetFields};
use crate::cluster::Cluster;
use crate::crd::{self, Definition, NamesInUse, Scope, Version};
use crate::kinds::{Resource, Selectable, Subresource, Traits, Verb};
use crate::selector::Selector;
use crate::status::ApiError;
use crate::storage::{PageQuery, TableId, object_key};
use crate::verbs::{Change, DeleteOptions, WriteOptions, delete_object, update_object};

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";

/// Holds a definition until all its objects are gone.
const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// A definition that is about to be stored; nothing for other kinds.
#[derive(Debug, Default)]
#[must_use = "a stored definition is served only after `commit`"]
pub(crate) struct Prepared(Option<Definition>);

/// Keeps definitions and what they define as they are, until the guard is dropped; nothing for other kinds.
pub(crate) fn lock<'a>(cluster: &'a Cluster, resource: &Resource) -> Option<ReentrantMutexGuard<'a, ()>> {
    (resource.custom.is_some() || resource.is(GROUP, PLURAL)).then(|| cluster.definitions.lock())
}

/// Completes a new definition.
pub(crate) fn complete(cluster: &Cluster, object: &mut Value) -> Result<(), ApiError> {
    crd::fill_defaults(object);
    crd::reset_status(object);
    let in_use = names_in_use(cluster, object);
    crd::establish(object, &in_use, cluster.clock.now());
    Ok(())
}

/// Checks a definition that is about to be stored, and says in it what the server will do.
pub(crate) fn before_write(
    cluster: &Cluster,
    resource: &Resource,
    live: Option<&Value>,
    object: &mut Value,
) -> Result<Prepared, ApiError> {
    if !resource.is(GROUP, PLURAL) {
        return Ok(Prepared(None));
    }
    crd::fill_defaults(object);
    let invalid = |object: &Value, causes| {
        ApiError::invalid(resource.about(), object["metadata"]["name"].as_str().unwrap_or(""), causes)
    };
    let definition = Definition::parse(object).map_err(|causes| invalid(object, causes))?;
    if let Some(live) = live {
        let causes = definition.check_update(live);
        if !causes.is_empty() {
            return Err(invalid(object, causes));
        }
        crd::set_stored_version(object);
        let in_use = names_in_use(cluster, object);
        crd::establish(object, &in_use, cluster.clock.now());
    }
    Ok(Prepared(crd::is_established(object).then_some(definition)))
}

/// Says in a new definition that the server wrote what it says about itself.
pub(crate) fn own_status(cluster: &Cluster, resource: &Resource, object: &mut Value) {
    let Some(ty) = resource.type_ref().filter(|_| resource.is(GROUP, PLURAL)) else { return };
    let mut before = object.clone();
    before["status"]["conditions"] = json!([]);
    before["status"]["acceptedNames"] = json!({"kind": "", "plural": ""});
    let manager = Manager {
        name: "apiserver",
        operation: Operation::Update,
        api_version: &resource.api_version(),
        subresource: "status",
        time: &cluster.clock.now_text(),
    };
    apply::track_update(Some(&before), object, ty, &manager, &ResetFields::of_status(&resource.kind));
}

impl Prepared {
    /// What the client who writes the definition is to be warned of.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.0.as_ref().map(|definition| definition.warnings.clone()).unwrap_or_default()
    }

    /// Serves what was stored.
    pub(crate) fn commit(self, cluster: &Cluster) {
        if let Some(definition) = self.0 {
            register(cluster, definition);
        }
    }
}

/// Marks a served definition that is being deleted: its objects have to go first, even if there are none.
pub(crate) fn hold(cluster: &Cluster, object: &mut Value) {
    let name = object["metadata"]["name"].as_str().unwrap_or("").to_owned();
    if table_of(cluster, &name).is_none() {
        return;
    }
    crd::terminate(object, cluster.clock.now());
    let finalizers = &mut object["metadata"]["finalizers"];
    match finalizers {
        Value::Array(list) if list.contains(&json!(CLEANUP_FINALIZER)) => {}
        Value::Array(list) => list.push(json!(CLEANUP_FINALIZER)),
        _ => *finalizers = json!([CLEANUP_FINALIZER]),
    }
}

/// Refuses new objects under a definition that is being deleted.
pub(crate) fn check_create(cluster: &Cluster, resource: &Resource, name: &str) -> Result<(), ApiError> {
    if resource.custom.is_none() {
        return Ok(());
    }
    let Some(definitions) = cluster.builtin(GROUP, PLURAL) else { return Ok(()) };
    let key = object_key("", &format!("{}.{}", resource.plural, resource.group));
    let Some(definition) = cluster.store.get(definitions.table, &key) else { return Ok(()) };
    if definition.is_deleting() {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(ApiError::forbidden(resource.about(), name, why));
    }
    Ok(())
}

/// Deletes the objects of a definition that was marked for deletion.
pub(crate) fn after_marking(cluster: &Arc<Cluster>, resource: &Resource, name: &str) {
    if !resource.is(GROUP, PLURAL) {
        return;
    }
    let Some(custom) = stored_resource(cluster, name) else { return };
    let all = Selector::default();
    let query = PageQuery { namespace: "", selector: &all, at: None, after: None, limit: None };
    let Ok(page) = cluster.store.page(custom.table, &query) else { return };
    for item in page.items {
        // One that somebody else deletes at the same moment is gone as well.
        let _ = delete_object(cluster, &custom, item.namespace(), item.name(), &DeleteOptions::default());
    }
    release(cluster, &custom);
}

/// The resource of a definition in the version in which its objects are stored, which need not be served.
fn stored_resource(cluster: &Cluster, name: &str) -> Option<Arc<Resource>> {
    let table = table_of(cluster, name)?;
    let definitions = cluster.builtin(GROUP, PLURAL)?;
    let object = cluster.store.get(definitions.table, &object_key("", name))?.object();
    let definition = Arc::new(Definition::parse(&Value::Object(object)).ok()?);
    let at = definition.versions.iter().position(|version| version.storage)?;
    Some(Arc::new(resource(&definition, at, table)))
}

/// Cleans up after an object is gone: a definition takes its resources along, and the last object of a
/// deleted definition lets the definition go.
pub(crate) fn after_removal(cluster: &Arc<Cluster>, resource: &Arc<Resource>) {
    if resource.is(GROUP, PLURAL) {
        unregister_missing(cluster, resource);
    } else if resource.custom.is_some() {
        release(cluster, resource);
    }
}

/// Lets a deleted definition go, if it has no objects left.
fn release(cluster: &Arc<Cluster>, custom: &Resource) {
    if cluster.store.len(custom.table) > 0 {
        return;
    }
    let Some(definitions) = cluster.builtin(GROUP, PLURAL) else { return };
    let name = format!("{}.{}", custom.plural, custom.group);
    let options = WriteOptions::internal("kube-testserver");
    // Fails only if the definition is not there, and then there is nothing to release.
    let _ = update_object(cluster, &definitions, "", &name, &options, |live| {
        let mut object = live.clone();
        if object["metadata"]["deletionTimestamp"].is_string()
            && let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut()
        {
            finalizers.retain(|finalizer| finalizer != CLEANUP_FINALIZER);
        }
        Ok(Change::from(object))
    });
}

fn unregister_missing(cluster: &Cluster, definitions: &Resource) {
    let gone: Vec<(String, String)> = cluster
        .custom_tables
        .lock()
        .keys()
        .filter(|(group, plural)| {
            let key = object_key("", &format!("{plural}.{group}"));
            cluster.store.get(definitions.table, &key).is_none()
        })
        .cloned()
        .collect();
    for (group, plural) in gone {
        let table = cluster.custom_tables.lock().remove(&(group.clone(), plural.clone()));
        cluster.change_catalog(|catalog| catalog.remove(&group, &plural));
        if let Some(table) = table {
            cluster.store.close_table(table);
        }
    }
}

fn table_of(cluster: &Cluster, name: &str) -> Option<TableId> {
    let (plural, group) = name.split_once('.')?;
    cluster.custom_tables.lock().get(&(group.to_owned(), plural.to_owned())).copied()
}

fn names_in_use(cluster: &Cluster, object: &Value) -> NamesInUse {
    let mut in_use = NamesInUse::default();
    let Some(definitions) = cluster.builtin(GROUP, PLURAL) else { return in_use };
    let all = Selector::default();
    let query = PageQuery { namespace: "", selector: &all, at: None, after: None, limit: None };
    let Ok(page) = cluster.store.page(definitions.table, &query) else { return in_use };
    for other in page.items {
        let other = Value::Object(other.object());
        let same = other["metadata"]["name"] == object["metadata"]["name"];
        if !same && other["spec"]["group"] == object["spec"]["group"] {
            in_use.add(&other);
        }
    }
    in_use
}

fn register(cluster: &Cluster, definition: Definition) {
    let definition = Arc::new(definition);
    let (group, plural) = (definition.group.clone(), definition.names.plural.clone());
    let table = *cluster
        .custom_tables
        .lock()
        .entry((group.clone(), plural.clone()))
        .or_insert_with(|| cluster.store.add_table());
    let mut order: Vec<usize> = (0..definition.versions.len()).collect();
    order.sort_by(|one, two| {
        crd::compare_versions(&definition.versions[*two].name, &definition.versions[*one].name)
    });
    cluster.change_catalog(|catalog| {
        catalog.remove(&group, &plural);
        for at in order {
            if definition.versions[at].served {
                catalog.add(Arc::new(resource(&definition, at, table)));
            }
        }
    });
}

fn resource(definition: &Arc<Definition>, at: usize, table: TableId) -> Resource {
    let version = &definition.versions[at];
    let names = &definition.names;
    let words = |list: &[String]| list.iter().map(|word| word.as_str().into()).collect();
    Resource {
        group: definition.group.as_str().into(),
        version: version.name.as_str().into(),
        kind: names.kind.as_str().into(),
        list_kind: names.list_kind.as_str().into(),
        plural: names.plural.as_str().into(),
        singular: names.singular.as_str().into(),
        short_names: words(&names.short_names),
        categories: words(&names.categories),
        namespaced: definition.scope == Scope::Namespaced,
        verbs: Verb::ALL.to_vec(),
        subresources: subresources(version, &names.kind),
        table,
        // All versions keep the fields of the stored one, so that objects need no more than one list.
        selectable: definition
            .storage_version()
            .into_iter()
            .flat_map(|stored| &stored.selectable)
            .map(|field| Selectable {
                label: field.name.as_str().into(),
                path: Vec::new(),
                fallback: Vec::new(),
                absent: "",
            })
            .collect(),
        traits: Traits {
            generation: true,
            status: version.status,
            create_on_update: false,
            unconditional_update: false,
            returns_deleted: false,
            any_finalizer: true,
        },
        warning: version.deprecation.as_deref().map(Box::from),
        custom: Some((Arc::clone(definition), at)),
    }
}

fn subresources(version: &Version, kind: &str) -> Vec<Subresource> {
    let verbs = vec![Verb::Get, Verb::Patch, Verb::Update];
    let mut all = Vec::new();
    if version.status {
        all.push(Subresource {
            name: "status".into(),
            api_version: None,
            kind: kind.into(),
            verbs: verbs.clone(),
        });
    }
    if version.scale.is_some() {
        let api_version = Some(("autoscaling".into(), "v1".into()));
        all.push(Subresource { name: "scale".into(), api_version, kind: "Scale".into(), verbs });
    }
    all
}
