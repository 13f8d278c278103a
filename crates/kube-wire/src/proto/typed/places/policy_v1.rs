//! `policy/v1`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::api::policy::v1 as types;

use super::*;

places! {
    "policy/v1"
    PodDisruptionBudget {
        1 metadata, 2 spec, 3 status;
    }
    PodDisruptionBudgetSpec {
        1 min_available, 2 selector, 3 max_unavailable, 4 unhealthy_pod_eviction_policy;
    }
    PodDisruptionBudgetStatus {
        1 observed_generation, 2 disrupted_pods, 3 disruptions_allowed, 4 current_healthy, 5 desired_healthy,
        6 expected_pods;
        ~ 7 conditions;
        zero 1;
    }
}
