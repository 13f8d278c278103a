//! What happened, in order, between the reflector and the store.
//!
//! The queue is bounded: a consumer that does not keep up slows the watch down, not the other way round. A list
//! is one delta, so that the store is replaced in one step; what the store has and the list has not is gone, and
//! listeners are told so with the state that was seen last, which may not be the last there was. A resync is a marker
//! among the deltas, so that it tells of what came before it and of nothing else.

use std::fmt;

use kube_wire::DecodeError;
use tokio::sync::mpsc;

use crate::object::Object;

/// How many deltas wait at most, unless it is said otherwise.
pub const DEFAULT_CAPACITY: usize = 1024;

/// No queue holds more.
pub const MAX_CAPACITY: usize = 1 << 24;

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Delta<K> {
    /// An object is new to the watch.
    Added(Object<K>),
    /// An object has changed.
    Updated(Object<K>),
    /// An object is gone; this is its last state.
    Deleted(Object<K>),
    /// These are all objects there are: what is not among them is gone.
    Replaced {
        /// In the order in which the server sent them.
        objects: Vec<Object<K>>,
        /// The version of the whole.
        resource_version: String,
        /// Objects that are there but could not be decoded: they are not gone.
        undecodable: Vec<DecodeError>,
    },
    /// Nothing more happened up to this version.
    Bookmark {
        /// The version.
        resource_version: String,
    },
    /// Nothing happened; those who asked for it are to be told everything again.
    Resync,
    /// Something happened to an object that could not be decoded.
    Undecodable {
        /// `ADDED`, `MODIFIED` or `DELETED`.
        event: String,
        /// Which object, and why.
        error: DecodeError,
    },
}

/// Makes a queue that holds so many deltas, at least one and at most [`MAX_CAPACITY`].
pub fn queue<K>(capacity: usize) -> (Producer<K>, Consumer<K>) {
    let (sender, receiver) = mpsc::channel(capacity.clamp(1, MAX_CAPACITY));
    (Producer(sender), Consumer(receiver))
}

/// The side of the queue that deltas go in.
pub struct Producer<K>(mpsc::Sender<Delta<K>>);

/// The side of the queue that deltas come out.
pub struct Consumer<K>(mpsc::Receiver<Delta<K>>);

/// Nobody takes deltas out any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue is closed: nobody takes deltas out any more")]
pub struct Closed;

/// How many deltas wait in a queue, for those who neither put in nor take out.
pub struct Depth<K>(mpsc::WeakSender<Delta<K>>);

impl<K> Depth<K> {
    /// A way to put something in, as long as there is another producer.
    pub fn producer(&self) -> Option<Producer<K>> {
        self.0.upgrade().map(Producer)
    }

    /// There is a producer.
    pub fn is_open(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// How many deltas wait; none when all producers are gone.
    pub fn get(&self) -> usize {
        self.0.upgrade().map_or(0, |sender| sender.max_capacity() - sender.capacity())
    }
}

impl<K> fmt::Debug for Depth<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Depth").field(&self.get()).finish()
    }
}

impl<K> Producer<K> {
    /// Tells how many deltas wait, without keeping the queue open.
    pub fn depth(&self) -> Depth<K> {
        Depth(self.0.downgrade())
    }

    /// Puts a delta in, as soon as there is room.
    pub async fn push(&self, delta: Delta<K>) -> Result<(), Closed> {
        self.0.send(delta).await.map_err(|_| Closed)
    }
}

impl<K> Consumer<K> {
    /// Takes out at least one delta and at most `max`; none at the end, when all producers are gone and everything
    /// has been taken out.
    pub async fn pop_batch(&mut self, max: usize) -> Option<Vec<Delta<K>>> {
        let mut batch = Vec::new();
        let taken = self.0.recv_many(&mut batch, max.max(1)).await;
        (taken > 0).then_some(batch)
    }

    /// How many deltas wait.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K> Clone for Producer<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> fmt::Debug for Producer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("room", &self.0.capacity()).finish()
    }
}

impl<K> fmt::Debug for Consumer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("waiting", &self.0.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn added(number: usize) -> Delta<ConfigMap> {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(number.to_string());
        Delta::Added(Object::new(object))
    }

    #[tokio::test(start_paused = true)]
    async fn deltas_come_out_in_order_and_in_batches() {
        let (producer, mut consumer) = queue(10);
        for number in 0..5 {
            producer.push(added(number)).await.unwrap();
        }
        drop(producer);
        let number = |delta: Delta<ConfigMap>| {
            if let Delta::Added(object) = delta { object.name().parse().unwrap() } else { panic!() }
        };
        let numbers = |batch: Vec<_>| -> Vec<usize> { batch.into_iter().map(number).collect() };
        assert_eq!(numbers(consumer.pop_batch(3).await.unwrap()), [0, 1, 2]);
        assert_eq!(numbers(consumer.pop_batch(3).await.unwrap()), [3, 4]);
        assert!(consumer.pop_batch(3).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_makes_the_producer_wait() {
        let (producer, mut consumer) = queue(2);
        producer.push(added(1)).await.unwrap();
        producer.push(added(2)).await.unwrap();
        let blocked = tokio::time::timeout(Duration::from_secs(3600), producer.push(added(3))).await;
        assert!(blocked.is_err());
        consumer.pop_batch(1).await.unwrap();
        producer.push(added(3)).await.unwrap();
        assert_eq!((consumer.len(), producer.depth().get()), (2, 2));
        let depth = producer.depth();
        drop(producer);
        assert_eq!((consumer.pop_batch(9).await.unwrap().len(), depth.get()), (2, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_producer_learns_that_nobody_listens() {
        let (producer, consumer) = queue(2);
        drop(consumer);
        assert_eq!(producer.push(added(1)).await, Err(Closed));
    }

    #[tokio::test(start_paused = true)]
    async fn the_order_of_each_producer_is_kept() {
        let (producer, mut consumer) = queue(3);
        for from in [0, 1_000] {
            let producer = producer.clone();
            tokio::spawn(async move {
                for number in from..from + 100 {
                    producer.push(added(number)).await.unwrap();
                }
            });
        }
        drop(producer);
        let mut seen: Vec<usize> = Vec::new();
        while let Some(batch) = consumer.pop_batch(2).await {
            for delta in batch {
                let Delta::Added(object) = delta else { panic!() };
                seen.push(object.name().parse().unwrap());
            }
        }
        let (low, high): (Vec<usize>, Vec<usize>) = seen.into_iter().partition(|number| *number < 1_000);
        assert_eq!((low, high), ((0..100).collect(), (1_000..1_100).collect()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_consumer_that_waits_learns_that_nothing_more_will_come() {
        let (producer, mut consumer) = queue::<ConfigMap>(2);
        let waiting = tokio::spawn(async move { consumer.pop_batch(1).await.is_none() });
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!waiting.is_finished());
        drop(producer);
        assert!(waiting.await.unwrap());
    }
}
