//! `batch/v1`. Made by `cargo xtask accessors`: not to be edited.

mod cron_job;
mod job;

use k8s_openapi::api::batch::v1 as kinds;

version! {
    V1:
    CronJob,
    Job,
}
