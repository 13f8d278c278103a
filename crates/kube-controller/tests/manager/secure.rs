//! Pages over TLS: with whose certificate, and what becomes of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kube_controller::manager::{BuildError, CertificateError, Manager, TlsFiles};
use parking_lot::Mutex;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;

use crate::Run;
use crate::certificates::{Folder, Pair};

/// How long a test waits for what should happen at once.
const PATIENCE: Duration = Duration::from_secs(60);

fn free() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn files(folder: &Folder) -> TlsFiles {
    TlsFiles::new(folder.certificate(), folder.key()).check_every(Duration::from_millis(10))
}

/// A page, read by a client that trusts one certificate alone; an error if it is shown another.
pub(crate) async fn get(address: SocketAddr, path: &str, trusted: &Pair) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(trusted.certificate.clone())).unwrap();
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// Waits until this certificate is the one that is shown.
async fn until_shown(address: SocketAddr, path: &str, trusted: &Pair) {
    let shown = async {
        while get(address, path, trusted).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, shown).await.expect("it is shown");
}

#[tokio::test]
async fn health_and_metrics_are_served_over_tls_and_to_nobody_in_plain() {
    let pair = Pair::new(1);
    let folder = Folder::with(&pair);
    let manager = Manager::builder()
        .health_address(free())
        .metrics_address(free())
        .health_tls(files(&folder))
        .metrics_tls(files(&folder))
        .build()
        .await
        .unwrap();
    let (health, metrics) = (manager.health_address().unwrap(), manager.metrics_address().unwrap());
    let run = Run::of(manager);
    assert!(get(health, "/healthz", &pair).await.unwrap().starts_with("HTTP/1.1 200 OK\r\n"));
    let page = get(metrics, "/metrics", &pair).await.unwrap();
    assert!(page.contains("\ncertwatcher_read_certificate_total "), "{page}");
    assert!(page.contains("\ncertwatcher_read_certificate_errors_total 0\n"), "{page}");
    let stranger = get(health, "/healthz", &Pair::new(2)).await.unwrap_err();
    assert!(stranger.to_string().contains("invalid peer certificate"), "{stranger}");

    let mut plain = TcpStream::connect(metrics).await.unwrap();
    plain.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    // It may be told that this is no TLS, or find the connection closed; it sees no figures.
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("certwatcher"), "{answer:?}");
    run.end().await.unwrap();
}

#[tokio::test]
async fn a_certificate_that_is_replaced_is_used_from_then_on() {
    let (first, second) = (Pair::new(1), Pair::new(2));
    let folder = Folder::with(&first);
    let manager =
        Manager::builder().metrics_address(free()).metrics_tls(files(&folder)).build().await.unwrap();
    let address = manager.metrics_address().unwrap();
    let run = Run::of(manager);
    get(address, "/metrics", &first).await.unwrap();
    folder.write(&second);
    until_shown(address, "/metrics", &second).await;
    assert!(get(address, "/metrics", &first).await.is_err(), "the old one is not shown any more");
    run.end().await.unwrap();
}

#[tokio::test]
async fn a_certificate_that_goes_bad_is_told_and_the_last_good_one_stays() {
    let (first, second) = (Pair::new(1), Pair::new(2));
    let folder = Folder::with(&first);
    let (told, news) = (Arc::new(Mutex::new(Vec::<String>::new())), Arc::new(Notify::new()));
    let (tell, notify) = (Arc::clone(&told), Arc::clone(&news));
    let files = files(&folder).on_error(move |error| {
        tell.lock().push(error.to_string());
        notify.notify_one();
    });
    let manager = Manager::builder().metrics_address(free()).metrics_tls(files).build().await.unwrap();
    let address = manager.metrics_address().unwrap();
    let run = Run::of(manager);

    // Half of a change: the certificate is there before its key.
    folder.write_certificate(&second);
    tokio::time::timeout(PATIENCE, news.notified()).await.unwrap();
    let error = told.lock().pop().unwrap();
    assert!(error.contains("cannot be used with the key in "), "{error}");
    let page = get(address, "/metrics", &first).await.unwrap();
    assert!(page.contains("\ncertwatcher_read_certificate_errors_total 1\n"), "told once: {page}");
    // The other half.
    folder.write_key(&second);
    until_shown(address, "/metrics", &second).await;
    // Gone altogether.
    std::fs::remove_file(folder.key()).unwrap();
    tokio::time::timeout(PATIENCE, news.notified()).await.unwrap();
    assert!(told.lock()[0].starts_with("cannot read "), "{told:?}");
    get(address, "/metrics", &second).await.unwrap();
    folder.write(&first);
    until_shown(address, "/metrics", &first).await;
    run.end().await.unwrap();
}

#[tokio::test]
async fn a_bad_file_is_a_clear_error_before_anything_starts() {
    let (one, other) = (Pair::new(1), Pair::new(2));
    let refused = async |certificate: Option<&str>, key: &str| {
        let folder = Folder::new();
        if let Some(certificate) = certificate {
            std::fs::write(folder.certificate(), certificate).unwrap();
        }
        std::fs::write(folder.key(), key).unwrap();
        let builder = Manager::builder().health_address(free()).health_tls(files(&folder));
        match builder.build().await.unwrap_err() {
            BuildError::Certificate { what: "health", source } => source,
            error => panic!("{error}"),
        }
    };
    let (good, key) = (one.certificate_pem(), one.key_pem());
    assert!(matches!(refused(None, &key).await, CertificateError::Read { .. }));
    assert!(matches!(refused(Some(""), &key).await, CertificateError::NoCertificate(_)));
    assert!(matches!(refused(Some(&key), &key).await, CertificateError::NoCertificate(_)));
    assert!(matches!(refused(Some(&good), &good).await, CertificateError::NoKey(_)));
    let broken = good.replace("-----END", "-----ENT");
    assert!(matches!(refused(Some(&broken), &key).await, CertificateError::NotPem { .. }));
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(matches!(refused(Some(garbage), &key).await, CertificateError::Unusable { .. }));
    assert!(matches!(refused(Some(&good), &other.key_pem()).await, CertificateError::Unusable { .. }));
    let huge = "x".repeat(2 << 20);
    assert!(matches!(refused(Some(&huge), &key).await, CertificateError::TooLarge(_)));

    let builder =
        Manager::builder().metrics_address(free()).metrics_tls(TlsFiles::new("no/tls.crt", "no/tls.key"));
    let error = builder.build().await.unwrap_err().to_string();
    assert!(error.starts_with("cannot serve metrics over TLS: cannot read no/tls.crt: "), "{error}");
}

#[test]
fn certificates_are_followed_where_the_system_has_no_thread_to_give() {
    // No thread can have so large a stack.
    let runtime =
        tokio::runtime::Builder::new_current_thread().thread_stack_size(1 << 50).enable_all().build();
    runtime.unwrap().block_on(async {
        let [first, second] = [1, 2].map(Pair::new);
        let folder = Folder::with(&first);
        let builder = Manager::builder().health_address(free()).health_tls(files(&folder));
        let manager = builder.build().await.unwrap();
        let address = manager.health_address().unwrap();
        let run = Run::of(manager);
        until_shown(address, "/healthz", &first).await;
        folder.write(&second);
        until_shown(address, "/healthz", &second).await;
        run.end().await.unwrap();
    });
}

#[tokio::test]
async fn an_error_hook_that_panics_does_not_end_the_following_of_certificates() {
    let [first, second] = [1, 2].map(Pair::new);
    let folder = Folder::with(&first);
    let told = Arc::new(Notify::new());
    let tell = Arc::clone(&told);
    let files = files(&folder).on_error(move |_| {
        tell.notify_one();
        panic!("the hook");
    });
    let manager = Manager::builder().health_address(free()).health_tls(files).build().await.unwrap();
    let address = manager.health_address().unwrap();
    let run = Run::of(manager);
    folder.write_key(&second);
    tokio::time::timeout(PATIENCE, told.notified()).await.expect("it is told");
    folder.write(&second);
    until_shown(address, "/healthz", &second).await;
    run.end().await.unwrap();
}
