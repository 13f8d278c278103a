//! How many events an object gets.

use tokio::time::Instant;

use crate::generations::Generations;
use crate::workqueue::limiter::Bucket;

/// So many at once.
const BURST: u32 = 25;
/// And one in so many seconds after that.
const SECONDS: f64 = 300.0;
/// So many objects are remembered.
const MAX_OBJECTS: usize = 4096;

/// How many events objects may still get.
#[derive(Debug)]
pub(super) struct Spam {
    buckets: Generations<String, Bucket>,
}

impl Spam {
    pub(super) fn new() -> Self {
        Self { buckets: Generations::new(MAX_OBJECTS) }
    }

    /// Whether one more is all right.
    pub(super) fn allows(&mut self, object: &str, now: Instant) -> bool {
        let bucket = self.buckets.get_or_insert(object, || Bucket::new(1.0 / SECONDS, BURST));
        bucket.try_take(now)
    }
}
