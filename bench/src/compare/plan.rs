//! What is measured, of whom, and how often.

use super::contender::{Contender, Residency, Way};
use super::queues;

/// One measurement, taken of several contenders in turn.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// For example `sync pods 100000`.
    pub(super) row: String,
    /// How many pods and custom objects the server has.
    pub(super) served: (u64, u64),
    pub(super) contenders: Vec<Contender>,
    pub(super) arguments: Vec<(&'static str, String)>,
    /// It is about pods, which have the bars.
    pub(super) is_of_pods: bool,
}

impl Job {
    /// How often it is measured if so many rounds are asked for: what is not about pods half as often.
    pub(super) fn rounds(&self, asked: usize) -> usize {
        if self.is_of_pods { asked } else { asked.div_ceil(2) }
    }
}

/// How much of everything.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// How many pods are synced.
    pub(super) pods: Vec<u64>,
    /// How many custom objects.
    pub(super) widgets: u64,
    /// How many pods there are while events flow; of custom objects as many as are synced.
    pub(super) pods_of_events: u64,
    pub(super) events: u64,
    /// Events a second for latency, and for how many seconds.
    pub(super) rate: (u64, u64),
    /// For how long each read is repeated beside the writer: longer than a collection of garbage takes.
    pub(super) millis: u64,
    /// How many milliseconds a program is left alone before its memory is looked at.
    pub(super) settle: u64,
    /// How often one pod is decoded in a round.
    pub(super) decodes: u64,
    /// How many decoded pods are kept, where any are.
    pub(super) kept: u64,
    /// How many objects are read when instructions are counted.
    pub(super) counted: u64,
    /// How many blocks of syncs each round has to see what one more object costs.
    pub(super) growth_blocks: usize,
}

impl Sizes {
    pub(super) fn full(pods: Vec<u64>) -> Self {
        let widgets = pods.iter().copied().max().unwrap_or(0);
        // Fewer events than a listener's queue holds before it keeps only the latest state of each object.
        Self {
            pods,
            widgets,
            pods_of_events: 10_000,
            events: 60_000,
            rate: (5_000, 5),
            millis: 6_000,
            settle: 2_000,
            decodes: 20_000,
            kept: KEPT,
            counted: 1_000,
            growth_blocks: 3,
        }
    }

    pub(super) fn quick() -> Self {
        Self {
            pods: vec![20, 60, 200],
            widgets: 200,
            pods_of_events: 200,
            events: 2_000,
            rate: (2_000, 1),
            millis: 20,
            settle: 20,
            decodes: 50,
            kept: 10,
            counted: 200,
            growth_blocks: 1,
        }
    }

    /// How many objects of a kind there are while events flow.
    pub(super) fn objects_of_events(&self, kind: &str) -> u64 {
        if kind == PODS { self.pods_of_events } else { self.widgets }
    }

    pub(super) fn most(&self) -> u64 {
        self.pods.iter().copied().max().unwrap_or(0)
    }
}

pub(super) const OURS: [Contender; 3] = [
    Contender::Ours(Residency::Adaptive),
    Contender::Ours(Residency::Packed),
    Contender::Ours(Residency::Decoded),
];

/// The same in a program that does not choose its allocator.
pub(super) const ON_SYSTEM: [Contender; 3] = [
    Contender::OursOnSystem(Residency::Adaptive),
    Contender::OursOnSystem(Residency::Packed),
    Contender::OursOnSystem(Residency::Decoded),
];

const GO: [Contender; 2] = [Contender::ClientGo(Way::List), Contender::ClientGo(Way::WatchList)];
const KUBE_RUNTIME: [Contender; 2] =
    [Contender::KubeRuntime(Way::List), Contender::KubeRuntime(Way::WatchList)];
const ONE_GO: Contender = Contender::ClientGo(Way::WatchList);
const ONE_KUBE_RUNTIME: Contender = Contender::KubeRuntime(Way::WatchList);

/// The kind that has bars.
pub(super) const PODS: &str = "pods";

/// Names of rows, as results and bars call them.
pub(super) fn row(step: &str, kind: &str, count: u64) -> String {
    format!("{step} {kind} {count}")
}

/// All measurements that need a server.
pub(super) fn jobs(sizes: &Sizes) -> Vec<Job> {
    let mut jobs = Vec::new();
    jobs.extend(jobs_of(PODS, &sizes.pods, sizes));
    jobs.extend(jobs_of("widgets", &[sizes.widgets], sizes));
    for count in queues::counts(sizes) {
        let mut queue = job("queue", PODS, count, &[queues::ours(), ONE_GO]);
        (queue.row, queue.served, queue.is_of_pods) = (row("queue", "keys", count), (0, 0), false);
        jobs.push(queue);
    }
    for job in &mut jobs {
        job.arguments.push(("settle", sizes.settle.to_string()));
    }
    jobs
}

/// All measurements of one kind, with copies of so many objects.
fn jobs_of(kind: &str, counts: &[u64], sizes: &Sizes) -> Vec<Job> {
    let everybody = [&OURS[..], &ON_SYSTEM, &GO, &KUBE_RUNTIME].concat();
    let after_sync = [&OURS[..], &GO, &[ONE_KUBE_RUNTIME]].concat();
    // kube-runtime has one consumer, unless unstable features are used.
    let with_handlers = [&OURS[..], &GO].concat();
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut jobs: Vec<Job> = counts.iter().map(|&count| job("sync", kind, count, &everybody)).collect();
    jobs.push(job("relist", kind, most, &[&OURS[..], &GO, &KUBE_RUNTIME].concat()));
    for handlers in [1, 10, 100] {
        let who = if handlers == 1 { &after_sync } else { &with_handlers };
        let who = &[&who[..], &[ON_SYSTEM[0], ON_SYSTEM[2]]].concat();
        let mut told = job("events", kind, sizes.objects_of_events(kind), who);
        told.row = row("events", kind, handlers);
        told.arguments.extend([("events", sizes.events.to_string()), ("handlers", handlers.to_string())]);
        jobs.push(told);
    }
    let (rate, seconds) = sizes.rate;
    let mut latency = job("latency", kind, sizes.objects_of_events(kind), &with_handlers);
    latency.arguments.extend([("rate", rate.to_string()), ("events", (rate * seconds).to_string())]);
    latency.arguments.push(("handlers", "10".to_owned()));
    jobs.push(latency);
    jobs.push(reads(kind, most, &after_sync, sizes));
    jobs
}

fn reads(kind: &str, count: u64, who: &[Contender], sizes: &Sizes) -> Job {
    let mut reads = job("reads", kind, count, who);
    reads.arguments.push(("millis", sizes.millis.to_string()));
    reads
}

fn job(step: &str, kind: &str, count: u64, contenders: &[Contender]) -> Job {
    let arguments = vec![("step", step.to_owned()), ("kind", kind.to_owned()), ("count", count.to_string())];
    let is_of_pods = kind == PODS;
    let served = if is_of_pods { (count, 0) } else { (0, count) };
    Job { row: row(step, kind, count), served, contenders: contenders.to_vec(), arguments, is_of_pods }
}

/// Ways of reading of which instructions are counted, and how often each is repeated for that.
pub(super) const COUNTED_READS: [(&str, u64); 6] =
    [("get", 20_000), ("look", 20_000), ("namespace", 500), ("index", 3_000), ("all", 500), ("label", 200)];

/// Of whom.
pub(super) const COUNTED_READERS: [Contender; 4] = [OURS[2], OURS[0], ONE_GO, ONE_KUBE_RUNTIME];

/// How many decoded pods are kept, where any are: as a cache does.
pub(super) const KEPT: u64 = 10_000;

/// What is decoded by itself.
pub(super) struct Decoding {
    pub(super) row: &'static str,
    pub(super) kind: &'static str,
    pub(super) form: &'static str,
    /// What it becomes.
    pub(super) target: &'static str,
    /// Whether the last ones are kept.
    pub(super) kept: bool,
    pub(super) contenders: &'static [Contender],
}

const fn decoding(
    row: &'static str,
    form: &'static str,
    target: &'static str,
    contenders: &'static [Contender],
) -> Decoding {
    Decoding { row, kind: "pods", form, target, kept: false, contenders }
}

pub(super) const DECODES: [Decoding; 11] = [
    decoding("decode protobuf", "pb", "pod", &[OURS[2], ONE_GO, ON_SYSTEM[2]]),
    Decoding {
        kept: true,
        ..decoding("decode protobuf, kept", "pb", "pod", &[OURS[2], ONE_GO, ON_SYSTEM[2]])
    },
    decoding("decode protobuf, remade", "pb", "remake", &[OURS[2], ON_SYSTEM[2]]),
    Decoding { kept: true, ..decoding("decode protobuf, remade, kept", "pb", "remake", &[OURS[2]]) },
    decoding("decode protobuf, copied", "pb", "copy", &[OURS[2], ON_SYSTEM[2]]),
    decoding("decode protobuf, five fields", "pb", "few", &[OURS[2]]),
    decoding("decode protobuf, brief", "pb", "brief", &[OURS[2]]),
    decoding("decode protobuf, projection", "pb", "projection", &[OURS[2]]),
    decoding("decode JSON", "json", "pod", &[OURS[2], ONE_GO, ONE_KUBE_RUNTIME]),
    decoding("decode JSON, five fields", "json", "few", &[OURS[2]]),
    Decoding {
        kind: "widgets",
        ..decoding("decode custom resource", "json", "pod", &[OURS[2], ONE_GO, ONE_KUBE_RUNTIME])
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_about_pods_is_measured_half_as_often() {
        let rounds = |row: &str| {
            let jobs = jobs(&Sizes::quick());
            let job = jobs.iter().find(|job| job.row == row).unwrap();
            [1, 2, 3].map(|asked| job.rounds(asked))
        };
        assert_eq!(rounds("reads pods 200"), [1, 2, 3]);
        assert_eq!(rounds("reads widgets 200"), [1, 1, 2]);
        assert_eq!(rounds("queue keys 200"), [1, 1, 2]);
    }
}
