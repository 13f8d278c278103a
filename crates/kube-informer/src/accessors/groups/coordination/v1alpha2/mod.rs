//! `coordination.k8s.io/v1alpha2`. Made by `cargo xtask accessors`: not to be edited.

mod lease_candidate;

use k8s_openapi::api::coordination::v1alpha2 as kinds;

version! {
    V1alpha2:
    LeaseCandidate,
}
