//! Elections in which the coordinator of a real server decides.

use std::sync::Arc;
use std::time::Duration;

use kube_client::Client;
use kube_controller::leader::{LeaderElector, LeaderStatus, Leading, LeaseCandidate, Loss, Outcome};
use kube_informer_e2e::{Options, skip};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{PATIENCE, namespace, start};

/// Who acted, one after the other.
type Log = Arc<Mutex<Vec<&'static str>>>;

/// A process that the coordinator may choose, and whose work acts all the time until it is told to stop.
struct Process {
    status: watch::Receiver<LeaderStatus>,
    stop: CancellationToken,
    candidate: JoinHandle<()>,
    elector: JoinHandle<Outcome>,
}

impl Process {
    fn start(client: &Client, name: &'static str, emulation: &str, release: bool, log: &Log) -> Self {
        let candidate = LeaseCandidate::builder(client.clone(), "coordinated", name, "lock")
            .binary_version("1.36.0")
            .emulation_version(emulation)
            .build()
            .unwrap();
        let mut elector = LeaderElector::builder(client.clone(), "coordinated", "lock")
            .identity(name)
            .coordinated(true)
            .lease_duration(Duration::from_secs(4))
            .renew_deadline(Duration::from_secs(2))
            .retry_period(Duration::from_millis(300))
            .release_on_cancel(release)
            .build()
            .unwrap();
        let (status, stop, log) = (elector.watch_status(), CancellationToken::new(), Arc::clone(log));
        let (until, stopped) = (stop.clone(), stop.clone());
        let candidate = tokio::spawn(async move { candidate.run(until).await.unwrap() });
        let elector = tokio::spawn(async move {
            let work = |leading: Leading| async move {
                log.lock().push(name);
                while !leading.is_stopped() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    log.lock().push(name);
                }
            };
            elector.run(&stopped, work).await
        });
        Self { status, stop, candidate, elector }
    }

    async fn leads(&mut self) {
        let leading = self.status.wait_for(|status| status.leading);
        tokio::time::timeout(PATIENCE, leading).await.expect("it leads").unwrap();
    }

    /// Why it has ended.
    async fn ended(self) -> Outcome {
        let outcome = tokio::time::timeout(PATIENCE, self.elector).await.expect("it ends").unwrap();
        self.stop.cancel();
        self.candidate.await.unwrap();
        outcome
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_coordinator_gives_the_lease_to_the_oldest_and_the_one_before_ends_its_term() {
    if skip() {
        return;
    }
    let gate = Options::new()
        .feature_gates("CoordinatedLeaderElection=true")
        .flag("--runtime-config=coordination.k8s.io/v1beta1=true");
    for release in [false, true] {
        let server = start(gate.clone()).await;
        let client = server.client().await.unwrap();
        namespace(&client, "coordinated").await;
        let log = Log::default();
        let mut new = Process::start(&client, "new", "1.36.0", release, &log);
        new.leads().await;
        let mut old = Process::start(&client, "old", "1.35.0", release, &log);
        assert_eq!(new.ended().await, Outcome::Lost(Loss::EndOfTerm("old".to_owned())));
        old.leads().await;
        old.stop.cancel();
        assert_eq!(old.ended().await, Outcome::Cancelled);
        let terms: Vec<&str> = log.lock().chunk_by(|a, b| a == b).map(|acts| acts[0]).collect();
        assert_eq!(terms, ["new", "old"], "never two, and nobody twice");
    }
}
