//! A copy follows a server that is well.

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube_client::api::{Api, ListParams, PostParams};
use kube_core::Selector;
use kube_informer::fanout::{Event, Filtered};
use kube_informer::object::Object;
use kube_informer::source::KubeSource;
use kube_informer::{SharedInformer, SharedInformerFactory};
use kube_informer_e2e::{Options, in_store, on_server, skip, versions};

use crate::heard::{Heard, listen};
use crate::servers::{Which, on_both_servers};
use crate::{
    PATIENCE, caught_up, config_map, create, delete, namespace, quick, replace, shared, start, synced,
};

on_both_servers! {
    a_copy_syncs_and_a_listener_hears_every_change_in_order,
    a_copy_may_be_of_one_namespace_and_one_selector,
}

/// What a listener hears next, in words.
async fn hear(events: &mut (impl StreamExt<Item = Event<ConfigMap>> + Unpin)) -> String {
    let event = tokio::time::timeout(PATIENCE, events.next()).await.expect("it hears something").unwrap();
    let name = event.object().name();
    let value = event.object().data.as_ref().unwrap()["value"].as_str();
    match &event {
        Event::Added { initial, .. } => {
            format!("{} {name}={value}", if *initial { "there" } else { "added" })
        }
        Event::Updated { .. } => format!("updated {name}={value}"),
        Event::Deleted(gone) => format!("deleted {name}={value} {}", gone.final_state_unknown()),
        _ => panic!("{event:?}"),
    }
}

async fn a_copy_syncs_and_a_listener_hears_every_change_in_order(which: Which) {
    let server = which.shared().await;
    let client = server.client().await;
    let configs = namespace(&client, "every-change").await;
    create(&configs, "old", "1").await;
    let informer = SharedInformer::new(KubeSource::<ConfigMap>::namespaced(client, "every-change", &()));
    let (heard, mut events) = (listen(&informer), informer.subscribe().unwrap());
    informer.start();
    synced(&informer).await;
    assert_eq!(hear(&mut events).await, "there old=1");
    create(&configs, "new", "1").await;
    replace(&configs, "new", "2").await;
    replace(&configs, "old", "2").await;
    delete(&configs, "new").await;
    for expected in ["added new=1", "updated new=2", "updated old=2", "deleted new=2 false"] {
        assert_eq!(hear(&mut events).await, expected);
    }
    caught_up(&informer, &configs).await;
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    assert_eq!((informer.status().lists, informer.status().errors), (1, 0), "one stream, nothing went wrong");
    informer.shutdown().await;
}

async fn a_copy_may_be_of_one_namespace_and_one_selector(which: Which) {
    let server = which.shared().await;
    let client = server.client().await;
    let configs = namespace(&client, "selected").await;
    let others = namespace(&client, "not-selected").await;
    let (web, db) = ([("app", "web")], [("app", "db")]);
    for (api, name, labels) in [(&configs, "a", web), (&configs, "b", db), (&others, "c", web)] {
        api.create(&PostParams::default(), &config_map(name, "1", &labels)).await.unwrap();
    }
    let source = KubeSource::<ConfigMap>::namespaced(client, "selected", &()).labels("app=web");
    let informer = SharedInformer::new(source);
    let (heard, mut events) = (listen(&informer), informer.subscribe().unwrap());
    informer.start();
    synced(&informer).await;
    assert_eq!(hear(&mut events).await, "there a=1");
    assert_eq!(in_store(&informer).into_keys().collect::<Vec<_>>(), ["selected/a"]);
    // One comes to be selected, the other ceases to be, and is told as it was when it was.
    configs.replace("b", &PostParams::default(), &config_map("b", "2", &web)).await.unwrap();
    configs.replace("a", &PostParams::default(), &config_map("a", "2", &db)).await.unwrap();
    for expected in ["added b=2", "deleted a=1 false"] {
        assert_eq!(hear(&mut events).await, expected);
    }
    assert_eq!(in_store(&informer).into_keys().collect::<Vec<_>>(), ["selected/b"]);
    let selected = configs.list(&ListParams::default().labels("app=web")).await.unwrap();
    assert_eq!(in_store(&informer), versions(&selected.items));
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_follows_many_types_and_names_those_that_it_may_not() {
    if skip() {
        return;
    }
    let server = shared().await;
    let client = server.client().await.unwrap();
    let configs = namespace(&client, "factory").await;
    create(&configs, "a", "1").await;
    let factory = SharedInformerFactory::new(client);
    let (all, namespaces) = (factory.of::<ConfigMap>().unwrap(), factory.lister::<Namespace>().unwrap());
    factory.of::<Deployment>().unwrap();
    // Others have configs there too, which change while these are looked at.
    let heard = Heard::default();
    let here = |config: &Object<ConfigMap>| config.namespace() == "factory";
    all.add_event_handler(Filtered::new(here, heard.handler())).unwrap();
    factory.start();
    tokio::time::timeout(PATIENCE, factory.wait_for_cache_sync()).await.expect("they sync").unwrap();
    assert_eq!(all.store().get("factory", "a").unwrap().data.as_ref().unwrap()["value"], "1");
    let names: Vec<String> =
        namespaces.list(&Selector::default()).iter().map(|object| object.name().to_owned()).collect();
    assert!(["default", "factory", "kube-system"].iter().all(|name| names.iter().any(|known| known == name)));
    create(&configs, "b", "1").await;
    delete(&configs, "a").await;
    let there = on_server(&configs).await.unwrap();
    assert_eq!(heard.all(|| there.clone()).await, Vec::<String>::new());
    let copy = all.store().namespaced("factory");
    assert_eq!(versions(copy.iter().map(|config| &**config)), there);
    factory.shutdown().await;

    let client = server.client_for_token(crate::TOKEN).await.unwrap();
    let factory = SharedInformerFactory::new(client);
    factory.of::<Secret>().unwrap();
    factory.start();
    let refused = tokio::time::timeout(PATIENCE, factory.wait_for_cache_sync()).await.expect("it is known");
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.starts_with("cannot sync secrets: secrets is forbidden: User \"alice\" cannot"),
        "{refused}"
    );
    factory.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_sends_no_initial_events_is_followed_by_a_list_from_memory() {
    if !skip() {
        follow_by_lists(Options::new(), 1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_no_list_in_memory_is_followed_by_pages() {
    if !skip() {
        follow_by_lists(Options::new().without_watch_cache(), 3).await;
    }
}

/// Follows 20 objects with pages of 7 on a server that sends no initial events, and counts how it was asked.
async fn follow_by_lists(options: Options, pages: usize) {
    let options = options.feature_gates("WatchList=false").audit_log();
    let server = start(options).await;
    let client = server.client().await.unwrap();
    let configs: Api<ConfigMap> = Api::default_namespaced(client.clone());
    for number in 0..20 {
        create(&configs, &format!("c{number}"), "1").await;
    }
    let mut config = quick();
    config.page_size = Some(7);
    let source = KubeSource::<ConfigMap>::namespaced(client, "default", &());
    let informer = SharedInformer::builder(source).config(config).build();
    let (heard, mut events) = (listen(&informer), informer.subscribe().unwrap());
    informer.start();
    synced(&informer).await;
    caught_up(&informer, &configs).await;
    for _ in 0..20 {
        assert!(hear(&mut events).await.starts_with("there "));
    }
    create(&configs, "new", "1").await;
    assert_eq!(hear(&mut events).await, "added new=1");
    delete(&configs, "c0").await;
    replace(&configs, "c1", "2").await;
    caught_up(&informer, &configs).await;
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());

    let log = std::fs::read_to_string(server.audit_log()).unwrap();
    let ours = |line: &&str| {
        line.contains(r#""stage":"ResponseComplete""#) && line.contains("/namespaces/default/configmaps?")
    };
    let asked = |what: &str| log.lines().filter(ours).filter(|line| line.contains(what)).count();
    assert_eq!((asked("sendInitialEvents=true"), asked("limit=7")), (1, pages));
    informer.shutdown().await;
    server.stop().await.unwrap();
}
