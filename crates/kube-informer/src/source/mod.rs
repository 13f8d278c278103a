//! Where objects come from: lists and watches of one kind, as streams of decoded objects.
//!
//! [`ListWatch`] is what a reflector asks; [`KubeSource`] answers it from an API server through a
//! [`kube_client::Client`]. Objects are decoded one by one while bytes arrive: a list of any size is never in
//! memory as text.

mod bytes;
mod error;
mod kube;
mod pager;
mod pipeline;
mod stream;
mod want;

pub(crate) use bytes::{AnyTransform, keep_bytes, transform_as};
pub use error::SourceError;
pub(crate) use kube::is_cluster_scoped;
pub use kube::{KubeSource, Tweak};
pub use pager::{Listed, list_all};
#[cfg(test)]
pub(crate) use stream::taken;
pub use want::{Distrust, Known, Want};
pub(crate) use want::{Make, Transform, Written};

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use kube_wire::{DecodeError, Event, ListMeta};

use crate::object::Object;
use crate::reflector::{ListRequest, WatchRequest};

/// Lists and watches one kind.
pub trait ListWatch<K>: Send + Sync + 'static {
    /// What it covers. One that does not say covers everything of a kind without a name.
    fn scope(&self) -> Scope {
        Scope::default()
    }

    /// Asks for a list, or a page of one.
    fn list<'a>(
        &'a self,
        request: &'a ListRequest,
        want: &'a Arc<Want<K>>,
    ) -> BoxFuture<'a, Result<ListStream<K>, SourceError>>;

    /// Opens a watch.
    fn watch<'a>(
        &'a self,
        request: &'a WatchRequest,
        want: &'a Arc<Want<K>>,
    ) -> BoxFuture<'a, Result<WatchStream<K>, SourceError>>;
}

/// What a source covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scope {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version of the group.
    pub version: String,
    /// The plural name of the resource.
    pub plural: String,
    /// The one namespace that it covers; none for everything.
    pub namespace: Option<String>,
    /// The namespaces that everything does not cover: others have them.
    pub except: BTreeSet<String>,
}

impl Scope {
    /// Whether objects of a namespace belong to it; the namespace is empty for cluster-scoped objects.
    pub fn covers(&self, namespace: &str) -> bool {
        match &self.namespace {
            Some(only) => only == namespace,
            None => !self.except.contains(namespace),
        }
    }

    /// Both cover some namespace.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (&self.namespace, &other.namespace) {
            (Some(one), _) => other.covers(one),
            (None, Some(one)) => self.covers(one),
            (None, None) => true,
        }
    }

    /// `deployments.apps`, or `pods` in the core group.
    pub fn resource(&self) -> String {
        resource_name(&self.plural, &self.group)
    }
}

/// Whether something can be a part of a path. No object and no namespace is called otherwise; and what is called so would
/// lead elsewhere.
pub(crate) fn is_segment(name: &str) -> bool {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || "/?#%\\".contains(c);
    !matches!(name, "" | "." | "..") && !name.contains(is_odd)
}

/// `deployments.apps`, or `pods` in the core group.
pub(crate) fn resource_name(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

/// `apps/v1`, or `v1` in the core group.
pub(crate) fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// A list while it arrives. Its last part is [`ListPart::End`]; a stream that ends without it, ended early.
pub type ListStream<K> = BoxStream<'static, Result<ListPart<K>, SourceError>>;

/// A watch while it lasts.
pub type WatchStream<K> = BoxStream<'static, Result<WatchPart<K>, SourceError>>;

/// A part of a list.
#[derive(Debug)]
#[non_exhaustive]
pub enum ListPart<K> {
    /// An object.
    Item(Object<K>),
    /// An object that is not what its type says.
    Undecodable(DecodeError),
    /// So many bytes have arrived: the source is alive, whatever they mean.
    Bytes(usize),
    /// Something is wrong, and nothing has to be asked again: the source goes on by itself.
    Trouble {
        /// What is wrong.
        error: SourceError,
        /// The source does something else next, which may do better.
        passing: bool,
    },
    /// The source knows which of its lists have comparable versions, so versions are not compared to find that out.
    Epoch {
        /// The epoch of the list's version. Versions of different epochs cannot be compared.
        epoch: u64,
        /// Changes with the epoch, and each time that objects may have other content at the same version.
        generation: u64,
    },
    /// What the list says about itself; nothing follows.
    End(ListMeta),
}

/// A part of a watch.
#[derive(Debug)]
#[non_exhaustive]
pub enum WatchPart<K> {
    /// An event.
    Event(Event<Object<K>>),
    /// An event about an object that is not what its type says.
    Undecodable {
        /// `ADDED`, `MODIFIED` or `DELETED`.
        event: String,
        /// Which object, and why.
        error: DecodeError,
    },
    /// So many bytes have arrived: the source is alive, whatever they mean.
    Bytes(usize),
    /// Something is wrong, and nothing has to be asked again: the source goes on by itself.
    Trouble {
        /// What is wrong.
        error: SourceError,
        /// The source does something else next, which may do better.
        passing: bool,
    },
}
