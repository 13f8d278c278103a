//! One measurement of one library, in a process of its own: prints a line of JSON for each figure.
//!
//! The program in `bench/clientgo` takes the same measurements of client-go.

mod decode;
mod discard;
mod follower;
mod kube_rs;
mod ours;
mod process;
mod queue;
mod reads;
mod steps;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::replay::Set;
use crate::report::say;

/// The library that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Library {
    /// kube-informer, as it is by default.
    Adaptive,
    /// kube-informer with encoded objects.
    Packed,
    /// kube-informer with decoded objects.
    Decoded,
    KubeRs,
    /// No library: bytes are read and thrown away.
    Discard,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Step {
    Decode,
    /// Decodes and measures nothing: for counts of instructions.
    Repeat,
    Sync,
    Relist,
    Restart,
    Events,
    Latency,
    Reads,
    Queue,
}

/// How the library learns which objects there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Way {
    List,
    WatchList,
}

/// What a decoder makes of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Target {
    /// The whole type.
    Full,
    /// A plain struct with five fields.
    Few,
    /// The metadata and three fields: what an informer of a projection keeps.
    Projection,
    /// The same with the metadata in brief.
    Brief,
    /// The whole type, decoded into a superseded one, as an informer does.
    Remake,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Settings {
    /// What is measured
    #[arg(long)]
    pub(crate) step: Step,
    #[arg(long, default_value = "adaptive")]
    pub(crate) library: Library,
    /// The replay server
    #[arg(long, default_value = "")]
    pub(crate) url: String,
    #[arg(long, default_value = "watch-list")]
    pub(crate) way: Way,
    /// Keeps managed fields, which kube-informer drops by default
    #[arg(long)]
    pub(crate) keep_managed_fields: bool,
    /// How many keys a queue has, or how often to decode
    #[arg(long, default_value_t = 0)]
    pub(crate) count: usize,
    #[arg(long, default_value_t = 0)]
    pub(crate) events: usize,
    /// How many events a second; 0 for as fast as possible
    #[arg(long, default_value_t = 0)]
    pub(crate) rate: usize,
    #[arg(long, default_value_t = 1)]
    pub(crate) handlers: usize,
    /// How many of a hundred objects a relist finds changed
    #[arg(long, default_value_t = 1)]
    pub(crate) changed: u64,
    /// The one way of reading that is repeated, and nothing else measured: for counts of instructions
    #[arg(long, default_value = "")]
    pub(crate) read: String,
    /// How often it is repeated
    #[arg(long, default_value_t = 0)]
    pub(crate) calls: usize,
    /// For how long each read is repeated beside the writer
    #[arg(long, default_value_t = 1_000)]
    pub(crate) millis: u64,
    /// How many milliseconds a program is left alone before its memory is read
    #[arg(long, default_value_t = 2_000)]
    pub(crate) settle: u64,
    /// Objects to decode, each after its length in four bytes; protobuf if the name ends in .pb
    #[arg(long, default_value = "")]
    pub(crate) file: String,
    /// Which objects they are
    #[arg(long, default_value = "pods")]
    pub(crate) set: Set,
    /// What to make of them
    #[arg(long, default_value = "full")]
    pub(crate) target: Target,
    /// How many of the decoded objects are kept, the last ones
    #[arg(long, default_value_t = 0)]
    pub(crate) keep: usize,
}

impl Settings {
    /// Leaves the program alone for a moment.
    async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(self.settle)).await;
    }
}

/// One figure, as it is printed.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Figure {
    pub(crate) figure: String,
    pub(crate) value: f64,
}

pub(crate) async fn run(settings: Settings) -> Result<(), Error> {
    match (settings.step, settings.library) {
        (Step::Decode | Step::Repeat, _) => decode::run(&settings),
        (Step::Queue, _) => queue::run(&settings).await,
        (_, Library::Discard) => discard::run(&settings).await,
        _ => steps::run(settings).await,
    }
}

fn figure(name: &str, value: f64) {
    let figure = Figure { figure: name.to_owned(), value };
    say(&serde_json::to_string(&figure).unwrap_or_default());
}

fn expect(count: usize, wanted: usize) -> Result<(), Error> {
    if count == wanted { Ok(()) } else { Err(format!("{count} objects instead of {wanted}").into()) }
}

/// The percentiles of delays that are printed, and their names.
pub(crate) const PERCENTILES: [(&str, f64); 8] = [
    ("p10", 0.1),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p999", 0.999),
];

/// Prints percentiles of delays, in seconds. Fails if there are no delays.
fn percentiles(mut delays: Vec<f64>) -> Result<(), Error> {
    delays.sort_unstable_by(f64::total_cmp);
    let [.., max] = delays[..] else { return Err("there are no delays".into()) };
    for (name, share) in PERCENTILES {
        figure(name, delays[((delays.len() - 1) as f64 * share) as usize]);
    }
    figure("max", max);
    Ok(())
}
