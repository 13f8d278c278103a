//! `batch/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::batch::v1 as kinds;

version! {
    V1:
    cron_jobs: CronJob,
    jobs: Job,
}
