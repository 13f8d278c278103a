//! Requests from channels, streams and functions.

use kube_controller::controller::{ControllerPhase, Source};
use kube_controller::workqueue::AddOptions;

use super::*;

#[tokio::test(start_paused = true)]
async fn requests_come_from_channels_streams_and_functions() {
    let log = Log::default();
    let (send, builder) = texts("all");
    let controller = builder
        .stream("numbers", futures::stream::iter(["1".to_owned(), "2".to_owned()]))
        .func("later", |queue, running| async move {
            queue.add("now".to_owned());
            queue.add_with("later".to_owned(), AddOptions::new().after(5 * S));
            running.ready();
            running.token().cancelled().await;
            Ok(())
        })
        .build(write_down(&log))
        .unwrap();
    let playing = Playing::new(controller);
    send.send("sent".to_owned()).await.unwrap();
    settle().await;
    assert_eq!(log.sorted(), ["1", "2", "now", "sent"]);
    tokio::time::sleep(6 * S).await;
    assert_eq!(log.take(), ["later"]);
    drop(send);
    settle().await;
    assert!(!playing.task.is_finished(), "a source that has nothing more to say is no failure");
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_function_that_fails_fails_the_controller_before_it_works_and_later() {
    let builder = ControllerBuilder::<String>::new("bad")
        .func("first", |_, _| async { Err("the file is not there".into()) });
    let error = builder.run(CancellationToken::new(), write_down(&Log::default())).await.unwrap_err();
    assert_eq!(error.to_string(), "the controller \"bad\" cannot listen to first: the file is not there");

    let later = ControllerBuilder::<String>::new("bad").func("second", |_, running| async move {
        running.ready();
        tokio::time::sleep(S).await;
        if true { panic!("out of ideas") } else { Ok(()) }
    });
    let playing = Playing::new(later.build(write_down(&Log::default())).unwrap());
    settle().await;
    assert_eq!(playing.handle.status().phase, ControllerPhase::Running);
    let error = playing.task.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the controller \"bad\" cannot listen to second: it panicked: out of ideas"
    );
    assert_eq!(playing.handle.status().phase, ControllerPhase::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_function_that_is_never_ready_is_named() {
    let (_send, builder) = texts("slow");
    let builder = builder.func("blocked", |_, _| std::future::pending()).sync_timeout(30 * S);
    let error = builder.run(CancellationToken::new(), write_down(&Log::default())).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the controller \"slow\" has waited 30s in vain for blocked (its function has neither returned nor said \
         that it is ready)"
    );
}

#[tokio::test(start_paused = true)]
async fn being_stopped_while_it_waits_is_no_error() {
    let builder = ControllerBuilder::<String>::new("slow").func("blocked", |_, _| std::future::pending());
    let playing = Playing::new(builder.build(write_down(&Log::default())).unwrap());
    settle().await;
    assert_eq!(playing.handle.status().phase, ControllerPhase::Syncing);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_warm_controller_listens_once_and_works_when_it_runs() {
    let (log, starts) = (Log::default(), Log::default());
    let noted = starts.clone();
    let controller = ControllerBuilder::<String>::new("warm")
        .warms_up(true)
        .func("once", move |queue, running| async move {
            noted.add("started");
            queue.add("a".to_owned());
            running.ready();
            running.token().cancelled().await;
            Ok(())
        })
        .build(write_down(&log))
        .unwrap();
    assert!(controller.warms_up() && controller.needs_leader());
    let stop = CancellationToken::new();
    let (one, two) = tokio::join!(controller.warm_up(stop.clone()), controller.warm_up(stop));
    one.and(two).unwrap();
    tokio::time::sleep(S).await;
    let status = controller.handle().status();
    assert_eq!((status.phase, status.waiting), (ControllerPhase::Warm, 1), "it waits for the leader");
    assert!(log.take().is_empty());
    let playing = Playing::new(controller);
    settle().await;
    assert_eq!((log.take(), starts.take().len()), (vec!["a".to_owned()], 1));
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_error_while_it_warms_up_is_one_of_the_warm_up() {
    let builder = ControllerBuilder::<String>::new("bad").func("file", |_, _| async { Err("no".into()) });
    let controller = builder.build(write_down(&Log::default())).unwrap();
    let error = controller.warm_up(CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, ControllerError::Source { .. }), "{error}");
    let error = controller.run(CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "the controller \"bad\" has ended; build a new one", "with what has begun");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_comes_later_begins_at_once_and_is_not_waited_for() {
    let log = Log::default();
    let (_send, builder) = texts("late");
    let controller = builder.build(write_down(&log)).unwrap();
    let handle = controller.handle();
    handle.add_source(Source::stream("before", futures::stream::iter(["before".to_owned()]))).unwrap();
    let playing = Playing::new(controller);
    settle().await;
    assert_eq!(log.take(), ["before"]);
    handle
        .add_source(Source::func("never ready", |queue, _| async move {
            queue.add("late".to_owned());
            std::future::pending().await
        }))
        .unwrap();
    settle().await;
    assert_eq!(log.take(), ["late"]);
    assert_eq!(handle.status().sources.len(), 3);
    handle.add_source(Source::func("bad", |_, _| async { Err("no".into()) })).unwrap();
    let error = playing.task.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("bad: no"), "its failure is noticed: {error}");
    let refused = handle.add_source(Source::stream("after", futures::stream::empty())).unwrap_err();
    assert!(matches!(refused, ControllerError::Ended { .. }), "{refused}");
}
