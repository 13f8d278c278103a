//! `policy/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::policy::v1 as kinds;

version! {
    V1:
    pod_disruption_budgets: PodDisruptionBudget,
}
