//! A local, indexed, always-current copy of Kubernetes objects.
//!
//! This crate is being built room by room. What is here: the [`source`], which lists and watches one kind, the
//! [`reflector`], which follows it by client-go's rules, the [`queue`] it feeds, the [`store`], which keeps the
//! copy, and the [`fanout`] to listeners. What ties them together (informers, listers, factories) follows.

pub mod fanout;
pub mod queue;
pub mod reflector;
pub mod source;
pub mod store;

pub use {k8s_openapi, kube_client, kube_core};
