//! The server as its clients see it: every test speaks to it as any Kubernetes client would.
//!
//! Most tests use `kube` over real HTTP. Tests about time use paused time and the client without sockets: they
//! take no time at all, and their deadlines are exact.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what is wrong by panicking")]

mod access;
mod apply;
mod apply_custom;
mod churn;
mod connections;
mod custom_kinds;
mod custom_lifecycle;
mod defaults;
mod discovery;
mod errors;
mod faults;
mod faults_in_streams;
mod kinds;
mod lifecycle;
mod likeness;
mod pages;
mod protobuf;
mod protobuf_errors;
mod protobuf_kinds;
mod protobuf_streams;
mod regressions;
mod representations;
mod subresources;
mod support;
mod system_objects;
mod test_api;
mod verbs;
mod verbs_delete;
mod verbs_races;
mod versions;
mod watch;
mod watch_limits;
mod watch_time;
