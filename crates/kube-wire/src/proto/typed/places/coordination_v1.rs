//! `coordination/v1`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::api::coordination::v1 as types;

use super::*;

places! {
    "coordination/v1"
    Lease {
        1 metadata, 2 spec;
    }
    LeaseSpec {
        1 holder_identity, 2 lease_duration_seconds, 3 acquire_time, 4 renew_time, 5 lease_transitions,
        6 strategy, 7 preferred_holder;
        empty 3 4;
    }
}
