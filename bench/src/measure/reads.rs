//! Reading a copy: alone, and beside a writer at full speed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::kind::Measured;
use super::{Settings, figure};
use crate::Error;
use crate::replay::{Control, PER_NAMESPACE, PER_NODE};
use crate::report::now;

/// One way of reading: called with a number that goes up, it returns how many objects it found.
pub(super) type Read = (&'static str, Box<dyn Fn(usize) -> usize + Send>);

/// So many different objects are read in turn.
const PLACES: usize = 1_000;

/// How the names of ways end that make a handle to each object.
const TAKEN: &str = "_taken";

/// How many times each way is measured alone; the best counts.
const BATCHES: usize = 7;

/// How long each of them takes at least.
const BATCH: Duration = Duration::from_millis(40);

/// Beside the writer, the clock is looked at after calls that take about so many nanoseconds alone: a look takes as long as
/// the quickest of them.
const LOOK_NS: f64 = 20_000.0;

/// The names of objects, nodes and namespaces, made beforehand.
pub(super) struct Names(Vec<[String; 3]>);

impl Names {
    pub(super) fn new<K: Measured>(count: usize) -> Self {
        let namespaces = count.div_ceil(PER_NAMESPACE as usize).max(1);
        let nodes = count.div_ceil(PER_NODE as usize).max(1);
        let place = |at: usize| {
            let number = at * 7_919 % count.max(1);
            [
                format!("team-{:03}", number % namespaces),
                format!("{}{number:07}", K::PREFIX),
                format!("node-{:05}", number % nodes),
            ]
        };
        Self((0..PLACES).map(place).collect())
    }

    pub(super) fn object(&self, at: usize) -> (&str, &str) {
        let [namespace, name, _] = &self.0[at % PLACES];
        (namespace, name)
    }

    pub(super) fn node(&self, at: usize) -> &str {
        &self.0[at % PLACES][2]
    }
}

/// Measures all ways on a thread of its own, first alone and then beside the writer.
pub(super) async fn measure(
    settings: Settings,
    ways: Vec<Read>,
    written: Arc<AtomicUsize>,
) -> Result<(), Error> {
    if !settings.read.is_empty() {
        return repeat(&settings, &ways);
    }
    let ways = tokio::task::spawn_blocking(move || {
        let measured = ways.into_iter().map(|(name, call)| {
            let nanos = alone(&call);
            figure(&format!("{name}_ns"), nanos);
            figure(&format!("{name}_found"), call(0) as f64);
            (name, call, (LOOK_NS / nanos).max(1.0) as usize)
        });
        measured.collect::<Vec<_>>()
    })
    .await?;
    let control = Control::new(&settings.url)?;
    control.tell("/bench/events?count=1000000000000&rate=0").await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let period = Duration::from_millis(settings.millis);
    let (before, begun) = (written.load(Ordering::Relaxed), now());
    tokio::time::sleep(period).await;
    let since = |before: usize| (written.load(Ordering::Relaxed) - before) as f64;
    figure("writer_alone", since(before) / begun.elapsed().as_secs_f64());
    let counter = Arc::clone(&written);
    tokio::task::spawn_blocking(move || {
        // What only we have is measured alone only.
        for (name, call, at_once) in ways.iter().filter(|(name, ..)| !name.ends_with(TAKEN)) {
            let (before, begun, mut calls) = (counter.load(Ordering::Relaxed), now(), 0);
            while begun.elapsed() < period {
                for _ in 0..*at_once {
                    std::hint::black_box(call(calls));
                    calls += 1;
                }
            }
            let seconds = begun.elapsed().as_secs_f64();
            let written = (counter.load(Ordering::Relaxed) - before) as f64;
            figure(&format!("{name}_busy_ns"), seconds * 1e9 / calls as f64);
            figure(&format!("{name}_writer"), written / seconds);
        }
    })
    .await?;
    control.tell("/bench/pause").await
}

/// Reads in one way, and measures nothing.
fn repeat(settings: &Settings, ways: &[Read]) -> Result<(), Error> {
    let (_, call) = ways
        .iter()
        .find(|(name, _)| *name == settings.read)
        .ok_or_else(|| format!("there is no way of reading that is called {:?}", settings.read))?;
    for number in 0..settings.calls {
        std::hint::black_box(call(number));
    }
    Ok(())
}

/// The time of one call in nanoseconds, the best of several batches.
fn alone(call: &dyn Fn(usize) -> usize) -> f64 {
    let (mut calls, mut best, mut batches) = (1, f64::MAX, 0);
    while batches < BATCHES {
        let begun = now();
        for number in 0..calls {
            std::hint::black_box(call(number));
        }
        let took = begun.elapsed();
        if took < BATCH {
            calls *= 2;
            continue;
        }
        best = best.min(took.as_nanos() as f64 / calls as f64);
        batches += 1;
    }
    best
}
