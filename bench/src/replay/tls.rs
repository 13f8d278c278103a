//! TLS with a certificate for loopback, which is in the tree. It protects nothing: the key is public.

use std::sync::Arc;

use kube_client::{Client, Config};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use crate::Error;

const CERTIFICATE: &[u8] = include_bytes!("../../data/loopback.crt.der");
const KEY: &[u8] = include_bytes!("../../data/loopback.key.der");

/// Where the certificate is, for programs that are not in Rust.
pub(crate) const CERTIFICATE_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/loopback.crt.der");

pub(super) fn acceptor() -> Result<TlsAcceptor, Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], PrivatePkcs8KeyDer::from(KEY).into())?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Makes a client of a replay server that retries nothing.
pub(crate) fn client(url: &str) -> Result<Client, Error> {
    let mut config = Config::new(url.parse()?);
    config.default_retry = false;
    config.root_cert = Some(vec![CERTIFICATE.to_vec()]);
    Ok(Client::try_from(config)?)
}
