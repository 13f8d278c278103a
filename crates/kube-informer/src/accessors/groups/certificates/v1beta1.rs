//! `certificates.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::certificates::v1beta1 as kinds;

version! {
    V1beta1:
    cluster_trust_bundles: ClusterTrustBundle,
    [k8s_if_ge_1_35] pod_certificate_requests: PodCertificateRequest,
}
