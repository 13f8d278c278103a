//! A kind that is followed in parts, by namespace or by selector: each part is read, and written to, by itself.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube_core::PartialObjectMeta;
use kube_core::params::{DeleteParams, Patch, PatchParams};
use kube_informer::cache::{Cache, CacheError, CacheOptions, KindOptions, Missing, ObjectOptions, Query};
use kube_testserver::{Rule, TestServer};
use serde_json::json;

use super::{cache, keys, of_config_maps, server, set, three, watches, write};

fn pod(name: &str, node: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_object_that_a_field_selector_leaves_out_is_not_waited_for() {
    let server = server().await;
    let options = CacheOptions::new().objects(ObjectOptions::new().fields("spec.nodeName=n1"));
    let cache = cache(&server, options);
    let pods = cache.client().kind::<Pod>();
    pods.list(&Query::new()).await.unwrap();
    pods.create(&pod("there", "n1")).await.unwrap();
    assert!(pods.get("shop", "there").await.is_ok());
    let started = tokio::time::Instant::now();
    pods.create(&pod("elsewhere", "n2")).await.unwrap();
    let read = pods.get("shop", "elsewhere").await.unwrap_err();
    assert!(read.is_not_found(), "after {:?}: {read}", started.elapsed());
    assert_eq!(pods.list(&Query::new().namespace("shop")).await.unwrap().len(), 1);
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_write_as_metadata_is_waited_for_though_the_type_does_not_have_the_field() {
    let server = server().await;
    let options = CacheOptions::new().objects(ObjectOptions::new().fields("spec.nodeName=n1"));
    let cache = cache(&server, options);
    let client = cache.client();
    let (pods, metadata) = (client.kind::<Pod>(), client.kind::<PartialObjectMeta<Pod>>());
    pods.create(&pod("there", "n1")).await.unwrap();
    pods.list(&Query::new()).await.unwrap();
    for value in ["1", "2", "3"] {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"value": value}}}));
        metadata.patch("shop", "there", &PatchParams::default(), &patch).await.unwrap();
        assert_eq!(
            pods.get("shop", "there").await.unwrap().metadata.labels.as_ref().unwrap()["value"],
            value
        );
    }
    let patch = Patch::Merge(json!({"metadata": {"labels": {"value": "4"}}}));
    pods.create(&pod("elsewhere", "n2")).await.unwrap();
    let started = tokio::time::Instant::now();
    metadata.patch("shop", "elsewhere", &PatchParams::default(), &patch).await.unwrap();
    assert!(pods.get("shop", "elsewhere").await.unwrap_err().is_not_found());
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_ends_the_wait_for_what_the_cache_will_never_show() {
    let server = TestServer::builder()
        .create_namespaces(true)
        .bookmark_interval(Duration::from_secs(3))
        .start()
        .await
        .unwrap();
    let options = CacheOptions::new().objects(ObjectOptions::new().fields("status.successful=1"));
    let cache = cache(&server, options);
    let jobs = cache.client().kind::<Job>();
    jobs.list(&Query::new()).await.unwrap();
    let started = tokio::time::Instant::now();
    // What the selector names is nowhere in the object under that name.
    let job = json!({
        "metadata": {"name": "new", "namespace": "shop"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
    });
    jobs.create(&serde_json::from_value(job).unwrap()).await.unwrap();
    let read = jobs.get("shop", "new").await.unwrap_err();
    assert!(read.is_not_found(), "{read}");
    let waited = started.elapsed();
    assert!(waited > Duration::from_secs(1) && waited <= Duration::from_secs(4), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_refused_does_not_take_the_others_of_its_kind() {
    let server = server().await;
    three(&server);
    server.access().add_user("t", "alice", ["devs"]);
    server.access().set_rules([Rule::deny().namespace("bank"), Rule::allow()]);
    let options = CacheOptions::new().namespaces(["shop", "bank"]);
    let cache = Cache::with(server.in_process_client_with_token("t"), options).unwrap();
    cache.start().unwrap();
    let refused = cache.get::<ConfigMap>("bank", "c").await.unwrap_err();
    assert!(matches!(&refused, CacheError::CannotSync { cause, .. } if cause.code == 403), "{refused}");
    let read = cache.get::<ConfigMap>("shop", "a").await;
    assert!(read.is_ok(), "{read:?}");
    let listed = cache.list::<ConfigMap>(&Query::new().namespace("shop")).await;
    assert_eq!(keys(listed.unwrap()), set(["shop/a", "shop/b"]));
    for all in [Query::new(), Query::new().namespace("bank")] {
        let refused = cache.list::<ConfigMap>(&all).await.unwrap_err();
        assert!(matches!(&refused, CacheError::CannotSync { cause, .. } if cause.code == 403), "{refused}");
    }
    let other = cache.get::<ConfigMap>("other", "a").await.unwrap_err();
    assert!(matches!(other, CacheError::NamespaceNotCached { .. }), "{other}");
    let configs = cache.client().kind::<ConfigMap>();
    let patch = Patch::Merge(json!({"data": {"value": "9"}}));
    configs.patch("shop", "a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(configs.get("shop", "a").await.unwrap().data.as_ref().unwrap()["value"], "9");
    configs.delete("shop", "a", &DeleteParams::default()).await.unwrap();
    assert!(configs.get("shop", "a").await.unwrap_err().is_not_found());
    // Once it is allowed, it comes by itself.
    server.access().set_rules([Rule::allow()]);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(of_config_maps(&cache).await, set(["shop/b", "bank/c"]));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_refused_does_not_keep_a_kind_from_being_known() {
    let server = server().await;
    server.seed(WIDGETS).unwrap();
    server.seed("{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: shop}}").unwrap();
    server.access().add_user("t", "alice", ["devs"]);
    server.access().set_rules([Rule::deny().namespace("bank"), Rule::allow()]);
    let options = CacheOptions::new().namespaces(["bank", "shop"]);
    let cache = Cache::with(server.in_process_client_with_token("t"), options).unwrap();
    cache.start().unwrap();
    let widgets = cache.kind_of::<kube_core::DynamicObject>(&widgets());
    let started = tokio::time::Instant::now();
    let read = widgets.get("shop", "a").await;
    assert!(read.is_ok(), "{read:?}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert!(widgets.get("bank", "a").await.is_err_and(|error| !error.is_not_found()));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_added_and_refused_does_not_take_what_was_there() {
    let server = server().await;
    three(&server);
    server.access().add_user("t", "alice", ["devs"]);
    server.access().set_rules([Rule::deny().namespace("bank"), Rule::allow()]);
    let options = CacheOptions::new().namespaces(["shop"]);
    let cache = Cache::with(server.in_process_client_with_token("t"), options).unwrap();
    cache.start().unwrap();
    assert!(cache.get::<ConfigMap>("shop", "a").await.is_ok());
    cache.change(|options| options.namespaces(["shop", "bank"])).unwrap();
    let read = cache.get::<ConfigMap>("shop", "a").await;
    assert!(read.is_ok(), "{read:?}");
}

#[tokio::test(start_paused = true)]
async fn an_index_of_metadata_is_there_for_whole_objects() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let metadata = cache.kind::<PartialObjectMeta<ConfigMap>>();
    metadata
        .add_index("app", |one: &PartialObjectMeta<ConfigMap>| {
            one.metadata.labels.as_ref().and_then(|labels| labels.get("app").cloned())
        })
        .await
        .unwrap();
    let query = Query::new().index("app", "web");
    assert_eq!(keys(metadata.list(&query).await.unwrap()), set(["shop/a", "bank/c"]));
    let whole = cache.list::<ConfigMap>(&query).await.unwrap();
    assert!(whole.iter().all(|one| one.data.is_some()));
    assert_eq!(keys(whole), set(["shop/a", "bank/c"]));
    assert_eq!(keys(super::dynamic(&cache).list(&query).await.unwrap()), set(["shop/a", "bank/c"]));
    assert_eq!(cache.status().len(), 1);
    assert!(watches(&server, "configmaps") <= 2);
}

#[tokio::test(start_paused = true)]
async fn each_holder_counts_and_a_stream_is_a_listener() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new().idle(Duration::from_secs(60)));
    let one = cache.kind::<ConfigMap>().informer().await.unwrap();
    let two = super::dynamic(&cache).informer_now().await.unwrap();
    let three = one.clone();
    drop(one);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(cache.status().len(), 1);
    drop(three);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(cache.status().len(), 1);
    let mut stream = two.subscribe().unwrap();
    drop(two);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(cache.status().len(), 1, "somebody reads a stream");
    write(&server, "shop", "late", "web");
    for _ in 0..4 {
        tokio::time::timeout(Duration::from_secs(60), stream.next()).await.unwrap().unwrap();
    }
    drop(stream);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(cache.status().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_write_to_a_kind_that_idled_away_is_read() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new().idle(Duration::from_secs(10)));
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(cache.status().is_empty());
    let patch = Patch::Merge(json!({"data": {"value": "9"}}));
    configs.patch("shop", "a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(configs.get("shop", "a").await.unwrap().data.as_ref().unwrap()["value"], "9");
    configs.delete("shop", "a", &DeleteParams::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(configs.get("shop", "a").await.unwrap_err().is_not_found());
    assert_eq!(of_config_maps(&cache).await, set(["shop/b", "bank/c"]));
}

#[tokio::test(start_paused = true)]
async fn writes_in_one_of_several_namespaces_are_read() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new().namespaces(["shop", "bank"]));
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    let started = tokio::time::Instant::now();
    for value in 0..20 {
        let patch = Patch::Merge(json!({"data": {"value": value.to_string()}}));
        configs.patch("shop", "a", &PatchParams::default(), &patch).await.unwrap();
        let read = configs.list(&Query::new()).await.unwrap();
        let read = read.iter().find(|one| one.name() == "a").unwrap().clone();
        assert_eq!(read.data.as_ref().unwrap()["value"], value.to_string());
    }
    configs.delete("shop", "a", &DeleteParams::default()).await.unwrap();
    assert!(configs.get("shop", "a").await.unwrap_err().is_not_found());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_was_made_and_deleted_in_one_of_several_namespaces_is_gone_at_once() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new().namespaces(["shop", "bank"]));
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    let started = tokio::time::Instant::now();
    let object: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": "x", "namespace": "shop"}})).unwrap();
    configs.create(&object).await.unwrap();
    configs.delete("shop", "x", &DeleteParams::default()).await.unwrap();
    let read = configs.get("shop", "x").await.unwrap_err();
    assert!(read.is_not_found(), "after {:?}: {read}", started.elapsed());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_kind_option_that_says_live_reads_its_own_writes() {
    let server = server().await;
    let options = CacheOptions::new().kind::<Secret>(KindOptions::new().missing(Missing::Live));
    let cache = cache(&server, options);
    let secrets = cache.client().kind::<Secret>();
    let secret: Secret =
        serde_json::from_value(json!({"metadata": {"name": "s", "namespace": "shop"}})).unwrap();
    secrets.create(&secret).await.unwrap();
    assert!(secrets.get("shop", "s").await.is_ok());
    assert_eq!(watches(&server, "secrets"), 0);
}

const WIDGETS: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
    metadata: {name: widgets.example.com}, spec: {group: example.com, scope: Namespaced, \
    names: {plural: widgets, singular: widget, kind: Widget}, versions: [{name: v1, served: true, storage: true, \
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}";

fn widgets() -> kube_core::ApiResource {
    kube_core::ApiResource::from_gvk(&kube_core::GroupVersionKind::gvk("example.com", "v1", "Widget"))
}

#[tokio::test(start_paused = true)]
async fn a_kind_comes_back_for_metadata_and_whole_objects_with_who_came_while_it_was_gone() {
    use kube_core::DynamicObject;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let server = server().await;
    server.seed(WIDGETS).unwrap();
    let make = |name: &str| {
        server
            .seed(&format!(
                "{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: {name}, namespace: shop}}}}"
            ))
            .unwrap();
    };
    make("a");
    let cache = cache(&server, CacheOptions::new());
    let metadata = cache.kind_of::<PartialObjectMeta>(&widgets());
    metadata.add_index("name", |one: &PartialObjectMeta| one.metadata.name.clone()).await.unwrap();
    let (early, late) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&early);
    let held = metadata.informer().await.unwrap();
    held.add_event_handler(move |_: kube_informer::fanout::Event<PartialObjectMeta>| {
        count.fetch_add(1, Ordering::SeqCst);
    })
    .unwrap();
    server.delete("apiextensions.k8s.io/v1/CustomResourceDefinition", "", "widgets.example.com").unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(early.load(Ordering::SeqCst), 2, "one came, and went");
    let whole = cache.kind_of::<DynamicObject>(&widgets());
    let count = Arc::clone(&late);
    let informer = whole.informer_now().await.unwrap();
    informer
        .add_event_handler(move |_: kube_informer::fanout::Event<DynamicObject>| {
            count.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
    whole.add_index("again", |one: &DynamicObject| one.metadata.name.clone()).await.unwrap();
    server.seed(WIDGETS).unwrap();
    make("b");
    let mut status = held.watch_status();
    tokio::time::timeout(Duration::from_secs(120), status.wait_for(|status| status.objects == 1))
        .await
        .unwrap()
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((early.load(Ordering::SeqCst), late.load(Ordering::SeqCst)), (3, 1));
    for index in ["name", "again"] {
        assert_eq!(keys(whole.list(&Query::new().index(index, "b")).await.unwrap()), set(["shop/b"]));
        assert_eq!(keys(metadata.list(&Query::new().index(index, "b")).await.unwrap()), set(["shop/b"]));
    }
}

#[tokio::test(start_paused = true)]
async fn own_writes_are_read_where_some_namespaces_have_options_of_their_own() {
    let server = server().await;
    three(&server);
    let all_but =
        CacheOptions::new().namespace("", ObjectOptions::new()).namespace("bank", ObjectOptions::new());
    let cache = cache(&server, all_but);
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    let patch = Patch::Merge(json!({"data": {"value": "9"}}));
    configs.patch("shop", "a", &PatchParams::default(), &patch).await.unwrap();
    let read = configs.get("shop", "a").await;
    assert_eq!(read.unwrap().data.as_ref().unwrap()["value"], "9");
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_with_a_name_is_told_by_everybody() {
    use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
    let server = server().await;
    let cache = cache(&server, CacheOptions::new());
    let list = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "PodList"));
    for error in [
        cache.kind_of::<DynamicObject>(&list).list(&Query::new()).await.unwrap_err(),
        cache.kind_of::<DynamicObject>(&list).informer_now().await.unwrap_err(),
        cache.kind_of::<PartialObjectMeta>(&list).get("shop", "a").await.unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "PodList is a list of objects, not a kind of them; ask for Pod");
    }
    let error = cache.find("podlist").await.unwrap_err();
    assert!(error.to_string().contains("kind of a list"), "{error}");
    let error = cache.find("nothing").await.unwrap_err();
    assert!(matches!(error, CacheError::Unknown(_)), "{error}");
    let bad = ObjectOptions::new().labels("a in (");
    let error = Cache::with(server.in_process_client(), CacheOptions::new().objects(bad)).unwrap_err();
    assert!(matches!(error, CacheError::Selector(_)), "{error}");
    let bad = KindOptions::new().objects(ObjectOptions::new().fields("a"));
    let error = cache.change(|options| options.kind::<Pod>(bad)).unwrap_err();
    assert!(matches!(error, CacheError::Selector(_)), "{error}");
    let node = KindOptions::new().namespaces(["shop"]);
    let error = cache.change(|options| options.kind::<k8s_openapi::api::core::v1::Node>(node)).unwrap_err();
    assert!(matches!(error, CacheError::ClusterScoped { .. }), "{error}");
}
