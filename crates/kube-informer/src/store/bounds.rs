//! Bounds on the work of writes and lookups under hostile input. They count comparisons of index values, never time.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;

use super::index::COMPARISONS;
use super::*;

/// A pod whose annotation `values` is a range of numbers, `0-5`.
fn pod(name: &str, values: std::ops::Range<usize>, version: u64) -> Object<Pod> {
    let mut pod = Pod::default();
    pod.metadata.name = Some(name.to_owned());
    pod.metadata.resource_version = Some(version.to_string());
    let annotations = [("values".to_owned(), format!("{}-{}", values.start, values.end))];
    pod.metadata.annotations = Some(annotations.into());
    Object::new(pod)
}

/// A store with an index `values`, which makes its values of the numbers of the annotation.
fn store(value: fn(usize) -> String) -> (Store<Pod>, Index<Pod>) {
    let store = Store::new();
    let index = store.add_index("values", move |pod: &Pod| {
        let range = pod.metadata.annotations.as_ref().and_then(|all| all.get("values")).unwrap();
        let (start, end) = range.split_once('-').unwrap();
        (start.parse().unwrap()..end.parse().unwrap()).map(value).collect::<Vec<String>>()
    });
    (store, index.unwrap())
}

/// How many index values are compared meanwhile.
fn comparisons(work: impl FnOnce()) -> usize {
    let before = COMPARISONS.get();
    work();
    COMPARISONS.get() - before
}

/// Asserts that twice the work takes not much more than twice the comparisons, for each of a row of counts.
#[track_caller]
fn assert_near_linear<const N: usize>(one: [usize; N], two: [usize; N]) {
    for (step, (one, two)) in one.into_iter().zip(two).enumerate() {
        assert!(one > 0 && two < one * 5 / 2, "step {step}: {one} comparisons, and {two} for twice as much");
    }
}

#[test]
fn the_work_of_changing_the_values_of_one_object_grows_with_their_number() {
    let value = |at: usize| format!("value-{at:07}");
    let work = |values: usize| {
        let (store, index) = store(value);
        store.write(vec![Write::Put(pod("other", 0..values, 1))], None);
        let put = |range, version| {
            comparisons(|| drop(store.write(vec![Write::Put(pod("a", range, version))], None)))
        };
        let counts = [
            put(0..values, 2),
            put(values..2 * values, 3),
            put(values / 2..values * 3 / 2, 4),
            comparisons(|| {
                let snapshot = store.snapshot();
                let has = |at: usize| snapshot.is_in("values", &value(at), "a");
                assert!((values / 2..values * 3 / 2).all(has) && !has(0) && !has(2 * values));
            }),
            comparisons(|| drop(store.write(vec![Write::RemoveKey("a".to_owned())], None))),
        ];
        assert!((0..values).all(|at| index.get(&value(at)).iter().all(|object| object.key() == "other")));
        let expected: BTreeSet<String> = (0..values).map(value).collect();
        assert_eq!(index.values().into_iter().collect::<BTreeSet<_>>(), expected, "nothing is left behind");
        counts
    };
    assert_near_linear(work(1_000), work(2_000));
}

#[test]
fn a_value_that_a_function_repeats_counts_once() {
    let work = |values: usize| {
        let (store, index) = store(|at| format!("value-{}", at % 7));
        let put = |range, version| {
            comparisons(|| drop(store.write(vec![Write::Put(pod("a", range, version))], None)))
        };
        let counts = [put(0..values, 1), put(1..values, 2), put(0..3, 3)];
        assert_eq!((index.values().len(), index.get("value-2").len(), index.get("value-3").len()), (3, 1, 0));
        store.write(vec![Write::RemoveKey("a".to_owned())], None);
        assert!(index.values().is_empty());
        counts
    };
    assert_near_linear(work(1_000), work(2_000));
}

#[test]
fn values_that_cancel_in_an_unkeyed_hash_are_found_with_few_comparisons() {
    let work = |objects: usize| {
        let (store, index) = store(|at| format!("4xjwcaaaaa/2bo8amu9{at:07}"));
        let put = |at: usize| Write::Put(pod(&format!("pod-{at}"), at..at + 1, 1));
        let put_and_find = || {
            store.write((0..objects).map(put).collect(), None);
            let found = |at: usize| index.get(&format!("4xjwcaaaaa/2bo8amu9{at:07}")).len();
            assert!((0..objects).all(|at| found(at) == 1));
        };
        [comparisons(put_and_find)]
    };
    assert_near_linear(work(1_000), work(2_000));
}
