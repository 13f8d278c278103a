//! `events.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod event;

use k8s_openapi::api::events::v1 as kinds;

version! {
    V1:
    Event,
}
