//! `cronjobs` of `batch/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::batch::v1::CronJob;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`CronJob`] objects: `factory.batch().v1().cron_jobs()`.
    ///
    /// - `.informer()?` follows `cronjobs`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn cron_jobs(&self) -> Accessor<CronJob> {
        Accessor::new(&self.factory)
    }
}
