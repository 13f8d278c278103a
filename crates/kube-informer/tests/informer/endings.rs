//! An informer whose runtime has ended says so, and calls nobody with what it had.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::cache::{Cache, CacheError, CacheOptions};
use kube_informer::fanout::Event;
use kube_informer::informer::{Controller, InformerError, Phase, SharedInformer};
use kube_informer::source::KubeSource;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::{server, write};

/// The runtime of a server, which goes on.
fn servers() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// The runtime that ends.
fn informers() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A client of a server on a runtime of its own.
fn client(servers: &Runtime, server: &kube_testserver::TestServer) -> kube_client::Client {
    let _entered = servers.enter();
    server.in_process_client()
}

#[test]
fn an_informer_whose_runtime_has_ended_has_stopped_and_says_why() {
    let (servers, informers) = (servers(), informers());
    let server = servers.block_on(server());
    write(&server, "a", 1);
    let informer = SharedInformer::<ConfigMap>::new(KubeSource::all(client(&servers, &server), &()));
    informers.block_on(async {
        informer.start();
        assert!(informer.synced().await);
    });
    assert_eq!(informer.status().phase, Phase::Running);
    drop(informers);
    let status = informer.status();
    assert_eq!(status.phase, Phase::Stopped);
    let why = status.trouble.expect("it has a reason").error.to_string();
    assert!(why.contains("runtime"), "{why}");
    assert!(informer.is_stopped());
    servers.block_on(async {
        let late = informer.add_event_handler(|_: Event<ConfigMap>| {});
        assert!(matches!(late, Err(InformerError::Stopped { .. })), "{late:?}");
        assert!(informer.subscribe().is_err());
        assert!(informer.follow([]).is_err());
        informer.start();
        assert_eq!(informer.status().phase, Phase::Stopped);
        informer.shutdown().await;
        assert!(informer.has_ended());
    });
}

#[test]
fn an_informer_whose_runtime_ends_before_its_first_step_has_stopped_too() {
    let (servers, informers) = (servers(), informers());
    let server = servers.block_on(server());
    let informer = SharedInformer::<ConfigMap>::new(KubeSource::all(client(&servers, &server), &()));
    {
        let _entered = informers.enter();
        informer.start();
    }
    drop(informers);
    assert_eq!(informer.status().phase, Phase::Stopped);
    servers.block_on(async {
        assert!(!informer.synced().await, "nobody waits for ever");
    });
}

#[test]
fn what_listens_elsewhere_to_an_informer_whose_runtime_has_ended_hears_its_end() {
    use futures::StreamExt;
    let (servers, informers) = (servers(), informers());
    let server = servers.block_on(server());
    let informer = SharedInformer::<ConfigMap>::new(KubeSource::all(client(&servers, &server), &()));
    let mut events = informer.subscribe().unwrap();
    informers.block_on(async {
        informer.start();
        assert!(informer.synced().await);
    });
    drop(informers);
    servers.block_on(async {
        let end = tokio::time::timeout(Duration::from_secs(3600), events.next()).await;
        assert!(end.expect("it ends").is_none());
    });
}

#[test]
fn a_source_that_is_followed_after_the_runtime_has_ended_is_refused_and_nothing_hangs() {
    let (servers, informers) = (servers(), informers());
    let server = servers.block_on(server());
    let informer = SharedInformer::<ConfigMap>::new(KubeSource::all(client(&servers, &server), &()));
    // No source, so no task that the end of the runtime could be seen by.
    informer.follow([]).unwrap();
    informers.block_on(async { informer.start() });
    drop(informers);
    let source: std::sync::Arc<dyn kube_informer::source::ListWatch<ConfigMap>> =
        std::sync::Arc::new(KubeSource::all(client(&servers, &server), &()));
    drop(informer.follow([source]));
    assert_eq!(informer.status().phase, Phase::Stopped);
}

#[test]
fn a_cache_whose_runtime_has_ended_does_not_read_what_it_had() {
    let (servers, caches) = (servers(), informers());
    let server = servers.block_on(server());
    write(&server, "a", 1);
    let cache = Cache::with(client(&servers, &server), CacheOptions::new()).unwrap();
    caches.block_on(async {
        cache.start().unwrap();
        cache.get::<ConfigMap>("default", "a").await.unwrap();
    });
    drop(caches);
    servers.block_on(async {
        let read = cache.get::<ConfigMap>("default", "a").await;
        let error = read.expect_err("it is not current");
        assert!(
            matches!(&error, CacheError::CannotSync { cause, .. } if cause.to_string().contains("runtime")),
            "{error}"
        );
    });
}

#[tokio::test(start_paused = true)]
async fn a_controller_whose_future_is_dropped_has_stopped() {
    let server = server().await;
    let controller = Controller::new(
        KubeSource::<ConfigMap>::all(server.in_process_client(), &()),
        |_: Event<ConfigMap>| {},
    );
    let mut status = controller.watch_status();
    let running = tokio::spawn(controller.run(CancellationToken::new()));
    status.wait_for(|status| status.synced).await.unwrap();
    running.abort();
    drop(running.await);
    assert_eq!(status.borrow().phase, Phase::Stopped);
}
