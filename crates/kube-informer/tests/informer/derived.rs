//! Types that are derived with kube's own macro, as programs have them, need nothing else.

use std::time::Duration;

use kube_core::{DynamicObject, PartialObjectMeta, ResourceExt, Selector};
use kube_informer::cache::{Cache, Query};
use kube_informer::{SharedInformerFactory, kube_core};

use crate::server;

/// What is wanted of a Foo.
#[derive(kube_derive::CustomResource, Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[kube(group = "samplecontroller.k8s.io", version = "v1alpha1", kind = "Foo", namespaced)]
#[kube(status = "FooStatus", schema = "disabled")]
#[kube(crates(kube_core = "kube_core", k8s_openapi = "k8s_openapi"))]
#[serde(rename_all = "camelCase")]
pub(crate) struct FooSpec {
    deployment_name: String,
    replicas: u32,
}

/// How a Foo is doing.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FooStatus {
    available_replicas: u32,
}

kube_informer::accessors! {
    /// `samplecontroller.k8s.io`.
    pub(crate) trait SampleController: samplecontroller {
        v1alpha1 { foos: super::derived::Foo }
    }
}

const FOOS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.samplecontroller.k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: samplecontroller.k8s.io
  scope: Namespaced
  names: {plural: foos, singular: foo, kind: Foo}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

fn foo(name: &str, replicas: u32) -> Foo {
    let mut made = Foo::new(name, FooSpec { deployment_name: format!("{name}-deployment"), replicas });
    made.metadata.namespace = Some("default".to_owned());
    made
}

#[tokio::test(start_paused = true)]
async fn a_derived_type_is_followed_by_type_by_name_and_in_a_cache() {
    let server = server().await;
    server.seed(FOOS).unwrap();
    server.put(&foo("a", 3)).unwrap();
    let factory = SharedInformerFactory::new(server.in_process_client());
    let informer = factory.of::<Foo>().unwrap();
    let by_name = factory.samplecontroller().v1alpha1().foos();
    let by_replicas =
        informer.add_index("replicas", |foo: &Foo| vec![foo.spec.replicas.to_string()]).unwrap();
    let lister = by_name.lister().unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    let found = lister.namespaced("default").get("a").unwrap();
    assert_eq!((found.name_any().as_str(), &found.spec), ("a", &foo("a", 3).spec));
    assert!(informer.store().get("default", "a").unwrap().is_same(&found), "one informer");
    assert!(by_replicas.get("3")[0].is_same(&found));
    assert_eq!(lister.list(&Selector::default()).len(), 1);

    let cache = Cache::new(server.in_process_client());
    cache.start().unwrap();
    let foos = cache.client().kind::<Foo>();
    let mut written = foos.create(&foo("b", 5)).await.unwrap();
    assert_eq!(foos.get("default", "b").await.unwrap().spec.replicas, 5, "its own write");
    written.status = Some(FooStatus { available_replicas: 5 });
    foos.replace_status(&written).await.unwrap();
    assert_eq!(foos.get("default", "b").await.unwrap().status, Some(FooStatus { available_replicas: 5 }));
    let all = Query::new();
    assert_eq!(cache.list::<Foo>(&all).await.unwrap().len(), 2);
    assert_eq!(cache.list::<PartialObjectMeta<Foo>>(&all).await.unwrap().len(), 2);
    let untyped = cache.kind_of::<DynamicObject>(&kube_core::ApiResource::erase::<Foo>(&()));
    assert_eq!(untyped.get("default", "b").await.unwrap().data["spec"]["deploymentName"], "b-deployment");
    assert_eq!(cache.status().len(), 1, "one watch and one copy");

    let arrived = async {
        while lister.namespaced("default").get("b").is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(crate::PATIENCE, arrived).await.unwrap();
    cache.shutdown().await;
    factory.shutdown().await;
}
