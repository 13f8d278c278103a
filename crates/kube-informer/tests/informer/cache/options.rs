//! What is kept of which kind.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node};
use kube_core::{DynamicObject, PartialObjectMeta};
use kube_informer::cache::{Cache, CacheError, CacheOptions, KindOptions, ObjectOptions, Query};

use super::{all, cache, config_maps, dynamic, keys, of_config_maps, server, set, three, watches, write};

fn labels(selector: &str) -> ObjectOptions {
    ObjectOptions::new().labels(selector)
}

/// Three namespaces with a web and a db each.
fn six(server: &kube_testserver::TestServer) {
    for namespace in ["bank", "post", "shop"] {
        write(server, namespace, "web", "web");
        write(server, namespace, "db", "db");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_set_is_inherited_and_what_is_empty_ends_that() {
    let server = server().await;
    six(&server);
    let everything = ["bank/db", "bank/web", "post/db", "post/web", "shop/db", "shop/web"];
    let webs = ["bank/web", "post/web", "shop/web"];
    let options = || CacheOptions::new();
    let kind = || KindOptions::new();
    let rows = [
        (options(), set(everything)),
        (options().objects(labels("app=web")), set(webs)),
        (options().namespaces(["shop"]), set(["shop/db", "shop/web"])),
        (options().namespaces(["shop"]).objects(labels("app=web")), set(["shop/web"])),
        // The kind over the defaults.
        (options().objects(labels("app=db")).kind::<ConfigMap>(kind().objects(labels("app=web"))), set(webs)),
        (options().objects(labels("app=db")).kind::<ConfigMap>(kind().objects(labels(""))), set(everything)),
        (options().objects(labels("app=web")).kind::<ConfigMap>(kind()), set(webs)),
        // Namespaces of the kind instead of those of all.
        (
            options().namespaces(["shop"]).kind::<ConfigMap>(kind().namespaces(["bank"])),
            set(["bank/db", "bank/web"]),
        ),
        (options().namespaces(["shop"]).kind::<ConfigMap>(kind().namespaces([""; 0])), set(everything)),
        (options().namespaces(["shop"]).kind::<ConfigMap>(kind()), set(["shop/db", "shop/web"])),
        // All of them instead of those that were named before; one beside them.
        (options().namespaces(["shop"]).namespaces(["bank"]), set(["bank/db", "bank/web"])),
        (options().namespaces(["shop"]).namespaces([""; 0]), set(everything)),
        (
            options().kind::<ConfigMap>(kind().namespaces(["shop"]).namespaces(["bank"])),
            set(["bank/db", "bank/web"]),
        ),
        (
            options().kind::<ConfigMap>(kind().namespace("shop", labels("app=web")).namespaces(["shop"])),
            set(["shop/db", "shop/web"]),
        ),
        (
            options().kind::<ConfigMap>(kind().namespaces(["bank"]).namespace("shop", labels("app=web"))),
            set(["bank/db", "bank/web", "shop/web"]),
        ),
        (
            options().namespaces(["bank"]).namespace("shop", labels("app=web")),
            set(["bank/db", "bank/web", "shop/web"]),
        ),
        // A namespace of the defaults over the defaults, and under the kind.
        (
            options()
                .objects(labels("app=db"))
                .namespace("shop", labels("app=web"))
                .namespace("bank", labels("")),
            set(["shop/web", "bank/db", "bank/web"]),
        ),
        (
            options()
                .namespace("shop", labels("app=web"))
                .kind::<ConfigMap>(kind().objects(labels("app=db"))),
            set(["shop/db"]),
        ),
        (
            options()
                .namespace("shop", labels("app=web"))
                .kind::<ConfigMap>(kind().namespaces(["shop", "bank"])),
            set(["shop/web", "bank/db", "bank/web"]),
        ),
        // A namespace of the kind over everything.
        (
            options().objects(labels("app=db")).namespace("shop", labels("app=db")).kind::<ConfigMap>(
                kind()
                    .objects(labels("app=db"))
                    .namespace("shop", labels("app=web"))
                    .namespace("bank", labels("")),
            ),
            set(["shop/web", "bank/db", "bank/web"]),
        ),
        // All but those that are named.
        (
            options().namespace("", labels("app=web")).namespace("shop", labels("app=db")),
            set(["bank/web", "post/web", "shop/db"]),
        ),
        (
            options()
                .namespace("", ObjectOptions::new().fields("metadata.name=db"))
                .namespace("shop", labels("app=web")),
            set(["bank/db", "post/db", "shop/web"]),
        ),
        (options().objects(ObjectOptions::new().fields("metadata.name=web")), set(webs)),
        // A field selector that pins the namespace.
        (
            options().objects(ObjectOptions::new().fields("metadata.namespace=shop,metadata.name!=db")),
            set(["shop/web"]),
        ),
    ];
    for (number, (options, wanted)) in rows.into_iter().enumerate() {
        let cache = cache(&server, options);
        assert_eq!(of_config_maps(&cache).await, wanted, "row {number}");
        assert_eq!(keys(dynamic(&cache).list(&Query::new()).await.unwrap()), wanted, "row {number}");
        cache.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn kinds_without_namespaces_are_whole_and_ignore_them() {
    let server = server().await;
    six(&server);
    let cache = cache(&server, CacheOptions::new().namespaces(["shop", "bank"]));
    let names = all::<Namespace>(&cache).await.unwrap();
    assert!(names.is_superset(&set(["bank", "post", "shop"])), "{names:?}");
    assert!(cache.get::<Namespace>("shop", "post").await.is_ok());
    let untyped = cache.find("namespaces").await.unwrap();
    assert_eq!(untyped.list(&Query::new().namespace("shop")).await.unwrap().len(), names.len());
    let refused = Cache::with(
        server.in_process_client(),
        CacheOptions::new().kind::<Namespace>(KindOptions::new().namespaces(["shop"])),
    );
    assert_eq!(
        refused.unwrap_err().to_string(),
        "namespaces has no namespaces, so it cannot be kept by namespace; leave its namespaces out"
    );
}

#[tokio::test(start_paused = true)]
async fn selectors_hold_for_kinds_with_and_without_namespaces() {
    let server = server().await;
    six(&server);
    for (name, app) in [("n1", "web"), ("n2", "db")] {
        let node =
            format!("{{apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {{app: {app}}}}}}}");
        server.seed(&node).unwrap();
    }
    let fields = |selector: &str| ObjectOptions::new().fields(selector);
    let kind = || KindOptions::new();
    let whole = CacheOptions::new;
    // The options, and what is there of nodes and of config maps.
    let rows: [(CacheOptions, &[&str], &[&str]); 9] = [
        (whole().objects(labels("app=web")), &["n1"], &["bank/web", "post/web", "shop/web"]),
        (whole().namespaces(["shop"]).objects(labels("app=web")), &["n1"], &["shop/web"]),
        (whole().namespace("shop", labels("app=web")), &["n1", "n2"], &["shop/web"]),
        (whole().namespace("shop", labels("app=web")).objects(labels("app=db")), &["n2"], &["shop/web"]),
        (
            whole().namespaces(["shop"]).kind::<Node>(kind().objects(labels("app=db"))),
            &["n2"],
            &["shop/db", "shop/web"],
        ),
        (whole().objects(fields("metadata.name=web")), &[], &["bank/web", "post/web", "shop/web"]),
        (
            whole().namespaces(["bank"]).kind::<Node>(kind().objects(fields("metadata.name=n1"))),
            &["n1"],
            &["bank/db", "bank/web"],
        ),
        (
            whole().namespaces(["bank"]).objects(labels("app=web")).kind::<Node>(kind().objects(labels(""))),
            &["n1", "n2"],
            &["bank/web"],
        ),
        (
            whole().objects(labels("app=web")).kind::<Node>(kind().objects(fields("metadata.name!=n1"))),
            &[],
            &["bank/web", "post/web", "shop/web"],
        ),
    ];
    for (number, (options, nodes, configs)) in rows.into_iter().enumerate() {
        let cache = cache(&server, options);
        let wanted = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(all::<Node>(&cache).await.unwrap(), wanted(nodes), "row {number}");
        assert_eq!(of_config_maps(&cache).await, wanted(configs), "row {number}");
        cache.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_not_kept_is_an_error_and_not_an_absence() {
    let server = server().await;
    six(&server);
    let cache = cache(&server, CacheOptions::new().namespaces(["shop"]));
    let error = cache.get::<ConfigMap>("bank", "web").await.unwrap_err();
    let wanted =
        CacheError::NamespaceNotCached { resource: "configmaps".to_owned(), namespace: "bank".to_owned() };
    assert_eq!(error, wanted);
    assert_eq!(cache.list::<ConfigMap>(&Query::new().namespace("bank")).await.unwrap_err(), wanted);
    cache.synced().await.unwrap();
    assert_eq!(watches(&server, "configmaps"), 1);
}

#[tokio::test(start_paused = true)]
async fn selectors_that_make_no_sense_are_refused() {
    let server = server().await;
    let with = |options: CacheOptions| Cache::with(server.in_process_client(), options).map(drop);
    for options in [
        CacheOptions::new().objects(labels("a=b=c")),
        CacheOptions::new().namespace("shop", labels("!!")),
        CacheOptions::new().kind::<ConfigMap>(KindOptions::new().objects(ObjectOptions::new().fields("x"))),
    ] {
        assert!(matches!(with(options), Err(CacheError::Selector(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn a_transform_is_seen_by_every_type_and_that_of_the_kind_comes_first() {
    let server = server().await;
    three(&server);
    let mark = |text: &'static str| {
        ObjectOptions::new().transform(move |mut object: DynamicObject| {
            object.metadata.annotations.get_or_insert_default().insert("mark".into(), text.into());
            object
        })
    };
    let typed = ObjectOptions::new().transform(|mut config: ConfigMap| {
        config.data = None;
        config.metadata.labels.get_or_insert_default().insert("mark".into(), "typed".into());
        config.metadata.resource_version = None;
        config
    });
    let rows = [
        (CacheOptions::new().objects(mark("all")), "all"),
        (
            CacheOptions::new()
                .objects(mark("all"))
                .kind::<ConfigMap>(KindOptions::new().objects(mark("own"))),
            "own",
        ),
        (
            CacheOptions::new()
                .objects(mark("all"))
                .kind::<ConfigMap>(KindOptions::new().objects(mark("own")).namespace("shop", mark("here"))),
            "here",
        ),
    ];
    for (options, wanted) in rows {
        let cache = cache(&server, options);
        let found = |annotations: Option<&std::collections::BTreeMap<String, String>>| {
            annotations.and_then(|all| all.get("mark").cloned())
        };
        let object = cache.get::<ConfigMap>("shop", "a").await.unwrap();
        assert_eq!(found(object.metadata.annotations.as_ref()).as_deref(), Some(wanted));
        assert_eq!(object.data.as_ref().unwrap()["value"], "1");
        let object = dynamic(&cache).get("shop", "a").await.unwrap();
        assert_eq!(found(object.metadata.annotations.as_ref()).as_deref(), Some(wanted));
        let object = cache.kind_of::<PartialObjectMeta>(&config_maps()).get("shop", "a").await.unwrap();
        assert_eq!(found(object.metadata.annotations.as_ref()).as_deref(), Some(wanted));
    }
    let none = KindOptions::new().objects(ObjectOptions::new().no_transform());
    let cache1 = cache(&server, CacheOptions::new().objects(mark("all")).kind::<ConfigMap>(none));
    assert_eq!(cache1.get::<ConfigMap>("shop", "a").await.unwrap().metadata.annotations, None);

    let cache2 = cache(&server, CacheOptions::new().kind::<ConfigMap>(KindOptions::new().objects(typed)));
    let object = cache2.get::<ConfigMap>("shop", "a").await.unwrap();
    assert_eq!((object.data.as_ref(), object.labels().get("mark")), (None, Some("typed")));
    assert!(!object.resource_version().is_empty(), "what it is remains what it was");
    let marked = Query::new().labels(kube_informer::selector::parse_labels("mark=typed").unwrap());
    assert_eq!(cache2.list::<ConfigMap>(&marked).await.unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_transform_that_panics_costs_one_object() {
    let server = server().await;
    three(&server);
    let options = ObjectOptions::new().transform(|config: ConfigMap| {
        assert!(config.metadata.name.as_deref() != Some("b"), "boom");
        config
    });
    let cache = cache(&server, CacheOptions::new().objects(options));
    assert_eq!(of_config_maps(&cache).await, set(["shop/a", "bank/c"]));
    let status = &cache.status()[0].1;
    assert!(status.quarantined["shop/b"].contains("boom"), "{status:?}");
}
