//! `certificates.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::certificates::v1 as kinds;

version! {
    V1:
    certificate_signing_requests: CertificateSigningRequest,
    [k8s_if_ge_1_37] cluster_trust_bundles: ClusterTrustBundle,
    [k8s_if_ge_1_37] pod_certificate_requests: PodCertificateRequest,
}
