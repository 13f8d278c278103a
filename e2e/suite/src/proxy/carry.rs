//! Bytes on their way.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::Flow;
use crate::luck::{Blow, Fate, Tally, Way};

/// How many bytes are carried in one step.
const BUFFER: usize = 16 << 10;

/// Carries every client that comes, until the proxy is dropped.
pub(super) async fn accept(
    listener: TcpListener,
    mut flow: watch::Receiver<Flow>,
    connections: Arc<AtomicU64>,
    tally: Arc<Tally>,
) {
    loop {
        let client = tokio::select! {
            biased;
            () = dropped(&mut flow) => return,
            client = listener.accept() => client,
        };
        // A client that is gone before it is accepted is no loss.
        if let Ok((client, _)) = client {
            let connection = connections.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(carry(client, flow.clone(), connection, Arc::clone(&tally)));
        }
    }
}

/// Carries one connection to its end.
async fn carry(client: TcpStream, mut flow: watch::Receiver<Flow>, connection: u64, tally: Arc<Tally>) {
    let mut until = flow.clone();
    let both = async {
        let target = passing(&mut flow, connection).await?;
        let server = TcpStream::connect(target).await?;
        let (client, server) = (client.into_split(), server.into_split());
        let fate = |way| Fate::new(connection, way, Arc::clone(&tally));
        // When one direction ends, so does the connection: HTTP has no use for half of one.
        tokio::select! {
            biased;
            ended = copy(client.0, server.1, flow.clone(), connection, fate(Way::ToServer)) => ended,
            ended = copy(server.0, client.1, flow.clone(), connection, fate(Way::ToClient)) => ended,
        }
    };
    tokio::select! {
        biased;
        // An error says that the proxy was dropped.
        _ = until.wait_for(|flow| connection < flow.cut_before) => tally.count(Blow::Cut),
        // However it ended, it has ended, and both sides see it.
        _ = both => {}
    }
}

async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut flow: watch::Receiver<Flow>,
    connection: u64,
    mut fate: Fate,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let bytes = from.read(&mut buffer).await?;
        if bytes == 0 {
            passing(&mut flow, connection).await?;
            return to.shutdown().await;
        }
        let mut rest = &buffer[..bytes];
        while !rest.is_empty() {
            passing(&mut flow, connection).await?;
            let luck = flow.borrow().luck;
            let (passed, blow) = fate.meet(luck, rest.len());
            let (now, later) = rest.split_at(passed);
            to.write_all(now).await?;
            rest = later;
            match blow {
                None => {}
                Some(Blow::HoldUp(time)) => tokio::time::sleep(time).await,
                Some(Blow::Forget) => std::future::pending().await,
                Some(Blow::Cut) => return Ok(()),
                Some(Blow::Reset) => {
                    from.as_ref().set_zero_linger()?;
                    return to.as_ref().set_zero_linger();
                }
            }
        }
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
