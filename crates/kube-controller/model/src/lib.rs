//! A loom model of the work queue.
//!
//! This crate compiles the queue's own sources, `crates/kube-controller/src/workqueue`, with another `crate::sync`: loom's
//! lock, a clock that the test advances, and tokio's own `Notify` with a scheduling point before each call. `tests/workqueue.rs`
//! has the scenarios; `cargo xtask mutants` checks that they fail with each fault in `mutants`.
//!
//! Covered: all interleavings, up to the bound of preemptions that a scenario names, at these points: acquiring and releasing
//! the lock; creating, polling and dropping a `Notified`; `notify_one` and `notify_waiters`; polling, waking and dropping a
//! sleep; reading and advancing the clock; waking and parking a thread. So a thread may stop between the release of the lock
//! and the notification, and between the look at the state and the wait.
//!
//! Not covered: the inside of tokio's `Notify`, whose calls are atomic here and which tokio checks with loom itself; tokio's
//! timer; weak memory, as everything is behind the lock.

#![allow(dead_code, reason = "the queue has more than its wake-ups need")]

#[path = "../../src/generations.rs"]
mod generations;
pub mod metrics;
pub mod sync;
#[path = "../../src/workqueue/mod.rs"]
pub mod workqueue;
