//! Many handlers that come and go while much happens, and while the informer stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::informer::{InformerError, SharedInformer};
use kube_testserver::TestServer;

use crate::{Log, PATIENCE, delete, in_store, informer, on_server, write};

/// Handlers that come and go at the same time.
const HANDLERS: usize = 100;

/// What happens meanwhile.
const EVENTS: usize = 10_000;

/// Comes, waits until it has heard what is there, listens for a while, goes, and comes again, until the informer is
/// stopped. What it hears is checked as it comes.
async fn come_and_go(informer: SharedInformer<ConfigMap>, number: usize, synced: Arc<AtomicUsize>) -> usize {
    let mut times = 0;
    loop {
        let log = Log::default();
        let registration = match informer.add_event_handler(log.handler()) {
            Ok(registration) => registration,
            Err(InformerError::Stopped { .. }) => return times,
            Err(other) => panic!("{other}"),
        };
        times += 1;
        let reached = registration.synced().await;
        assert!(reached || informer.is_stopped(), "a handler that is not removed comes to be synced");
        synced.fetch_add(usize::from(reached), Ordering::Relaxed);
        for _ in 0..(number % 7) * 10 {
            tokio::task::yield_now().await;
        }
        match (times + number) % 3 {
            0 => registration.remove(),
            1 => registration.drain(),
            _ => {
                registration.remove();
                registration.ended().await;
                let heard = log.lines().len();
                tokio::task::yield_now().await;
                assert_eq!(log.lines().len(), heard, "nothing is told after the end");
            }
        }
        assert_eq!(registration.status().panics, 0, "{:?}", registration.status().last_panic);
        // Not a yield: paused time stands still while somebody is busy.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn crowd(server: &TestServer, informer: &SharedInformer<ConfigMap>) {
    let synced = Arc::new(AtomicUsize::new(0));
    let crowd: Vec<_> = (0..HANDLERS)
        .map(|number| tokio::spawn(come_and_go(informer.clone(), number, Arc::clone(&synced))))
        .collect();
    let steady = Log::default();
    let registration = informer.add_event_handler(steady.handler()).unwrap();
    informer.start();
    for event in 0..EVENTS {
        let name = format!("c{}", event % 20);
        if event % 60 > 40 && server.object("v1/ConfigMap", "default", &name).unwrap().is_some() {
            delete(server, &name);
        } else {
            write(server, &name, event);
        }
        if event % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    while in_store(informer) != on_server(server) || steady.known() != in_store(informer) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(registration.status().panics, 0, "{:?}", registration.status().last_panic);
    assert!(synced.load(Ordering::Relaxed) >= HANDLERS, "all of them have been there");
    informer.shutdown().await;
    for one in crowd {
        assert!(one.await.unwrap() > 0);
    }
    assert!(informer.status().listeners.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_hundred_handlers_come_and_go_during_ten_thousand_events_and_a_stop() {
    let server = TestServer::builder().start().await.unwrap();
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let informer = informer(&server);
    tokio::time::timeout(PATIENCE, crowd(&server, &informer)).await.expect("no deadlock");
    drop(informer);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before);
}

/// The same with threads, which meet where tasks of one thread cannot.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_handlers_on_several_threads_come_and_go() {
    let server = TestServer::builder().start().await.unwrap();
    let informer = informer(&server);
    // Real time, on a machine that may be busy: only a deadlock takes as long.
    tokio::time::timeout(Duration::from_secs(1_200), crowd(&server, &informer)).await.expect("no deadlock");
}
