//! What was written and has not been heard of yet.
//!
//! A write goes to the server, and comes back by the watch a moment later. Who looks at the copy before that sees what was
//! there before, and would write again. client-go's users know this as expectations.

use std::collections::HashMap;
use std::time::Duration;

use kube_informer::Object;
use kube_informer::object::ObjectName;
use kube_informer::store::Version;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::foo::{Foo, FooStatus};

/// How long a written status counts at most. A server that is restored from a backup never sends what was written before, and
/// its versions stay below for a while.
const EXPIRY: Duration = Duration::from_secs(5 * 60);

/// The latest status that was written to each Foo, until the copy has it.
#[derive(Debug, Default)]
pub struct Written {
    /// One for each Foo that was written to and not looked at since: a resync looks at all of them.
    latest: Mutex<HashMap<ObjectName, Write>>,
}

/// A status that the server has taken.
#[derive(Debug)]
struct Write {
    version: Version,
    status: FooStatus,
    at: Instant,
}

impl Written {
    /// The server has taken a status.
    pub fn note(&self, foo: &ObjectName, answer: &Foo, status: FooStatus) {
        let version = answer.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
        if let Some(version) = version {
            self.latest.lock().insert(foo.clone(), Write { version, status, at: Instant::now() });
        }
    }

    /// The status of a Foo: as the copy has it, or as it was written since.
    pub fn status(&self, name: &ObjectName, foo: &Object<Foo>) -> Option<FooStatus> {
        let mut latest = self.latest.lock();
        let known: Option<Version> = foo.resource_version().parse().ok();
        match latest.get(name) {
            Some(write)
                if known.as_ref().is_some_and(|known| *known < write.version)
                    && write.at.elapsed() < EXPIRY =>
            {
                return Some(write.status.clone());
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

    #[tokio::test(start_paused = true)]
    async fn what_was_written_before_a_restore_from_a_backup_does_not_count_for_ever() {
        let (written, name) = (Written::default(), ObjectName::new("", "a"));
        let status = FooStatus { available_replicas: 2 };
        written.note(&name, &foo("600"), status.clone());
        assert_eq!(written.status(&name, &Object::new(foo("400"))), Some(status));
        tokio::time::advance(EXPIRY).await;
        assert_eq!(written.status(&name, &Object::new(foo("401"))), None);
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
