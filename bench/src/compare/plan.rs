//! What is measured, of which contenders, and how often.

use super::contender::{
    CLIENT_GO, CLIENT_GO_DROP, CLIENT_GO_LIST, Contender, DECODED, DECODED_ON_SYSTEM, KUBE_RS, KUBE_RS_LIST,
    ON_SYSTEM, OURS, OURS_KEEP, PACKED,
};
use crate::replay::Set;

/// One measurement, taken of several contenders in turn.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// For example `sync pods 30000 TLS`.
    pub(super) row: String,
    /// What the server has, how many objects, and whether it speaks TLS; none for queues.
    pub(super) served: Option<(Set, u64, bool)>,
    pub(super) contenders: Vec<Contender>,
    pub(super) arguments: Vec<(&'static str, String)>,
    /// It is measured in the first round only.
    pub(super) once: bool,
}

/// How much of everything.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// How many pods are synced, small to large.
    pub(super) growth: Vec<u64>,
    /// How many objects there are in all other rows but those of events.
    pub(super) objects: u64,
    /// How many objects there are while events flow.
    pub(super) objects_of_events: u64,
    pub(super) events: u64,
    /// How many handlers each copy has while events flow.
    pub(super) handlers: &'static [u64],
    /// Events a second for latency, and for how many seconds.
    pub(super) rate: (u64, u64),
    /// For how long each read is repeated beside the writer: longer than a garbage collection takes.
    pub(super) millis: u64,
    /// How many milliseconds a program is left alone before its memory is read.
    pub(super) settle: u64,
    /// How often an object is decoded in a round, and how many different ones there are.
    pub(super) decodes: (u64, u64),
    /// How many decoded objects are kept, where any are.
    pub(super) kept: u64,
    /// How many objects are read when instructions are counted; none if they are not.
    pub(super) counted: Option<u64>,
    /// How many keys the queues have.
    pub(super) keys: &'static [u64],
    /// Which sets are measured beside pods.
    pub(super) others: &'static [Set],
    /// Leaves out reads, restarts, large relists, and contenders that differ in a setting only.
    pub(super) is_brief: bool,
}

impl Sizes {
    pub(super) fn full() -> Self {
        Self {
            growth: vec![1_000, 10_000, 30_000, 100_000],
            objects: 30_000,
            objects_of_events: 10_000,
            // Fewer, in number and in bytes, than the queue of a listener holds before it keeps only the latest state of each
            // object.
            events: 40_000,
            handlers: &[1, 10, 100],
            rate: (5_000, 5),
            millis: 3_000,
            settle: 2_000,
            decodes: (20_000, 1_000),
            kept: 10_000,
            counted: Some(1_000),
            keys: &[100_000, 1_000_000],
            others: &[Set::Cluster, Set::Widgets, Set::Template],
            is_brief: false,
        }
    }

    /// A comparison in less than five minutes.
    pub(super) fn quick() -> Self {
        Self {
            growth: vec![30_000],
            handlers: &[1, 10],
            rate: (5_000, 3),
            settle: 1_000,
            counted: None,
            keys: &[100_000],
            others: &[Set::Cluster],
            decodes: (5_000, 1_000),
            is_brief: true,
            ..Self::full()
        }
    }

    /// Only shows that every measurement works.
    pub(super) fn smoke() -> Self {
        Self {
            growth: vec![200],
            objects: 200,
            objects_of_events: 200,
            events: 2_000,
            handlers: &[1, 10],
            rate: (2_000, 1),
            millis: 20,
            settle: 100,
            decodes: (50, 20),
            kept: 10,
            counted: Some(200),
            keys: &[200],
            others: &[Set::Cluster, Set::Widgets],
            is_brief: false,
        }
    }

    /// All measurements but those of decoding.
    pub(super) fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        let everyone =
            [OURS, PACKED, DECODED, CLIENT_GO, CLIENT_GO_LIST, KUBE_RS, KUBE_RS_LIST, Contender::Limit];
        for &count in &self.growth {
            let mut sync = self.job("sync", Set::Pods, count, true, &everyone);
            if count == self.objects {
                sync.contenders.extend([ON_SYSTEM, DECODED_ON_SYSTEM, OURS_KEEP, CLIENT_GO_DROP]);
            }
            jobs.push(sync);
        }
        let plain = [OURS, DECODED, CLIENT_GO, KUBE_RS, Contender::Limit];
        for set in [Set::Pods, Set::Cluster] {
            if set == Set::Pods || !self.is_brief {
                jobs.push(self.job("sync", set, self.objects, false, &plain));
            }
        }
        for &set in self.others {
            jobs.push(self.job("sync", set, self.objects, set != Set::Template, &everyone));
        }
        jobs.extend(self.jobs_of(Set::Pods));
        jobs.extend(self.others.iter().flat_map(|&set| self.jobs_of(set)));
        for &count in self.keys {
            let mut queue = self.job("queue", Set::Pods, count, true, &[DECODED, CLIENT_GO]);
            (queue.row, queue.served) = (queue_row(count), None);
            queue.arguments.push(("count", count.to_string()));
            jobs.push(queue);
        }
        if self.is_brief {
            let main = [OURS, DECODED, CLIENT_GO, KUBE_RS, Contender::Limit];
            for job in &mut jobs {
                job.contenders.retain(|contender| main.contains(contender));
            }
        }
        jobs
    }

    /// What is measured of a set after its sync.
    fn jobs_of(&self, set: Set) -> Vec<Job> {
        let tls = set != Set::Template;
        let each = [OURS, DECODED, CLIENT_GO, KUBE_RS];
        let mut jobs = Vec::new();
        for changed in [1, 50] {
            if changed == 1 || set != Set::Widgets && !self.is_brief {
                let mut relist = self.job("relist", set, self.objects, tls, &each);
                relist.row += &format!(", {changed} % changed");
                relist.arguments.push(("changed", changed.to_string()));
                jobs.push(relist);
            }
        }
        if set != Set::Widgets && !self.is_brief {
            let mut restart = self.job("restart", set, self.objects, tls, &each);
            restart.arguments.push(("events", self.missed().to_string()));
            jobs.push(restart);
        }
        for &handlers in self.handlers {
            let mut events =
                self.job("events", set, self.objects_of_events, tls, &[OURS, DECODED, CLIENT_GO]);
            match handlers {
                // kube-rs has one consumer, unless unstable features are used.
                1 => events.contenders.extend([PACKED, ON_SYSTEM, KUBE_RS, Contender::Limit]),
                _ if set == Set::Pods => events.contenders.extend([PACKED, ON_SYSTEM]),
                _ => {}
            }
            events.row += &of_handlers(handlers);
            events
                .arguments
                .extend([("events", self.events.to_string()), ("handlers", handlers.to_string())]);
            jobs.push(events);
        }
        for handlers in [1_u64, 10] {
            let (rate, seconds) = self.rate;
            if set != Set::Widgets && (handlers == 10 || set == Set::Pods && !self.is_brief) {
                let contenders = if handlers == 1 { &each[..] } else { &each[..3] };
                let mut latency = self.job("latency", set, self.objects_of_events, tls, contenders);
                latency.row += &of_handlers(handlers);
                latency
                    .arguments
                    .extend([("rate", rate.to_string()), ("events", (rate * seconds).to_string())]);
                latency.arguments.push(("handlers", handlers.to_string()));
                jobs.push(latency);
            }
        }
        if !self.is_brief && matches!(set, Set::Pods | Set::Widgets) {
            let mut reads = self.job("reads", set, self.objects, tls, &each);
            reads.arguments.push(("millis", self.millis.to_string()));
            jobs.push(reads);
        }
        jobs
    }

    fn job(&self, step: &str, set: Set, count: u64, tls: bool, contenders: &[Contender]) -> Job {
        Job {
            row: row(step, set, count, tls),
            served: Some((set, count, tls)),
            contenders: contenders.to_vec(),
            arguments: vec![("step", step.to_owned()), ("settle", self.settle.to_string())],
            // One round is enough for sets that no bar is about.
            once: matches!(set, Set::Template | Set::Widgets),
        }
    }

    /// How many updates a restart of the server makes readers miss.
    pub(super) fn missed(&self) -> u64 {
        self.events / 4
    }
}

/// The names of rows, as results and bars call them.
pub(super) fn row(step: &str, set: Set, count: u64, tls: bool) -> String {
    format!("{step} {} {count} {}", set.name(), if tls { "TLS" } else { "plain" })
}

/// Ends the name of a row that has handlers.
pub(super) fn of_handlers(handlers: u64) -> String {
    format!(", {handlers} handler{}", if handlers == 1 { "" } else { "s" })
}

pub(super) fn queue_row(count: u64) -> String {
    format!("queue {count} keys")
}

/// Ways of reading whose instructions are counted, and how often each is repeated for that.
pub(super) const COUNTED_READS: [(&str, u64); 6] = [
    ("get", 20_000),
    ("get_field", 20_000),
    ("namespace", 500),
    ("index", 3_000),
    ("all", 500),
    ("label", 200),
];

/// Whose reads.
pub(super) const COUNTED_READERS: [Contender; 4] = [OURS, DECODED, CLIENT_GO, KUBE_RS];

/// Objects that are decoded by themselves.
pub(super) struct Decoding {
    pub(super) row: &'static str,
    pub(super) set: Set,
    /// Which encoding the objects are in: `pb` or `json`.
    pub(super) form: &'static str,
    /// What they become.
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
    Decoding { row, set: Set::Pods, form, target, kept: false, contenders }
}

pub(super) const DECODE_PROTOBUF: &str = "decode pods, protobuf";
pub(super) const DECODE_JSON: &str = "decode pods, JSON";
pub(super) const DECODE_CUSTOM: &str = "decode custom resources, JSON";
pub(super) const DECODE_FEW: &str = "decode pods, protobuf, five fields";

pub(super) const DECODINGS: [Decoding; 9] = [
    decoding(DECODE_PROTOBUF, "pb", "full", &[DECODED, CLIENT_GO, DECODED_ON_SYSTEM]),
    Decoding {
        kept: true,
        ..decoding(
            "decode pods, protobuf, last ones kept",
            "pb",
            "full",
            &[DECODED, CLIENT_GO, DECODED_ON_SYSTEM],
        )
    },
    Decoding { kept: true, ..decoding("decode pods, protobuf, into old ones", "pb", "remake", &[DECODED]) },
    decoding(DECODE_FEW, "pb", "few", &[DECODED]),
    decoding("decode pods, protobuf, brief projection", "pb", "brief", &[DECODED]),
    decoding("decode pods, protobuf, projection", "pb", "projection", &[DECODED]),
    decoding(DECODE_JSON, "json", "full", &[DECODED, CLIENT_GO, KUBE_RS]),
    Decoding { set: Set::Widgets, ..decoding(DECODE_CUSTOM, "json", "full", &[DECODED, CLIENT_GO, KUBE_RS]) },
    Decoding {
        set: Set::Template,
        ..decoding("decode the one template, protobuf", "pb", "full", &[DECODED, CLIENT_GO])
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_measurements_have_the_same_row() {
        for sizes in [Sizes::full(), Sizes::quick(), Sizes::smoke()] {
            let jobs = sizes.jobs();
            let rows: HashSet<&str> = jobs.iter().map(|job| job.row.as_str()).collect();
            assert_eq!(rows.len(), jobs.len());
        }
    }
}
