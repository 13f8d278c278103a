//! `coordination.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

mod lease_candidate;

use k8s_openapi::api::coordination::v1beta1 as kinds;

version! {
    V1beta1:
    LeaseCandidate,
}
