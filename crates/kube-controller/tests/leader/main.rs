//! Elections on the embedded server, in paused time. The question is always the same: do two ever act?

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod candidates;
mod chaos;
mod coordinated;
mod failover;
mod losing;
mod sight;
mod support;
mod writes;
