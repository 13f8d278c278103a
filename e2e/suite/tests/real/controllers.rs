//! Elections and events on a real server.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::events::v1::Event as Written;
use kube_client::Client;
use kube_client::api::{Api, ListParams};
use kube_controller::events::{Event, EventRecorder};
use kube_controller::leader::{LeaderElector, LeaderStatus, Outcome};
use kube_core::Resource;
use kube_informer_e2e::{Proxy, skip};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{PATIENCE, create, namespace, shared};

/// Who acted, one after the other.
type Log = Arc<Mutex<Vec<(&'static str, u32)>>>;

struct Candidate {
    status: watch::Receiver<LeaderStatus>,
    stop: CancellationToken,
    run: JoinHandle<Outcome>,
}

/// A candidate whose times are short, and whose work acts all the time until it is told to stop.
fn candidate(client: Client, namespace: &str, name: &'static str, log: &Log) -> Candidate {
    let mut elector = LeaderElector::builder(client, namespace, "lock")
        .identity(name)
        .lease_duration(Duration::from_secs(4))
        .renew_deadline(Duration::from_secs(2))
        .retry_period(Duration::from_millis(300))
        .release_on_cancel(true)
        .build()
        .unwrap();
    let (status, stop) = (elector.watch_status(), CancellationToken::new());
    let (log, stopped) = (Arc::clone(log), stop.clone());
    let run = tokio::spawn(async move {
        let mut term = 0;
        let work = |leading: kube_controller::leader::Leading| {
            term += 1;
            let log = Arc::clone(&log);
            async move {
                log.lock().push((name, term));
                while !leading.is_stopped() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    log.lock().push((name, term));
                }
            }
        };
        elector.run_again(&stopped, work).await
    });
    Candidate { status, stop, run }
}

async fn leads(candidate: &mut Candidate) {
    let led =
        tokio::time::timeout(PATIENCE, candidate.status.wait_for(|status| status.leading)).await.is_ok();
    assert!(led, "{:?}", candidate.status.borrow());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_frozen_out_or_stops_is_followed_by_another_and_two_never_act() {
    if skip() {
        return;
    }
    let server = shared().await;
    let admin = server.client().await.unwrap();
    namespace(&admin, "election").await;
    let leases: Api<Lease> = Api::namespaced(admin.clone(), "election");
    let log = Log::default();

    let proxy = Proxy::start(server.address()).await.unwrap();
    let far = server.client_at(&proxy.url()).await.unwrap();
    let mut a = candidate(far, "election", "a", &log);
    leads(&mut a).await;
    let mut b = candidate(admin, "election", "b", &log);
    proxy.freeze();
    leads(&mut b).await;
    proxy.thaw();
    b.stop.cancel();
    assert_eq!(b.run.await.unwrap(), Outcome::Cancelled);
    leads(&mut a).await;
    a.stop.cancel();
    assert_eq!(a.run.await.unwrap(), Outcome::Cancelled);

    let mut terms = log.lock().clone();
    terms.dedup();
    assert_eq!(terms, [("a", 1), ("b", 1), ("a", 2)], "each has stopped when the next begins");
    let spec = leases.get("lock").await.unwrap().spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some(""), Some(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_server_takes_our_events_and_their_counts() {
    if skip() {
        return;
    }
    let client = shared().await.client().await.unwrap();
    let configs = namespace(&client, "events").await;
    create(&configs, "web", "1").await;
    let web = configs.get("web").await.unwrap().object_ref(&());

    let (recorder, writer) = EventRecorder::new(client.clone(), "example.com/controller", "pod-1");
    let stop = CancellationToken::new();
    let writing = tokio::spawn(writer.run(stop.clone()));
    for _ in 0..5 {
        recorder.record(&web, Event::normal("Scaled", "Scale", "Scaled up to 3"));
    }
    recorder.record(&web, Event::warning("Broken", "Check", "ä".repeat(2000)).related(web.clone()));
    stop.cancel();
    writing.await.unwrap();

    let stats = recorder.stats();
    assert_eq!((stats.failed, stats.dropped), (0, 0), "{stats:?}");
    let events: Api<Written> = Api::namespaced(client, "events");
    let mut events = events.list(&ListParams::default()).await.unwrap().items;
    events.sort_by_key(|event| event.type_.clone());
    assert_eq!(events.len(), 2);
    assert_eq!(events[0].series.as_ref().unwrap().count, 5);
    assert_eq!((events[1].type_.as_deref(), events[1].note.as_ref().unwrap().len()), (Some("Warning"), 1024));
}
