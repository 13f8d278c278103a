//! Pages over TLS, with certificates that are read again when their files change.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube_informer::panics;
use parking_lot::{Mutex, RwLock};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use super::BuildError;

/// How often the files are looked at, unless it is said otherwise.
pub const DEFAULT_CERTIFICATE_CHECK: Duration = Duration::from_secs(10);

const SHORTEST_CHECK: Duration = Duration::from_millis(10);

/// The files may have so many bytes.
const MAX_FILE: u64 = 1 << 20;

/// What is spoken over TLS.
const ALPN: &[u8] = b"http/1.1";

/// The files of a certificate and its key, in PEM, as a mounted Secret of type `kubernetes.io/tls` has them.
///
/// They are read when the manager is built, and then looked at again and again: others that are there are used for
/// connections that come from then on. What cannot be used is [told](Self::on_error) and counted
/// (`certwatcher_read_certificate_errors_total` of `certwatcher_read_certificate_total`), and the last ones that could stay
/// in use. Writing two files takes a moment, so that a key and a certificate may not fit: this passes.
///
/// ```no_run
/// use kube_controller::manager::{Manager, TlsFiles};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let files = TlsFiles::new("/tls/tls.crt", "/tls/tls.key").on_error(|error| eprintln!("{error}"));
/// let manager = Manager::builder().metrics_address("0.0.0.0:8443".parse()?).metrics_tls(files).build().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "files are of no use until they are given to a manager"]
pub struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    check_every: Duration,
    on_error: Arc<dyn Fn(&CertificateError) + Send + Sync>,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A file is too large to be what it should be.
    #[error("{} has more than {MAX_FILE} bytes; is it the right file?", .0.display())]
    TooLarge(PathBuf),
    /// A file is not PEM.
    #[error("{} is not PEM: {why}", path.display())]
    NotPem {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There is no certificate in its file.
    #[error("there is no certificate in {}; it needs a PEM section CERTIFICATE", .0.display())]
    NoCertificate(PathBuf),
    /// There is no key in its file.
    #[error("there is no private key in {}; it needs a PEM section PRIVATE KEY, without a password", .0.display())]
    NoKey(PathBuf),
    /// The two do not go together, or are of a kind that is not known.
    #[error("the certificate in {} cannot be used with the key in {}: {why}", certificate.display(), key.display())]
    Unusable {
        /// Where the certificate is.
        certificate: PathBuf,
        /// Where the key is.
        key: PathBuf,
        /// Why not.
        why: String,
    },
}

impl TlsFiles {
    /// The certificate, with those that have signed it, and its key: `tls.crt` and `tls.key`.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        let (certificate, key) = (certificate.into(), key.into());
        Self { certificate, key, check_every: DEFAULT_CERTIFICATE_CHECK, on_error: Arc::new(|_| {}) }
    }

    /// How often they are looked at; every ten seconds by default, and no more than a hundred times a second.
    pub fn check_every(mut self, time: Duration) -> Self {
        self.check_every = time.max(SHORTEST_CHECK);
        self
    }

    /// Is told when they change, while the manager runs, to something that cannot be used.
    pub fn on_error(mut self, hook: impl Fn(&CertificateError) + Send + Sync + 'static) -> Self {
        self.on_error = Arc::new(hook);
        self
    }

    fn read(&self) -> Result<Contents, CertificateError> {
        Ok(Contents { certificate: read(&self.certificate)?, key: read(&self.key)? })
    }

    fn parse(&self, contents: &Contents, crypto: &CryptoProvider) -> Result<CertifiedKey, CertificateError> {
        let not_pem = |path: &Path, error: pem::Error| CertificateError::NotPem {
            path: path.to_owned(),
            why: error.to_string(),
        };
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&contents.certificate)
            .collect::<Result<_, _>>()
            .map_err(|error| not_pem(&self.certificate, error))?;
        if chain.is_empty() {
            return Err(CertificateError::NoCertificate(self.certificate.clone()));
        }
        let key = PrivateKeyDer::from_pem_slice(&contents.key).map_err(|error| match error {
            pem::Error::NoItemsFound => CertificateError::NoKey(self.key.clone()),
            error => not_pem(&self.key, error),
        })?;
        CertifiedKey::from_der(chain, key, crypto).map_err(|error| CertificateError::Unusable {
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            why: error.to_string(),
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    let failed = |source| CertificateError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(CertificateError::TooLarge(path.to_owned()));
    }
    Ok(bytes)
}

/// What was in the files.
#[derive(PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// How often files were read, and how often that was in vain.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    all: Counter,
    failed: Counter,
}

impl Reads {
    /// Under the names of controller-runtime.
    pub(super) fn register(registry: &mut Registry) -> Self {
        let reads = Self::default();
        let help = "how often certificates were read";
        registry.register("certwatcher_read_certificate", help, reads.all.clone());
        let help = "how often certificates could not be read, or not be used";
        registry.register("certwatcher_read_certificate_errors", help, reads.failed.clone());
        reads
    }
}

/// Greets those who come over TLS, with the certificate that is current.
pub(super) struct Secure {
    acceptor: TlsAcceptor,
    shown: Arc<Shown>,
}

/// The certificate that is current.
struct Shown {
    files: TlsFiles,
    crypto: Arc<CryptoProvider>,
    /// What `current` was made of, or what could not be used after it.
    seen: Mutex<Option<Contents>>,
    current: RwLock<Arc<CertifiedKey>>,
    reads: Reads,
}

impl Secure {
    /// For some pages, with files that are read for the first time.
    pub(super) async fn new(what: &'static str, files: TlsFiles, reads: Reads) -> Result<Self, BuildError> {
        Self::read(files, reads).await.map_err(|source| BuildError::Certificate { what, source })
    }

    async fn read(files: TlsFiles, reads: Reads) -> Result<Self, CertificateError> {
        let crypto = Arc::new(ring::default_provider());
        reads.all.inc();
        let contents = contents(&files).await;
        let made = contents.and_then(|contents| Ok((files.parse(&contents, &crypto)?, contents)));
        let (certified, contents) = made.inspect_err(|_| {
            reads.failed.inc();
        })?;
        let unusable = |error: rustls::Error| CertificateError::Unusable {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
            why: error.to_string(),
        };
        let versions = ServerConfig::builder_with_provider(Arc::clone(&crypto))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let shown = Arc::new(Shown {
            files,
            crypto,
            seen: Mutex::new(Some(contents)),
            current: RwLock::new(Arc::new(certified)),
            reads,
        });
        let mut config = versions
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&shown) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), shown })
    }

    /// Does the handshake with a client; none if that fails. The caller bounds the time.
    pub(super) async fn greet(&self, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await.ok()
    }

    /// Looks at the files again and again until it is told to stop.
    pub(super) async fn follow(&self, stop: &CancellationToken) {
        let every = self.shown.files.check_every;
        while stop.run_until_cancelled(tokio::time::sleep(every)).await.is_some() {
            self.shown.look().await;
        }
    }
}

impl Shown {
    /// Looks at the files once. What is as it was is not read twice.
    async fn look(&self) {
        self.reads.all.inc();
        let contents = match contents(&self.files).await {
            Ok(contents) => contents,
            Err(error) => {
                *self.seen.lock() = None;
                return self.complain(&error);
            }
        };
        let mut seen = self.seen.lock();
        if seen.as_ref() == Some(&contents) {
            return;
        }
        let parsed = self.files.parse(&contents, &self.crypto);
        *seen = Some(contents);
        drop(seen);
        match parsed {
            Ok(certified) => *self.current.write() = Arc::new(certified),
            Err(error) => self.complain(&error),
        }
    }

    fn complain(&self, error: &CertificateError) {
        self.reads.failed.inc();
        // A hook that panics must not end the task that follows the files.
        panics::drop_quietly(catch_unwind(AssertUnwindSafe(|| (self.files.on_error)(error))));
    }
}

/// Reads the files on a thread for work that blocks, or in place if the system has no thread to give: they are small.
async fn contents(files: &TlsFiles) -> Result<Contents, CertificateError> {
    let reading = files.clone();
    // tokio panics where there is no thread.
    let spawned = catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(move || reading.read())));
    let read = match spawned {
        Ok(read) => read.await,
        Err(panic) => {
            panics::drop_quietly(panic);
            return files.read();
        }
    };
    read.unwrap_or_else(|error| {
        let (path, source) = (files.certificate.clone(), std::io::Error::other(error));
        Err(CertificateError::Read { path, source })
    })
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read()))
    }
}

impl fmt::Debug for TlsFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsFiles")
            .field("certificate", &self.certificate)
            .field("key", &self.key)
            .field("check_every", &self.check_every)
            .finish_non_exhaustive()
    }
}

/// The key is nobody's business.
impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown").field("files", &self.files).finish_non_exhaustive()
    }
}
