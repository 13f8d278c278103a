//! What happened, in order, between the reflector and the store.
//!
//! The queue is bounded, in deltas and in bytes: a consumer that does not keep up slows the watch down, not the other way
//! round. What is larger than all of the room waits until the queue is empty and passes then, alone. A list
//! is one delta, so that the store is replaced in one step; what the store has and the list has not is gone, and
//! listeners are told so with the state that was seen last, which may not be the last there was. A resync is a marker
//! among the deltas, so that it tells of what came before it and of nothing else.

use std::fmt;
use std::sync::Arc;

use kube_wire::DecodeError;
use tokio::sync::{Semaphore, mpsc};

use crate::object::Object;
use crate::source::Distrust;

/// How many deltas wait at most, unless it is said otherwise.
pub const DEFAULT_CAPACITY: usize = 1024;

/// No queue holds more.
pub const MAX_CAPACITY: usize = 1 << 24;

/// The most bytes of deltas that wait; a larger delta waits alone. A packed object counts with its packed size, a decoded one with
/// the size at which it arrived. Beside them there is a batch that the consumer has taken out.
pub const MAX_BYTES: usize = 64 << 20;

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
        /// The server's versions began again with this list, as after a restore from a backup: they cannot be compared with
        /// those that came before.
        new_epoch: bool,
        /// Held if objects may have other content than before at the same version: none of the copy's objects was reused, and
        /// none is to be kept for its version. To be dropped when the objects have been taken over.
        distrust: Option<Distrust>,
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

/// Makes a queue that holds so many deltas, at least one and at most [`MAX_CAPACITY`], and at most [`MAX_BYTES`].
pub fn queue<K>(capacity: usize) -> (Producer<K>, Consumer<K>) {
    let (sender, receiver) = mpsc::channel(capacity.clamp(1, MAX_CAPACITY));
    let room = Arc::new(Semaphore::new(MAX_BYTES));
    (Producer { sender, room: Arc::clone(&room) }, Consumer { receiver, room, taken: Vec::new() })
}

/// The side of the queue that deltas go in.
pub struct Producer<K> {
    sender: mpsc::Sender<Waiting<K>>,
    /// A permit for each byte that may wait.
    room: Arc<Semaphore>,
}

/// The side of the queue that deltas come out.
pub struct Consumer<K> {
    receiver: mpsc::Receiver<Waiting<K>>,
    room: Arc<Semaphore>,
    /// Empty between two batches.
    taken: Vec<Waiting<K>>,
}

/// A delta, and how many bytes of the room it takes.
struct Waiting<K> {
    delta: Delta<K>,
    bytes: u32,
}

/// Nobody takes deltas out any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue is closed: nobody takes deltas out any more")]
pub struct Closed;

/// How many deltas wait in a queue, for those who neither put in nor take out.
pub struct Depth<K> {
    sender: mpsc::WeakSender<Waiting<K>>,
    room: Arc<Semaphore>,
}

impl<K> Delta<K> {
    /// As how many bytes its objects rest, or arrived, and what its errors have: their texts, and the keys of their objects.
    fn bytes(&self) -> usize {
        match self {
            Delta::Added(object) | Delta::Updated(object) | Delta::Deleted(object) => object.bytes(),
            Delta::Replaced { objects, undecodable, .. } => {
                let errors = undecodable.iter().map(error_bytes);
                objects.iter().map(Object::bytes).chain(errors).sum()
            }
            Delta::Undecodable { event, error } => event.len() + error_bytes(error),
            Delta::Bookmark { .. } | Delta::Resync => 0,
        }
    }
}

fn error_bytes(error: &DecodeError) -> usize {
    let key = error
        .key
        .as_deref()
        .map_or(0, |key| key.namespace.len() + key.name.len() + key.resource_version.len() + key.uid.len());
    error.why.len() + key
}

impl<K> Drop for Consumer<K> {
    fn drop(&mut self) {
        // Who waits for room learns that nobody makes any.
        self.room.close();
    }
}

impl<K> Depth<K> {
    /// A way to put something in, as long as there is another producer.
    pub fn producer(&self) -> Option<Producer<K>> {
        Some(Producer { sender: self.sender.upgrade()?, room: Arc::clone(&self.room) })
    }

    /// There is a producer.
    pub fn is_open(&self) -> bool {
        self.sender.strong_count() > 0
    }

    /// How many deltas wait; none when all producers are gone.
    pub fn get(&self) -> usize {
        self.sender.upgrade().map_or(0, |sender| sender.max_capacity() - sender.capacity())
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
        Depth { sender: self.sender.downgrade(), room: Arc::clone(&self.room) }
    }

    /// Puts a delta in, as soon as there is room.
    pub async fn push(&self, delta: Delta<K>) -> Result<(), Closed> {
        let bytes = u32::try_from(delta.bytes().min(MAX_BYTES)).unwrap_or(u32::MAX);
        let room = self.room.acquire_many(bytes).await.map_err(|_| Closed)?;
        self.sender.send(Waiting { delta, bytes }).await.map_err(|_| Closed)?;
        // The consumer gives it back.
        room.forget();
        Ok(())
    }
}

impl<K> Consumer<K> {
    /// Takes out at least one delta and at most `max`; none at the end, when all producers are gone and everything
    /// has been taken out.
    pub async fn pop_batch(&mut self, max: usize) -> Option<Vec<Delta<K>>> {
        let taken = self.receiver.recv_many(&mut self.taken, max.max(1)).await;
        self.room.add_permits(self.taken.iter().map(|waiting| waiting.bytes as usize).sum());
        let batch = self.taken.drain(..).map(|waiting| waiting.delta).collect();
        (taken > 0).then_some(batch)
    }

    /// How many deltas wait.
    pub fn len(&self) -> usize {
        self.receiver.len()
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.receiver.is_empty()
    }
}

impl<K> Clone for Producer<K> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone(), room: Arc::clone(&self.room) }
    }
}

impl<K> fmt::Debug for Producer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("room", &self.sender.capacity()).finish()
    }
}

impl<K> fmt::Debug for Consumer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("waiting", &self.receiver.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_wire::ObjectKey;

    use super::*;
    use crate::object::DecodeContext;

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

    /// An object that rests as so many bytes.
    fn large(bytes: usize) -> Object<ConfigMap> {
        let codec = DecodeContext::new(|_, _| Ok(Box::default()), None);
        Object::packed_at_rest(Box::default(), vec![0; bytes].into(), &Arc::new(codec))
    }

    /// Puts in what there is room for; returns how many deltas that was.
    async fn fill(producer: &Producer<ConfigMap>, object: &Object<ConfigMap>) -> usize {
        let mut pushed = 0;
        let push = |object: &Object<ConfigMap>| producer.push(Delta::Updated(object.clone()));
        while tokio::time::timeout(Duration::from_secs(1), push(object)).await.is_ok() {
            pushed += 1;
        }
        pushed
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_that_is_full_of_bytes_makes_the_producer_wait() {
        const SIZE: usize = 3 << 19;
        let (producer, mut consumer) = queue(DEFAULT_CAPACITY);
        let object = large(SIZE);
        let pushed = fill(&producer, &object).await;
        assert!(pushed > 10 && pushed * SIZE <= MAX_BYTES, "{pushed} deltas of {SIZE} bytes wait");
        assert_eq!(consumer.pop_batch(3).await.unwrap().len(), 3);
        assert_eq!(fill(&producer, &object).await, 3, "what is taken out makes room");
        assert_eq!(consumer.len(), pushed);
    }

    #[tokio::test(start_paused = true)]
    async fn the_keys_of_objects_that_cannot_be_decoded_count_too() {
        const SIZE: usize = 1 << 20;
        let (producer, mut consumer) = queue::<ConfigMap>(DEFAULT_CAPACITY);
        let text = || "k".repeat(SIZE / 4);
        let key = || ObjectKey::new(text(), text(), text(), text());
        let error = || DecodeError::new(Some(Box::new(key())), "");
        let one = || Delta::Undecodable { event: String::new(), error: error() };
        let list = || Delta::Replaced {
            objects: Vec::new(),
            resource_version: "1".to_owned(),
            undecodable: vec![error()],
            new_epoch: false,
            distrust: None,
        };
        for pushed in 0..MAX_BYTES / SIZE {
            producer.push(if pushed % 2 == 0 { one() } else { list() }).await.unwrap();
        }
        let refused = tokio::time::timeout(Duration::from_secs(1), producer.push(one())).await;
        assert!(refused.is_err(), "the queue is full");
        consumer.pop_batch(1).await.unwrap();
        producer.push(one()).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_delta_that_is_larger_than_all_of_the_room_passes_alone() {
        let (producer, mut consumer) = queue(DEFAULT_CAPACITY);
        let half = large(MAX_BYTES / 2);
        let list = || Delta::Replaced {
            objects: vec![half.clone(); 5],
            resource_version: "1".to_owned(),
            undecodable: Vec::new(),
            new_epoch: false,
            distrust: None,
        };
        producer.push(list()).await.unwrap();
        producer.push(added(1)).await.expect("one without bytes");
        assert_eq!(fill(&producer, &large(1)).await, 0, "nothing waits beside it");
        assert_eq!(consumer.pop_batch(9).await.unwrap().len(), 2);
        producer.push(Delta::Updated(large(1))).await.unwrap();
        let refused = tokio::time::timeout(Duration::from_secs(1), producer.push(list())).await;
        assert!(refused.is_err(), "it waits until the queue is empty");
        consumer.pop_batch(9).await.unwrap();
        producer.push(list()).await.unwrap();
        assert_eq!(consumer.pop_batch(9).await.unwrap().len(), 1);
        assert_eq!(fill(&producer, &half).await, 2, "all of the room has been given back");
    }

    #[tokio::test(start_paused = true)]
    async fn a_producer_that_waits_for_room_learns_that_nobody_listens() {
        let (producer, consumer) = queue(DEFAULT_CAPACITY);
        producer.push(Delta::Updated(large(MAX_BYTES))).await.unwrap();
        let waiting = tokio::spawn(async move { producer.push(Delta::Updated(large(1))).await });
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!waiting.is_finished());
        drop(consumer);
        assert_eq!(waiting.await.unwrap(), Err(Closed));
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
