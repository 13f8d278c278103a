//! How often each Foo was looked at, and how often there was a reason to.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kube_controller::controller::{Action, Context, ReconcileError, Reconciler};
use kube_informer::SharedInformerFactory;
use kube_informer::fanout::{Event, ListenerOptions};
use kube_informer::object::ObjectName;
use parking_lot::Mutex;

use crate::foo::{Foo, SampleController as _};
use crate::many::Failed;

/// What is counted, for each Foo. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    foos: Arc<Mutex<HashMap<ObjectName, Count>>>,
}

/// What is counted of a Foo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// What was a reason to look at it: it was there, its Deployment was made or changed, there was a resync, or the time
    /// before it has failed.
    pub reasons: usize,
    /// How often it was looked at.
    pub reconciles: usize,
}

impl Ledger {
    /// Counts what the informers of a factory tell: nothing is left out, however much waits.
    pub fn listen(&self, factory: &SharedInformerFactory) -> Result<(), Failed> {
        let options = || ListenerOptions::new().name("ledger").lossless();
        let ledger = self.clone();
        factory.samplecontroller().v1alpha1().foos().informer()?.add_event_handler_with(
            move |event: Event<Foo>| {
                if matches!(event, Event::Added { .. } | Event::Updated { resync: true, .. }) {
                    let foo = event.object();
                    ledger.reason(ObjectName::new(foo.namespace(), foo.name()));
                }
            },
            options(),
        )?;
        let ledger = self.clone();
        factory.apps().v1().deployments().informer()?.add_event_handler_with(
            move |event: Event<k8s_openapi::api::apps::v1::Deployment>| {
                if !matches!(event, Event::Updated { resync: true, .. }) {
                    let deployment = event.object();
                    let mut owners = deployment.metadata.owner_references.iter().flatten();
                    if let Some(owner) = owners.find(|owner| owner.controller == Some(true)) {
                        ledger.reason(ObjectName::new(deployment.namespace(), owner.name.as_str()));
                    }
                }
            },
            options(),
        )?;
        Ok(())
    }

    /// There is a reason to look at a Foo.
    pub fn reason(&self, foo: ObjectName) {
        self.foos.lock().entry(foo).or_default().reasons += 1;
    }

    /// A Foo is looked at.
    pub fn reconcile(&self, foo: ObjectName) {
        self.foos.lock().entry(foo).or_default().reconciles += 1;
    }

    /// All reasons there were.
    pub fn reasons(&self) -> usize {
        self.foos.lock().values().map(|count| count.reasons).sum()
    }

    /// How many Foos were looked at once, twice, and so on.
    pub fn looks(&self) -> BTreeMap<usize, usize> {
        let mut looks = BTreeMap::new();
        for count in self.foos.lock().values() {
            *looks.entry(count.reconciles).or_default() += 1;
        }
        looks
    }

    /// The Foos that were looked at more often than there was a reason to, by name.
    pub fn without_reason(&self) -> BTreeMap<String, Count> {
        let foos = self.foos.lock();
        let without = foos.iter().filter(|(_, count)| count.reconciles > count.reasons);
        without.map(|(foo, count)| (foo.to_string(), *count)).collect()
    }
}

/// A reconciler whose calls are counted.
#[derive(Debug)]
pub struct Counted<R> {
    /// What is called.
    pub reconciler: R,
    /// Where it is written down.
    pub ledger: Ledger,
}

impl<R: Reconciler<ObjectName>> Reconciler<ObjectName> for Counted<R> {
    async fn reconcile(&self, request: ObjectName, context: Context) -> Result<Action, ReconcileError> {
        self.ledger.reconcile(request.clone());
        let outcome = self.reconciler.reconcile(request.clone(), context).await;
        if outcome.is_err() {
            // It comes again, because it has failed.
            self.ledger.reason(request);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foo_that_is_looked_at_more_often_than_there_is_a_reason_to_is_named_whatever_others_make_up_for() {
        let ledger = Ledger::default();
        let foo = |name: &str| ObjectName::new("default", name);
        for _ in 0..5 {
            ledger.reason(foo("calm"));
        }
        ledger.reason(foo("busy"));
        ledger.reconcile(foo("calm"));
        ledger.reconcile(foo("busy"));
        assert!(ledger.without_reason().is_empty());
        ledger.reconcile(foo("busy"));
        let busy = Count { reasons: 1, reconciles: 2 };
        assert_eq!(ledger.without_reason(), BTreeMap::from([("default/busy".to_owned(), busy)]));
        assert_eq!((ledger.reasons(), ledger.looks()), (6, BTreeMap::from([(1, 1), (2, 1)])));
    }
}
