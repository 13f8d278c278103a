//! Watchers of `kube` follow a cluster in which much happens, while watches end and history is forgotten, and in
//! the end they know exactly what is there.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::ResourceExt;
use kube_client::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_runtime::reflector::{self, ObjectRef, Store};
use kube_runtime::watcher::{self, Event, watcher};
use kube_testserver::TestServer;
use serde_json::json;

use crate::support::{config_map, config_maps, create_all, start_with_client, version, within};

const WRITERS: u64 = 4;
const WRITES_EACH: usize = 2_500;
const LAST: &str = "zz-last";

/// What a test compares: name, version and content.
type State = BTreeMap<String, (u64, Option<String>)>;

fn state<'a>(objects: impl IntoIterator<Item = &'a ConfigMap>) -> State {
    let value = |map: &ConfigMap| map.data.as_ref().and_then(|data| data.get("value")).cloned();
    objects.into_iter().map(|map| (map.name_any(), (version(map), value(map)))).collect()
}

/// A small generator: the same writes for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Creates, changes and deletes objects of its own.
async fn write(server: Arc<TestServer>, api: Api<ConfigMap>, writer: u64) {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ (writer + 1));
    let mut mine: Vec<String> = Vec::new();
    for number in 0..WRITES_EACH {
        let value = format!("{writer} {number}");
        let at = usize::try_from(dice.roll(mine.len().max(1) as u64)).unwrap();
        match dice.roll(10) {
            0..=3 => {
                let name = format!("w{writer}-{number}");
                api.create(&PostParams::default(), &config_map(&name, &value)).await.unwrap();
                mine.push(name);
            }
            4 | 5 if !mine.is_empty() => {
                api.delete(&mine.swap_remove(at), &DeleteParams::default()).await.unwrap();
            }
            6 | 7 if !mine.is_empty() => {
                api.replace(&mine[at], &PostParams::default(), &config_map(&mine[at], &value)).await.unwrap();
            }
            _ if !mine.is_empty() => {
                let patch = Patch::Merge(json!({"data": {"value": value}}));
                api.patch(&mine[at], &PatchParams::default(), &patch).await.unwrap();
            }
            _ => {
                let name = format!("w{writer}-{number}");
                api.create(&PostParams::default(), &config_map(&name, &value)).await.unwrap();
                mine.push(name);
            }
        }
        if number % 50 == 49 {
            server.stop_watches();
        }
        if number % 250 == 249 {
            // Nobody who was interrupted can go on from where it was.
            let late = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("w{writer}-late")},
                "data": {"value": value},
            });
            server.put(&late).unwrap();
            server.compact();
        }
    }
}

/// Follows until the last object is there; returns how often it had to begin again.
async fn follow(
    store: Store<ConfigMap>,
    events: impl Stream<Item = Result<Event<ConfigMap>, watcher::Error>>,
) -> (State, usize) {
    let mut events = std::pin::pin!(events);
    let mut begun = 0;
    let last = ObjectRef::new(LAST).within("default");
    while store.get(&last).is_none() {
        // Errors are part of the game: the watcher recovers.
        if let Some(Ok(Event::Init)) = events.next().await {
            begun += 1;
        }
    }
    let objects = store.state();
    (state(objects.iter().map(Arc::as_ref)), begun)
}

fn reflect(api: &Api<ConfigMap>, config: watcher::Config) -> impl Future<Output = (State, usize)> + use<> {
    let (store, writer) = reflector::store();
    let events = reflector::reflector(writer, watcher(api.clone(), config));
    follow(store, events)
}

/// Keeps its own books from the bare events of a watcher.
async fn keep_books(api: Api<ConfigMap>) -> (State, usize) {
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()));
    let (mut known, mut fresh, mut begun) = (BTreeMap::new(), BTreeMap::new(), 0);
    while !known.contains_key(LAST) {
        match events.next().await.expect("a watcher never ends") {
            Ok(Event::Init) => {
                fresh = BTreeMap::new();
                begun += 1;
            }
            Ok(Event::InitApply(map)) => {
                fresh.insert(map.name_any(), map);
            }
            Ok(Event::InitDone) => known = std::mem::take(&mut fresh),
            Ok(Event::Apply(map)) => {
                let newer = version(&map);
                let older = known.insert(map.name_any(), map).map_or(0, |old| version(&old));
                assert!(older < newer, "a watch never goes back: {older}, then {newer}");
            }
            Ok(Event::Delete(map)) => {
                assert!(known.remove(&map.name_any()).is_some(), "only what was there is deleted");
            }
            Err(_interrupted) => {}
        }
    }
    (state(known.values()), begun)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_of_every_kind_know_the_truth_in_the_end() {
    let (server, client) = start_with_client().await;
    let server = Arc::new(server);
    let api = config_maps(&client);
    let before = server.resource_version();
    let followers = [
        tokio::spawn(reflect(&api, watcher::Config::default())),
        tokio::spawn(reflect(&api, watcher::Config::default().page_size(100))),
        tokio::spawn(reflect(&api, watcher::Config::default().any_semantic())),
        tokio::spawn(reflect(&api, watcher::Config::default().streaming_lists())),
        tokio::spawn(keep_books(api.clone())),
    ];
    let writers: Vec<_> =
        (0..WRITERS).map(|writer| tokio::spawn(write(Arc::clone(&server), api.clone(), writer))).collect();
    for writer in join_all(writers).await {
        writer.unwrap();
    }
    let late = WRITERS * WRITES_EACH as u64 / 250;
    assert_eq!(
        server.resource_version(),
        before + WRITERS * WRITES_EACH as u64 + late,
        "every write counted"
    );
    create_all(&api, &[LAST]).await;

    let truth = state(&api.list(&ListParams::default()).await.unwrap().items);
    assert!(truth.len() > 100, "{}", truth.len());
    for (number, follower) in followers.into_iter().enumerate() {
        let (known, begun) = within(follower).await.unwrap();
        assert_eq!(known, truth, "follower {number}");
        assert!(begun > 1, "follower {number} was never interrupted");
    }
}
