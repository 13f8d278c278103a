//! `certificates.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::certificates::v1alpha1 as kinds;

version! {
    V1alpha1:
    cluster_trust_bundles: ClusterTrustBundle,
    [k8s_if_1_34] pod_certificate_requests: PodCertificateRequest,
}
