//! How everything ends.

use std::time::Duration;

use kube_controller::controller::ControllerBuilder;
use kube_controller::manager::{Group, ManagerError, Runnable, Running, Task};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{Log, Part, Run, failing, manager, plain, settle};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn what_has_not_ended_in_time_is_named_and_aborted() {
    let (manager, log) = (plain().await, Log::default());
    manager.add(Part::new("quick", Group::Others, &log)).unwrap();
    manager.add(Part::new("lazy", Group::Others, &log).ends_after(HOUR)).unwrap();
    manager.add(Part::new("leader", Group::LeaderOnly, &log)).unwrap();
    let run = Run::of(manager);
    settle().await;
    let begun = Instant::now();
    let error = run.end().await.unwrap_err();
    assert_eq!(begun.elapsed().as_secs(), 30, "the default");
    // What comes after the one that does not end is told to end too, but not waited for.
    let ManagerError::StillRunning { names, grace } = error else { panic!("{error}") };
    assert_eq!((names, grace.as_secs()), (vec!["lazy".to_owned(), "leader".to_owned()], 30));
    assert!(log.has("quick ends") && !log.has("lazy ends"));
    tokio::time::sleep(HOUR * 2).await;
    assert!(!log.has("lazy ends"), "it was aborted");
}

#[tokio::test(start_paused = true)]
async fn without_grace_nothing_is_waited_for_and_nothing_is_an_error() {
    let (manager, log) = (manager(|settings| settings.grace(Duration::ZERO)).await, Log::default());
    manager.add(Part::new("lazy", Group::Others, &log).ends_after(HOUR)).unwrap();
    let run = Run::of(manager);
    settle().await;
    let begun = Instant::now();
    run.end().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert_eq!(log.all(), ["lazy starts"]);
}

#[tokio::test(start_paused = true)]
async fn with_unlimited_grace_everything_is_waited_for() {
    let (manager, log) =
        (manager(kube_controller::manager::ManagerBuilder::unlimited_grace).await, Log::default());
    manager.add(Part::new("lazy", Group::Others, &log).ends_after(HOUR)).unwrap();
    let run = Run::of(manager);
    settle().await;
    let begun = Instant::now();
    run.end().await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), HOUR.as_secs());
    assert!(log.has("lazy ends"));
}

#[tokio::test(start_paused = true)]
async fn a_failure_ends_everything_in_order_and_is_returned() {
    let (manager, log) = (plain().await, Log::default());
    manager.add(Part::new("cache", Group::Caches, &log)).unwrap();
    manager.add(Part::new("other", Group::Others, &log)).unwrap();
    manager.add(failing("reconciler", Group::LeaderOnly)).unwrap();
    let error = Run::of(manager).ended().await.unwrap_err();
    assert!(matches!(&error, ManagerError::Failed { name, .. } if name == "reconciler"), "{error}");
    assert_eq!(log.all(), ["cache starts", "other starts", "other ends", "cache ends"]);
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_at_the_end_is_told_with_why_it_ended() {
    let (manager, log) = (plain().await, Log::default());
    manager.add(Part::new("lazy", Group::Caches, &log).ends_after(HOUR)).unwrap();
    let fails_at_the_end = Task::new("writer", |stop| async move {
        stop.cancelled().await;
        Err("the disk is full".into())
    });
    manager.add(fails_at_the_end.group(Group::Others)).unwrap();
    manager.add(failing("reconciler", Group::LeaderOnly)).unwrap();
    let error = Run::of(manager).ended().await.unwrap_err();
    let text = error.to_string();
    let ManagerError::Several(all) = error else { panic!("{text}") };
    assert_eq!(all.len(), 3, "{text}");
    assert!(text.starts_with("reconciler: the tea is cold; then still running 30s"), "{text}");
    assert!(text.contains("lazy") && text.ends_with("writer: the disk is full"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_an_error_with_its_name() {
    let manager = plain().await;
    manager.add(Task::new("clumsy", |_| async { panic!("the cup is broken") })).unwrap();
    let error = Run::of(manager).ended().await.unwrap_err();
    assert_eq!(error.to_string(), "clumsy has panicked: the cup is broken");
}

#[tokio::test(start_paused = true)]
async fn a_formatted_panic_message_of_a_task_is_not_in_the_error() {
    let (manager, password) = (plain().await, std::hint::black_box("hunter2".to_owned()));
    manager.add(Task::new("clumsy", |_| async move { panic!("{password:?}") })).unwrap();
    let error = Run::of(manager).ended().await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.starts_with("clumsy has panicked: ") && !text.contains("hunter2"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_formatted_panic_message_of_a_reconciler_that_is_not_recovered_is_not_in_the_error() {
    let (manager, password) = (plain().await, std::hint::black_box("hunter2".to_owned()));
    let controller = ControllerBuilder::new("secrets")
        .stream("once", futures::stream::iter(["a".to_owned()]))
        .recover_panics(false)
        .build(move |_: String, _| {
            let password = password.clone();
            async move { if password.is_empty() { Ok(()) } else { panic!("{password:?}") } }
        })
        .unwrap();
    manager.add(controller).unwrap();
    let error = Run::of(manager).ended().await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.starts_with("secrets has panicked: ") && !text.contains("hunter2"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn what_ends_early_ends_nothing_else() {
    let (manager, log) = (plain().await, Log::default());
    manager.add(Task::new("once", |_| async { Ok(()) })).unwrap();
    manager.add(Part::new("other", Group::Others, &log)).unwrap();
    let handle = manager.handle();
    let run = Run::of(manager);
    tokio::time::sleep(HOUR).await;
    assert_eq!(handle.running(), ["other"]);
    run.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_dropped_run_leaves_nothing_behind() {
    let (manager, log) = (plain().await, Log::default());
    manager.add(Part::new("other", Group::Others, &log).ends_after(HOUR)).unwrap();
    let handle = manager.handle();
    let run = Run::of(manager);
    settle().await;
    assert_eq!(handle.running(), ["other"]);
    run.task.abort();
    settle().await;
    assert!(handle.running().is_empty());
    assert!(handle.add(Part::new("late", Group::Others, &log)).is_err());
}

/// Something that only a leader may do, and that never gets done with preparing for it.
struct Cold;

impl Runnable for Cold {
    fn name(&self) -> String {
        "cold".to_owned()
    }

    fn warm_up(&mut self, _: CancellationToken) -> Running<'_> {
        Box::pin(std::future::pending())
    }

    fn run(self: Box<Self>, _: CancellationToken) -> Running<'static> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test(start_paused = true)]
async fn what_still_warms_up_when_the_time_is_over_is_named_too() {
    let manager = plain().await;
    manager.add(Cold).unwrap();
    let run = Run::of(manager);
    settle().await;
    let begun = Instant::now();
    let ended = run.end().await;
    assert_eq!(begun.elapsed().as_secs(), 30, "it was waited for");
    let Err(ManagerError::StillRunning { names, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!(names, ["cold"]);
}
