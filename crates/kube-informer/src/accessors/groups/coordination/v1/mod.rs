//! `coordination.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod lease;

use k8s_openapi::api::coordination::v1 as kinds;

version! {
    V1:
    Lease,
}
