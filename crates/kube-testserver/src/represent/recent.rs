//! What was encoded lately: an event is encoded once, however many watches send it.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use kube_wire::ProtoMessage;
use parking_lot::Mutex;

/// How much is kept. Watches that keep up are near each other; one that is far behind encodes for itself.
const MAX_BYTES: usize = 1 << 20;
const MAX_OBJECTS: usize = 256;

/// The messages of objects that were encoded lately.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<Messages>);

#[derive(Debug, Default)]
struct Messages {
    by_key: HashMap<Key, Bytes>,
    /// From old to new.
    order: VecDeque<Key>,
    bytes: usize,
}

/// The version of an object, which no other object has, and the message that it was encoded as.
type Key = (u64, &'static str, &'static str);

impl Recent {
    /// The message of an object at a version; made if it is not there.
    pub(super) fn message<E>(
        &self,
        version: u64,
        kind: ProtoMessage,
        make: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Bytes, E> {
        let key = (version, kind.api_version(), kind.kind());
        if let Some(found) = self.0.lock().by_key.get(&key) {
            return Ok(found.clone());
        }
        // Outside of the lock: two may make the same, and nobody waits.
        let made = Bytes::from(make()?);
        self.0.lock().insert(key, made.clone());
        Ok(made)
    }
}

impl Recent {
    /// Forgets all messages: versions may come again, with other content.
    pub(crate) fn clear(&self) {
        *self.0.lock() = Messages::default();
    }
}

impl Messages {
    fn insert(&mut self, key: Key, message: Bytes) {
        if message.len() > MAX_BYTES || self.by_key.contains_key(&key) {
            return;
        }
        self.bytes += message.len();
        self.by_key.insert(key, message);
        self.order.push_back(key);
        while self.bytes > MAX_BYTES || self.order.len() > MAX_OBJECTS {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= self.by_key.remove(&oldest).map_or(0, |message| message.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Whether the message of a version had to be made.
    fn made(recent: &Recent, version: u64, size: usize) -> bool {
        let mut made = false;
        let kind = ProtoMessage::of("", "v1", "Pod").expect("a kind");
        let found = recent.message(version, kind, || {
            made = true;
            Ok::<_, Infallible>(vec![1; size])
        });
        assert_eq!(found.map(|bytes| bytes.len()), Ok(size));
        made
    }

    #[test]
    fn a_message_is_made_once_and_forgotten_some_time() {
        let recent = Recent::default();
        assert!(made(&recent, 1, 10));
        assert!(!made(&recent, 1, 10));
        for version in 2..=MAX_OBJECTS as u64 + 1 {
            assert!(made(&recent, version, 10));
        }
        assert!(!made(&recent, MAX_OBJECTS as u64 + 1, 10));
        assert!(made(&recent, 1, 10), "the oldest is gone");
        assert_eq!(recent.0.lock().order.len(), MAX_OBJECTS);
    }

    #[test]
    fn what_is_kept_has_a_limit_in_bytes() {
        let recent = Recent::default();
        for version in 0..20 {
            made(&recent, version, MAX_BYTES / 4);
        }
        let messages = recent.0.lock();
        assert_eq!((messages.order.len(), messages.bytes), (4, MAX_BYTES));
        drop(messages);
        assert!(made(&recent, 100, MAX_BYTES + 1) && made(&recent, 100, MAX_BYTES + 1), "too large to keep");
        assert!(!made(&recent, 19, MAX_BYTES / 4));
    }
}
