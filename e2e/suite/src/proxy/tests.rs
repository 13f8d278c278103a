use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

/// Nothing on loopback takes longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server that says its name and then repeats what it hears.
async fn echo(name: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                client.write_all(name.as_bytes()).await?;
                let (mut from, mut to) = client.split();
                tokio::io::copy(&mut from, &mut to).await
            });
        }
    });
    address
}

async fn connect(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(proxy.address).await.unwrap()
}

/// What arrives next; empty if the connection has ended.
async fn hear(stream: &mut TcpStream) -> String {
    let mut buffer = [0; 100];
    let bytes = tokio::time::timeout(PATIENCE, stream.read(&mut buffer)).await.expect("something arrives");
    String::from_utf8_lossy(&buffer[..bytes.unwrap_or(0)]).into_owned()
}

async fn is_quiet(stream: &mut TcpStream) -> bool {
    let mut buffer = [0; 100];
    tokio::time::timeout(Duration::from_millis(100), stream.read(&mut buffer)).await.is_err()
}

#[tokio::test]
async fn what_is_frozen_arrives_after_the_thaw() {
    let proxy = Proxy::start(echo("a").await).await.unwrap();
    let mut old = connect(&proxy).await;
    assert_eq!(hear(&mut old).await, "a");
    proxy.freeze();
    old.write_all(b"hello").await.unwrap();
    let mut new = connect(&proxy).await;
    assert!(is_quiet(&mut old).await && is_quiet(&mut new).await);
    proxy.thaw();
    assert_eq!((hear(&mut old).await.as_str(), hear(&mut new).await.as_str()), ("hello", "a"));
    assert_eq!(proxy.connections(), 2);
}

#[tokio::test]
async fn forgotten_connections_are_silent_for_ever_and_new_ones_are_not() {
    let proxy = Proxy::start(echo("a").await).await.unwrap();
    let mut old = connect(&proxy).await;
    assert_eq!(hear(&mut old).await, "a");
    proxy.forget_open();
    old.write_all(b"hello").await.unwrap();
    let mut new = connect(&proxy).await;
    assert_eq!(hear(&mut new).await, "a");
    assert!(is_quiet(&mut old).await);
}

#[tokio::test]
async fn cut_connections_end_and_new_ones_go_to_the_new_target() {
    let proxy = Proxy::start(echo("a").await).await.unwrap();
    let mut old = connect(&proxy).await;
    assert_eq!(hear(&mut old).await, "a");
    proxy.retarget(echo("b").await);
    old.write_all(b"still a").await.unwrap();
    assert_eq!(hear(&mut old).await, "still a");
    proxy.cut();
    assert_eq!(hear(&mut old).await, "");
    assert_eq!(hear(&mut connect(&proxy).await).await, "b");
    assert_eq!(proxy.struck().ended(), 1);
}

#[tokio::test]
async fn frozen_connections_can_be_cut() {
    let proxy = Proxy::start(echo("a").await).await.unwrap();
    let mut old = connect(&proxy).await;
    assert_eq!(hear(&mut old).await, "a");
    proxy.freeze();
    proxy.cut();
    assert_eq!(hear(&mut old).await, "");
}

#[tokio::test]
async fn a_dropped_proxy_leaves_nothing_behind() {
    let proxy = Proxy::start(echo("a").await).await.unwrap();
    let mut old = connect(&proxy).await;
    assert_eq!(hear(&mut old).await, "a");
    let address = proxy.address;
    drop(proxy);
    assert_eq!(hear(&mut old).await, "");
    let refused = async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, refused).await.expect("nobody listens any more");
}

#[tokio::test]
async fn bad_luck_ends_connections_in_the_middle_until_it_is_over() {
    const SENT: usize = 1 << 20;
    let proxy = Proxy::start(echo("a").await).await.unwrap();
    proxy.tempt(1);
    let mut whole = 0;
    // Enough that some are closed, and some silent, for which nobody waits here.
    for _ in 0..20 {
        let (mut from, mut to) = connect(&proxy).await.into_split();
        let sending = tokio::spawn(async move {
            let _ = to.write_all(&vec![7; SENT]).await;
            to
        });
        let mut heard = Vec::new();
        let hear = async {
            let mut buffer = vec![0; 1 << 16];
            while heard.len() <= SENT {
                match from.read(&mut buffer).await {
                    Ok(bytes) if bytes > 0 => heard.extend_from_slice(&buffer[..bytes]),
                    _ => break,
                }
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), hear).await;
        sending.abort();
        assert!(heard.iter().skip(1).all(|byte| *byte == 7), "what passes is what was sent");
        whole += usize::from(heard.len() > SENT);
    }
    let struck = proxy.struck();
    assert!(struck.cut > 0 && struck.reset > 0 && struck.held_up > 0, "{struck:?}");
    assert!(whole < 10, "{whole} of 20 came through");
    proxy.calm();
    let mut calm = connect(&proxy).await;
    assert_eq!(hear(&mut calm).await, "a");
    calm.write_all(b"hello").await.unwrap();
    assert_eq!(hear(&mut calm).await, "hello");
    assert_eq!(proxy.struck(), struck);
}
