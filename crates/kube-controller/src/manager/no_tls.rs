//! Without the feature `tls`: no certificates, so nothing here can be called.

use prometheus_client::registry::Registry;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::BuildError;

/// There are none.
#[derive(Clone, Debug)]
pub(super) enum TlsFiles {}

/// There is none.
#[derive(Debug)]
pub(super) enum Secure {}

#[derive(Clone, Debug)]
pub(super) struct Reads;

impl Reads {
    pub(super) fn register(_: &mut Registry) -> Self {
        Self
    }
}

impl Secure {
    pub(super) async fn new(_: &'static str, files: TlsFiles, _: Reads) -> Result<Self, BuildError> {
        match files {}
    }

    pub(super) async fn greet(&self, _: TcpStream) -> Option<TcpStream> {
        match *self {}
    }

    pub(super) async fn follow(&self, _: &CancellationToken) {
        match *self {}
    }
}
