//! `horizontalpodautoscalers` of `autoscaling/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::autoscaling::v1::HorizontalPodAutoscaler;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`HorizontalPodAutoscaler`] objects: `factory.autoscaling().v1().horizontal_pod_autoscalers()`.
    ///
    /// - `.informer()?` follows `horizontalpodautoscalers`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn horizontal_pod_autoscalers(&self) -> Accessor<HorizontalPodAutoscaler> {
        Accessor::new(&self.factory)
    }
}
