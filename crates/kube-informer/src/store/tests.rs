//! What readers of a store can rely on.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_core::{Expression, Selector};
use serde_json::json;

use super::*;
use crate::object::DecodeContext;

/// A pod that rests as bytes if its version is even, and decoded if it is odd.
fn pod(namespace: &str, name: &str, node: &str, version: u64) -> Object<Pod> {
    let pod = decoded_pod(namespace, name, node, version);
    if version % 2 == 1 {
        return Object::new(pod);
    }
    let bytes = serde_json::to_vec(&pod).unwrap();
    let decode = |bytes: &[u8], _| kube_wire::decode_object(bytes, kube_wire::DecodeOptions::default());
    Object::packed(Box::new(pod), bytes.into(), &Arc::new(DecodeContext::new(decode, None)))
}

fn decoded_pod(namespace: &str, name: &str, node: &str, version: u64) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"namespace": namespace, "name": name, "uid": format!("uid-{name}"), "resourceVersion": version.to_string()},
        "spec": {"nodeName": node, "containers": []},
    }))
    .unwrap()
}

fn names(objects: impl IntoIterator<Item: Borrow<Object<Pod>>>) -> BTreeSet<String> {
    objects.into_iter().map(|object| object.borrow().key().to_owned()).collect()
}

fn set<const N: usize>(keys: [&str; N]) -> BTreeSet<String> {
    keys.into_iter().map(str::to_owned).collect()
}

fn by_node(store: &Store<Pod>) -> Index<Pod> {
    store.add_index("node", |pod: &Pod| pod.spec.as_ref()?.node_name.clone()).unwrap()
}

#[test]
fn objects_are_found_by_name_by_namespace_and_all_together() {
    let store = Store::new();
    store.write(
        vec![
            Write::Put(pod("a", "x", "n1", 1)),
            Write::Put(pod("a", "y", "n2", 2)),
            Write::Put(pod("b", "x", "n1", 3)),
        ],
        Some("3"),
    );
    assert_eq!(store.get("a", "x").unwrap().key(), "a/x");
    assert!(store.get("a", "z").is_none());
    assert_eq!(names(store.namespaced("a")), set(["a/x", "a/y"]));
    assert_eq!(names(store.list()), set(["a/x", "a/y", "b/x"]));
    assert_eq!(store.get("b", "x").unwrap().spec.as_ref().unwrap().node_name.as_deref(), Some("n1"));
}

#[test]
fn an_index_follows_changes_and_may_come_late() {
    let store = Store::new();
    store.write(vec![Write::Put(pod("a", "x", "n1", 1)), Write::Put(pod("a", "y", "n2", 2))], None);
    let index = by_node(&store);
    assert_eq!(names(index.get("n1")), set(["a/x"]), "what was there is indexed");
    store.write(
        vec![
            Write::Put(pod("a", "x", "n2", 3)),
            Write::Put(pod("a", "z", "n1", 4)),
            Write::Remove(pod("a", "y", "n2", 5)),
        ],
        None,
    );
    assert_eq!(names(index.get("n1")), set(["a/z"]));
    assert_eq!(names(index.get("n2")), set(["a/x"]));
    assert_eq!(index.values().len(), 2);
    store.write(vec![Write::Remove(pod("a", "z", "n1", 6))], None);
    assert_eq!(index.values(), ["n2"], "values that lead nowhere are forgotten");
}

/// So many objects that their table grows and shrinks several times, and that they are in the way of each other.
#[test]
fn what_is_found_is_what_was_put_however_objects_come_go_and_move() {
    let (store, mut model) = (Store::new(), BTreeMap::new());
    let index = by_node(&store);
    let mut random = 7_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let mut moments = Vec::new();
    for step in 1..7_001_u64 {
        let (namespace, name, node) = (next(3).to_string(), next(400).to_string(), next(5).to_string());
        let key = format!("{namespace}/{name}");
        let write = if next(20) < if step > 3_500 { 19 } else { 4 } {
            model.remove(&key);
            Write::RemoveKey(key)
        } else {
            model.insert(key, node.clone());
            Write::Put(pod(&namespace, &name, &node, step))
        };
        store.write(vec![write], None);
        if step % 100 == 50 {
            // A list of one namespace or of all, with some objects gone, some new, and some of which nothing is known.
            let scope = Scope { namespace: (next(2) == 0).then(|| namespace.clone()), ..Scope::default() };
            let covered = |key: &str| key.split_once('/').is_some_and(|(within, _)| scope.covers(within));
            let mut listed: BTreeMap<String, String> = model
                .iter()
                .filter(|(key, _)| covered(key))
                .map(|(key, node)| (key.clone(), node.clone()))
                .collect();
            let mut gone: Vec<String> = listed.keys().filter(|_| next(4) == 0).cloned().collect();
            gone.iter().for_each(|key| drop(listed.remove(key)));
            let kept: HashSet<String> = gone.split_off(gone.len() / 2).into_iter().collect();
            let new = if step > 3_500 { 10 } else { 200 };
            listed.extend((0..next(new)).map(|at| (format!("{namespace}/new-{step}-{at}"), node.clone())));
            let objects = listed.iter().map(|(key, node)| match store.snapshot().get_key(key) {
                Some(same) => same,
                None => {
                    let (namespace, name) = key.split_once('/').unwrap();
                    pod(namespace, name, node, step)
                }
            });
            let trust = [Trust::Nothing, Trust::Versions][usize::from(next(2) == 0)];
            store.replace_in(&scope, objects.collect(), trust, &kept, None);
            gone.iter().for_each(|key| drop(model.remove(key)));
            model.extend(listed);
        }
        if step % 500 == 0 {
            moments.push((store.snapshot(), model.clone()));
        }
    }
    assert!(moments.iter().map(|(snapshot, _)| snapshot.len()).max() > Some(600));
    assert!(moments.last().is_some_and(|(snapshot, _)| (1..300).contains(&snapshot.len())));
    for (snapshot, model) in &moments {
        assert_eq!((names(snapshot.iter()), snapshot.len()), (model.keys().cloned().collect(), model.len()));
        let packed: usize = snapshot.iter().map(|object| object.packed_bytes()).sum();
        assert!(snapshot.packed_bytes() == packed && packed > 0);
        assert!(model.keys().all(|key| snapshot.get_key(key).is_some_and(|object| object.key() == key)));
        for value in 0..5_u64 {
            let value = value.to_string();
            let within = model.keys().filter(|key| key.starts_with(&format!("{value}/"))).cloned().collect();
            assert_eq!(names(snapshot.namespaced(&value)), within, "namespace {value}");
            let with: BTreeSet<String> =
                model.iter().filter(|(_, node)| **node == value).map(|(key, _)| key.clone()).collect();
            assert_eq!(snapshot.count("node", &value), Some(with.len()));
            assert_eq!(names(index.at(snapshot, &value)), with, "node {value}");
            assert!(model.iter().all(|(key, node)| snapshot.is_in("node", &value, key) == (*node == value)));
        }
    }
}

#[test]
fn an_object_may_have_many_values_or_none() {
    let store = Store::new();
    let index = store
        .add_index("words", |pod: &Pod| {
            pod.metadata
                .name
                .as_deref()
                .unwrap_or("")
                .split('-')
                .map(str::to_owned)
                .filter(|w| w.len() > 1)
                .collect::<Vec<_>>()
        })
        .unwrap();
    store.write(
        vec![
            Write::Put(pod("a", "web-green", "n", 1)),
            Write::Put(pod("a", "db-green", "n", 2)),
            Write::Put(pod("a", "x", "n", 3)),
        ],
        None,
    );
    assert_eq!(names(index.get("green")), set(["a/web-green", "a/db-green"]));
    assert_eq!(names(index.get("web")), set(["a/web-green"]));
    assert!(index.get("x").is_empty());
}

#[test]
fn a_name_is_for_one_index() {
    let store = Store::<Pod>::new();
    by_node(&store);
    let error = store.add_index("node", |_: &Pod| Some(String::new())).unwrap_err();
    assert_eq!(error, IndexError::Exists { name: "node".to_owned() });
    assert!(store.add_index("namespace", |_: &Pod| Some(String::new())).is_err());
}

#[test]
fn a_snapshot_stays_what_it_was() {
    let store = Store::new();
    let index = by_node(&store);
    store.write(vec![Write::Put(pod("a", "x", "n1", 1))], Some("1"));
    let before = store.snapshot();
    store.write(vec![Write::Put(pod("a", "x", "n2", 2)), Write::Put(pod("a", "y", "n1", 3))], Some("3"));
    assert_eq!(names(before.iter()), set(["a/x"]));
    assert_eq!(names(index.at(&before, "n1")), set(["a/x"]), "its indexes are of the same moment");
    assert_eq!(before.resource_version().unwrap().as_str(), "1");
    assert_eq!(names(index.get("n1")), set(["a/y"]));
    assert_eq!(names(before.by_index("node", "n1").unwrap()), set(["a/x"]));
    assert!(before.by_index("nope", "n1").is_none());
}

#[test]
fn writes_tell_what_was_there_before() {
    let store = Store::new();
    let written = store.write(
        vec![
            Write::Put(pod("a", "x", "n1", 1)),
            Write::Put(pod("a", "x", "n1", 2)),
            Write::Remove(pod("a", "x", "n1", 3)),
            Write::Remove(pod("a", "q", "n1", 4)),
        ],
        None,
    );
    let versions: Vec<(Option<&str>, Option<&str>)> = written
        .iter()
        .map(|one| {
            (one.old.as_ref().map(Object::resource_version), one.new.as_ref().map(Object::resource_version))
        })
        .collect();
    assert_eq!(versions, [(None, Some("1")), (Some("1"), Some("2")), (Some("2"), None), (None, None)]);
    assert!(store.list().is_empty());
}

#[test]
fn a_replacement_is_one_step_and_keeps_what_has_not_changed() {
    let store = Store::new();
    let index = by_node(&store);
    store.replace(
        vec![pod("a", "x", "n1", 1), pod("a", "y", "n1", 2), pod("a", "z", "n1", 3)],
        &HashSet::new(),
        Some("3"),
    );
    let same = store.get("a", "x").unwrap();
    let written = store.replace(
        vec![pod("a", "x", "n1", 1), pod("a", "y", "n2", 5), pod("a", "w", "n1", 6)],
        &HashSet::new(),
        Some("9"),
    );
    assert!(store.get("a", "x").unwrap().is_same(&same));
    let told: Vec<(Option<&str>, Option<&str>)> = written
        .iter()
        .map(|one| (one.old.as_ref().map(Object::key), one.new.as_ref().map(Object::key)))
        .collect();
    assert_eq!(
        told,
        [(Some("a/x"), Some("a/x")), (Some("a/y"), Some("a/y")), (None, Some("a/w")), (Some("a/z"), None)]
    );
    assert_eq!(names(index.get("n1")), set(["a/x", "a/w"]));
    assert_eq!(names(store.namespaced("a")), set(["a/x", "a/y", "a/w"]));
}

#[test]
fn of_a_key_that_is_in_a_list_twice_the_last_one_counts() {
    let store = Store::new();
    let replace = |versions: [u64; 2]| {
        store.replace(versions.map(|version| pod("a", "x", "n1", version)).into(), &HashSet::new(), None)
    };
    for versions in [[1, 2], [2, 3], [4, 3], [3, 3], [3, 1]] {
        let written = replace(versions);
        assert_eq!(written.len(), 2, "{versions:?}");
        assert_eq!(store.get("a", "x").unwrap().resource_version(), versions[1].to_string(), "{versions:?}");
        assert_eq!(store.snapshot().len(), 1);
    }
}

#[test]
fn an_object_of_which_nothing_is_known_stays() {
    let store = Store::new();
    store.replace(vec![pod("a", "x", "n1", 1), pod("a", "y", "n1", 2)], &HashSet::new(), Some("2"));
    let written = store.replace(Vec::new(), &HashSet::from(["a/x".to_owned()]), Some("3"));
    assert_eq!(names(store.list()), set(["a/x"]));
    assert_eq!(written.len(), 1, "only the other one is gone");
    store.write(vec![Write::RemoveKey("a/x".to_owned())], None);
    assert!(store.list().is_empty());
}

#[test]
fn an_object_that_was_made_anew_under_its_name_is_another_one() {
    let store = Store::new();
    store.replace(vec![pod("a", "x", "n1", 1)], &HashSet::new(), Some("1"));
    let old = store.get("a", "x").unwrap();
    let mut again = decoded_pod("a", "x", "n1", 1);
    again.metadata.uid = Some("another".to_owned());
    store.replace(vec![Object::new(again)], &HashSet::new(), Some("2"));
    assert!(!store.get("a", "x").unwrap().is_same(&old));
}

#[test]
fn the_version_never_goes_back() {
    let store = Store::<Pod>::new();
    assert_eq!(store.resource_version(), None);
    store.replace(Vec::new(), &HashSet::new(), Some("9"));
    store.bookmark("100");
    store.bookmark("20");
    store.bookmark("not a number");
    assert_eq!(store.resource_version().unwrap().as_str(), "100");
}

#[tokio::test(start_paused = true)]
async fn a_writer_can_wait_to_read_its_own_write() {
    let store = Store::<Pod>::new();
    let version: Version = "10".parse().unwrap();
    let waiting = {
        let store = store.clone();
        let version = version.clone();
        tokio::spawn(async move { store.wait_until(&version).await })
    };
    store.bookmark("9");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!waiting.is_finished());
    store.write(vec![Write::Put(pod("a", "x", "n", 11))], Some("11"));
    waiting.await.unwrap().unwrap();
    store.wait_until(&version).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_list_of_a_new_epoch_sets_the_version_back_and_tells_those_who_wait_for_one_of_the_old() {
    let store = Store::<Pod>::new();
    let content = |node: &str| pod("a", "x", node, 450);
    store.write(vec![Write::Put(content("before"))], Some("600"));
    let version = |text: &str| text.parse::<Version>().unwrap();
    let waiting = {
        let store = store.clone();
        tokio::spawn(async move { store.wait_until(&version("700")).await })
    };
    tokio::task::yield_now().await;
    let old = store.snapshot();
    let written = store.replace_in(
        &Scope::default(),
        vec![content("after")],
        Trust::NewEpoch,
        &HashSet::new(),
        Some("500"),
    );
    assert_eq!(waiting.await.unwrap(), Err(EpochEnded { waited_for: version("700") }));
    assert_eq!((store.epoch(), store.resource_version().unwrap().as_str()), (1, "500"));
    assert_eq!((old.epoch(), old.resource_version().unwrap().as_str()), (0, "600"));
    let node = |object: &Object<Pod>| object.spec.as_ref().unwrap().node_name.clone().unwrap();
    assert_eq!(node(&store.get("a", "x").unwrap()), "after", "the same version, and other content");
    assert_eq!(written.iter().map(|one| node(one.new.as_ref().unwrap())).collect::<Vec<_>>(), ["after"]);
    let at_600 = version("600");
    let later = tokio::time::timeout(Duration::from_secs(60), store.wait_until(&at_600)).await;
    assert!(later.is_err(), "600 of this epoch has not been seen");
    store.bookmark("600");
    assert_eq!(store.wait_until(&version("600")).await, Ok(()));
    store.bookmark("599");
    assert_eq!(store.resource_version().unwrap().as_str(), "600", "within an epoch it never goes back");
}

#[test]
fn readers_see_whole_steps_while_a_writer_works() {
    let store = Store::new();
    let index = by_node(&store);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let snapshot = store.snapshot();
                    let all: BTreeSet<String> =
                        snapshot.iter().map(|object| object.resource_version().to_owned()).collect();
                    assert!(all.len() <= 1, "half of a replacement: {all:?}");
                    let indexed = index.at(&snapshot, "n").count();
                    assert_eq!(indexed, snapshot.len(), "index and objects of different moments");
                    assert_eq!(snapshot.namespaced("a").count(), snapshot.len());
                }
            });
        }
        for version in 1..300 {
            let objects = (0..50).map(|name| pod("a", &format!("p{name}"), "n", version)).collect();
            store.replace(objects, &HashSet::new(), Some(&version.to_string()));
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// A codec of pods, and how often it was used.
fn counting() -> (Arc<DecodeContext<Pod>>, impl Fn() -> usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let decode = move |bytes: &[u8], _| {
        counted.fetch_add(1, Ordering::Relaxed);
        kube_wire::decode_object(bytes, kube_wire::DecodeOptions::default())
    };
    (Arc::new(DecodeContext::new(decode, None)), move || count.load(Ordering::Relaxed))
}

#[test]
fn packed_objects_are_found_selected_and_removed_without_being_decoded() {
    let (codec, decoded) = counting();
    let packed = |name: &str, node: &str, version| {
        let pod = decoded_pod("a", name, node, version);
        let bytes = serde_json::to_vec(&pod).unwrap();
        Object::packed(Box::new(pod), bytes.into(), &codec)
    };
    let store = Store::new();
    let index = by_node(&store);
    store.write(vec![Write::Put(packed("x", "n1", 1)), Write::Put(packed("y", "n1", 2))], None);
    store.write(vec![Write::Put(packed("x", "n2", 3)), Write::RemoveKey("a/y".to_owned())], None);
    assert_eq!(names(index.get("n1")), set([]));
    assert_eq!(names(index.get("n2")), set(["a/x"]));
    store.replace(vec![packed("x", "n2", 3), packed("z", "n2", 4)], &HashSet::new(), None);
    assert_eq!(names(store.namespaced("a")), set(["a/x", "a/z"]));
    assert_eq!(index.get("n2").iter().map(Object::resource_version).collect::<BTreeSet<_>>().len(), 2);
    assert_eq!(decoded(), 0);
    assert_eq!(index.get("n2")[0].spec.as_ref().unwrap().node_name.as_deref(), Some("n2"));
    assert_eq!(decoded(), 1);
}

/// A pod with a label, of which nobody holds the value.
fn at_rest(
    namespace: &str,
    name: &str,
    app: &str,
    version: u64,
    codec: &Arc<DecodeContext<Pod>>,
) -> Object<Pod> {
    let mut pod = decoded_pod(namespace, name, "n1", version);
    pod.metadata.labels = Some([("app".to_owned(), app.to_owned())].into());
    let bytes = serde_json::to_vec(&pod).unwrap();
    Object::packed_at_rest(Box::new(pod), bytes.into(), codec)
}

#[test]
fn an_index_of_what_is_known_without_looking_decodes_nothing() {
    let (codec, decoded) = counting();
    let pod = |namespace, name, app, version| at_rest(namespace, name, app, version, &codec);
    let store = Store::new();
    store.write(vec![Write::Put(pod("a", "x", "web", 1)), Write::Put(pod("a", "y", "db", 2))], None);
    let of_label = |object: &Object<Pod>| object.labels().get("app").map(str::to_owned);
    let by_app = store.add_index_of_handles("app", of_label).unwrap();
    assert_eq!(names(by_app.get("web")), set(["a/x"]), "what was there is indexed");
    store.write(
        vec![
            Write::Put(pod("a", "x", "db", 3)),
            Write::Put(pod("b", "z", "web", 4)),
            Write::Remove(pod("a", "y", "db", 5)),
        ],
        None,
    );
    assert_eq!((names(by_app.get("web")), names(by_app.get("db"))), (set(["b/z"]), set(["a/x"])));
    assert_eq!((names(store.namespaced("a")), names(store.namespaced("b"))), (set(["a/x"]), set(["b/z"])));
    let listed = vec![pod("a", "x", "db", 3), pod("b", "z", "db", 6), pod("a", "w", "web", 7)];
    store.replace(listed, &HashSet::new(), None);
    assert_eq!((names(by_app.get("web")), names(by_app.get("db"))), (set(["a/w"]), set(["a/x", "b/z"])));
    let web = Selector::from(Expression::Equal("app".to_owned(), "web".to_owned()));
    assert_eq!(names(Selected::new(store.snapshot(), None, &web).to_vec()), set(["a/w"]));
    assert_eq!(names(store.snapshot().by_index("app", "db").unwrap()), set(["a/x", "b/z"]));
    assert_eq!(decoded(), 0);
}

#[test]
fn an_index_of_what_is_inside_decodes_what_comes_once_and_neither_what_goes_nor_what_stays() {
    let (codec, decoded) = counting();
    let pod = |name, version| at_rest("a", name, "web", version, &codec);
    let store = Store::new();
    let index = by_node(&store);
    store.replace(vec![pod("x", 1), pod("y", 2), pod("z", 3)], &HashSet::new(), None);
    assert_eq!(decoded(), 3, "one for each");
    store.write(vec![Write::Put(pod("x", 4))], None);
    assert_eq!(decoded(), 4, "the new one, and not the old one");
    store.write(vec![Write::Remove(pod("y", 5))], None);
    store.write(vec![Write::RemoveKey("a/y".to_owned())], None);
    assert_eq!(names(index.get("n1")), set(["a/x", "a/z"]));
    store.replace(vec![pod("x", 4), pod("z", 3)], &HashSet::new(), None);
    assert_eq!(decoded(), 4, "nothing has come");
    store.replace(vec![pod("x", 4)], &HashSet::new(), None);
    assert_eq!((names(index.get("n1")), decoded()), (set(["a/x"]), 4));
}

#[test]
fn the_values_of_an_object_follow_its_changes() {
    let store = Store::new();
    let index = store
        .add_index("users", |pod: &Pod| {
            let users = pod.metadata.annotations.as_ref().and_then(|all| all.get("users"));
            users.map(|users| users.split(',').map(str::to_owned).collect::<Vec<_>>()).unwrap_or_default()
        })
        .unwrap();
    let used = |name: &str, users: &str, version: u64| {
        let mut pod = decoded_pod("a", name, "n", version);
        pod.metadata.annotations = Some([("users".to_owned(), users.to_owned())].into());
        Object::new(pod)
    };
    let put = |name: &str, users: &str| store.write(vec![Write::Put(used(name, users, 1))], None);
    let values = || index.values().into_iter().collect::<BTreeSet<_>>();
    put("one", "ernie,bert");
    put("two", "bert,oscar,bert");
    put("tre", "ernie,elmo");
    assert_eq!(values(), set(["bert", "elmo", "ernie", "oscar"]), "each value once");
    assert_eq!(names(index.get("ernie")), set(["a/one", "a/tre"]));
    assert_eq!(names(index.get("bert")), set(["a/one", "a/two"]));
    put("tre", "oscar");
    assert_eq!(names(index.get("ernie")), set(["a/one"]), "it has left a value that others have");
    assert_eq!(names(index.get("oscar")), set(["a/two", "a/tre"]));
    assert!(index.get("elmo").is_empty() && !values().contains("elmo"));
    store.write(vec![Write::Remove(used("two", "whatever", 2))], None);
    assert_eq!(names(index.get("bert")), set(["a/one"]), "it goes by what was stored");
    assert_eq!(names(index.get("oscar")), set(["a/tre"]));
    assert_eq!(values(), set(["bert", "ernie", "oscar"]));
}

#[test]
fn what_an_index_has_looked_into_is_held_for_those_who_are_told_but_not_all_of_a_large_list() {
    let (_, codec) = arriving();
    let store = Store::new();
    by_node(&store);
    let listed = |number: usize| {
        let mut pod = decoded_pod("a", "x", "n1", 2);
        pod.metadata.annotations = Some([("text".to_owned(), "x".repeat(HELD_BYTES / 4))].into());
        let bytes = serde_json::to_vec(&pod).unwrap().into();
        let name = &format!("x{number}");
        let identity = crate::object::Identity { namespace: "a", name, ..Default::default() };
        Object::unseen(identity, std::iter::empty(), bytes, &codec, false)
    };
    let written = store.replace((0..10).map(listed).collect(), &HashSet::new(), None);
    let held: Vec<bool> = written.iter().map(|written| written.new.as_ref().unwrap().is_decoded()).collect();
    assert_eq!(held[..4], [true, true, true, false]);
    assert!(!held[4..].contains(&true));
}

/// A pod that will be told, and that nobody has looked into; and its codec.
fn arriving() -> (Object<Pod>, Arc<DecodeContext<Pod>>) {
    let decode = |bytes: &[u8], _| kube_wire::decode_object(bytes, kube_wire::DecodeOptions::default());
    let codec = Arc::new(DecodeContext::new(decode, None));
    let bytes = serde_json::to_vec(&decoded_pod("a", "x", "n1", 2)).unwrap().into();
    let identity = crate::object::Identity { namespace: "a", name: "x", ..Default::default() };
    (Object::unseen(identity, std::iter::empty(), bytes, &codec, true), codec)
}

#[test]
fn where_an_index_looks_into_objects_the_next_ones_are_decoded_before_they_come() {
    let (object, codec) = arriving();
    let store = Store::new();
    store.write(vec![Write::Put(object)], None);
    let ahead = |codec: &DecodeContext<Pod>| (0..2).any(|_| codec.ahead().take());
    assert!(!ahead(&codec), "namespaces are known without");
    by_node(&store);
    let (object, codec) = arriving();
    store.write(vec![Write::Put(object.clone())], None);
    assert!(object.is_decoded() && ahead(&codec));
}
