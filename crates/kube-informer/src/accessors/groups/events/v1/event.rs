//! `events` of `events.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::events::v1::Event;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`Event`] objects: `factory.events().v1().events()`.
    ///
    /// - `.informer()?` follows `events`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn events(&self) -> Accessor<Event> {
        Accessor::new(&self.factory)
    }
}
