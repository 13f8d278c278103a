//! `certificates.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

mod cluster_trust_bundle;
k8s_openapi::k8s_if_1_34! { mod pod_certificate_request; }

use k8s_openapi::api::certificates::v1alpha1 as kinds;

version! {
    V1alpha1:
    ClusterTrustBundle,
    [k8s_if_1_34] PodCertificateRequest,
}
