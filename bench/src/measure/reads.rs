//! Reading a copy: alone, and beside a writer at full speed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kube_core::Selector;

use super::{Settings, figure};
use crate::Error;
use crate::replay::Control;
use crate::report::now;

/// One way of reading: called with a number that goes up, it returns how many objects it found.
pub(super) type Read = (&'static str, Box<dyn Fn(usize) -> usize + Send>);

/// How many different objects are read in turn: all of them, up to this number.
const PLACES: usize = 30_000;

/// How far apart they are in the order of their keys: a prime number, so that each object has its turn.
const STRIDE: usize = 7_919;

/// How the names of ways end that make a handle to each object.
const HANDLES: &str = "_handles";

/// How many times each way is measured alone; the best counts.
const BATCHES: usize = 7;

/// How long each of them takes at least.
const BATCH: Duration = Duration::from_millis(40);

/// Beside the writer, the clock is read after calls that take about this many nanoseconds alone: reading it takes as long as
/// the quickest of them.
const CLOCK_NS: f64 = 20_000.0;

/// What to ask for: made before, and in one piece of memory, so that it costs little beside the read.
pub(super) struct Names {
    /// Namespaces and names.
    objects: Vec<(&'static str, &'static str)>,
    fields: Vec<&'static str>,
}

impl Names {
    /// Takes the namespace, the name and the indexed field of each object, in any order.
    pub(super) fn new(mut all: Vec<(String, String, String)>) -> Self {
        all.sort_unstable();
        let (mut text, mut ends) = (String::new(), Vec::with_capacity(all.len().min(PLACES)));
        for number in (0..all.len().min(PLACES)).map(|at| at * STRIDE % all.len()) {
            let Some((namespace, name, field)) = all.get(number) else { break };
            let parts = [namespace, name, field].map(|part| {
                text.push_str(part);
                text.len()
            });
            ends.push(parts);
        }
        // There is one, and it is read until the program ends.
        let text: &'static str = text.leak();
        let (mut objects, mut fields, mut begin) = (Vec::new(), Vec::new(), 0);
        for [namespace, name, field] in ends {
            objects.push((&text[begin..namespace], &text[namespace..name]));
            fields.push(&text[name..field]);
            begin = field;
        }
        Self { objects, fields }
    }

    pub(super) fn object(&self, at: usize) -> (&str, &str) {
        self.objects[at % self.objects.len()]
    }

    pub(super) fn field(&self, at: usize) -> &str {
        self.fields[at % self.fields.len()]
    }
}

/// Selects a few objects of all namespaces.
pub(super) fn selector() -> Selector {
    [("team", "payments"), ("shard", "s03")].into_iter().collect()
}

/// Measures all ways on a thread of its own, first alone and then beside the writer.
pub(super) async fn measure(
    settings: Settings,
    ways: Vec<Read>,
    written: Arc<AtomicUsize>,
) -> Result<(), Error> {
    if !settings.read.is_empty() {
        let (_, call) = ways
            .iter()
            .find(|(name, _)| *name == settings.read)
            .ok_or_else(|| format!("there is no way of reading that is called {:?}", settings.read))?;
        // What the first read of each object takes is not counted.
        for number in 0..settings.calls.min(PLACES) {
            std::hint::black_box(call(number));
        }
        repeat(call, settings.calls);
        return Ok(());
    }
    let ways = tokio::task::spawn_blocking(move || {
        let measured = ways.into_iter().map(|(name, call)| {
            let nanos = alone(&call);
            figure(&format!("{name}_ns"), nanos);
            figure(&format!("{name}_found"), call(0) as f64);
            (name, call, (CLOCK_NS / nanos).max(1.0) as usize)
        });
        measured.collect::<Vec<_>>()
    })
    .await?;
    let control = Control::new(&settings.url)?;
    control.send("/bench/events?count=1000000000000&rate=0").await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let period = Duration::from_millis(settings.millis);
    let (before, begun) = (written.load(Ordering::Relaxed), now());
    tokio::time::sleep(period).await;
    let since = |before: usize| (written.load(Ordering::Relaxed) - before) as f64;
    figure("writer_alone", since(before) / begun.elapsed().as_secs_f64());
    let counter = Arc::clone(&written);
    tokio::task::spawn_blocking(move || {
        // Ways that only this library has are measured alone only.
        for (name, call, at_once) in ways.iter().filter(|(name, ..)| !name.ends_with(HANDLES)) {
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
    control.send("/bench/pause").await
}

/// Reads in one way, and measures nothing. Callgrind finds it by its name.
#[inline(never)]
fn repeat(call: &dyn Fn(usize) -> usize, calls: usize) {
    for number in 0..calls {
        std::hint::black_box(call(number));
    }
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
