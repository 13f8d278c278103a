//! A local, indexed, always-current copy of Kubernetes objects.
//!
//! This crate is being built room by room. What is here is the [`reflector`]: the rules by which a copy follows
//! the server, as a state machine without I/O. The rooms around it (source, queue, store, fan-out, informers)
//! follow.

pub mod reflector;
