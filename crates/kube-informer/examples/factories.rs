//! Every factory, and a cache, on an API server in the process. The README shows the parts.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube_client::Client;
use kube_core::params::{Patch, PatchParams};
use kube_core::{DynamicObject, GroupVersionResource, Selector};
use kube_informer::cache::{Cache, CacheOptions, KindOptions, ObjectOptions, Query};
use kube_informer::discovery::Resources;
use kube_informer::{
    DynamicSharedInformerFactory, EventHandler, MetadataSharedInformerFactory,
    ObjectOrMetadataInformerFactory, SharedInformerFactory, kube_client, kube_core,
};
use kube_testserver::TestServer;
use serde_json::json;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome {
    let server = TestServer::start().await?;
    server.seed(include_str!("factories.yaml"))?;
    typed(server.client()?).await?;
    custom(server.client()?).await?;
    by_resource(server.client()?).await?;
    dynamic(server.client()?).await?;
    metadata(server.client()?).await?;
    object_or_metadata(server.client()?).await?;
    many_kinds(server.client()?).await
}

async fn typed(client: Client) -> Outcome {
    let factory = SharedInformerFactory::builder(client).default_resync(Duration::from_secs(30)).build();
    let deployments = factory.apps().v1().deployments();
    let nodes = factory.core().v1().nodes().lister()?;
    let handler = deployments.informer()?.add_event_handler(
        EventHandler::<Deployment>::new().on_add(|deployment, _| println!("ADDED {}", deployment.key())),
    )?;
    factory.start(); // may be called again, for those that are asked for later
    factory.wait_for_cache_sync().await?; // an error names each kind that cannot sync, and why
    handler.synced().await; // the handler has heard of everything that was there
    println!("{} nodes", nodes.list(&Selector::default()).len());
    println!("{}", deployments.lister()?.namespaced("default").get("web")?.name());
    factory.shutdown().await;
    Ok(())
}

mod sample {
    //! What a derive macro would make of a custom resource.

    use kube_informer::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use kube_informer::kube_core::{NamespaceResourceScope, Resource};
    use std::borrow::Cow;

    #[derive(Debug, serde::Deserialize)]
    pub(crate) struct Foo {
        metadata: ObjectMeta,
        pub(crate) spec: FooSpec,
    }

    #[derive(Debug, serde::Deserialize)]
    pub(crate) struct FooSpec {
        pub(crate) replicas: u32,
    }

    impl Resource for Foo {
        type DynamicType = ();
        type Scope = NamespaceResourceScope;

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
}

use sample::Foo;

kube_informer::accessors! {
    trait SampleController: samplecontroller {
        v1alpha1 { foos: Foo }
    }
}

async fn custom(client: Client) -> Outcome {
    let factory = SharedInformerFactory::new(client);
    let foos = factory.samplecontroller().v1alpha1().foos().lister()?; // or factory.lister::<Foo>()?
    factory.start();
    factory.wait_for_cache_sync().await?;
    println!("{} replicas", foos.namespaced("default").get("foo")?.spec.replicas);
    factory.shutdown().await;
    Ok(())
}

async fn by_resource(client: Client) -> Outcome {
    let factory = SharedInformerFactory::builder(client).kind::<Foo>().build();
    let informer = factory.for_resource(&GroupVersionResource::gvr("apps", "v1", "deployments"))?;
    let handler = informer.add_event_handler(|event| println!("{}", event.object().key()))?;
    factory.start();
    factory.wait_for_cache_sync().await?;
    handler.synced().await;
    let web = informer.lister().get("default", "web")?;
    println!("{:?}", web.downcast::<Deployment>().and_then(|web| web.spec.replicas));
    factory.shutdown().await;
    Ok(())
}

async fn dynamic(client: Client) -> Outcome {
    let resources = Resources::fetch(&client).await?;
    let deployments = resources.resolve("deploy")?; // or deployments, Deployment, deployments.v1.apps
    let factory = DynamicSharedInformerFactory::builder(client)
        .namespace("default")
        .tweak(|tweak| tweak.label_selector = "app in (web, db)".to_owned())
        .build();
    let informer = factory.for_resource(&deployments.group_version_resource())?;
    let handler = informer.add_event_handler(
        EventHandler::<DynamicObject>::new()
            .on_add(|object, _| println!("{}", object.data["spec"]["replicas"])),
    )?;
    factory.start();
    factory.wait_for_cache_sync().await?;
    handler.synced().await;
    factory.shutdown().await;
    Ok(())
}

async fn metadata(client: Client) -> Outcome {
    let factory = MetadataSharedInformerFactory::new(client);
    let secrets = factory.lister(&GroupVersionResource::gvr("", "v1", "secrets"))?;
    factory.start();
    factory.wait_for_cache_sync().await?;
    let secret = secrets.namespaced("default").get("password")?; // without what it keeps
    println!("{:?}", secret.labels().get("app"));
    factory.shutdown().await;
    Ok(())
}

async fn object_or_metadata(client: Client) -> Outcome {
    let typed = SharedInformerFactory::new(client.clone());
    let factory = ObjectOrMetadataInformerFactory::new(typed, MetadataSharedInformerFactory::new(client));
    let mut handlers = Vec::new();
    let resources = [("batch", "v1", "jobs"), ("samplecontroller.k8s.io", "v1alpha1", "foos")];
    for (group, version, resource) in resources {
        let informer = factory.for_resource(&GroupVersionResource::gvr(group, version, resource))?;
        handlers.push(informer.add_event_handler(|event| println!("{}", event.object().key()))?);
    }
    factory.start();
    factory.wait_for_cache_sync().await?;
    for handler in handlers {
        handler.synced().await;
    }
    factory.shutdown().await;
    Ok(())
}

async fn many_kinds(client: Client) -> Outcome {
    let only_web = KindOptions::new().objects(ObjectOptions::new().labels("app=web"));
    let cache = Cache::with(client, CacheOptions::new().kind::<Deployment>(only_web))?;
    let deployments = cache.kind::<Deployment>();
    deployments.add_index("replicas", |one: &Deployment| Some(one.spec.replicas?.to_string())).await?;
    cache.start()?;
    let web = cache.get::<Deployment>("default", "web").await?; // followed from now on
    let untyped = cache.find("deploy").await?.get("default", "web").await?; // the same watch, the same memory
    println!("{} is {}", web.key(), untyped.data["spec"]["replicas"]);
    println!("{}", deployments.list(&Query::new().index("replicas", "2").limit(10)).await?.len());
    let writer = cache.client().kind::<Deployment>();
    let patch = Patch::Merge(json!({"spec": {"replicas": 3}}));
    writer.patch("default", "web", &PatchParams::default(), &patch).await?;
    let written = writer.get("default", "web").await?; // what was written is read
    println!("{:?}", written.spec.replicas);
    cache.change(|options| options.namespaces(["default"]))?; // listeners hear what that takes away
    cache.shutdown().await;
    Ok(())
}
