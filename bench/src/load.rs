//! Creating many pods, and listing them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt;
use kube_client::Client;
use kube_client::client::Body;

use crate::Error;
use crate::child::Server;
use crate::pods::Pods;
use crate::report::{Report, now};

/// How many pods a page has.
const PAGE: usize = 500;

/// How many requests are under way at a time.
const WRITERS: usize = 8;

/// Creates pods as fast as the server takes them.
pub(crate) async fn create(server: &Server, count: usize, report: &mut Report) -> Result<(), Error> {
    let next = Arc::new(AtomicUsize::new(0));
    let pods = Pods::new()?;
    let begun = now();
    let writers = (0..WRITERS).map(|_| {
        let (next, pods, client) = (Arc::clone(&next), pods.clone(), server.client());
        tokio::spawn(async move {
            let client = client?;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok::<(), Error>(());
                }
                let (namespace, pod) = pods.make(number);
                let path = format!("/api/v1/namespaces/{namespace}/pods");
                send(&client, "POST", &path, "application/json", pod).await?;
            }
        })
    });
    for writer in futures::future::join_all(writers).await {
        writer??;
    }
    let seconds = begun.elapsed().as_secs_f64();
    report.row(
        "pods created",
        &format!("{count} in {seconds:.1} s, {:.0} a second ({WRITERS} clients)", count as f64 / seconds),
    );
    Ok(())
}

/// Lists all pods in several ways; returns how many bytes of JSON they are.
pub(crate) async fn list(server: &Server, count: usize, report: &mut Report) -> Result<usize, Error> {
    let client = server.client()?;
    // The first answer pays for the connection.
    send(&client, "GET", "/api/v1/pods?limit=1", "", String::new()).await?;
    let (seconds, bytes) = timed_list(&client, "/api/v1/pods?resourceVersion=0").await?;
    report.row(
        "list of all pods",
        &format!(
            "{seconds:.2} s, {:.0} MB, {:.0} MB a second",
            bytes as f64 / 1e6,
            bytes as f64 / 1e6 / seconds
        ),
    );
    let begun = now();
    let (mut pages, mut path) = (0, format!("/api/v1/pods?limit={PAGE}"));
    loop {
        let body = send(&client, "GET", &path, "", String::new()).await?;
        pages += 1;
        match continue_token(&body) {
            Some(token) => path = format!("/api/v1/pods?limit={PAGE}&continue={token}"),
            None => break,
        }
    }
    if pages != count.div_ceil(PAGE) {
        return Err(format!("{count} pods came in {pages} pages of {PAGE}").into());
    }
    report.row(
        &format!("the same in pages of {PAGE}"),
        &format!("{:.2} s, {pages} pages", begun.elapsed().as_secs_f64()),
    );
    let (seconds, _) = timed_list(&client, "/api/v1/namespaces/team-042/pods").await?;
    report.row("list of one namespace in a hundred", &format!("{:.1} ms", seconds * 1e3));
    let (seconds, _) = timed_list(&client, "/api/v1/pods?labelSelector=shard%3Ds3,team%3Dpayments").await?;
    report.row("list by label, one pod in sixteen", &format!("{:.0} ms", seconds * 1e3));
    Ok(bytes)
}

/// The token of the next page, which the server writes before the items.
fn continue_token(page: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"\"continue\":\"";
    let head = &page[..page.len().min(1024)];
    let at = head.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    let token = head[at..].split(|byte| *byte == b'"').next()?;
    String::from_utf8(token.to_vec()).ok()
}

async fn timed_list(client: &Client, path: &str) -> Result<(f64, usize), Error> {
    let begun: Instant = now();
    let request = Request::get(path).body(Body::empty())?;
    let mut body = client.send(request).await?.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok((begun.elapsed().as_secs_f64(), bytes))
}

/// Sends a request and reads the whole answer; anything but success is an error.
pub(crate) async fn send(
    client: &Client,
    method: &str,
    path: &str,
    content_type: &str,
    body: String,
) -> Result<Bytes, Error> {
    let mut request = Request::builder().method(method).uri(path);
    if !content_type.is_empty() {
        request = request.header(http::header::CONTENT_TYPE, content_type);
    }
    let response = client.send(request.body(Body::from(body.into_bytes()))?).await?;
    let status = response.status();
    let bytes = response.into_body().collect().await?.to_bytes();
    if !status.is_success() {
        return Err(format!("{method} {path}: {status}: {}", String::from_utf8_lossy(&bytes)).into());
    }
    Ok(bytes)
}
