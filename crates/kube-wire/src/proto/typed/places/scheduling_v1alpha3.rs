//! `scheduling/v1alpha3`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::api::scheduling::v1alpha3 as types;

use super::*;

places! {
    "scheduling/v1alpha3"
    TopologyConstraint {
        1 key;
    }
    WorkloadPodGroupDisruptionMode {
        ;
        ~ 1 single, 2 all;
    }
    WorkloadPodGroupGangSchedulingPolicy {
        1 min_count;
    }
    WorkloadPodGroupResourceClaim {
        1 name, 2 resource_claim_name, 3 resource_claim_template_name;
    }
    WorkloadPodGroupSchedulingConstraints {
        1 topology;
    }
    WorkloadPodGroupSchedulingPolicy {
        2 gang;
        ~ 1 basic;
    }
}
