//! `certificates.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod certificate_signing_request;
k8s_openapi::k8s_if_ge_1_37! { mod cluster_trust_bundle; }
k8s_openapi::k8s_if_ge_1_37! { mod pod_certificate_request; }

use k8s_openapi::api::certificates::v1 as kinds;

version! {
    V1:
    CertificateSigningRequest,
    [k8s_if_ge_1_37] ClusterTrustBundle,
    [k8s_if_ge_1_37] PodCertificateRequest,
}
