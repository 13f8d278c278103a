use std::sync::Weak;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::{Expression, Selector};

use super::*;
use crate::fanout::Event;

fn config(name: &str, size: usize) -> ConfigMap {
    let metadata = serde_json::json!({
        "name": name, "namespace": "a", "uid": format!("uid-{name}"), "resourceVersion": "42",
        "labels": {"app": "web", "tier": "front"},
    });
    serde_json::from_value(serde_json::json!({"metadata": metadata, "data": {"text": "x".repeat(size)}}))
        .unwrap()
}

/// A codec that counts how often it is used.
fn counting(warm_bytes: usize) -> (Arc<DecodeContext<ConfigMap>>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let decode = move |bytes: &[u8], _| {
        counted.fetch_add(1, Ordering::Relaxed);
        kube_wire::decode_object(bytes, kube_wire::DecodeOptions::default())
    };
    (Arc::new(DecodeContext::new(decode, (warm_bytes > 0).then(|| Warm::new(warm_bytes)))), count)
}

fn packed(name: &str, size: usize, codec: &Arc<DecodeContext<ConfigMap>>) -> Object<ConfigMap> {
    let object = config(name, size);
    let bytes = serde_json::to_vec(&object).unwrap();
    Object::packed(Box::new(object), bytes.into(), codec)
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
fn the_metadata_of_a_packed_object_is_read_without_decoding_the_rest() {
    let (counted, decoded) = counting(0);
    let codec = Arc::into_inner(counted).unwrap();
    let codec = Arc::new(codec.of_bytes_in(kube_wire::Encoding::Json, kube_wire::DecodeOptions::default()));
    let mut whole = config("x", 1);
    whole.metadata.annotations = Some([("note".to_owned(), "this".to_owned())].into());
    let bytes = serde_json::to_vec(&whole).unwrap();
    let stored = Object::packed(Box::new(whole.clone()), bytes.into(), &codec).stored().clone();
    let object = stored.object();
    assert_eq!(*object.metadata(), whole.metadata);
    assert_eq!(*ObjectRef::new(&stored).metadata(), whole.metadata);
    assert!(matches!(object.metadata(), Cow::Owned(_)) && !object.is_decoded());
    assert_eq!(decoded.load(Ordering::Relaxed), 0);
    assert_eq!(object.data, whole.data);
    assert!(matches!(object.metadata(), Cow::Borrowed(_)), "somebody has the value");
    assert!(matches!(stored.object().metadata(), Cow::Borrowed(_)), "somebody else has it");
    assert_eq!(decoded.load(Ordering::Relaxed), 1);
}

#[test]
fn the_metadata_of_a_view_is_read_without_decoding_the_rest() {
    let whole = config("x", 1);
    let form = Form {
        encoding: kube_wire::Encoding::Json,
        options: kube_wire::DecodeOptions::default(),
        metadata_only: false,
    };
    let bytes = serde_json::to_vec(&whole).unwrap();
    let raw: Raw = serde_json::from_slice(&bytes).unwrap();
    let base = Object::base(&raw, bytes.into(), &Arc::new(form));
    let lens = Arc::new(Lens::<ConfigMap>::new(kube_wire::Codec::serde(), Residency::Packed, true, |_| {}));
    drop(base.seen_as(&lens).unwrap());
    let object = base.seen_as(&lens).unwrap();
    assert!(matches!(object.metadata(), Cow::Owned(_)) && !object.is_decoded());
    assert_eq!(*object.metadata(), whole.metadata);
    assert_eq!(object.data, whole.data);
    assert!(matches!(object.metadata(), Cow::Borrowed(_)), "somebody has the value");
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
    let object = Object::packed_at_rest(Box::new(object), bytes.into(), &codec);
    assert!(!object.is_decoded());
    assert_eq!((object.key(), object.labels().get("app")), ("a/x", Some("web")));
    assert_eq!(object.data.as_ref().unwrap()["text"], "x");
    assert_eq!(decoded.load(Ordering::Relaxed), 1);
}

#[test]
fn what_is_looked_at_stays_decoded_within_the_budget() {
    // Room for four of these, one of them for a while.
    let (codec, decoded) = counting(50_000);
    let stored = stored(10, &codec);
    let look = |number: usize| assert!(stored[number].object().data.is_some());
    look(0);
    look(0);
    assert_eq!(decoded.load(Ordering::Relaxed), 1, "it stayed");
    for number in 1..10 {
        look(number);
        look(0);
    }
    assert_eq!(decoded.load(Ordering::Relaxed), 10, "what is looked at again and again is not decoded again");
    look(5);
    look(6);
    look(7);
    look(8);
    assert_eq!(decoded.load(Ordering::Relaxed), 14, "these are wanted for the second time");
    let warm = stored.iter().filter(|stored| stored.object().is_decoded()).count();
    assert!((3..=4).contains(&warm), "{warm} within the budget");
}

/// So many objects of which nobody holds the value.
fn stored(count: usize, codec: &Arc<DecodeContext<ConfigMap>>) -> Vec<Stored<ConfigMap>> {
    let told = |number: usize| unseen(&format!("c{number}"), codec, false);
    (0..count).map(|number| told(number).stored().clone()).collect()
}

/// An object that nobody has looked into.
fn unseen(name: &str, codec: &Arc<DecodeContext<ConfigMap>>, told: bool) -> Object<ConfigMap> {
    let bytes = serde_json::to_vec(&config(name, 1_000)).unwrap().into();
    let identity = Identity { namespace: "a", name, uid: "", resource_version: "" };
    Object::unseen(identity, std::iter::empty(), bytes, codec, told)
}

#[test]
fn what_is_looked_at_once_does_not_drive_out_what_is_looked_at_again_and_again() {
    let (codec, decoded) = counting(50_000);
    let stored = stored(101, &codec);
    let look = |number: usize| assert!(stored[number].object().data.is_some());
    look(0);
    look(0);
    (1..=100).for_each(look);
    look(0);
    assert_eq!(decoded.load(Ordering::Relaxed), 101, "somebody has gone through all, and it is still there");
}

#[test]
fn what_is_looked_at_for_the_second_time_stays_though_many_came_between() {
    let (codec, decoded) = counting(50_000);
    let stored = stored(101, &codec);
    let look = |number: usize| assert!(stored[number].object().data.is_some());
    for _ in 0..3 {
        look(0);
        (1..=100).for_each(|number| assert!(unseen(&format!("n{number}"), &codec, false).data.is_some()));
    }
    assert_eq!(decoded.load(Ordering::Relaxed), 302, "the first time, and the second");
}

/// How often somebody else is let go first before it is given up on.
const PATIENCE: usize = 20_000_000;

#[test]
fn what_was_decoded_when_it_arrived_counts_as_looked_at_when_somebody_does() {
    let (codec, decoded) = counting(50_000);
    let arrived: Vec<_> = (0..101).map(|number| packed(&format!("c{number}"), 1_000, &codec)).collect();
    let stored: Vec<_> = arrived.iter().map(|object| object.stored().clone()).collect();
    drop(arrived);
    let look = |number: usize| assert!(stored[number].object().data.is_some());
    look(0);
    look(0);
    (1..=100).for_each(look);
    look(0);
    assert_eq!(decoded.load(Ordering::Relaxed), 101, "those that were looked at once have not driven it out");
}

/// The names of the values that values were made of, one for each that was decoded.
type Spares = Arc<parking_lot::Mutex<Vec<Option<String>>>>;

/// A codec that notes which values it was given to make others of.
fn remaking(warm_bytes: usize) -> (Arc<DecodeContext<ConfigMap>>, Spares) {
    let spares = Spares::default();
    let noted = Arc::clone(&spares);
    let decode = move |bytes: &[u8], spare: Option<Box<ConfigMap>>| {
        noted.lock().push(spare.and_then(|spare| spare.metadata.name));
        kube_wire::decode_object(bytes, kube_wire::DecodeOptions::default())
    };
    (Arc::new(DecodeContext::new(decode, Some(Warm::new(warm_bytes)))), spares)
}

fn look(name: &str, size: usize, codec: &Arc<DecodeContext<ConfigMap>>) -> Object<ConfigMap> {
    let object = packed(name, size, codec).stored().object();
    assert!(object.data.is_some());
    object
}

#[test]
fn a_value_is_made_of_one_that_was_at_hand_if_nobody_has_that() {
    // Of those that were looked at once, one is at hand.
    let (codec, spares) = remaking(60_000);
    drop(look("a", 1_000, &codec));
    drop(look("b", 1_000, &codec));
    let held = look("c", 1_000, &codec);
    drop(look("d", 1_000, &codec));
    drop(look("e", 1_000, &codec));
    drop(look("f", 1_000, &codec));
    drop(held);
    let [a, b, d] = ["a", "b", "d"].map(|name| Some(name.to_owned()));
    assert_eq!(*spares.lock(), [None, None, a, b, None, d]);
}

#[test]
fn a_value_that_is_large_is_not_kept_for_another_to_be_made_of() {
    // One of these is at hand, too.
    let (codec, spares) = remaking(4 << 20);
    drop(look("a", 70_000, &codec));
    drop(look("b", 70_000, &codec));
    drop(look("c", 60_000, &codec));
    drop(look("d", 60_000, &codec));
    drop(look("e", 60_000, &codec));
    assert_eq!(*spares.lock(), [None, None, None, None, Some("c".to_owned())]);
}

#[test]
fn what_several_look_into_at_once_has_the_next_ones_decoded_before_they_are_told() {
    let known = Arc::new(OnceLock::<Weak<DecodeContext<ConfigMap>>>::new());
    let codec = Arc::clone(&known);
    // Decoding lasts until another waits for it.
    let decode = move |bytes: &[u8], _| {
        let codec = codec.get().and_then(Weak::upgrade).unwrap();
        let waits = |_| {
            std::thread::yield_now();
            codec.ahead().take()
        };
        assert!((0..PATIENCE).any(waits), "nobody waits");
        kube_wire::decode_object(bytes, kube_wire::DecodeOptions::default())
    };
    let made = Arc::new(DecodeContext::new(decode, None));
    known.set(Arc::downgrade(&made)).unwrap();
    assert!(!(0..1_000).any(|_| made.ahead().take()), "nobody has looked yet");
    let object = unseen("x", &made, true);
    let other = object.clone();
    let waits = std::thread::spawn(move || assert!(other.data.is_some()));
    assert!(object.data.is_some());
    waits.join().unwrap();
    let asked = (0..6_400).filter(|_| made.ahead().take()).count();
    assert_eq!(asked, 6_300, "all but one in 64, to see whether anybody looks");
    drop(object);
    assert!((0..2).any(|_| made.ahead().take()), "it was looked into");
    drop(unseen("y", &made, true));
    assert!(!(0..100).any(|_| made.ahead().take()), "nobody has looked into this one");
}

#[test]
fn one_who_looks_alone_decodes_when_it_looks() {
    let (codec, decoded) = counting(0);
    let object = unseen("x", &codec, true);
    for copy in [object.clone(), object.clone(), object] {
        assert!(copy.data.is_some());
    }
    assert_eq!(decoded.load(Ordering::Relaxed), 1);
    assert!(!(0..100).any(|_| codec.ahead().take()));
}

/// Objects that have been replaced, and how many of them are kept for others to be made of.
struct Replaced(Vec<Object<ConfigMap>>);

impl Replaced {
    fn new(count: usize) -> Self {
        Self((0..count).map(|number| Object::new(config(&format!("c{number}"), 1))).collect())
    }

    fn used(&self) -> impl Iterator<Item = Used<ConfigMap>> {
        self.0.iter().cloned().map(Used::Object)
    }

    fn kept(&self) -> usize {
        self.0.iter().filter(|object| object.stored().count() > 1).count()
    }
}

/// The name of what an object of so many bytes can be made of.
fn spare(spent: &Spent<ConfigMap>, bytes: usize) -> Option<String> {
    spent.take_spare(bytes)?.metadata.name
}

#[test]
fn what_was_replaced_is_kept_only_while_objects_arrive() {
    let (objects, spent) = (Replaced::new(2_000), Spent::default());
    spent.put(objects.used(), 100_000);
    assert_eq!(objects.kept(), 0, "nothing arrives");
    spent.want(true);
    spent.put(objects.used(), 100_000);
    assert_eq!(objects.kept(), 1_024, "and no more");
    spent.want(false);
    assert_eq!(objects.kept(), 0);
    assert_eq!(spare(&spent, 100), None);
    spent.put(objects.used(), 100_000);
    assert_eq!(objects.kept(), 0, "one who is late changes nothing");
}

#[test]
fn a_new_object_is_made_of_the_oldest_that_was_replaced_when_nobody_else_has_it() {
    let (mut objects, spent) = (Replaced::new(3), Spent::default());
    spent.want(true);
    assert_eq!(spare(&spent, 100), None, "there is none");
    spent.put(objects.used(), 100_000);
    assert_eq!(spare(&spent, 100), None, "nobody may have heard of them");
    objects.0.drain(..2);
    let made: Vec<_> = (0..3).map(|_| spare(&spent, 100)).collect();
    assert_eq!(made, [Some("c0".to_owned()), Some("c1".to_owned()), None]);
    assert_eq!(objects.kept(), 1, "it waits");
}

#[test]
fn what_somebody_keeps_does_not_stand_in_the_way_of_others() {
    let (mut objects, spent) = (Replaced::new(6), Spent::default());
    spent.want(true);
    spent.put(objects.used(), 100_000);
    objects.0.remove(4);
    assert_eq!((spare(&spent, 100), objects.kept()), (None, 5), "it is not looked at so many");
    objects.0.remove(3);
    assert_eq!((spare(&spent, 100).as_deref(), objects.kept()), (Some("c3"), 1), "those before are given up");
    let (objects, spent) = (Replaced::new(1_024), Spent::default());
    spent.want(true);
    spent.put(objects.used(), 100_000);
    (0..10).for_each(|_| assert_eq!(spare(&spent, 100), None));
    assert_eq!(objects.kept(), 1_023, "if somebody keeps all, the oldest is given up where there is no room");
}

#[test]
fn of_large_objects_that_were_replaced_few_are_kept() {
    let (objects, spent) = (Replaced::new(2_000), Spent::default());
    spent.want(true);
    spent.put(objects.used(), 100_000);
    assert_eq!(objects.kept(), 1_024);
    drop(spare(&spent, 300_000));
    assert_eq!(objects.kept(), 12, "four mebibytes of them, but for the one that is given up");
    drop(spare(&spent, 5 << 20));
    assert_eq!(objects.kept(), 0);
    spent.put(objects.used(), 100_000);
    assert_eq!(objects.kept(), 0);
    (0..100).for_each(|_| drop(spare(&spent, 1_000)));
    spent.put(objects.used(), 100_000);
    assert_eq!(objects.kept(), 1_024, "it is forgotten after a while");
}

#[test]
fn of_objects_that_were_replaced_few_are_kept_where_few_are_there() {
    for (there, most) in [(0, 16), (10, 16), (1_000, 125), (10_000, 1_024)] {
        let (objects, spent) = (Replaced::new(2_000), Spent::default());
        spent.want(true);
        spent.put(objects.used(), there);
        assert_eq!(objects.kept(), most, "where {there} are there");
    }
}

#[test]
fn a_new_value_is_made_of_one_that_all_have_been_told() {
    let (codec, spent) = (counting(0).0, Spent::default());
    spent.want(true);
    let object = Object::packed(Box::new(config("c", 1)), Box::default(), &codec);
    let (stored, told) = (object.stored().object(), Event::Added { object, initial: false });
    spent.put([&told].into_iter().filter_map(Event::used), 100_000);
    assert_eq!(spare(&spent, 100), None, "somebody has not heard of it yet");
    drop(told);
    assert_eq!(spare(&spent, 100).as_deref(), Some("c"));
    drop(stored);
    let object = Object::new(config("d", 1));
    let told = Event::Updated { old: object, new: unseen("d", &codec, true), resync: false };
    spent.put([&told].into_iter().filter_map(Event::used), 100_000);
    drop(told);
    assert_eq!(spare(&spent, 100).as_deref(), Some("d"), "what it was before, if nobody has looked");
}

#[test]
fn keys_are_what_they_are_however_long_they_are() {
    for length in [1, 10, 37, 38, 39, 40, 41, 253] {
        let name = "n".repeat(length);
        for namespace in ["", "a", "a-namespace-of-its-own"] {
            let mut object = ConfigMap::default();
            object.metadata.name = Some(name.clone());
            object.metadata.namespace = Some(namespace.to_owned());
            object.metadata.uid = Some("uid".to_owned());
            object.metadata.resource_version = Some("7".to_owned());
            let object = Object::new(object);
            assert_eq!(object.key(), key(namespace, &name));
            assert_eq!((object.namespace(), object.name()), (namespace, name.as_str()));
            assert_eq!((object.uid(), object.resource_version()), ("uid", "7"));
        }
    }
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
    let object = Object::packed(Box::new(object), bytes.into(), &codec);
    assert_eq!(object.labels().get("odd"), Some("a\0b"));
    assert!(object.stored().object().is_decoded());
}
