//! `policy/v1`. Made by `cargo xtask accessors`: not to be edited.

mod pod_disruption_budget;

use k8s_openapi::api::policy::v1 as kinds;

version! {
    V1:
    PodDisruptionBudget,
}
