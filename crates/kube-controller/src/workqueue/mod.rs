//! Keys that wait to be worked on.
//!
//! A [`WorkQueue`] is what stands between those who notice that something may have changed and those who do something
//! about it. It promises:
//!
//! - **One worker for each key.** A key is never handed out while somebody works on it.
//! - **Adds collapse.** A key that waits already is not added a second time; one that is being worked on comes once
//!   more when that is done, however often it was added meanwhile.
//! - **Order.** Higher [priorities](AddOptions::priority) first, and among equals the first come. What has waited longer
//!   than the queue's [patience](WorkQueueBuilder::patience) gets a share of the workers whatever its priority, so that
//!   nothing waits for ever.
//! - **Delays.** [`add_after`](WorkQueue::add_after) and [`add_rate_limited`](WorkQueue::add_rate_limited) let a key wait
//!   before it waits. Of several delays the earliest counts.
//! - **Nothing is lost silently.** What a shutdown drops it returns, and an add that comes too late says so.
//! - **No tasks.** A queue is memory and nothing else: those who wait in [`get`](WorkQueue::get) keep its time, one of
//!   them at a time, with one timer. Adding, taking and finishing cost at most the logarithm of what waits.
//!
//! ```
//! use kube_controller::workqueue::WorkQueue;
//!
//! # async fn reconcile(key: &str) -> Result<(), std::io::Error> { Ok(()) }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let queue = WorkQueue::<String>::new();
//! queue.add("default/web".to_owned());
//! queue.add("default/web".to_owned());
//! queue.shut_down();
//!
//! let mut done = 0;
//! while let Some(work) = queue.get().await {
//!     if reconcile(&work).await.is_ok() {
//!         work.forget();
//!     } else {
//!         work.retry();
//!     }
//!     done += 1;
//! }
//! assert_eq!(done, 1);
//! # }
//! ```
//!
//! There are two sets of [`Rules`] for what becomes of delays: client-go's, and those of controller-runtime's priority
//! queue.

mod builder;
mod depths;
mod figures;
pub mod limiter;
mod monitor;
mod options;
mod queue;
mod ready;
mod running;
mod slab;
mod state;
mod work;

pub use builder::{DEFAULT_PATIENCE, WorkQueueBuilder};
pub(crate) use figures::{Observation, Observed};
pub use limiter::RateLimiter;
pub use options::{AddOptions, Key, LOW_PRIORITY, Rules};
pub use queue::WorkQueue;
pub use work::Work;
