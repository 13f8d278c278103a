//! What many Foos cost: the time until each has its Deployment and its status, and how often each was looked at.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kube_client::Client;
use kube_controller::controller::ControllerStatus;
use kube_controller::events::{EventRecorder, EventStats};
use kube_informer::SharedInformerFactory;
use kube_informer::fanout::Event;
use kube_testserver::TestServer;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::foo::{Foo, SampleController as _};
use crate::ledger::{Count, Counted, Ledger};
use crate::{DEFINITION, NAME, RESYNC, cluster, reconciler, settings};

/// How long it may take before something must be wrong.
const PATIENCE: Duration = Duration::from_secs(600);

/// How many replicas each Foo wants.
const REPLICAS: i32 = 2;

/// Something that goes wrong with it.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// What it took.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Taken {
    /// How many Foos there were.
    pub foos: usize,
    /// How long it took, from the start of the controller, until each Foo said that its replicas are available.
    pub time: Duration,
    /// What was a reason to look at a Foo: it was there, its Deployment was made or changed, it was a resync, or the time
    /// before it had failed.
    pub reasons: usize,
    /// How many Foos were looked at once, twice, and so on.
    pub looks: BTreeMap<usize, usize>,
    /// The Foos that were looked at more often than there was a reason to; there should be none.
    pub without_reason: BTreeMap<String, Count>,
    /// How the controller did.
    pub controller: ControllerStatus,
    /// What became of events.
    pub events: EventStats,
    /// Memory of the process with the server and the Foos, before the controller was started, in bytes; 0 if not known.
    pub memory_before: u64,
    /// The same when all was done.
    pub memory_after: u64,
}

/// Lets the controller, and [what stands for a cluster](cluster::availability), deal with so many Foos.
pub async fn run(server: &TestServer, client: Client, foos: usize, workers: usize) -> Result<Taken, Failed> {
    server.seed(DEFINITION)?;
    for number in 0..foos {
        let name = format!("foo-{number}");
        let spec = json!({"deploymentName": name, "replicas": REPLICAS});
        let metadata = json!({"name": name, "namespace": "default"});
        let kind = ("samplecontroller.k8s.io/v1alpha1", "Foo");
        server.put(&json!({"apiVersion": kind.0, "kind": kind.1, "metadata": metadata, "spec": spec}))?;
    }
    let memory_before = memory();
    let factory = SharedInformerFactory::builder(client.clone()).default_resync(RESYNC).build();
    let ledger = Ledger::default();
    ledger.listen(&factory)?;
    let right = Right::watch(&factory, foos)?;
    let (recorder, writer) = EventRecorder::new(client.clone(), NAME, "many");
    let sample = reconciler(client.clone(), &factory, recorder.clone())?;
    let controller = settings(&factory)?
        .concurrency(workers)
        .build(Counted { reconciler: sample, ledger: ledger.clone() })?;
    let available = cluster::availability(client, &factory.apps().v1().deployments().informer()?)?;
    let (handle, stop) = (controller.handle(), CancellationToken::new());
    let begun = Instant::now();
    let writing = tokio::spawn(writer.run(stop.clone()));
    let running = tokio::spawn(controller.run(stop.clone()));
    let beside = tokio::spawn(available.run(stop.clone()));
    tokio::time::timeout(PATIENCE, right.all()).await?;
    let time = begun.elapsed();
    // What is still on its way counts.
    while handle.status().active + handle.status().waiting as u64 > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (memory_after, status) = (memory(), handle.status());
    stop.cancel();
    running.await??;
    beside.await??;
    writing.await?;
    // Nothing is looked at any more; reasons that were told to the controller may still be on their way here.
    tokio::time::timeout(PATIENCE, all_is_told(&factory)).await??;
    factory.shutdown().await;
    Ok(Taken {
        foos,
        time,
        reasons: ledger.reasons(),
        looks: ledger.looks(),
        without_reason: ledger.without_reason(),
        controller: status,
        events: recorder.stats(),
        memory_before,
        memory_after,
    })
}

/// Waits until every listener has heard what there is.
async fn all_is_told(factory: &SharedInformerFactory) -> Result<(), Failed> {
    let foos = factory.samplecontroller().v1alpha1().foos().informer()?;
    let deployments = factory.apps().v1().deployments().informer()?;
    while [foos.status(), deployments.status()]
        .iter()
        .any(|status| status.listeners.iter().any(|listener| listener.pending > 0))
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

/// How many Foos say that all is as they want it.
struct Right {
    wrong: Arc<AtomicUsize>,
    changed: Arc<Notify>,
}

impl Right {
    fn watch(factory: &SharedInformerFactory, foos: usize) -> Result<Self, Failed> {
        let right = Self { wrong: Arc::new(AtomicUsize::new(foos)), changed: Arc::new(Notify::new()) };
        let (wrong, changed) = (Arc::clone(&right.wrong), Arc::clone(&right.changed));
        let is_right =
            |foo: &Foo| foo.status.as_ref().is_some_and(|status| status.available_replicas == REPLICAS);
        factory.samplecontroller().v1alpha1().foos().informer()?.add_event_handler(
            move |event: Event<Foo>| {
                if let Event::Updated { old, new, .. } = event
                    && !is_right(&old)
                    && is_right(&new)
                {
                    wrong.fetch_sub(1, Ordering::Relaxed);
                    changed.notify_one();
                }
            },
        )?;
        Ok(right)
    }

    async fn all(&self) {
        while self.wrong.load(Ordering::Relaxed) > 0 {
            self.changed.notified().await;
        }
    }
}

/// The memory of this process, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (foos, status, events) = (self.foos, &self.controller, &self.events);
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let each = status.reconciles as f64 / foos.max(1) as f64;
        writeln!(f, "{foos} Foos, each with its Deployment and its status, after {:.2?}", self.time)?;
        writeln!(f, "reconciles      {} ({each:.2} for each Foo)", status.reconciles)?;
        writeln!(
            f,
            "reasons         {} (it is there, its Deployment is made or changes, a resync, it has failed)",
            self.reasons
        )?;
        let looks: Vec<String> =
            self.looks.iter().map(|(times, foos)| format!("{foos} Foos {times} times")).collect();
        writeln!(f, "looked at       {}", looks.join(", "))?;
        writeln!(f, "without reason  {} Foos", self.without_reason.len())?;
        writeln!(f, "errors          {}", status.errors)?;
        writeln!(
            f,
            "events          {} written, {} dropped for want of room",
            events.written, events.dropped
        )?;
        write!(
            f,
            "memory          {:.0} MiB with the server and the Foos, {:.0} MiB when all was done",
            mib(self.memory_before),
            mib(self.memory_after)
        )
    }
}
