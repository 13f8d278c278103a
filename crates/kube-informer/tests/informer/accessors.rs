//! From a factory to each kind by name, and by group, version and resource.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube_core::{DynamicObject, GroupVersionResource, PartialObjectMeta, Resource, Selector};
use kube_informer::accessors::{Accessor, BuiltIn, Kinds, Visit, groups};
use kube_informer::discovery::Resources;
use kube_informer::factory::FactoryError;
use kube_informer::fanout::{AnyEvent, ListenerOptions};
use kube_informer::informer::GenericInformer;
use kube_informer::{
    MetadataSharedInformerFactory, ObjectOrMetadataInformerFactory, SharedInformer, SharedInformerFactory,
};
use kube_testserver::TestServer;
use kube_wire::Codec;
use serde::de::DeserializeOwned;

use crate::support::Strict;
use crate::{PATIENCE, server, write};

fn gvr(group: &str, version: &str, resource: &str) -> GroupVersionResource {
    GroupVersionResource::gvr(group, version, resource)
}

fn watched(server: &TestServer) -> Vec<String> {
    let requests = server.requests();
    let watches = requests.iter().filter(|request| request.verb == Some(kube_testserver::Verb::Watch));
    let mut all: Vec<String> = watches.map(|request| request.resource.clone()).collect();
    all.sort();
    all
}

/// One would hand it to a controller.
async fn first_name<K>(kind: &Accessor<K>) -> String
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
{
    assert!(tokio::time::timeout(PATIENCE, kind.informer().unwrap().synced()).await.unwrap());
    kind.lister().unwrap().list(&Selector::default())[0].name().to_owned()
}

#[tokio::test(start_paused = true)]
async fn accessors_lead_to_the_informer_and_the_lister_that_everybody_shares() {
    let server = server().await;
    server.seed("{apiVersion: v1, kind: Node, metadata: {name: node-1}}").unwrap();
    server.seed("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}").unwrap();
    let factory = SharedInformerFactory::new(server.in_process_client());
    let (nodes, deployments) = (factory.core().v1().nodes(), factory.apps().v1().deployments());
    let informer: SharedInformer<Deployment> = deployments.informer().unwrap();
    nodes.lister().unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    assert_eq!(
        (first_name(&nodes).await, first_name(&deployments.clone()).await),
        ("node-1".into(), "web".into())
    );
    let (one, two) = (informer.store().list(), factory.of::<Deployment>().unwrap().store().list());
    assert!(one[0].is_same(&two[0]));
    assert_eq!(watched(&server), ["deployments", "nodes"], "what is not asked for is not watched");
    factory.shutdown().await;
    assert_eq!(nodes.informer().unwrap_err(), FactoryError::ShutDown);
}

/// The resources that have accessors.
struct Names(BTreeSet<(String, String, String, String)>);

impl Visit for Names {
    fn visit<K>(&mut self, _: impl FnOnce() -> Codec<K>)
    where
        K: Resource<DynamicType = ()> + Send + Sync + 'static,
    {
        let name = (K::group(&()), K::version(&()), K::plural(&()), K::kind(&()));
        let name = (name.0.into_owned(), name.1.into_owned(), name.2.into_owned(), name.3.into_owned());
        assert!(self.0.insert(name.clone()), "{name:?} comes twice");
    }
}

fn names<S: Kinds>() -> BTreeSet<(String, String, String, String)> {
    let mut names = Names(BTreeSet::new());
    S::each(&mut names);
    names.0
}

#[tokio::test(start_paused = true)]
async fn every_built_in_resource_of_a_server_that_can_be_followed_has_an_accessor() {
    let server = server().await;
    let all = names::<BuiltIn>();
    let resources = Resources::fetch(&server.in_process_client()).await.unwrap();
    let mut found = 0;
    for one in resources.iter().filter(|one| one.can_be_followed()) {
        let kind = one.resource.clone();
        let name = (kind.group, kind.version, kind.plural, kind.kind);
        assert!(all.contains(&name), "{name:?} has no accessor");
        found += 1;
    }
    // A server cannot watch these, and yet can list them; client-go has an accessor too.
    let unwatched: Vec<&str> = all
        .iter()
        .filter(|(group, version, plural, _)| {
            let is_this = |resource: &kube_core::ApiResource| {
                (&resource.group, &resource.version, &resource.plural) == (group, version, plural)
            };
            !resources.iter().any(|one| is_this(&one.resource) && one.can_be_followed())
        })
        .map(|(.., kind)| kind.as_str())
        .collect();
    assert_eq!((found, unwatched), (all.len() - 1, vec!["ComponentStatus"]));
}

#[tokio::test(start_paused = true)]
async fn every_built_in_resource_can_be_followed_though_nobody_names_its_type() {
    let server = server().await;
    let mut all = names::<BuiltIn>();
    // A server can list these, and cannot watch them.
    all.retain(|(.., kind)| kind != "ComponentStatus");
    assert!(all.len() > 80, "{}", all.len());
    let api_version = |group: &str, version: &str| match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    let mut seeded = 0;
    for (group, version, _, kind) in &all {
        let api_version = api_version(group, version);
        let object = format!("{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: x}}}}");
        seeded += usize::from(server.seed(&object).is_ok());
    }
    assert!(seeded > 40, "{seeded} kinds have an object");
    let factory = SharedInformerFactory::new(server.in_process_client());
    let informers: Vec<GenericInformer> = all
        .iter()
        .map(|(group, version, plural, _)| factory.for_resource(&gvr(group, version, plural)).unwrap())
        .collect();
    factory.start();
    let report = factory.wait_for_cache_sync().await.unwrap();
    assert_eq!(report.len(), all.len());
    let (mut read, mut found) = (0, 0);
    for ((group, version, plural, kind), informer) in all.iter().zip(&informers) {
        assert_eq!(factory.for_resource(&gvr(group, version, plural)).unwrap().name(), informer.name());
        for object in informer.lister().list(&Selector::default()) {
            let untyped = object.downcast::<DynamicObject>().unwrap();
            let types = untyped.types.as_ref().unwrap();
            assert_eq!((&types.kind, &types.api_version), (kind, &api_version(group, version)));
            assert_eq!(object.metadata().name, untyped.metadata.name);
            read += 1;
        }
        found += usize::from(!informer.lister().list(&Selector::default()).is_empty());
    }
    assert!(read >= seeded && found >= seeded, "{read} objects of {found} kinds");
    let unknown = factory.for_resource(&gvr("example.com", "v1", "widgets")).unwrap_err();
    assert!(matches!(unknown, FactoryError::UnknownResource { .. }), "{unknown}");
    factory.shutdown().await;
    assert!(informers.iter().all(GenericInformer::is_stopped));
}

#[test]
fn groups_and_versions_are_kinds_too() {
    let kinds = |names: BTreeSet<(String, String, String, String)>| {
        names.into_iter().map(|(.., kind)| kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(names::<groups::batch::v1::V1>()), ["CronJob", "Job"]);
    let autoscaling = names::<groups::autoscaling::Autoscaling>();
    assert_eq!(kinds(autoscaling), ["HorizontalPodAutoscaler", "HorizontalPodAutoscaler"]);
}

mod custom {
    //! The types of a custom group, as a user would have them.

    use std::borrow::Cow;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    /// A custom resource.
    #[derive(Clone, Debug, serde::Deserialize)]
    pub(crate) struct Foo {
        pub(crate) metadata: ObjectMeta,
        pub(crate) spec: FooSpec,
    }

    #[derive(Clone, Debug, serde::Deserialize)]
    pub(crate) struct FooSpec {
        pub(crate) replicas: u32,
    }

    impl kube_core::Resource for Foo {
        type DynamicType = ();
        type Scope = kube_core::NamespaceResourceScope;

        fn kind((): &()) -> Cow<'_, str> {
            "Foo".into()
        }

        fn group((): &()) -> Cow<'_, str> {
            "samplecontroller.k8s.io".into()
        }

        fn version((): &()) -> Cow<'_, str> {
            "v1alpha1".into()
        }

        fn plural((): &()) -> Cow<'_, str> {
            "foos".into()
        }

        fn meta(&self) -> &ObjectMeta {
            &self.metadata
        }

        fn meta_mut(&mut self) -> &mut ObjectMeta {
            &mut self.metadata
        }
    }

    kube_informer::accessors! {
        /// `samplecontroller.k8s.io`.
        pub(crate) trait SampleController: samplecontroller {
            v1alpha1 { foos: Foo, others: crate::support::Strict }
            v1 { configs: k8s_openapi::api::core::v1::ConfigMap }
        }
    }
}

const FOOS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.samplecontroller.k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: samplecontroller.k8s.io
  scope: Namespaced
  names: {plural: foos, singular: foo, kind: Foo, listKind: FooList}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

const FOO: &str =
    "{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: a}, spec: {replicas: 3}}";

#[tokio::test(start_paused = true)]
async fn custom_types_get_the_same_accessors_without_generated_code() {
    use custom::{Foo, SampleController};

    let server = server().await;
    server.seed(FOOS).unwrap();
    server.seed(FOO).unwrap();
    let factory = SharedInformerFactory::builder(server.in_process_client())
        .kinds::<custom::samplecontroller::Group>()
        .build();
    let foos = factory.samplecontroller().v1alpha1().foos();
    let configs = factory.samplecontroller().v1().configs().lister().unwrap();
    let lister = foos.lister().unwrap();
    let generic = factory.for_resource(&gvr("samplecontroller.k8s.io", "v1alpha1", "foos")).unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    let foo = lister.namespaced("default").get("a").unwrap();
    assert_eq!(foo.spec.replicas, 3);
    assert!(configs.list(&Selector::default()).is_empty());
    let same = generic.lister().get("default", "a").unwrap().downcast::<Foo>().unwrap();
    assert!(same.is_same(&foo) && generic.downcast::<Foo>().is_some());
}

#[tokio::test(start_paused = true)]
async fn by_resource_and_by_type_it_is_one_informer() {
    let server = server().await;
    write(&server, "a", 1);
    let factory = SharedInformerFactory::builder(server.in_process_client())
        .kind::<ConfigMap>()
        .kind::<Pod>()
        .default_resync(Duration::from_secs(30))
        .build();
    let configs = gvr("", "v1", "configmaps");
    let generic = factory.for_resource(&configs).unwrap();
    let read: GroupVersionResource =
        serde_json::from_str(r#"{"group": "", "version": "v1", "resource": "configmaps"}"#).unwrap();
    assert_eq!(factory.for_resource(&read).unwrap().name(), "configmaps", "however it was made");
    let typed = factory.core().v1().config_maps().informer().unwrap();
    let (told, mut hear) = tokio::sync::mpsc::unbounded_channel();
    let handler = generic.add_event_handler(move |event| told.send(event).unwrap()).unwrap();
    let mut stream = generic.subscribe_with(ListenerOptions::new().resync(Duration::ZERO)).unwrap();
    assert_eq!((generic.resource(), generic.has_synced()), ("configmaps".to_owned(), false));
    factory.start();
    assert!(generic.synced().await && typed.has_synced() && handler.synced().await && handler.has_synced());
    assert!(
        typed.store().list()[0].is_same(&generic.lister().get("default", "a").unwrap().downcast().unwrap())
    );
    assert_eq!(watched(&server), ["configmaps"]);

    let Some(AnyEvent::Added { object, initial: true }) = hear.recv().await else { panic!() };
    assert_eq!((object.key(), object.downcast::<Pod>().is_none()), ("default/a", true));
    write(&server, "a", 2);
    let Some(AnyEvent::Updated { old, new, resync: false }) = hear.recv().await else { panic!() };
    assert_ne!(old.resource_version(), new.resource_version());
    let again = hear.recv().await.unwrap();
    assert!(matches!(&again, AnyEvent::Updated { resync: true, .. }) && again.object().key() == "default/a");
    server.delete("v1/ConfigMap", "default", "a").unwrap();
    let Some(AnyEvent::Deleted { final_state_unknown: false, .. }) = hear.recv().await else { panic!() };
    for _ in 0..3 {
        let event = stream.next().await.unwrap();
        assert!(!matches!(event, AnyEvent::Updated { resync: true, .. }), "{event:?}");
    }
    handler.drain();
    handler.ended().await;
    assert_eq!((handler.status().told, hear.recv().await.is_none()), (4, true));
    assert_eq!((generic.status().objects, generic.is_stopped()), (0, false));
    generic.shutdown().await;
    assert!(typed.is_stopped() && stream.next().await.is_none());
    assert!(generic.add_event_handler(|_| {}).unwrap_err().to_string().contains("has been stopped"));
}

#[tokio::test(start_paused = true)]
async fn a_type_that_is_made_known_may_stand_for_a_built_in_one() {
    let server = server().await;
    let factory = SharedInformerFactory::builder(server.in_process_client())
        .kind::<ConfigMap>()
        .kind::<Strict>()
        .build();
    let generic = factory.for_resource(&gvr("", "v1", "configmaps")).unwrap();
    assert!(generic.downcast::<Strict>().is_some() && generic.downcast::<ConfigMap>().is_none());
}

#[tokio::test(start_paused = true)]
async fn what_has_a_type_comes_whole_and_the_rest_as_metadata() {
    let server = server().await;
    server.seed(FOOS).unwrap();
    server.seed(FOO).unwrap();
    write(&server, "c", 1);
    let typed = SharedInformerFactory::builder(server.in_process_client()).kind::<ConfigMap>().build();
    let metadata = MetadataSharedInformerFactory::new(server.in_process_client());
    let factory = ObjectOrMetadataInformerFactory::new(typed.clone(), metadata.clone());
    let configs = factory.for_resource(&gvr("", "v1", "configmaps")).unwrap();
    let foo_resource = gvr("samplecontroller.k8s.io", "v1alpha1", "foos");
    let foos = factory.for_resource(&foo_resource).unwrap();
    assert_eq!(factory.not_synced().len(), 2);
    factory.start();
    let report = factory.wait_for_cache_sync().await.unwrap();
    let resources: Vec<&str> = report.iter().map(|one| one.resource.as_str()).collect();
    assert_eq!(resources, ["configmaps", "foos.samplecontroller.k8s.io"]);

    let config = configs.lister().get("default", "c").unwrap().downcast::<ConfigMap>().unwrap();
    assert_eq!(config.data.as_ref().unwrap()["value"], "1");
    let mine = typed.of::<ConfigMap>().unwrap().store().get("default", "c").unwrap();
    assert!(mine.is_same(&config), "the informers are those of the factories it was given");
    let foo = foos.lister().get("default", "a").unwrap().downcast::<PartialObjectMeta>().unwrap();
    let shared = metadata.for_resource(&foo_resource).unwrap().store().get("default", "a").unwrap();
    assert!(shared.is_same(&foo));
    assert_eq!(watched(&server), ["configmaps", "foos"]);
    factory.shutdown().await;
    assert!(configs.is_stopped() && foos.is_stopped());
    assert_eq!(factory.for_resource(&foo_resource).unwrap_err(), FactoryError::ShutDown);
    assert_eq!(typed.of::<Node>().unwrap_err(), FactoryError::ShutDown);
}
