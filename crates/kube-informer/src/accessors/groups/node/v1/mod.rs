//! `node.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod runtime_class;

use k8s_openapi::api::node::v1 as kinds;

version! {
    V1:
    RuntimeClass,
}
