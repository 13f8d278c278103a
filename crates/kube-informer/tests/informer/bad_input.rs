//! What makes no sense is an error value that says what is wrong, and never a panic or a wait without end.

use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube_core::GroupVersionResource;
use kube_informer::discovery::Resources;
use kube_informer::factory::FactoryError;
use kube_informer::source::KubeSource;
use kube_informer::{
    DynamicSharedInformerFactory, MetadataSharedInformerFactory, ObjectOrMetadataInformerFactory,
    SharedInformer, SharedInformerFactory,
};

use crate::server;

fn gvr(group: &str, version: &str, resource: &str) -> GroupVersionResource {
    GroupVersionResource::gvr(group, version, resource)
}

#[tokio::test(start_paused = true)]
async fn an_unknown_resource_is_refused_with_what_may_have_been_meant() {
    let server = server().await;
    let factory = SharedInformerFactory::builder(server.in_process_client()).kind::<Pod>().build();
    for (resource, message) in [
        (
            gvr("apps", "v1", "deploymets"),
            "the factory knows no type for \"apps/v1 deploymets\" (did you mean \"apps/v1 deployments\"?); make one known \
             with `FactoryBuilder::kind`, or ask a factory that needs none",
        ),
        (
            gvr("autoscaling", "v2beta1", "horizontalpodautoscalers"),
            "the factory knows no type for \"autoscaling/v2beta1 horizontalpodautoscalers\" (did you mean \
             \"autoscaling/v1 horizontalpodautoscalers\" or \"autoscaling/v2 horizontalpodautoscalers\"?); make one known \
             with `FactoryBuilder::kind`, or ask a factory that needs none",
        ),
        (
            gvr("example.com", "v1", "widgets"),
            "the factory knows no type for \"example.com/v1 widgets\"; make one known with `FactoryBuilder::kind`, or ask \
             a factory that needs none",
        ),
    ] {
        let error = factory.for_resource(&resource).unwrap_err();
        assert!(matches!(error, FactoryError::UnknownResource { .. }), "{error:?}");
        assert_eq!(error.to_string(), message);
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_resource_of_a_dynamic_factory_cannot_sync_and_the_cause_is_named() {
    let server = server().await;
    let factory = DynamicSharedInformerFactory::new(server.in_process_client());
    factory.for_resource(&gvr("example.com", "v1", "widgets")).unwrap();
    factory.start();
    let error = factory.wait_for_cache_sync().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot sync widgets.example.com: the server answered with 404: 404 page not found"
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_kind_instead_of_a_kind_is_refused_by_every_factory() {
    let server = server().await;
    let client = server.in_process_client();
    let typed = SharedInformerFactory::builder(client.clone()).kind::<Pod>().build();
    let dynamic = DynamicSharedInformerFactory::new(client.clone());
    let metadata = MetadataSharedInformerFactory::new(client.clone());
    let either = ObjectOrMetadataInformerFactory::new(typed.clone(), metadata.clone());
    for (name, why) in [
        ("PodList", "it is the kind of a list; follow the resource whose kind is Pod"),
        ("podlist", "it is the kind of a list; follow the resource of what is in the list"),
        ("podlists", "it is the kind of a list; follow the resource of what is in the list"),
        ("Pod", "it is a kind; resources are named in the plural and in small letters"),
    ] {
        let resource = gvr("", "v1", name);
        let errors = [
            typed.for_resource(&resource).unwrap_err(),
            dynamic.for_resource(&resource).unwrap_err(),
            metadata.for_resource(&resource).unwrap_err(),
            either.for_resource(&resource).unwrap_err(),
        ];
        for error in errors {
            let FactoryError::NotAResource { given, why: said, nearest } = &error else { panic!("{error}") };
            assert_eq!((given.as_str(), said.as_str()), (format!("v1 {name}").as_str(), why));
            assert_eq!(*nearest, ["v1 pods"]);
        }
    }
    let error = dynamic.for_resource(&gvr("", "v1", "PodList")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"v1 PodList\" is no resource that can be followed: it is the kind of a list; follow the resource whose kind is \
         Pod (did you mean \"v1 pods\"?)"
    );
    let resources = Resources::fetch(&client).await.unwrap();
    for (name, resource) in [("PodList", "pods"), ("deploymentlist.apps", "deployments.apps")] {
        let error = resources.resolve(name).unwrap_err().to_string();
        let said = format!(
            "{name:?} is the kind of a list, and no resource; ask for {resource}, which is in the list"
        );
        assert_eq!(error, said);
    }
    assert!(!resources.resolve("list").unwrap_err().to_string().contains("kind of a list"));
}

#[tokio::test(start_paused = true)]
async fn names_that_cannot_be_resources_are_refused_before_the_server_is_asked() {
    let server = server().await;
    let factory = DynamicSharedInformerFactory::new(server.in_process_client());
    for (resource, why) in [
        (gvr("", "v1", ""), "the resource and its version must be named"),
        (gvr("apps", "", "deployments"), "the resource and its version must be named"),
        (gvr("", "v1", "pods/status"), "a part of a resource cannot be followed; follow the resource"),
        (gvr("apps/v1", "v1", "deployments"), "names are made of letters, digits, dots and dashes"),
        (gvr("", "v1", "pods?watch=true"), "names are made of letters, digits, dots and dashes"),
    ] {
        let error = factory.for_resource(&resource).unwrap_err();
        assert!(matches!(&error, FactoryError::NotAResource { why: said, .. } if *said == why), "{error}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_cluster_scoped_kind_with_a_namespace_is_refused_and_told_why() {
    let server = server().await;
    server
        .seed(
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, \
             spec: {group: example.com, scope: Cluster, names: {plural: widgets, kind: Widget}, versions: [{name: v1, \
             served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}",
        )
        .unwrap();
    let client = server.in_process_client();
    let dynamic = DynamicSharedInformerFactory::builder(client.clone()).namespace("a").build();
    let error = dynamic.for_resource(&gvr("", "v1", "nodes")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"v1 nodes\" has no namespaces, and the factory is confined to some; ask a factory for all namespaces"
    );
    // Of others only the server knows.
    dynamic.for_resource(&gvr("example.com", "v1", "widgets")).unwrap();
    dynamic.start();
    let error = dynamic.wait_for_cache_sync().await.unwrap_err().to_string();
    assert!(error.starts_with("cannot sync widgets.example.com: "), "{error}");
    assert!(error.ends_with("(if it has no namespaces, ask a factory for all of them)"), "{error}");

    server.clear_requests();
    let nodes = SharedInformer::new(KubeSource::<Node>::namespaced(client, "a", &()));
    let mut status = nodes.watch_status();
    nodes.start();
    let status = status.wait_for(|status| status.scopes[0].trouble.is_some()).await.unwrap();
    let trouble = status.scopes[0].trouble.as_ref().unwrap();
    assert_eq!(
        trouble.error.to_string(),
        "nodes have no namespaces, so there are none in \"a\"; follow all of them"
    );
    assert!(server.requests().is_empty(), "the server is not asked");
}

#[tokio::test(start_paused = true)]
async fn an_index_of_a_name_that_is_taken_is_refused() {
    let server = server().await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let configs = factory.core().v1().config_maps().informer().unwrap();
    let by_name = |config: &ConfigMap| config.metadata.name.clone();
    configs.add_index("name", by_name).unwrap();
    // Another who asks for the kind gets the same informer, and its indexes.
    let again = factory.of::<ConfigMap>().unwrap();
    for taken in ["name", "namespace"] {
        let error = again.add_index(taken, by_name).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "there is already an index with the name {taken:?}; choose another name, or use that one"
            )
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_selector_with_an_error_in_its_syntax_is_refused_before_the_server_is_asked() {
    let server = server().await;
    let factory = |labels: &'static str, fields: &'static str| {
        SharedInformerFactory::builder(server.in_process_client())
            .tweak(move |tweak| {
                (tweak.label_selector, tweak.field_selector) = (labels.to_owned(), fields.to_owned());
            })
            .build()
    };
    let error = factory("app in (web", "").of::<ConfigMap>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the label selector \"app in (web\" makes no sense: after \"web\" there should be , or ), not the end"
    );
    let error = factory("", "metadata.name").of::<ConfigMap>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the field selector \"metadata.name\" makes no sense: there is no =, == or != in \"metadata.name\""
    );
    assert!(server.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_field_that_the_server_cannot_select_by_is_a_cause_to_fail() {
    let server = server().await;
    let factory = SharedInformerFactory::builder(server.in_process_client())
        .tweak(|tweak| tweak.field_selector = "spec.colour=blue".to_owned())
        .build();
    factory.of::<ConfigMap>().unwrap();
    factory.start();
    let error = factory.wait_for_cache_sync().await.unwrap_err().to_string();
    assert!(error.contains("\"spec.colour\" is not a known field selector"), "{error}");
}
