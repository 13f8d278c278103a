//! Kinds whose definition is deleted, or not there yet: nobody asks for them, and they come back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube_core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
use kube_informer::cache::{Cache, CacheError, CacheOptions, Kind, Query};
use kube_informer::fanout::Event;
use kube_informer::informer::Phase;
use kube_testserver::{Fault, Rule, TestServer};
use parking_lot::Mutex;

use super::{cache, keys, server, set};

const HOUR: Duration = Duration::from_secs(3600);
const DEFINITION: &str = "apiextensions.k8s.io/v1/CustomResourceDefinition";

fn widgets() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"))
}

/// Defines widgets; v1, which everybody asks for, is served or not.
fn define(server: &TestServer, v1_served: bool) {
    let version = |name: &str, served: bool, storage: bool| {
        format!(
            "{{name: {name}, served: {served}, storage: {storage}, schema: {{openAPIV3Schema: {{type: object}}}}}}"
        )
    };
    let versions = format!("[{}, {}]", version("v1", v1_served, false), version("v2", true, true));
    server
        .seed(&format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: widgets.example.com}}, \
             spec: {{group: example.com, scope: Namespaced, names: {{plural: widgets, singular: widget, kind: Widget}}, \
             versions: {versions}}}}}"
        ))
        .unwrap();
}

fn undefine(server: &TestServer) {
    server.delete(DEFINITION, "", "widgets.example.com").unwrap();
}

fn widget(server: &TestServer, namespace: &str, name: &str) {
    let metadata = format!("{{name: {name}, namespace: {namespace}}}");
    server.seed(&format!("{{apiVersion: example.com/v2, kind: Widget, metadata: {metadata}}}")).unwrap();
}

fn kind(cache: &Cache) -> Kind<DynamicObject> {
    cache.kind_of(&widgets())
}

/// What has been asked for: the kind, its definition, and what the server has of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    kind: usize,
    definition: usize,
    discovery: usize,
}

impl Asked {
    fn of(server: &TestServer) -> Self {
        let requests = server.requests();
        let count = |is_it: &dyn Fn(&str) -> bool| {
            requests.iter().filter(|one| is_it(one.path.split('?').next().unwrap_or_default())).count()
        };
        Self {
            kind: count(&|path| path.ends_with("/widgets")),
            definition: count(&|path| path.ends_with("/customresourcedefinitions")),
            discovery: count(&|path| path == "/apis/example.com/v1"),
        }
    }

    /// What is asked for in so long.
    async fn within(server: &TestServer, time: Duration) -> Self {
        let before = Self::of(server);
        tokio::time::sleep(time).await;
        let after = Self::of(server);
        Self {
            kind: after.kind - before.kind,
            definition: after.definition - before.definition,
            discovery: after.discovery - before.discovery,
        }
    }
}

async fn resting(kind: &Kind<DynamicObject>) {
    let mut status = kind.informer_now().await.unwrap().watch_status();
    let resting = status.wait_for(|status| status.phase == Phase::Resting);
    drop(tokio::time::timeout(Duration::from_secs(30), resting).await.expect("it goes on to ask").unwrap());
}

async fn readable(kind: &Kind<DynamicObject>, within: Duration) -> BTreeSet<String> {
    let read = async {
        loop {
            match kind.list(&Query::new()).await {
                Ok(found) => return keys(found),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    };
    tokio::time::timeout(within, read).await.expect("it does not come back in time")
}

#[tokio::test(start_paused = true)]
async fn a_kind_without_a_definition_is_asked_for_no_more_and_comes_back_with_all_it_had() {
    let server = server().await;
    define(&server, true);
    widget(&server, "shop", "a");
    let cache = cache(&server, CacheOptions::new());
    let kind = kind(&cache);
    kind.add_index("name", |object: &DynamicObject| object.metadata.name.clone()).await.unwrap();
    let informer = kind.informer().await.unwrap();
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&log);
    let registration = informer
        .add_event_handler(move |event: Event<DynamicObject>| {
            let what = if matches!(event, Event::Deleted(_)) { "-" } else { "+" };
            heard.lock().push(format!("{what}{}", event.object().key()));
        })
        .unwrap();
    for (round, name) in ["b", "c"].into_iter().enumerate() {
        let before = Asked::of(&server);
        undefine(&server);
        resting(&kind).await;
        assert!(Asked::of(&server).kind - before.kind <= 4, "a few times, to be sure");
        let began = tokio::time::Instant::now();
        let error = kind.list(&Query::new()).await.unwrap_err();
        assert!(matches!(&error, CacheError::CannotSync { cause, .. } if cause.code == 404), "{error}");
        assert_eq!(began.elapsed(), Duration::ZERO, "at once");
        let asked = Asked::within(&server, HOUR).await;
        assert_eq!(asked.kind, 0, "{asked:?}");
        assert!(asked.definition <= 30 && asked.discovery <= 25, "{asked:?}");
        let status = informer.status();
        assert_eq!((status.phase, status.objects), (Phase::Resting, 0));
        assert_eq!(status.trouble.unwrap().error.code, 404);
        assert!(!informer.is_stopped() && registration.status().panics == 0);

        define(&server, true);
        widget(&server, "shop", name);
        let wanted = [format!("shop/{name}")].into();
        assert_eq!(readable(&kind, Duration::from_secs(3)).await, wanted, "round {round}");
        assert_eq!(keys(kind.list(&Query::new().index("name", name)).await.unwrap()), wanted);
        assert_eq!(informer.status().phase, Phase::Running);
        assert!(informer.status().trouble.is_none());
    }
    registration.drain();
    registration.ended().await;
    assert_eq!(*log.lock(), ["+shop/a", "-shop/a", "+shop/b", "-shop/b", "+shop/c"]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_there_yet_is_asked_for_no_more_and_comes() {
    let server = server().await;
    let cache = cache(&server, CacheOptions::new());
    let kind = kind(&cache);
    assert!(matches!(kind.list(&Query::new()).await, Err(CacheError::CannotSync { .. })));
    resting(&kind).await;
    assert_eq!(Asked::within(&server, HOUR).await.kind, 0);
    define(&server, true);
    assert_eq!(readable(&kind, Duration::from_secs(3)).await, set([]));
}

/// Who may not hear of definitions.
fn confined(server: &TestServer, options: CacheOptions) -> Cache {
    server.access().add_user("t", "alice", ["devs"]);
    server.access().set_rules([Rule::deny().resources(["customresourcedefinitions"]), Rule::allow()]);
    let cache = Cache::with(server.in_process_client_with_token("t"), options).unwrap();
    cache.start().unwrap();
    cache
}

#[tokio::test(start_paused = true)]
async fn who_may_not_hear_of_definitions_asks_what_the_server_has() {
    let server = server().await;
    define(&server, true);
    widget(&server, "shop", "a");
    let cache = confined(&server, CacheOptions::new());
    let kind = kind(&cache);
    assert_eq!(kind.list(&Query::new()).await.unwrap().len(), 1);
    undefine(&server);
    resting(&kind).await;
    let asked = Asked::within(&server, HOUR).await;
    assert_eq!(asked.kind, 0, "{asked:?}");
    assert!(asked.definition <= 40 && asked.discovery <= 130, "{asked:?}");
    define(&server, true);
    widget(&server, "shop", "b");
    assert_eq!(readable(&kind, Duration::from_secs(60)).await, set(["shop/b"]));
}

#[tokio::test(start_paused = true)]
async fn permission_to_hear_of_definitions_may_come_later() {
    let server = server().await;
    let cache = confined(&server, CacheOptions::new());
    let kind = kind(&cache);
    assert!(kind.list(&Query::new()).await.is_err());
    tokio::time::sleep(HOUR).await;
    server.access().set_rules([Rule::allow()]);
    tokio::time::sleep(HOUR).await;
    assert!(Asked::within(&server, HOUR).await.discovery <= 25, "it hears of them now");
    define(&server, true);
    readable(&kind, Duration::from_secs(3)).await;
}

/// A widget whose type says that it has namespaces.
#[derive(kube_derive::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Widget", namespaced, schema = "disabled")]
#[kube(crates(kube_core = "kube_core", k8s_openapi = "k8s_openapi"))]
struct WidgetSpec {}

#[tokio::test(start_paused = true)]
async fn where_nobody_says_what_the_server_has_the_kind_itself_is_asked_for() {
    let server = server().await;
    define(&server, true);
    let cache = confined(&server, CacheOptions::new());
    server.access().set_rules([
        Rule::deny().resources(["customresourcedefinitions"]),
        Rule::deny().paths(["/apis/*"]),
        Rule::allow(),
    ]);
    let kind = cache.kind::<Widget>();
    assert_eq!(kind.list(&Query::new()).await.unwrap().len(), 0);
    undefine(&server);
    tokio::time::sleep(HOUR).await;
    let asked = Asked::within(&server, HOUR).await;
    assert!((100..300).contains(&asked.kind), "{asked:?}");
    define(&server, true);
    let mut status = kind.informer_now().await.unwrap().watch_status();
    let back = status.wait_for(|status| status.phase == Phase::Running && status.trouble.is_none());
    drop(tokio::time::timeout(Duration::from_secs(60), back).await.expect("it does not come back").unwrap());
    assert_eq!(kind.list(&Query::new()).await.unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_served_no_more_comes_back_when_it_is() {
    let server = server().await;
    define(&server, true);
    widget(&server, "shop", "a");
    let cache = cache(&server, CacheOptions::new());
    let kind = kind(&cache);
    assert_eq!(kind.list(&Query::new()).await.unwrap().len(), 1);
    for _ in 0..2 {
        define(&server, false);
        server.stop_watches();
        resting(&kind).await;
        let asked = Asked::within(&server, HOUR).await;
        assert_eq!(asked.kind, 0, "{asked:?}");
        assert!(asked.discovery <= 25, "{asked:?}");
        define(&server, true);
        assert_eq!(readable(&kind, Duration::from_secs(3)).await, set(["shop/a"]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_comes_back_before_anybody_noticed_is_noticed() {
    let server = server().await;
    define(&server, true);
    widget(&server, "shop", "a");
    let cache = cache(&server, CacheOptions::new());
    let kind = kind(&cache);
    assert_eq!(kind.list(&Query::new()).await.unwrap().len(), 1);
    for pause in [0, 1, 2, 3, 5, 8] {
        // Failures that are long ago are forgotten.
        tokio::time::sleep(Duration::from_secs(180)).await;
        undefine(&server);
        tokio::time::sleep(Duration::from_secs(pause)).await;
        define(&server, true);
        let name = format!("b{pause}");
        widget(&server, "shop", &name);
        let found = async {
            while kind.get("shop", &name).await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), found).await.expect("it does not come back");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_wrong_for_a_while_costs_a_while() {
    let server = server().await;
    define(&server, true);
    widget(&server, "shop", "a");
    let cache = cache(&server, CacheOptions::new());
    let kind = kind(&cache);
    assert_eq!(kind.list(&Query::new()).await.unwrap().len(), 1);
    // Something in between says that there is nothing, of the kind alone.
    let wrong = server.inject(Fault::reply(404).resource("widgets"));
    server.stop_watches();
    resting(&kind).await;
    let asked = Asked::within(&server, HOUR).await;
    assert!(asked.kind <= 60 && asked.discovery <= 30 && asked.definition <= 60, "{asked:?}");
    wrong.remove();
    assert_eq!(readable(&kind, Duration::from_secs(500)).await, set(["shop/a"]));
    // And it is forgotten that it was so for long.
    let wrong = server.inject(Fault::reply(404).resource("widgets"));
    server.stop_watches();
    resting(&kind).await;
    wrong.remove();
    assert_eq!(readable(&kind, Duration::from_secs(5)).await, set(["shop/a"]));
}

#[tokio::test(start_paused = true)]
async fn one_answer_that_there_is_no_such_kind_costs_nobody_an_object_whatever_was_wrong_before() {
    let server = server().await;
    define(&server, true);
    widget(&server, "shop", "a");
    let cache = cache(&server, CacheOptions::new());
    let kind = kind(&cache);
    let informer = kind.informer().await.unwrap();
    let deleted = Arc::new(Mutex::new(0));
    let count = Arc::clone(&deleted);
    let handler = informer.add_event_handler(move |event: Event<DynamicObject>| {
        *count.lock() += usize::from(matches!(event, Event::Deleted(_)));
    });
    handler.unwrap().synced().await;
    let errors = || informer.watch_status().borrow().errors;
    for (at, before) in [503, 500].into_iter().enumerate() {
        let so_far = errors();
        // A server that is being restarted, behind something that says that it has nothing.
        let gone = server.inject(Fault::reply(before).resource("widgets").times(2));
        let wrong = server.inject(Fault::reply(404).resource("widgets").skip(2).times(1));
        server.stop_watches();
        informer.watch_status().wait_for(|status| status.errors >= so_far + 3).await.unwrap();
        widget(&server, "shop", &format!("after-{before}"));
        let mut status = informer.watch_status();
        status.wait_for(|status| status.trouble.is_none() && status.objects == at + 2).await.unwrap();
        assert_eq!(*deleted.lock(), 0, "after {before}");
        gone.remove();
        wrong.remove();
    }
}

#[tokio::test(start_paused = true)]
async fn namespaces_that_are_refused_do_not_keep_a_kind_without_a_definition_asking() {
    let server = server().await;
    define(&server, true);
    widget(&server, "shop", "a");
    server.access().add_user("t", "alice", ["devs"]);
    server.access().set_rules([Rule::deny().resources(["widgets"]).namespace("bank"), Rule::allow()]);
    let options = CacheOptions::new().namespaces(["shop", "bank"]);
    let cache = Cache::with(server.in_process_client_with_token("t"), options).unwrap();
    cache.start().unwrap();
    let kind = kind(&cache);
    assert!(kind.get("shop", "a").await.is_ok());
    undefine(&server);
    resting(&kind).await;
    let refused = kind.get("bank", "c").await.unwrap_err();
    assert!(matches!(&refused, CacheError::CannotSync { cause, .. } if cause.code == 403), "{refused}");
    assert_eq!(Asked::within(&server, HOUR).await.kind, 0);
    server.access().set_rules([]);
    define(&server, true);
    widget(&server, "shop", "b");
    widget(&server, "bank", "c");
    assert_eq!(readable(&kind, Duration::from_secs(3)).await, set(["shop/b", "bank/c"]));
}

#[tokio::test(start_paused = true)]
async fn what_is_wanted_of_a_kind_may_change_while_it_has_no_definition() {
    let server = server().await;
    define(&server, true);
    let cache = cache(&server, CacheOptions::new().namespaces(["shop"]));
    let metadata = cache.kind_of::<PartialObjectMeta>(&widgets());
    metadata.list(&Query::new()).await.unwrap();
    let kind = kind(&cache);
    undefine(&server);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let before = Asked::of(&server).kind;
    cache.change(|options| options.namespaces(["shop", "bank"])).unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let error = kind.list(&Query::new()).await.unwrap_err();
    assert!(matches!(&error, CacheError::CannotSync { cause, .. } if cause.code == 404), "{error}");
    resting(&kind).await;
    assert!(Asked::of(&server).kind - before <= 12, "{}", Asked::of(&server).kind - before);
    assert_eq!(Asked::within(&server, HOUR).await.kind, 0);
    define(&server, true);
    widget(&server, "shop", "a");
    widget(&server, "bank", "b");
    widget(&server, "post", "c");
    assert_eq!(readable(&kind, Duration::from_secs(3)).await, set(["shop/a", "bank/b"]));
    assert_eq!(metadata.list(&Query::new()).await.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_kind_without_a_definition_that_is_removed_leaves_no_task_behind() {
    let server = server().await;
    let cache = cache(&server, CacheOptions::new());
    let kind = kind(&cache);
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert!(kind.list(&Query::new()).await.is_err());
    resting(&kind).await;
    kind.remove().await;
    tokio::task::yield_now().await;
    let without = alive();
    assert!(kind.list(&Query::new()).await.is_err());
    resting(&kind).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let (before, open) = (alive(), server.stats().watches);
    assert_eq!(open, 1, "of its definition");
    assert!(kind.remove().await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(alive() < before && alive() <= without, "{before} {without} {}", alive());
    assert_eq!(
        (Asked::within(&server, HOUR).await, server.stats().watches),
        (Asked { kind: 0, definition: 0, discovery: 0 }, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn definitions_are_heard_of_only_while_one_is_missing() {
    let server = server().await;
    define(&server, true);
    let cache = cache(&server, CacheOptions::new());
    let kind = kind(&cache);
    kind.list(&Query::new()).await.unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(Asked::of(&server).definition, 0);
    undefine(&server);
    resting(&kind).await;
    define(&server, true);
    readable(&kind, Duration::from_secs(3)).await;
    let asked = Asked::within(&server, HOUR).await;
    assert_eq!((asked.definition, asked.discovery), (0, 0));
}
