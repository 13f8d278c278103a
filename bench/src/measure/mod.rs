//! One measurement of one library, in a process of its own: one line of JSON for each figure.
//!
//! client-go takes the same measurements with the program in `bench/clientgo`.

mod decode;
mod kind;
mod ours;
mod process;
mod queue;
mod reads;
mod theirs;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::report::say;

/// Whose copy is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Library {
    /// kube-informer, as it is by default.
    Adaptive,
    /// kube-informer with objects as bytes.
    Packed,
    /// kube-informer with objects as values.
    Decoded,
    KubeRuntime,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Step {
    Decode,
    Repeat,
    Sync,
    Relist,
    Events,
    Latency,
    Reads,
    Queue,
}

/// Of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Sample {
    Pods,
    Widgets,
}

/// How the library learns what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Way {
    List,
    WatchList,
}

/// What a decoder makes of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Target {
    /// The whole type.
    Pod,
    /// Five fields.
    Few,
    /// The metadata and three fields: what an informer of a projection keeps.
    Projection,
    /// The same with the metadata in brief.
    Brief,
    /// The whole type, copied from one that was decoded before: what no decoder can be quicker than.
    Copy,
    /// The whole type, made of one that nobody needs any more, as an informer does while much arrives.
    Remake,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Settings {
    /// What is measured
    #[arg(long)]
    pub(crate) step: Step,
    /// Whose copy
    #[arg(long, default_value = "adaptive")]
    pub(crate) library: Library,
    /// The replay server
    #[arg(long, default_value = "")]
    pub(crate) url: String,
    #[arg(long, default_value = "pods")]
    pub(crate) kind: Sample,
    #[arg(long, default_value = "watch-list")]
    pub(crate) way: Way,
    /// How many objects or keys there are, or how often to decode
    #[arg(long, default_value_t = 0)]
    pub(crate) count: usize,
    #[arg(long, default_value_t = 0)]
    pub(crate) events: usize,
    /// How many events a second; 0 for as fast as possible
    #[arg(long, default_value_t = 0)]
    pub(crate) rate: usize,
    #[arg(long, default_value_t = 1)]
    pub(crate) handlers: usize,
    /// The one way of reading that is repeated, and nothing else measured: for those who count instructions
    #[arg(long, default_value = "")]
    pub(crate) read: String,
    /// How often it is repeated
    #[arg(long, default_value_t = 0)]
    pub(crate) calls: usize,
    /// For how long each read is repeated beside the writer
    #[arg(long, default_value_t = 1_000)]
    pub(crate) millis: u64,
    /// How many milliseconds a program is left alone before its memory is looked at
    #[arg(long, default_value_t = 2_000)]
    pub(crate) settle: u64,
    /// A pod to decode; protobuf if it ends in .pb
    #[arg(long, default_value = "")]
    pub(crate) file: String,
    /// What to make of it
    #[arg(long, default_value = "pod")]
    pub(crate) target: Target,
    /// How many of the decoded pods are kept, the last ones
    #[arg(long, default_value_t = 0)]
    pub(crate) keep: usize,
}

impl Settings {
    /// Leaves the program alone for a while.
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
    use k8s_openapi::api::core::v1::Pod;
    use kube_core::DynamicObject;
    match (settings.step, settings.library, settings.kind) {
        (Step::Decode | Step::Repeat, _, _) => decode::run(&settings),
        (Step::Queue, _, _) => queue::run(&settings).await,
        (_, Library::KubeRuntime, Sample::Pods) => theirs::run::<Pod>(settings).await,
        (_, Library::KubeRuntime, Sample::Widgets) => theirs::run::<DynamicObject>(settings).await,
        (_, _, Sample::Pods) => ours::run::<Pod>(settings).await,
        (_, _, Sample::Widgets) => ours::run::<DynamicObject>(settings).await,
    }
}

fn figure(name: &str, value: f64) {
    let figure = Figure { figure: name.to_owned(), value };
    say(&serde_json::to_string(&figure).unwrap_or_default());
}

fn expect(count: usize, wanted: usize) -> Result<(), Error> {
    if count == wanted { Ok(()) } else { Err(format!("{count} objects instead of {wanted}").into()) }
}

/// Prints the middle and the slow end of many delays, in seconds.
fn delays(mut delays: Vec<f64>) {
    delays.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| delays.get((delays.len().saturating_sub(1) as f64 * share) as usize).copied();
    figure("p50", at(0.5).unwrap_or(f64::NAN));
    figure("p99", at(0.99).unwrap_or(f64::NAN));
}
