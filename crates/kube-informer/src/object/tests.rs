use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::{Expression, Selector};

use super::*;

fn config(name: &str, size: usize) -> ConfigMap {
    let metadata = serde_json::json!({
        "name": name, "namespace": "a", "uid": format!("uid-{name}"), "resourceVersion": "42",
        "labels": {"app": "web", "tier": "front"},
    });
    serde_json::from_value(serde_json::json!({"metadata": metadata, "data": {"text": "x".repeat(size)}}))
        .unwrap()
}

/// A codec that counts how often it is used.
fn counting(warm_bytes: usize) -> (Arc<Codec<ConfigMap>>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let decode = move |bytes: &[u8]| {
        counted.fetch_add(1, Ordering::Relaxed);
        kube_wire::decode_object(bytes, kube_wire::DecodeOptions::default())
    };
    (Arc::new(Codec::new(decode, (warm_bytes > 0).then(|| Warm::new(warm_bytes)))), count)
}

fn packed(name: &str, size: usize, codec: &Arc<Codec<ConfigMap>>) -> Object<ConfigMap> {
    let object = config(name, size);
    let bytes = serde_json::to_vec(&object).unwrap();
    Object::packed(object, bytes.into(), codec)
}

#[test]
fn what_identifies_a_packed_object_is_read_without_decoding() {
    let (codec, decoded) = counting(0);
    for object in [packed("x", 1, &codec).stored().object(), Object::new(config("x", 1))] {
        assert_eq!((object.key(), object.name(), object.namespace()), ("a/x", "x", "a"));
        assert_eq!((object.uid(), object.resource_version()), ("uid-x", "42"));
        assert_eq!((object.labels().get("app"), object.labels().get("no")), (Some("web"), None));
        assert_eq!(object.labels().iter().collect::<Vec<_>>(), [("app", "web"), ("tier", "front")]);
    }
    assert_eq!(decoded.load(Ordering::Relaxed), 0);
}

#[test]
fn a_packed_object_is_decoded_once_for_all_who_hold_it_and_again_when_nobody_does() {
    let (codec, decoded) = counting(0);
    let fresh = packed("x", 1, &codec);
    assert!(fresh.is_decoded(), "it has just been decoded");
    let stored = fresh.stored().clone();
    assert_eq!(fresh.data.as_ref().unwrap()["text"], "x");
    drop(fresh);
    assert_eq!(decoded.load(Ordering::Relaxed), 0);
    let (one, two) = (stored.object(), stored.object());
    assert!(!one.is_decoded());
    assert_eq!(one.data, two.data);
    let three = one.clone();
    assert!(std::ptr::eq(&*one, &*two) && std::ptr::eq(&*one, &*three));
    assert_eq!(decoded.load(Ordering::Relaxed), 1);
    drop((one, two, three));
    assert!(!stored.object().is_decoded(), "the value went with the last handle");
    assert_eq!(stored.object().name(), "x");
    assert!(stored.object().data.is_some());
    assert_eq!(decoded.load(Ordering::Relaxed), 2);
}

#[test]
fn what_is_left_of_a_value_that_nobody_holds_is_small() {
    // The weak reference in each packed object keeps the memory of what it refers to.
    assert!(size_of::<super::packed::View<k8s_openapi::api::core::v1::Pod>>() <= 16);
}

#[test]
fn what_is_listed_rests_without_its_value_from_the_start() {
    let (codec, decoded) = counting(0);
    let object = config("x", 1);
    let bytes = serde_json::to_vec(&object).unwrap();
    let object = Object::packed_at_rest(object, bytes.into(), &codec);
    assert!(!object.is_decoded());
    assert_eq!((object.key(), object.labels().get("app")), ("a/x", Some("web")));
    assert_eq!(object.data.as_ref().unwrap()["text"], "x");
    assert_eq!(decoded.load(Ordering::Relaxed), 1);
}

#[test]
fn what_is_looked_at_stays_decoded_within_the_budget() {
    // Room for about three of these.
    let (codec, decoded) = counting(40_000);
    let objects: Vec<_> = (0..10).map(|number| packed(&format!("c{number}"), 1_000, &codec)).collect();
    let stored: Vec<_> = objects.iter().map(|object| object.stored().clone()).collect();
    drop(objects);
    let look = |number: usize| assert!(stored[number].object().data.is_some());
    look(0);
    look(0);
    assert_eq!(decoded.load(Ordering::Relaxed), 1, "it stayed");
    for number in 1..10 {
        look(number);
        look(0);
    }
    assert_eq!(decoded.load(Ordering::Relaxed), 10, "what is looked at again and again is not decoded again");
    let warm = stored.iter().filter(|stored| stored.object().is_decoded()).count();
    assert!((2..=3).contains(&warm), "{warm} within the budget");
}

#[test]
fn labels_match_selectors_however_the_object_rests() {
    let (codec, _) = counting(0);
    let objects = [packed("x", 1, &codec), Object::new(config("x", 1))];
    let text = str::to_owned;
    let web = || ["web".to_owned()].into();
    for (expression, wanted) in [
        (Expression::Equal(text("app"), text("web")), true),
        (Expression::Equal(text("app"), text("db")), false),
        (Expression::In(text("app"), web()), true),
        (Expression::In(text("tier"), web()), false),
        (Expression::NotIn(text("app"), web()), false),
        (Expression::NotIn(text("other"), web()), true),
        (Expression::NotEqual(text("app"), text("web")), false),
        (Expression::NotEqual(text("other"), text("web")), true),
        (Expression::Exists(text("tier")), true),
        (Expression::Exists(text("other")), false),
        (Expression::DoesNotExist(text("other")), true),
        (Expression::DoesNotExist(text("tier")), false),
    ] {
        for object in &objects {
            let selector: Selector =
                [expression.clone(), Expression::Exists(text("app"))].into_iter().collect();
            assert_eq!(Matcher::new(&selector).matches(object.labels()), wanted, "{expression}");
        }
    }
    assert!(Matcher::new(&Selector::default()).matches_all());
}

#[test]
fn labels_that_cannot_be_kept_apart_keep_the_object_decoded() {
    let (codec, _) = counting(0);
    let mut object = config("x", 1);
    object.metadata.labels.as_mut().unwrap().insert("odd".to_owned(), "a\0b".to_owned());
    let bytes = serde_json::to_vec(&object).unwrap();
    let object = Object::packed(object, bytes.into(), &codec);
    assert_eq!(object.labels().get("odd"), Some("a\0b"));
    assert!(object.stored().object().is_decoded());
}
