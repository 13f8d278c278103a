//! A wire between client and server that can be frozen and cut.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How many bytes are carried in one step.
const BUFFER: usize = 16 << 10;

/// Carries bytes between clients and a server, until told otherwise.
///
/// TLS passes through: the certificate of a [`RealServer`](crate::RealServer) is good for every port of 127.0.0.1.
/// Dropped, it cuts all connections and listens no more.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    flow: watch::Sender<Flow>,
    /// How many connections there have been; each has the number of those before it.
    connections: Arc<AtomicU64>,
}

/// What may pass.
#[derive(Clone, Debug)]
struct Flow {
    /// Where new connections go.
    target: String,
    /// Nothing passes.
    frozen: bool,
    /// Nothing passes on connections before this one, ever.
    dead_before: u64,
    /// Connections before this one are closed.
    cut_before: u64,
}

impl Flow {
    fn passes(&self, connection: u64) -> bool {
        !self.frozen && connection >= self.dead_before
    }
}

impl Proxy {
    /// Listens on a free port of loopback, and carries to a server: `127.0.0.1:PORT`.
    pub async fn start(target: impl Into<String>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let flow =
            watch::Sender::new(Flow { target: target.into(), frozen: false, dead_before: 0, cut_before: 0 });
        let connections = Arc::new(AtomicU64::new(0));
        tokio::spawn(accept(listener, flow.subscribe(), Arc::clone(&connections)));
        Ok(Self { address, flow, connections })
    }

    /// `https://127.0.0.1:PORT`, for clients.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// How many connections there have been.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    /// From now on nothing passes, in either direction. Connections stay open, and new ones are accepted: as if
    /// the network were gone.
    pub fn freeze(&self) {
        self.flow.send_modify(|flow| flow.frozen = true);
    }

    /// Everything passes again, and what was held back is not lost.
    pub fn thaw(&self) {
        self.flow.send_modify(|flow| flow.frozen = false);
    }

    /// Nothing passes any more on the connections that are open, which stay open: as if something between had
    /// forgotten them. New ones are not touched.
    pub fn forget_open(&self) {
        let connections = self.connections();
        self.flow.send_modify(|flow| flow.dead_before = connections);
    }

    /// Closes all connections. New ones are not touched.
    pub fn cut(&self) {
        let connections = self.connections();
        self.flow.send_modify(|flow| flow.cut_before = connections);
    }

    /// New connections go to another server. Those that are open stay where they are, until they are
    /// [cut](Self::cut).
    pub fn retarget(&self, target: impl Into<String>) {
        self.flow.send_modify(|flow| flow.target = target.into());
    }
}

async fn accept(listener: TcpListener, mut flow: watch::Receiver<Flow>, connections: Arc<AtomicU64>) {
    loop {
        let client = tokio::select! {
            biased;
            () = dropped(&mut flow) => return,
            client = listener.accept() => client,
        };
        // A client that is gone before it is accepted is no loss.
        if let Ok((client, _)) = client {
            let connection = connections.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(carry(client, flow.clone(), connection));
        }
    }
}

/// Carries one connection to its end.
async fn carry(client: TcpStream, mut flow: watch::Receiver<Flow>, connection: u64) {
    let mut until = flow.clone();
    let both = async {
        let target = passing(&mut flow, connection).await?;
        let server = TcpStream::connect(target).await?;
        let (client, server) = (client.into_split(), server.into_split());
        // When one direction ends, so does the connection: HTTP has no use for half of one.
        tokio::select! {
            biased;
            ended = copy(client.0, server.1, flow.clone(), connection) => ended,
            ended = copy(server.0, client.1, flow.clone(), connection) => ended,
        }
    };
    tokio::select! {
        biased;
        // An error says that the proxy was dropped.
        _ = until.wait_for(|flow| connection < flow.cut_before) => {}
        // However it ended, it has ended, and both sides see it.
        _ = both => {}
    }
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut flow: watch::Receiver<Flow>,
    connection: u64,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let bytes = from.read(&mut buffer).await?;
        passing(&mut flow, connection).await?;
        if bytes == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..bytes]).await?;
    }
}

/// Waits until something may pass on a connection; returns where new connections go.
async fn passing(flow: &mut watch::Receiver<Flow>, connection: u64) -> io::Result<String> {
    let passes = flow.wait_for(|flow| flow.passes(connection)).await;
    passes.map(|flow| flow.target.clone()).map_err(|_| io::ErrorKind::NotConnected.into())
}

/// Waits until the proxy is dropped.
async fn dropped(flow: &mut watch::Receiver<Flow>) {
    while flow.changed().await.is_ok() {}
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
        let bytes =
            tokio::time::timeout(PATIENCE, stream.read(&mut buffer)).await.expect("something arrives");
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
}
