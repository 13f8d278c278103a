//! Which events matter.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_controller::controller::predicate::{self, Predicate, PredicateFuncs};
use kube_informer::Object;
use kube_informer::fanout::{Deleted, Event};
use serde_json::{Value, json};

fn object(metadata: &Value) -> Object<ConfigMap> {
    let mut whole = json!({"name": "a", "namespace": "default", "uid": "1", "resourceVersion": "1"});
    for (field, value) in metadata.as_object().unwrap() {
        whole[field] = value.clone();
    }
    Object::new(serde_json::from_value(json!({"metadata": whole})).unwrap())
}

#[expect(clippy::needless_pass_by_value, reason = "shorter to call")]
fn update(old: Value, new: Value) -> Event<ConfigMap> {
    Event::Updated { old: object(&old), new: object(&new), resync: false }
}

fn resync() -> Event<ConfigMap> {
    Event::Updated { old: object(&json!({})), new: object(&json!({})), resync: true }
}

fn added() -> Event<ConfigMap> {
    Event::Added { object: object(&json!({})), initial: false }
}

fn deleted() -> Event<ConfigMap> {
    Event::Deleted(Deleted::new(object(&json!({}))))
}

#[test]
fn changed_predicates_pass_what_changed_and_all_that_is_no_update() {
    let cases: [(Predicate<ConfigMap>, Value); 4] = [
        (predicate::resource_version_changed(), json!({"resourceVersion": "2"})),
        (predicate::generation_changed(), json!({"generation": 2})),
        (predicate::labels_changed(), json!({"labels": {"app": "web"}})),
        (predicate::annotations_changed(), json!({"annotations": {"note": "x"}})),
    ];
    for (at, (predicate, _)) in cases.iter().enumerate() {
        assert!(predicate.accepts(&added()) && predicate.accepts(&deleted()), "{at}");
        assert!(!predicate.accepts(&resync()), "{at}");
        for (other, (_, change)) in cases.iter().enumerate() {
            let passes = predicate.accepts(&update(json!({}), change.clone()));
            assert_eq!(passes, at == other, "{at} {other}");
            assert!(!predicate.accepts(&update(change.clone(), change.clone())), "{at} {other}");
        }
    }
}

#[test]
fn an_object_that_was_made_anew_unseen_has_changed_in_every_way() {
    let anew = || update(json!({"generation": 1}), json!({"generation": 1, "uid": "2"}));
    let predicates: [Predicate<ConfigMap>; 4] = [
        predicate::resource_version_changed(),
        predicate::generation_changed(),
        predicate::labels_changed(),
        predicate::annotations_changed(),
    ];
    assert!(predicates.iter().all(|predicate| predicate.accepts(&anew())));
}

#[test]
fn labels_select_by_what_an_object_is_now() {
    let web = predicate::label_selector::<ConfigMap>("app in (web, db), !canary").unwrap();
    let labelled = |app: &str| json!({"labels": {"app": app}});
    assert!(web.accepts(&Event::Added { object: object(&labelled("web")), initial: true }));
    assert!(web.accepts(&update(labelled("other"), labelled("db"))));
    assert!(!web.accepts(&update(labelled("web"), labelled("other"))));
    assert!(!web.accepts(&update(json!({}), json!({"labels": {"app": "web", "canary": ""}}))));
    assert!(!web.accepts(&deleted()));
    let wrong = predicate::label_selector::<ConfigMap>("app in web").unwrap_err();
    assert!(wrong.to_string().contains("makes no sense"), "{wrong}");
}

#[test]
fn predicates_are_joined_and_turned_around() {
    let yes = || Predicate::<ConfigMap>::new(|_| true);
    let no = || !yes();
    for (joined, expected) in [
        (yes().and(yes()), true),
        (yes().and(no()), false),
        (no().and(yes()), false),
        (yes().or(no()), true),
        (no().or(yes()), true),
        (no().or(no()), false),
        (!(no().or(no())), true),
    ] {
        assert_eq!(joined.accepts(&added()), expected);
    }
    let healing = predicate::generation_changed().or(predicate::resync());
    assert!(healing.accepts(&resync()), "told again, and wanted");
    assert!(!healing.accepts(&update(json!({}), json!({"resourceVersion": "2"}))), "a change of the status");
}

#[test]
fn closures_decide_about_one_sort_of_event_and_others_pass() {
    let none = Predicate::from(PredicateFuncs::<ConfigMap>::new());
    assert!([added(), deleted(), resync()].iter().all(|event| none.accepts(event)));
    let not_initial = Predicate::from(PredicateFuncs::<ConfigMap>::new().on_add(|_, initial| !initial));
    assert!(not_initial.accepts(&added()) && not_initial.accepts(&deleted()));
    assert!(!not_initial.accepts(&Event::Added { object: object(&json!({})), initial: true }));
    let strict = PredicateFuncs::<ConfigMap>::new()
        .on_update(|old, new| old.resource_version() < new.resource_version())
        .on_delete(Deleted::final_state_unknown);
    let strict = Predicate::from(strict);
    assert!(!strict.accepts(&resync()) && !strict.accepts(&deleted()) && strict.accepts(&added()));
    assert!(strict.accepts(&Event::Deleted(Deleted::unseen(object(&json!({}))))));
    assert!(strict.accepts(&update(json!({}), json!({"resourceVersion": "2"}))));
}
