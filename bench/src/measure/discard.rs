//! The limit: a client that reads the same bytes and throws them away.
//!
//! It takes the same requests, connections and TLS as the other libraries in Rust, and nothing else.

use futures::future::try_join_all;
use http::{Request, header};
use http_body_util::BodyExt;
use kube_client::Client;

use super::process::cpu;
use super::{Settings, Step, figure};
use crate::Error;
use crate::replay::{Control, Served, client};
use crate::report::now;

/// What the other libraries accept in watches of built-in kinds.
const PROTOBUF_EVENTS: &str = "application/vnd.kubernetes.protobuf;stream=watch, application/json";

pub(super) async fn run(settings: &Settings) -> Result<(), Error> {
    let control = Control::new(&settings.url)?;
    let kinds = control.describe().await?.kinds;
    let client = client(&settings.url)?;
    match settings.step {
        Step::Sync => {
            let (worked, begun) = (cpu(), now());
            let bytes = read_all(&client, &kinds, "sendInitialEvents=true").await?;
            figure("seconds", begun.elapsed().as_secs_f64());
            figure("cpu", cpu() - worked);
            figure("bytes", bytes as f64);
        }
        Step::Events => {
            let watches = read_all(&client, &kinds, "resourceVersion=1");
            let send = async {
                // All watches have to be there.
                settings.settle().await;
                let (worked, begun) = (cpu(), now());
                control.send(&format!("/bench/events?count={}&rate=0", settings.events)).await?;
                Ok((worked, begun))
            };
            let (bytes, (worked, begun)) = futures::try_join!(watches, send)?;
            figure("per_second", settings.events as f64 / begun.elapsed().as_secs_f64());
            figure("cpu", cpu() - worked);
            figure("bytes", bytes as f64);
        }
        step => return Err(format!("there is no limit of {step:?}").into()),
    }
    Ok(())
}

/// Reads a watch of every kind until the server ends it, and returns how many bytes there were.
async fn read_all(client: &Client, kinds: &[Served], query: &str) -> Result<u64, Error> {
    let watches = kinds.iter().map(|kind| {
        let client = client.clone();
        let uri = format!("{}?watch=true&allowWatchBookmarks=true&benchEnds=true&{query}", kind.path);
        let custom = kind.path.contains("bench.example.com");
        async move {
            let accept = if custom { "application/json" } else { PROTOBUF_EVENTS };
            let request = Request::get(uri).header(header::ACCEPT, accept).body(Vec::new())?;
            tokio::spawn(read(client, request)).await?
        }
    });
    Ok(try_join_all(watches).await?.into_iter().sum())
}

async fn read(client: Client, request: Request<Vec<u8>>) -> Result<u64, Error> {
    let (parts, body) = request.into_parts();
    let answer = client.send(Request::from_parts(parts, body.into())).await?;
    if !answer.status().is_success() {
        return Err(format!("a watch was answered with {}", answer.status()).into());
    }
    let mut body = answer.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame?.data_ref().map_or(0, bytes::Bytes::len) as u64;
    }
    Ok(bytes)
}
