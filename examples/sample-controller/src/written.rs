//! What was written and has not been heard of yet.
//!
//! A write goes to the server, and comes back by the watch a moment later. Who looks at the copy before that sees what was
//! there before, and would write again. client-go's users know this as expectations.

use std::collections::HashMap;

use kube_informer::Object;
use kube_informer::object::ObjectName;
use kube_informer::store::Version;
use parking_lot::Mutex;

use crate::foo::{Foo, FooStatus};

/// The latest status that was written to each Foo, until the copy has it.
#[derive(Debug, Default)]
pub struct Written {
    /// One for each Foo that was written to and not looked at since: a resync looks at all of them.
    latest: Mutex<HashMap<ObjectName, (Version, FooStatus)>>,
}

impl Written {
    /// The server has taken a status.
    pub fn note(&self, foo: &ObjectName, answer: &Foo, status: FooStatus) {
        let version = answer.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
        if let Some(version) = version {
            self.latest.lock().insert(foo.clone(), (version, status));
        }
    }

    /// The status of a Foo: as the copy has it, or as it was written since.
    pub fn status(&self, name: &ObjectName, foo: &Object<Foo>) -> Option<FooStatus> {
        let mut latest = self.latest.lock();
        let known: Option<Version> = foo.resource_version().parse().ok();
        match latest.get(name) {
            Some((version, status)) if known.as_ref().is_some_and(|known| known < version) => {
                return Some(status.clone());
            }
            Some(_) => drop(latest.remove(name)),
            None => {}
        }
        foo.status.clone()
    }

    /// The Foo is gone.
    pub fn forget(&self, foo: &ObjectName) {
        self.latest.lock().remove(foo);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn foo(version: &str) -> Foo {
        serde_json::from_value(json!({"metadata": {"name": "a", "resourceVersion": version}})).unwrap()
    }

    #[test]
    fn what_was_written_counts_until_the_copy_has_it() {
        let (written, name) = (Written::default(), ObjectName::new("", "a"));
        let status = FooStatus { available_replicas: 2 };
        written.note(&name, &foo("10"), status.clone());
        assert_eq!(written.status(&name, &Object::new(foo("9"))), Some(status));
        assert_eq!(written.status(&name, &Object::new(foo("10"))), None, "the copy has it, whatever it says");
        assert!(written.latest.lock().is_empty());
        written.note(&name, &foo("11"), FooStatus::default());
        written.forget(&name);
        assert_eq!(written.status(&name, &Object::new(foo("9"))), None);
    }
}
