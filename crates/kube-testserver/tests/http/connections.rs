//! How many connections there may be, and which of them make room.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use kube_testserver::TestServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::within;

const AUTHORIZATION: &str = "Authorization: Bearer kube-testserver-admin";

async fn connect(server: &TestServer) -> TcpStream {
    TcpStream::connect(server.address()).await.unwrap()
}

/// Sends a request, and reads the head of the answer.
async fn ask(socket: &mut TcpStream, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{AUTHORIZATION}\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(within(socket.read_u8()).await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn silent_connections_do_not_keep_others_out() {
    let server = TestServer::builder().max_connections(4).start().await.unwrap();
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(connect(&server).await);
    }
    // Half of a body is not a request that is being answered.
    let half = format!(
        "POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\n{AUTHORIZATION}\r\nContent-Length: 9\r\n\r\n{{"
    );
    silent[3].write_all(half.as_bytes()).await.unwrap();
    let mut served = Vec::new();
    for _ in 0..8 {
        let mut socket = connect(&server).await;
        assert!(ask(&mut socket, "/healthz").await.starts_with("HTTP/1.1 200 OK"));
        served.push(socket);
    }
    for socket in &mut silent {
        let mut rest = Vec::new();
        // Closed, in whatever way.
        let _ = within(socket.read_to_end(&mut rest)).await;
        assert!(rest.is_empty());
    }
    // The last ones are still open.
    assert!(ask(&mut served[7], "/healthz").await.ends_with("\r\n\r\n"));
}

#[tokio::test]
async fn connections_that_are_answered_are_not_closed_for_others() {
    let server = TestServer::builder().max_connections(2).start().await.unwrap();
    let mut watches = Vec::new();
    for _ in 0..2 {
        let mut socket = connect(&server).await;
        assert!(ask(&mut socket, "/api/v1/pods?watch=true").await.starts_with("HTTP/1.1 200 OK"));
        watches.push(socket);
    }
    let mut refused = String::new();
    within(connect(&server).await.read_to_string(&mut refused)).await.unwrap();
    assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("Retry-After: 1\r\n"), "{refused}");
    assert_eq!(server.stats().watches, 2);
}

/// Serves until its standard input ends, in a process of its own; does nothing where it is not asked for.
#[tokio::test]
async fn server_of_another_process() {
    if std::env::var_os(CHILD).is_some() {
        let server = TestServer::start().await.unwrap();
        println!("\n{LISTENING}{}", server.address());
        let until_end = || std::io::stdin().read_to_end(&mut Vec::new());
        tokio::task::spawn_blocking(until_end).await.unwrap().unwrap();
    }
}

const CHILD: &str = "KUBE_TESTSERVER_OF_ANOTHER_PROCESS";
const LISTENING: &str = "listening on ";

#[cfg(unix)]
#[tokio::test]
async fn silent_connections_make_room_where_the_process_has_no_file_descriptor_left() {
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new("sh")
        .args([
            "-c",
            "ulimit -n 40 && exec \"$0\" --exact connections::server_of_another_process --nocapture",
        ])
        .arg(program)
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.find_map(|line| line.strip_prefix(LISTENING).map(str::to_owned)).unwrap();
    let mut silent = Vec::new();
    for _ in 0..60 {
        silent.push(TcpStream::connect(&address).await.unwrap());
    }
    for _ in 0..3 {
        let mut socket = TcpStream::connect(&address).await.unwrap();
        assert!(within(ask(&mut socket, "/healthz")).await.starts_with("HTTP/1.1 200 OK"));
    }
    drop(child.stdin.take());
    let rest: Vec<String> = lines.collect();
    assert!(child.wait().unwrap().success(), "{rest:?}");
}
