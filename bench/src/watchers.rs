//! Many watchers that follow writes at a set rate: does each get every event, and how late?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::Request;
use http_body_util::BodyExt;
use kube_client::Client;
use kube_client::client::Body;
use tokio::time::MissedTickBehavior;

use crate::child::Server;
use crate::load::send;
use crate::report::{Report, now};
use crate::{Arguments, Error, pods};

/// How many writers share the work.
const WRITERS: usize = 4;

/// The annotation that says when a write was sent, in microseconds since the start.
const STAMP: &str = "bench/sent";

pub(crate) async fn follow(server: &Server, arguments: &Arguments, report: &mut Report) -> Result<(), Error> {
    let writes = arguments.rate * arguments.seconds;
    let client = server.client()?;
    let head = send(&client, "GET", "/api/v1/pods?limit=1", "", String::new()).await?;
    let head: serde_json::Value = serde_json::from_slice(&head)?;
    let version = head["metadata"]["resourceVersion"].as_str().ok_or("a list without a version")?.to_owned();
    let begun = now();
    let mut watchers = Vec::new();
    for _ in 0..arguments.watchers {
        // Each has its own client and so its own connection.
        watchers.push(tokio::spawn(watch(server.client()?, version.clone(), writes, begun)));
    }
    let next = Arc::new(AtomicUsize::new(0));
    let started = now();
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (client, next) = (server.client(), Arc::clone(&next));
            let (rate, count) = (arguments.rate, arguments.pods);
            tokio::spawn(async move { write(&client?, &next, writes, rate, count, begun).await })
        })
        .collect();
    for writer in writers {
        writer.await??;
    }
    let wrote = started.elapsed().as_secs_f64();
    let mut delays = Vec::with_capacity(writes * arguments.watchers);
    let mut bytes = 0;
    for watcher in watchers {
        let (mut seen, read) = watcher.await??;
        delays.append(&mut seen);
        bytes += read;
    }
    let all = started.elapsed().as_secs_f64();
    delays.sort_unstable();
    let at = |share: f64| delays[((delays.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    let expected = writes * arguments.watchers;
    if delays.len() != expected {
        return Err(format!("the watchers saw {} events, not {expected}", delays.len()).into());
    }
    report.row(
        &format!("{} watchers, {} writes a second", arguments.watchers, arguments.rate),
        &format!(
            "{:.0} writes a second reached, every watcher got all {writes} events",
            writes as f64 / wrote
        ),
    );
    report.row(
        "events delivered",
        &format!("{:.0} a second, {:.0} MB a second", expected as f64 / all, bytes as f64 / 1e6 / all),
    );
    report.row(
        "from write to watcher",
        &format!("p50 {:.1} ms, p99 {:.1} ms, worst {:.1} ms", at(0.5), at(0.99), at(1.0)),
    );
    Ok(())
}

/// Writes its share of changes, at its share of the rate.
async fn write(
    client: &Client,
    next: &AtomicUsize,
    writes: usize,
    rate: usize,
    count: usize,
    begun: Instant,
) -> Result<(), Error> {
    let mut ticks = tokio::time::interval(Duration::from_secs_f64(WRITERS as f64 / rate as f64));
    // A late write is followed at once by the next: the rate is kept on average.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= writes {
            return Ok(());
        }
        ticks.tick().await;
        let pod = number % count;
        let path = format!("/api/v1/namespaces/{}/pods/{}", pods::namespace(pod), pods::name(pod));
        let sent = begun.elapsed().as_micros();
        let patch = format!("{{\"metadata\":{{\"annotations\":{{\"{STAMP}\":\"{sent}\"}}}}}}");
        send(client, "PATCH", &path, "application/merge-patch+json", patch).await?;
    }
}

/// Follows until all writes were seen; returns how late each was, in microseconds, and the bytes read.
async fn watch(
    client: Client,
    version: String,
    writes: usize,
    begun: Instant,
) -> Result<(Vec<u32>, usize), Error> {
    let path = format!("/api/v1/pods?watch=1&resourceVersion={version}");
    let mut body = client.send(Request::get(path).body(Body::empty())?).await?.into_body();
    let mark = format!("\"{STAMP}\":\"");
    let mut delays = Vec::with_capacity(writes);
    let (mut line, mut bytes) = (Vec::new(), 0);
    while delays.len() < writes {
        let frame = body.frame().await.ok_or("the watch ended")??;
        let Ok(data) = frame.into_data() else { continue };
        bytes += data.len();
        let mut rest = &data[..];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            line.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            if let Some(sent) = stamp(&line, mark.as_bytes()) {
                let now = u64::try_from(begun.elapsed().as_micros())?;
                delays.push(u32::try_from(now.saturating_sub(sent)).unwrap_or(u32::MAX));
            }
            line.clear();
        }
        line.extend_from_slice(rest);
    }
    Ok((delays, bytes))
}

/// The number behind the mark.
fn stamp(line: &[u8], mark: &[u8]) -> Option<u64> {
    let at = line.windows(mark.len()).position(|window| window == mark)? + mark.len();
    let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}
