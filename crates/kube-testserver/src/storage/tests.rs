//! Versions, history and pages, without HTTP.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::*;
use crate::selector::{LabelSelector, Selector};

const EVERYTHING: HistoryLimits = HistoryLimits { changes: usize::MAX, bytes: usize::MAX };

fn draft(key: &str, value: i64) -> Draft {
    let (namespace, name) = key.split_once('/').expect("a key");
    let object = json!({
        "metadata": {"namespace": namespace, "name": name, "labels": {"odd": (value % 2 == 1).to_string()}},
        "value": value,
    });
    let Value::Object(object) = object else { panic!("an object") };
    Draft { key: key.into(), object, fields: Vec::new() }
}

fn write(store: &Store, table: TableId, key: &str, value: i64) -> u64 {
    let expect = store.get(table, key).map_or(Expect::Absent, |old| Expect::Version(old.version()));
    store.put(table, draft(key, value), expect).expect("nobody else writes").version()
}

fn remove(store: &Store, table: TableId, key: &str) -> u64 {
    let version = store.get(table, key).expect("it is there").version();
    store.remove(table, key, Expect::Version(version)).expect("nobody else writes").version()
}

fn everything<'a>(selector: &'a Selector) -> PageQuery<'a> {
    PageQuery { namespace: "", selector, at: None, after: None, limit: None }
}

/// `key=value` of each object.
fn shown(page: &Page) -> Vec<String> {
    page.items.iter().map(|item| format!("{}={}", item.key(), item.object()["value"])).collect()
}

#[test]
fn every_write_to_any_table_gets_the_next_version() {
    let store = Store::new(EVERYTHING);
    let (pods, nodes) = (store.add_table(), store.add_table());
    let first = write(&store, pods, "a/x", 1);
    assert_eq!(write(&store, nodes, "/n", 1), first + 1);
    assert_eq!(write(&store, pods, "a/x", 2), first + 2);
    assert_eq!(remove(&store, pods, "a/x"), first + 3);
    assert_eq!(store.version(), first + 3);
}

#[test]
fn writes_that_expect_something_else_change_nothing() {
    let store = Store::new(EVERYTHING);
    let table = store.add_table();
    let version = write(&store, table, "a/x", 1);
    let put = |expect| store.put(table, draft("a/x", 9), expect).map(|_| ()).unwrap_err();
    assert_eq!(put(Expect::Absent), Mismatch::Exists);
    assert_eq!(put(Expect::Version(version - 1)), Mismatch::Changed);
    let missing = store.put(table, draft("a/y", 9), Expect::Version(version)).unwrap_err();
    assert_eq!(missing, Mismatch::Missing);
    assert_eq!(store.version(), version);
}

#[test]
fn a_list_at_an_older_version_shows_what_was_there() {
    let store = Store::new(EVERYTHING);
    let table = store.add_table();
    let all = Selector::default();
    let mut states = Vec::new();
    let mut snapshot = || {
        let page = store.page(table, &everything(&all)).unwrap();
        states.push((page.version, shown(&page)));
    };
    for (step, key) in
        ["a/x", "b/x", "a/y", "a/x", "-", "b/x", "c/z", "a/y", "-", "a/x"].into_iter().enumerate()
    {
        match key {
            "-" => remove(&store, table, if step == 4 { "a/x" } else { "b/x" }),
            key => write(&store, table, key, step as i64),
        };
        snapshot();
    }
    for (version, expected) in &states {
        let page = store.page(table, &PageQuery { at: Some(*version), ..everything(&all) }).unwrap();
        assert_eq!((page.version, shown(&page)), (*version, expected.clone()));
    }
    let (version, _) = states[3];
    let was = store.get_at(table, "a/x", version).unwrap().expect("it was there");
    assert_eq!(was.object()["value"], 3);
    assert!(store.get_at(table, "a/x", states[4].0).unwrap().is_none());
}

#[test]
fn pages_are_consistent_while_objects_come_and_go() {
    let store = Store::new(EVERYTHING);
    let table = store.add_table();
    let all = Selector::default();
    for at in 0..10 {
        write(&store, table, &format!("a/{at}"), at);
    }
    let first = store.page(table, &PageQuery { limit: Some(4), ..everything(&all) }).unwrap();
    assert_eq!(first.remaining, Some(6));
    remove(&store, table, "a/5");
    write(&store, table, "a/55", 55);
    write(&store, table, "a/7", 77);
    let after = first.items.last().unwrap().key().to_string();
    let query =
        PageQuery { at: Some(first.version), after: Some(&after), limit: Some(100), ..everything(&all) };
    let rest = store.page(table, &query).unwrap();
    assert_eq!(shown(&rest), ["a/4=4", "a/5=5", "a/6=6", "a/7=7", "a/8=8", "a/9=9"]);
    assert_eq!(rest.remaining, None);
}

#[test]
fn a_page_counts_only_what_the_selector_selects() {
    let store = Store::new(EVERYTHING);
    let table = store.add_table();
    for at in 0..10 {
        write(&store, table, &format!("a/{at}"), at);
    }
    let selector = Selector { labels: LabelSelector::parse("odd=true").unwrap(), ..Selector::default() };
    let page = store.page(table, &PageQuery { limit: Some(3), ..everything(&selector) }).unwrap();
    assert_eq!(shown(&page), ["a/1=1", "a/3=3", "a/5=5"]);
}

#[test]
fn a_namespace_holds_only_its_own_objects() {
    let store = Store::new(EVERYTHING);
    let table = store.add_table();
    for key in ["a/x", "a-b/x", "ab/x", "b/x", "a/y"] {
        write(&store, table, key, 1);
    }
    let all = Selector::default();
    let page = store.page(table, &PageQuery { namespace: "a", ..everything(&all) }).unwrap();
    assert_eq!(shown(&page), ["a/x=1", "a/y=1"]);
}

#[test]
fn history_is_bounded_and_older_versions_are_gone() {
    let store = Store::new(HistoryLimits { changes: 3, bytes: usize::MAX });
    let table = store.add_table();
    let versions: Vec<u64> = (0..6).map(|value| write(&store, table, "a/x", value)).collect();
    let all = Selector::default();
    let at = |version| store.page(table, &PageQuery { at: Some(version), ..everything(&all) });
    assert!(at(versions[1]).is_err());
    assert_eq!(shown(&at(versions[2]).unwrap()), ["a/x=2"]);
    assert_eq!(store.changes(table, versions[1], 10).unwrap_err(), TooOld { oldest: versions[2] });
    assert_eq!(store.changes(table, versions[2], 10).unwrap().changes.len(), 3);
    assert_eq!(store.stats().history_changes, 3);
}

#[test]
fn history_is_bounded_in_bytes_too() {
    let store = Store::new(HistoryLimits { changes: usize::MAX, bytes: 10_000 });
    let table = store.add_table();
    for value in 0..1000 {
        write(&store, table, "a/x", value);
    }
    let stats = store.stats();
    assert!(stats.history_bytes <= 10_000 && stats.history_changes > 10, "{stats:?}");
    assert_eq!(stats.objects, 1);
}

#[test]
fn a_watcher_that_falls_out_of_the_history_is_cut_off_and_others_are_not() {
    let store = Store::new(HistoryLimits { changes: 3, bytes: usize::MAX });
    let table = store.add_table();
    let start = store.version();
    let slot = |position| {
        let slot = Arc::new(WatchSlot::default());
        slot.position.store(position, Ordering::Relaxed);
        store.register(table, &slot).unwrap();
        slot
    };
    let (slow, fast) = (slot(start), slot(start));
    for value in 0..3 {
        fast.position.store(write(&store, table, "a/x", value), Ordering::Relaxed);
    }
    assert!(!slow.cut.is_cancelled(), "the history still has everything");
    fast.position.store(write(&store, table, "a/x", 9), Ordering::Relaxed);
    assert!(slow.cut.is_cancelled());
    assert!(!fast.cut.is_cancelled());
    assert_eq!(store.watchers_cut(), 1);
}

#[test]
fn compaction_forgets_the_past_but_spares_watchers_that_are_up_to_date() {
    let store = Store::new(EVERYTHING);
    let (table, other) = (store.add_table(), store.add_table());
    let first = write(&store, table, "a/x", 1);
    let second = write(&store, table, "a/x", 2);
    write(&store, other, "a/x", 1);
    let slot = |position| {
        let slot = Arc::new(WatchSlot::default());
        slot.position.store(position, Ordering::Relaxed);
        store.register(table, &slot).unwrap();
        slot
    };
    let (behind, current) = (slot(first), slot(second));
    let compacted = store.compact();
    assert!(behind.cut.is_cancelled());
    assert!(!current.cut.is_cancelled());
    assert_eq!(current.position.load(Ordering::Relaxed), compacted);
    assert!(store.changes(table, second, 1).is_err());
    assert!(store.changes(table, compacted, 1).is_ok());
}

#[test]
fn a_closed_table_says_so_after_its_last_change() {
    let store = Store::new(EVERYTHING);
    let table = store.add_table();
    let start = store.version();
    write(&store, table, "a/x", 1);
    write(&store, table, "a/x", 2);
    store.close_table(table);
    let first = store.changes(table, start, 1).unwrap();
    assert!(!first.closed && first.complete_to.is_none());
    assert!(store.changes(table, first.changes[0].version, 10).unwrap().closed);
}

#[test]
fn objects_and_their_past_are_shared_not_copied() {
    let store = Store::new(EVERYTHING);
    let table = store.add_table();
    write(&store, table, "a/x", 1);
    let live = store.get(table, "a/x").unwrap();
    let all = Selector::default();
    let listed = store.page(table, &everything(&all)).unwrap().items.remove(0);
    let watched = Arc::clone(&store.changes(table, 1, 1).unwrap().changes[0].new);
    assert!(Arc::ptr_eq(&live, &listed) && Arc::ptr_eq(&live, &watched));
}
