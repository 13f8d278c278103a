//! A wire between client and server that can be frozen and cut, when it is told to or by bad luck.

mod carry;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::luck::{Struck, Tally};

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
    tally: Arc<Tally>,
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
    /// The seed of bad luck.
    luck: Option<u64>,
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
        let (target, connections, tally) = (target.into(), Arc::default(), Arc::default());
        let flow = Flow { target, frozen: false, dead_before: 0, cut_before: 0, luck: None };
        let flow = watch::Sender::new(flow);
        let clients = carry::accept(listener, flow.subscribe(), Arc::clone(&connections), Arc::clone(&tally));
        tokio::spawn(clients);
        Ok(Self { address, flow, connections, tally })
    }

    /// `127.0.0.1:PORT`, for clients.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:PORT`, for clients of a server that speaks TLS.
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

    /// From now on connections have bad luck: after some bytes, anywhere in what they carry, they are closed, or held up
    /// for a moment, or one direction is silent for ever. Where and how is decided by the seed and the number of the
    /// connection.
    pub fn tempt(&self, seed: u64) {
        self.flow.send_modify(|flow| flow.luck = Some(seed));
    }

    /// Bad luck is over. Connections that are silent stay so.
    pub fn calm(&self) {
        self.flow.send_modify(|flow| flow.luck = None);
    }

    /// What has been done to connections so far: by bad luck, or because they were [cut](Self::cut).
    pub fn struck(&self) -> Struck {
        self.tally.now()
    }
}
