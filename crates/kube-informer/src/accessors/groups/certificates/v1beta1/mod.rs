//! `certificates.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

mod cluster_trust_bundle;
k8s_openapi::k8s_if_ge_1_35! { mod pod_certificate_request; }

use k8s_openapi::api::certificates::v1beta1 as kinds;

version! {
    V1beta1:
    ClusterTrustBundle,
    [k8s_if_ge_1_35] PodCertificateRequest,
}
