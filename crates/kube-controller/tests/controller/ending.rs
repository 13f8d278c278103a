//! How a controller ends, and what it says about it.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_controller::controller::ControllerPhase;
use kube_informer::SharedInformerFactory;

use super::*;

#[tokio::test(start_paused = true)]
async fn what_runs_may_end_and_what_waits_is_named() {
    let log = Log::default();
    let (send, builder) = texts("slow");
    let lines = log.clone();
    let reconcile = move |request: String, context: Context| {
        let lines = lines.clone();
        async move {
            tokio::time::sleep(10 * S).await;
            lines.add(format!("{request} {}", context.token().is_cancelled()));
            Ok(())
        }
    };
    let playing = Playing::new(builder.build(reconcile).unwrap());
    for request in ["a", "b", "c"] {
        send.send(request.to_owned()).await.unwrap();
    }
    settle().await;
    playing.handle.queue().add_after("later".to_owned(), 100 * S);
    let handle = playing.handle.clone();
    assert!(handle.unfinished().is_none());
    playing.end().await.unwrap();
    assert_eq!(log.take(), ["a true"], "it was told, and came to its end");
    let mut unfinished = handle.unfinished().unwrap();
    unfinished.dropped.sort();
    assert_eq!(
        (unfinished.dropped, unfinished.cut_off.len()),
        (vec!["b".into(), "c".into(), "later".into()], 0)
    );
    assert!(!handle.queue().add("d".to_owned()), "it takes no more");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_end_in_time_is_cut_off_and_named() {
    let (send, builder) = texts("stuck");
    let dropped = Arc::new(());
    let held = Arc::clone(&dropped);
    let reconcile = move |_: String, _| {
        let held = Arc::clone(&held);
        async move {
            std::future::pending::<()>().await;
            drop(held);
            Ok(())
        }
    };
    let playing = Playing::new(builder.grace(5 * S).build(reconcile).unwrap());
    send.send("a".to_owned()).await.unwrap();
    settle().await;
    let (handle, begun) = (playing.handle.clone(), tokio::time::Instant::now());
    playing.end().await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 5);
    assert_eq!(handle.unfinished().unwrap().cut_off, ["a"]);
    assert_eq!(Arc::strong_count(&dropped), 2, "only the reconciler, which the handle keeps, has it");
    assert_eq!(handle.status().active, 0);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_cannot_come_again_is_named() {
    let (send, builder) = texts("failing");
    let reconcile = |_: String, context: Context| async move {
        context.token().cancelled().await;
        Err::<(), _>(ReconcileError::new("told to stop"))
    };
    let playing = Playing::new(builder.build(reconcile).unwrap());
    send.send("a".to_owned()).await.unwrap();
    settle().await;
    let handle = playing.handle.clone();
    playing.end().await.unwrap();
    assert_eq!(handle.unfinished().unwrap().dropped, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_dropped_while_it_runs_leaves_nothing_behind() {
    let server = server(&configs(&["a"])).await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let configs = factory.of::<ConfigMap>().unwrap();
    let held = Arc::new(());
    let kept = Arc::clone(&held);
    let builder =
        Controller::builder("configs").for_(&configs).func("forever", move |_, running| async move {
            running.ready();
            std::future::pending::<()>().await;
            drop(kept);
            Ok(())
        });
    let playing = Playing::new(builder.build(|_, _| std::future::pending::<Result>()).unwrap());
    settle().await;
    assert_eq!((configs.status().listeners.len(), playing.handle.status().active), (1, 1));
    playing.task.abort();
    assert!(playing.task.await.unwrap_err().is_cancelled());
    settle().await;
    let status = playing.handle.status();
    assert_eq!((status.active, status.phase), (0, ControllerPhase::Stopped));
    assert_eq!((configs.status().listeners.len(), Arc::strong_count(&held)), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_controller_takes_its_handlers_away_and_the_informer_goes_on() {
    let server = server(&configs(&["a"])).await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let configs = factory.of::<ConfigMap>().unwrap();
    let log = Log::default();
    let playing =
        Playing::new(Controller::builder("configs").for_(&configs).build(write_down(&log)).unwrap());
    settle().await;
    assert_eq!(configs.status().listeners[0].name, "configs");
    playing.end().await.unwrap();
    assert!(configs.status().listeners.is_empty());
    assert!(!configs.is_stopped());
    let again = Playing::new(Controller::builder("configs").for_(&configs).build(write_down(&log)).unwrap());
    settle().await;
    assert_eq!(log.take(), ["default/a", "default/a"], "the next one hears what is there");
    again.end().await.unwrap();
}
