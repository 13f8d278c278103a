use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::super::{ADMIN_TOKEN, objects};
use super::*;
use crate::cluster::Options;

/// What fits between the server and a client that does not read.
const PIPE_BYTES: usize = 1024;

const HOUR: Duration = Duration::from_secs(3600);

/// A connection without a socket, so that time can be paused, and its task.
fn connect() -> (DuplexStream, JoinHandle<()>) {
    let cluster = Arc::new(Cluster::new(Options::default()));
    cluster.access.add_user(ADMIN_TOKEN, "kubernetes-admin", ["system:masters"]);
    objects::create_system_namespaces(&cluster);
    let (client, server) = duplex(PIPE_BYTES);
    let served = serve(cluster, server, CancellationToken::new(), Arc::default());
    (client, tokio::spawn(served))
}

fn request(method: &str, path: &str, headers: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n{headers}\r\n")
        .into_bytes()
}

/// Reads until the server closes the connection.
async fn rest(client: &mut DuplexStream) -> String {
    let mut rest = Vec::new();
    let _ = timeout(HOUR, client.read_to_end(&mut rest)).await.expect("the connection stays open");
    String::from_utf8_lossy(&rest).into_owned()
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_whole_head_is_closed() {
    for sent in ["", "GET /version HTTP/1.1\r\nHost: a\r\nX"] {
        let (begin, (mut client, _)) = (Instant::now(), connect());
        client.write_all(sent.as_bytes()).await.unwrap();
        assert_eq!(rest(&mut client).await, "");
        assert_eq!(begin.elapsed().as_secs(), HEADER_TIMEOUT.as_secs(), "{sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_trickles_is_closed_in_the_same_time() {
    let (begin, (mut client, server)) = (Instant::now(), connect());
    client.write_all(b"GET /version HTTP/1.1\r\nX: ").await.unwrap();
    while client.write_all(b"x").await.is_ok() && begin.elapsed() < HOUR {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(begin.elapsed() <= HEADER_TIMEOUT + Duration::from_secs(2), "{:?}", begin.elapsed());
    server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_after_its_last_answer() {
    let (begin, (mut client, _)) = (Instant::now(), connect());
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_secs(30)).await;
        client.write_all(&request("GET", "/healthz", "")).await.unwrap();
    }
    let answers = rest(&mut client).await;
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2, "{answers}");
    assert_eq!(begin.elapsed().as_secs(), 60 + IDLE_TIMEOUT.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_answered_with_a_time_out() {
    let (mut client, _) = connect();
    let path = "/api/v1/namespaces/default/configmaps";
    client.write_all(&request("POST", path, "Content-Length: 100\r\n")).await.unwrap();
    client.write_all(b"{").await.unwrap();
    let answer = rest(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    assert!(answer.contains("\"reason\":\"Timeout\""), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_read_ends_its_connection() {
    let (begin, (mut client, server)) = (Instant::now(), connect());
    client.write_all(&request("GET", "/openapi/v2", "")).await.unwrap();
    timeout(HOUR, server).await.expect("the connection stays open").unwrap();
    assert_eq!(begin.elapsed().as_secs(), STALL_TIMEOUT.as_secs());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_read_slowly_is_not_cut_off() {
    let (mut client, server) = connect();
    client.write_all(&request("GET", "/openapi/v2", "")).await.unwrap();
    let mut some = [0; PIPE_BYTES];
    for _ in 0..20 {
        tokio::time::sleep(STALL_TIMEOUT / 2).await;
        assert!(client.read(&mut some).await.unwrap() > 0);
    }
    assert!(!server.is_finished());
    // Time runs out only when nothing is taken any more.
    timeout(STALL_TIMEOUT + Duration::from_secs(1), server).await.expect("it ends").unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_watch_may_be_silent_and_unread() {
    for path in ["/api/v1/pods?watch=true", "/api/v1/namespaces?watch=true"] {
        let (mut client, server) = connect();
        client.write_all(&request("GET", path, "")).await.unwrap();
        tokio::time::sleep(Duration::from_secs(20 * 60)).await;
        assert!(!server.is_finished(), "{path}");
    }
}

#[tokio::test]
async fn the_connection_that_waits_longest_makes_room() {
    let waiting = Arc::new(Waiting::default());
    let cuts: Vec<CancellationToken> = (0..3).map(|_| CancellationToken::new()).collect();
    let mut tickets: Vec<_> = cuts.iter().map(|cut| waiting.enter(cut.clone())).collect();
    drop(tickets.remove(0));
    assert!(waiting.cut_oldest());
    let cut = |at: usize| cuts[at].is_cancelled();
    assert_eq!((cut(0), cut(1), cut(2)), (false, true, false));
    assert!(waiting.cut_oldest());
    assert!(!waiting.cut_oldest());
}
