//! How much memory it takes to make a copy, and to make it anew: never much more than the copy itself.
//!
//! Every byte that this process allocates is counted, so there is one test, and it has the process for itself. The server
//! is in it and keeps no pods. All runs on one thread, but for the handler; capacity that is not used counts, and so does
//! what is copied when it grows: the figures are nearly the same in every run, and with every allocator.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod pods;

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::SharedInformer;
use kube_informer::fanout::Event;
use kube_informer::object::Residency;
use kube_informer::reflector::Config;
use kube_informer::source::KubeSource;
use peak_alloc::PeakAlloc;

use pods::{Form, Pods};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// How much of what is there when everything has come to rest may be there before, at most.
const MOST: f64 = 1.15;

/// What an index has looked into is held for those who are told of it: so much, however long a list is.
const HELD: usize = 12 << 20;

/// So many objects: enough, by how they rest, that the megabyte that is being read and decoded is small beside them. And
/// a few more than a power of two, which is the worst for what grows by doubling.
const COUNTS: [usize; 3] = [1_050, 4_200, 8_400];

/// How a copy is made.
#[derive(Clone, Copy, Debug)]
struct Case {
    form: Form,
    /// As a watch that begins with everything, in place of a list.
    initial_events: bool,
    residency: Residency,
    /// There is an index of what is inside.
    indexed: bool,
    count: usize,
}

/// What was allocated for a copy.
#[derive(Debug)]
struct Allocated {
    /// When it was made, at most.
    first: usize,
    /// When everything had come to rest.
    steady: usize,
    /// When it was made anew, at most.
    again: usize,
    /// And when everything had come to rest again.
    after: usize,
}

async fn allocated(case: Case) -> Allocated {
    let pods = Pods::new(case.count, case.form);
    let client = pods.client();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut source = KubeSource::<Pod>::all(client, &());
    if case.form == Form::Json {
        source = source.json();
    }
    let mut config = Config::default();
    config.initial_events = case.initial_events;
    let informer = SharedInformer::builder(source).config(config).residency(case.residency).build();
    if case.indexed {
        informer.add_index("node", |pod: &Pod| pod.spec.as_ref()?.node_name.clone()).unwrap();
    }
    informer.add_event_handler(|event: Event<Pod>| assert!(!event.object().key().is_empty())).unwrap();
    informer.start();
    let mut status = informer.watch_status();
    status.wait_for(|status| status.synced).await.unwrap();
    settle().await;
    let steady = MEMORY.current_usage() - before;
    let first = MEMORY.peak_usage() - before;
    assert_eq!(informer.store().snapshot().len(), case.count);
    pods.expire();
    MEMORY.reset_peak_usage();
    status.wait_for(|status| status.lists == 2).await.unwrap();
    settle().await;
    let again = MEMORY.peak_usage() - before;
    let after = MEMORY.current_usage() - before;
    let changed = informer.store().list();
    let changed = changed.iter().filter(|pod| pod.resource_version() > pods::CHANGED_FROM).count();
    assert_eq!(changed, case.count.div_ceil(pods::CHANGED_EACH), "{case:?}");
    informer.shutdown().await;
    drop((informer, status));
    settle().await;
    Allocated { first, steady, again, after }
}

/// Until everything that is under way has come to rest.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[tokio::test(start_paused = true)]
async fn a_copy_takes_hardly_more_memory_while_it_is_made_or_made_anew_than_when_it_rests() {
    let adaptive = Residency::default();
    let [few, some, many] = COUNTS;
    let mut cases = Vec::new();
    for initial_events in [false, true] {
        for (form, residency, indexed, count) in [
            (Form::Protobuf, Residency::Packed, false, many),
            (Form::Protobuf, Residency::Packed, true, many),
            (Form::Protobuf, adaptive, false, many),
            (Form::Protobuf, Residency::Decoded, false, few),
            (Form::Json, Residency::Packed, false, some),
            (Form::Json, Residency::Decoded, false, few),
        ] {
            cases.push(Case { form, initial_events, residency, indexed, count });
        }
    }
    // What is made once, for all: the table of kinds, and the like.
    allocated(Case { count: 10, ..cases[0] }).await;
    for case in cases {
        let Allocated { first, steady, again, after } = allocated(case).await;
        let each = steady / case.count;
        let resting = if case.residency == Residency::Decoded { 15_000..40_000 } else { 2_000..6_000 };
        assert!(resting.contains(&each), "{each} bytes for a pod: {case:?}");
        let held = if case.indexed { HELD } else { 0 };
        let part = |bytes: usize, held: usize| bytes.saturating_sub(held) as f64 / steady as f64;
        let [first, again, after] = [part(first, held), part(again, held), part(after, 0)];
        assert!(first <= MOST, "{first:.3} times as much while it is made: {case:?}");
        assert!(again <= MOST, "{again:.3} times as much while it is made anew: {case:?}");
        assert!(after <= 1.01, "{after:.3} times as much after it was made anew: {case:?}");
    }
}
