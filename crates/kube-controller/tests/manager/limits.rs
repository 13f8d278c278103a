//! Connections that say nothing, or hear nothing, hold nobody up.

use std::net::SocketAddr;
use std::time::Duration;

use kube_controller::manager::{Manager, TlsFiles, Unhealthy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::Run;
use crate::certificates::{Folder, Pair};
use crate::secure::get;

/// How many connections a server has at once.
const MAX_CONNECTIONS: usize = 128;

/// Larger than what a connection holds on its way.
const LARGE: usize = 16 << 20;

const HOUR: Duration = Duration::from_secs(3600);

fn free() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

async fn connections(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(TcpStream::connect(address).await.unwrap());
    }
    all
}

/// Asks for a page, and reads nothing of it before its first byte is there.
async fn ask(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).await.unwrap();
    stream.readable().await.unwrap();
    stream
}

/// How many bytes come until the other side closes, or breaks off.
async fn read(stream: &mut TcpStream) -> usize {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    bytes.len()
}

/// The connections that the other side has closed.
fn closed(connections: &[TcpStream]) -> Vec<usize> {
    let is_closed = |stream: &TcpStream| !matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
    (0..connections.len()).filter(|number| is_closed(&connections[*number])).collect()
}

#[tokio::test]
async fn a_probe_is_answered_beside_as_many_silent_connections_as_there_may_be() {
    let manager = Manager::builder().health_address(free()).build().await.unwrap();
    let address = manager.health_address().unwrap();
    let run = Run::of(manager);
    let mut silent = connections(address, MAX_CONNECTIONS).await;
    // One that has begun to ask is not better than one that says nothing.
    silent[0].write_all(b"GET /healthz HT").await.unwrap();
    for probe in 1..=3 {
        let mut answer = ask(address, "/healthz").await;
        assert!(read(&mut answer).await > 0, "it is answered");
        silent[0].readable().await.unwrap();
        // The oldest made room; a connection that was served leaves its own.
        assert_eq!(closed(&silent), [0], "probe {probe}");
    }
    run.end().await.unwrap();
}

#[tokio::test]
async fn a_probe_over_tls_is_answered_beside_as_many_silent_connections_as_there_may_be() {
    let pair = Pair::new(1);
    let folder = Folder::with(&pair);
    let files = TlsFiles::new(folder.certificate(), folder.key());
    let manager = Manager::builder().health_address(free()).health_tls(files).build().await.unwrap();
    let address = manager.health_address().unwrap();
    let run = Run::of(manager);
    let silent = connections(address, MAX_CONNECTIONS).await;
    assert!(get(address, "/healthz", &pair).await.unwrap().starts_with("HTTP/1.1 200 OK\r\n"));
    silent[0].readable().await.unwrap();
    assert_eq!(closed(&silent), [0], "the oldest made room");
    run.end().await.unwrap();
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed_soon() {
    let manager = Manager::builder().health_address(free()).build().await.unwrap();
    let address = manager.health_address().unwrap();
    let run = Run::of(manager);
    let begun = Instant::now();
    let mut silent = TcpStream::connect(address).await.unwrap();
    // Connections are accepted in turn: once this one is answered, the other is there.
    read(&mut ask(address, "/healthz").await).await;
    tokio::time::pause();
    assert_eq!(read(&mut silent).await, 0);
    assert!(begun.elapsed() <= Duration::from_secs(11), "{:?}", begun.elapsed());
    tokio::time::resume();
    run.end().await.unwrap();
}

#[tokio::test]
async fn a_client_that_reads_no_answer_is_given_up() {
    let manager = Manager::builder().health_address(free()).build().await.unwrap();
    let address = manager.health_address().unwrap();
    manager.healthz().add("large", || Err(Unhealthy("x".repeat(LARGE))));
    let run = Run::of(manager);
    let mut patient = ask(address, "/healthz/large").await;
    assert!(read(&mut patient).await > LARGE, "one that reads it has all of it");
    let mut deaf = ask(address, "/healthz/large").await;
    tokio::time::pause();
    tokio::time::sleep(HOUR).await;
    tokio::time::resume();
    let read = read(&mut deaf).await;
    assert!(read < LARGE, "{read} of {LARGE} bytes were kept for it for an hour");
    run.end().await.unwrap();
}

#[tokio::test]
async fn a_client_that_reads_no_answer_does_not_hold_up_the_end() {
    let manager = Manager::builder().health_address(free()).build().await.unwrap();
    let address = manager.health_address().unwrap();
    manager.healthz().add("large", || Err(Unhealthy("x".repeat(LARGE))));
    let run = Run::of(manager);
    let _deaf = ask(address, "/healthz/large").await;
    tokio::time::pause();
    run.end().await.unwrap();
}
