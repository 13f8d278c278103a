//! What becomes of a request: by its result, and by how it ended.

use std::sync::atomic::{AtomicU32, Ordering};

use kube_controller::controller::ErrorKind;
use kube_controller::workqueue::limiter::ItemFastSlow;
use tokio::time::Instant;

use super::*;

/// Calls a function with the number of the call, and writes down when it was called and after how many failures.
fn scripted<F: Fn(u32) -> Result<Action> + Send + Sync + 'static>(
    log: &Log,
    script: F,
) -> impl Fn(String, Context) -> futures::future::Ready<Result<Action>> + Send + Sync + use<F> {
    let (log, calls, begun) = (log.clone(), AtomicU32::new(0), Instant::now());
    move |_, context| {
        log.add(format!("{:?} {}", begun.elapsed(), context.failures()));
        futures::future::ready(script(calls.fetch_add(1, Ordering::Relaxed)))
    }
}

async fn play(script: impl Fn(u32) -> Result<Action> + Send + Sync + 'static) -> (Log, Playing<String>) {
    let log = Log::default();
    let (send, builder) = texts("results");
    let playing = Playing::new(builder.build(scripted(&log, script)).unwrap());
    send.send("a".to_owned()).await.unwrap();
    tokio::time::sleep(10 * S).await;
    (log, playing)
}

#[tokio::test(start_paused = true)]
async fn an_error_comes_again_later_each_time_until_it_goes_well() {
    let (log, playing) =
        play(|call| if call < 3 { Err(ReconcileError::new("no")) } else { Ok(Action::done()) }).await;
    assert_eq!(log.take(), ["0ns 0", "5ms 1", "15ms 2", "35ms 3"]);
    playing.handle.queue().add("a".to_owned());
    settle().await;
    assert!(log.take()[0].ends_with(" 0"), "its failures are forgotten");
    let status = playing.handle.status();
    assert_eq!((status.reconciles, status.errors, status.terminal_errors), (5, 3, 0));
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn failures_are_forgotten_after_a_result_that_is_no_error_and_not_by_a_requeue() {
    let (log, playing) = play(|call| match call {
        0 | 2 | 4 => Err(ReconcileError::new("no")),
        1 => Ok(Action::requeue()),
        3 => Ok(Action::requeue_after(S)),
        _ => Ok(Action::done()),
    })
    .await;
    let lines = log.take();
    let failures: Vec<&str> = lines.iter().map(|line| line.rsplit_once(' ').unwrap().1).collect();
    assert_eq!(failures, ["0", "1", "2", "3", "0", "1"]);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_terminal_error_is_not_tried_again_before_something_changes() {
    let (log, playing) = play(|_| Err(ReconcileError::terminal("never"))).await;
    assert_eq!(log.take().len(), 1);
    let status = playing.handle.status();
    assert_eq!((status.errors, status.terminal_errors), (1, 1));
    let last = status.last_failure.unwrap();
    assert_eq!((last.request.as_str(), last.message.as_str()), ("a", "never"));
    assert_eq!(last.kind, ErrorKind::Terminal);
    playing.handle.queue().add("a".to_owned());
    settle().await;
    assert_eq!(log.take().len(), 1, "a change is a reason");
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_request_comes_again_after_the_time_it_asks_for_and_is_not_limited() {
    let log = Log::default();
    let (send, builder) = texts("later");
    let reconcile =
        scripted(&log, |call| if call < 3 { Ok(Action::requeue_after(3 * S)) } else { Ok(Action::done()) });
    let playing = Playing::new(builder.build(reconcile).unwrap());
    send.send("a".to_owned()).await.unwrap();
    tokio::time::sleep(60 * S).await;
    assert_eq!(log.take(), ["0ns 0", "3s 0", "6s 0", "9s 0"]);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_rate_limiter_can_be_replaced() {
    let log = Log::default();
    let (send, builder) = texts("slow");
    let builder = builder.rate_limiter(ItemFastSlow::new(S, 10 * S, 1));
    let playing = Playing::new(builder.build(scripted(&log, |_| Err(ReconcileError::new("no")))).unwrap());
    send.send("a".to_owned()).await.unwrap();
    tokio::time::sleep(15 * S).await;
    assert_eq!(log.take(), ["0ns 0", "1s 1", "11s 2"]);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_counted_shown_and_tried_again() {
    let log = Log::default();
    let (send, builder) = texts("panics");
    let told = log.clone();
    let builder = builder.on_error(move |failure| {
        told.add(format!("{} {} {}", failure.request, failure.failures, failure.error));
        panic!("so does this");
    });
    let calls = Arc::new(AtomicU32::new(0));
    let playing = Playing::new(
        builder
            .build(move |_: String, _| {
                let call = calls.fetch_add(1, Ordering::Relaxed);
                assert!(call != 0, "before anything was awaited");
                async move {
                    settle().await;
                    assert!(call != 1, "while it was worked on");
                    Ok(())
                }
            })
            .unwrap(),
    );
    send.send("a".to_owned()).await.unwrap();
    tokio::time::sleep(S).await;
    assert_eq!(
        log.take(),
        [
            "a 0 the reconciler panicked: before anything was awaited",
            "a 1 the reconciler panicked: while it was worked on"
        ]
    );
    let status = playing.handle.status();
    assert_eq!((status.panics, status.errors, status.reconciles, status.active), (2, 2, 3, 0));
    assert_eq!(status.last_failure.unwrap().kind, ErrorKind::Panic);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_failure_to_read_a_mistyped_object_is_told_without_the_values_of_the_object() {
    let (send, builder) = texts("mistyped");
    let log = Log::default();
    let told = log.clone();
    let builder = builder.on_error(move |failure| told.add(failure.error.to_string()));
    let playing = Playing::new(
        builder
            .build(async |_: String, _| {
                let read = serde_json::from_str::<u32>("\"hunter2\"").map_err(kube_client::Error::SerdeError);
                read?;
                Ok::<_, ReconcileError>(())
            })
            .unwrap(),
    );
    send.send("a".to_owned()).await.unwrap();
    settle().await;
    let message = playing.handle.status().last_failure.unwrap().message;
    assert!(message.contains("it does not fit its type (line 1 column 9)"), "{message}");
    for text in log.take().into_iter().chain([message]) {
        assert!(!text.contains("hunter2"), "{text}");
    }
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_panic_that_is_not_to_be_caught_goes_on_where_the_controller_runs() {
    let (send, builder) = texts("panics");
    let reconcile = |_: String, _| async { if true { panic!("out") } else { Ok(()) } };
    let playing = Playing::new(builder.recover_panics(false).build(reconcile).unwrap());
    send.send("a".to_owned()).await.unwrap();
    let panic = playing.task.await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"out"));
    assert!(playing.handle.queue().is_shutting_down());
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_takes_too_long_is_cut_off_and_tried_again() {
    let log = Log::default();
    let (send, builder) = texts("slow");
    let (calls, lines) = (AtomicU32::new(0), log.clone());
    let reconcile = move |_: String, context: Context| {
        let (first, lines) = (calls.fetch_add(1, Ordering::Relaxed) == 0, lines.clone());
        async move {
            let token = context.token().clone();
            tokio::spawn(async move {
                token.cancelled().await;
                lines.add("what it left behind knows");
            });
            tokio::time::sleep(if first { 100 * S } else { 4 * S }).await;
            Ok(())
        }
    };
    let playing = Playing::new(builder.reconcile_timeout(5 * S).build(reconcile).unwrap());
    send.send("a".to_owned()).await.unwrap();
    tokio::time::sleep(6 * S).await;
    assert_eq!(log.take(), ["what it left behind knows"]);
    tokio::time::sleep(60 * S).await;
    let status = playing.handle.status();
    assert_eq!((status.timeouts, status.errors, status.reconciles), (1, 1, 2));
    assert_eq!(status.last_failure.unwrap().message, "the reconciler did not end within 5s");
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn only_its_own_expiry_counts_as_a_timeout() {
    let (send, builder) = texts("quick");
    // An error of its own that is about time, success just in time, and the end of the controller.
    let reconcile = |request: String, context: Context| async move {
        match request.as_str() {
            "own" => Ok(tokio::time::timeout(S, std::future::pending::<()>()).await?),
            "late" => {
                tokio::time::sleep(4 * S).await;
                Ok(())
            }
            _ => {
                context.token().cancelled().await;
                Err(ReconcileError::terminal("told to stop"))
            }
        }
    };
    let builder = builder.reconcile_timeout(5 * S).concurrency(3);
    let playing =
        Playing::new(builder.rate_limiter(ItemFastSlow::new(100 * S, 100 * S, 1)).build(reconcile).unwrap());
    for request in ["own", "late", "end"] {
        send.send(request.to_owned()).await.unwrap();
    }
    tokio::time::sleep(S * 9 / 2).await;
    let handle = playing.handle.clone();
    playing.end().await.unwrap();
    let status = handle.status();
    assert_eq!((status.timeouts, status.errors, status.reconciles), (0, 2, 3));
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_a_reconcile_may_take_for_ever() {
    let (send, builder) = texts("patient");
    let playing = Playing::new(
        builder
            .build(|_: String, _| async {
                tokio::time::sleep(3600 * S).await;
                Ok(())
            })
            .unwrap(),
    );
    send.send("a".to_owned()).await.unwrap();
    tokio::time::sleep(3601 * S).await;
    let status = playing.handle.status();
    assert_eq!((status.reconciles, status.errors), (1, 0));
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_reconcile_for_each_request_at_a_time_and_so_many_in_all() {
    let log = Log::default();
    let (send, builder) = texts("many");
    let lines = log.clone();
    let reconcile = move |request: String, _| {
        let lines = lines.clone();
        async move {
            lines.add(format!("{request} begins"));
            tokio::time::sleep(S).await;
            lines.add(format!("{request} ends"));
            Ok(())
        }
    };
    let playing = Playing::new(builder.concurrency(2).build(reconcile).unwrap());
    for request in ["a", "a", "b", "c"] {
        send.send(request.to_owned()).await.unwrap();
    }
    settle().await;
    assert_eq!(playing.handle.status().active, 2);
    playing.handle.queue().add("a".to_owned());
    playing.handle.queue().add("a".to_owned());
    tokio::time::sleep(10 * S).await;
    let lines = log.take();
    assert_eq!(lines[..2], ["a begins", "b begins"], "c waits, and a is not worked on twice");
    assert_eq!(lines.iter().filter(|line| *line == "a begins").count(), 2, "{lines:?}");
    assert_eq!(lines.len(), 8);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_is_told_who_it_is() {
    let log = Log::default();
    let (send, builder) = texts("foo");
    let lines = log.clone();
    let reconcile = move |_: String, context: Context| {
        lines.add(context.id());
        assert_eq!(context.controller(), "foo");
        async { Ok(()) }
    };
    let playing = Playing::new(builder.build(reconcile).unwrap());
    send.send("a".to_owned()).await.unwrap();
    send.send("b".to_owned()).await.unwrap();
    settle().await;
    let ids = log.take();
    assert!(ids.len() == 2 && ids[0] != ids[1] && ids[0].starts_with("foo-"), "{ids:?}");
    playing.end().await.unwrap();
}
