//! Certificates for tests: each signed by itself, for `localhost`, and told apart by its number.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

/// A certificate and its key.
pub(crate) struct Pair {
    /// As it goes over the wire.
    pub(crate) certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Pair {
    pub(crate) fn new(number: u8) -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random).unwrap();
        let body = body(number, pair.public_key().as_ref());
        let signature = pair.sign(&random, &body).unwrap();
        let certificate = list(&[body, signed_by_ecdsa(), bits(signature.as_ref())]);
        Self { certificate, key: key.as_ref().to_vec() }
    }

    pub(crate) fn certificate_pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    pub(crate) fn key_pem(&self) -> String {
        pem("PRIVATE KEY", &self.key)
    }
}

/// A folder with `tls.crt` and `tls.key` that only one test uses; gone with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("certificates-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn with(pair: &Pair) -> Self {
        let folder = Self::new();
        folder.write(pair);
        folder
    }

    pub(crate) fn write(&self, pair: &Pair) {
        self.write_certificate(pair);
        self.write_key(pair);
    }

    pub(crate) fn write_certificate(&self, pair: &Pair) {
        self.replace(&self.certificate(), &pair.certificate_pem());
    }

    pub(crate) fn write_key(&self, pair: &Pair) {
        self.replace(&self.key(), &pair.key_pem());
    }

    /// All of it at once: nobody reads half a file.
    fn replace(&self, path: &Path, content: &str) {
        let new = self.0.join("new");
        std::fs::write(&new, content).unwrap();
        std::fs::rename(new, path).unwrap();
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.0.join("tls.crt")
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.0.join("tls.key")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn pem(what: &str, der: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN {what}-----\n{text}\n-----END {what}-----\n")
}

/// What is signed: RFC 5280, the least of it.
fn body(number: u8, public_key: &[u8]) -> Vec<u8> {
    const VERSION_3: &[u8] = &[2, 1, 2];
    const COMMON_NAME: &[u8] = &[6, 3, 0x55, 4, 3];
    const ELLIPTIC: &[u8] = &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
    const P256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    const ALTERNATIVE_NAME: &[u8] = &[6, 3, 0x55, 0x1d, 0x11];
    let common = list(&[COMMON_NAME.to_vec(), tagged(0x0c, b"localhost")]);
    let name = list(&[tagged(0x31, &common)]);
    let validity = list(&[tagged(0x17, b"200101000000Z"), tagged(0x18, b"20991231235959Z")]);
    let key = list(&[list(&[ELLIPTIC.to_vec(), P256.to_vec()]), bits(public_key)]);
    let names = tagged(4, &list(&[tagged(0x82, b"localhost")]));
    let extensions = list(&[list(&[ALTERNATIVE_NAME.to_vec(), names])]);
    list(&[
        tagged(0xa0, VERSION_3),
        tagged(2, &[number & 0x7f]),
        signed_by_ecdsa(),
        name.clone(),
        validity,
        name,
        key,
        tagged(0xa3, &extensions),
    ])
}

fn signed_by_ecdsa() -> Vec<u8> {
    list(&[vec![6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]])
}

fn list(parts: &[Vec<u8>]) -> Vec<u8> {
    tagged(0x30, &parts.concat())
}

fn bits(content: &[u8]) -> Vec<u8> {
    tagged(3, &[&[0], content].concat())
}

/// DER: the tag, the length, the content.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = match u8::try_from(length) {
        Ok(length) if length < 0x80 => vec![tag, length],
        Ok(length) => vec![tag, 0x81, length],
        Err(_) => vec![tag, 0x82, (length >> 8) as u8, (length & 0xff) as u8],
    };
    [&head, content].concat()
}
