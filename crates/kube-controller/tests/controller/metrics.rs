//! What Prometheus reads of controllers.

use kube_controller::Metrics;
use prometheus_client::registry::Registry;

use super::*;

fn page(registry: &Registry) -> String {
    let mut page = String::new();
    prometheus_client::encoding::text::encode(&mut page, registry).unwrap();
    page
}

#[tokio::test(start_paused = true)]
async fn every_result_is_counted_under_the_names_of_controller_runtime() {
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let (send, builder) = texts("foo");
    let reconcile = |request: String, context: Context| async move {
        if context.failures() > 0 {
            return Ok(Action::done());
        }
        match request.as_str() {
            "requeue" => Ok(Action::requeue()),
            "error" => Err(ReconcileError::new("no")),
            "terminal" => Err(ReconcileError::terminal("never")),
            "panic" => panic!("out"),
            "slow" => std::future::pending().await,
            "stuck" => {
                tokio::time::sleep(2000 * MS).await;
                Ok(Action::requeue_after(1000 * S))
            }
            _ => Ok(Action::done()),
        }
    };
    let builder = builder.metrics(&metrics).concurrency(3).reconcile_timeout(3 * S);
    let playing = Playing::new(builder.build(reconcile).unwrap());
    for request in ["good", "requeue", "error", "terminal", "panic", "slow", "stuck"] {
        send.send(request.to_owned()).await.unwrap();
    }
    tokio::time::sleep(S).await;
    let text = page(&registry);
    assert!(text.contains("controller_runtime_active_workers{controller=\"foo\"} 2"), "{text}");
    tokio::time::sleep(10 * S).await;
    let text = page(&registry);
    for line in [
        "controller_runtime_reconcile_total{controller=\"foo\",result=\"success\"} 5",
        "controller_runtime_reconcile_total{controller=\"foo\",result=\"error\"} 4",
        "controller_runtime_reconcile_total{controller=\"foo\",result=\"requeue\"} 1",
        "controller_runtime_reconcile_total{controller=\"foo\",result=\"requeue_after\"} 1",
        "controller_runtime_reconcile_errors_total{controller=\"foo\"} 4",
        "controller_runtime_terminal_reconcile_errors_total{controller=\"foo\"} 1",
        "controller_runtime_reconcile_panics_total{controller=\"foo\"} 1",
        "controller_runtime_reconcile_timeouts_total{controller=\"foo\"} 1",
        "controller_runtime_max_concurrent_reconciles{controller=\"foo\"} 3",
        "controller_runtime_active_workers{controller=\"foo\"} 0",
        "controller_runtime_reconcile_time_seconds_count{controller=\"foo\"} 11",
        "controller_runtime_reconcile_time_seconds_bucket{le=\"2.5\",controller=\"foo\"} 10",
        "controller_runtime_reconcile_time_seconds_bucket{le=\"60.0\",controller=\"foo\"} 11",
        "workqueue_adds_total{name=\"foo\",controller=\"foo\"}",
        "workqueue_depth{name=\"foo\",controller=\"foo\"",
        "workqueue_work_duration_seconds_count{name=\"foo\",controller=\"foo\"}",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn controllers_of_one_name_are_told_apart_and_one_that_is_gone_is_not_shown() {
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let (_keep, builder) = texts("foo");
    let one = builder.metrics(&metrics).build(write_down(&Log::default())).unwrap();
    let (_keep, builder) = texts("foo");
    let two = builder.metrics(&metrics).build(write_down(&Log::default())).unwrap();
    let text = page(&registry);
    assert!(text.contains("{controller=\"foo\"}") && text.contains("{controller=\"foo-2\"}"), "{text}");
    drop((one, two));
    assert!(!page(&registry).contains("controller=\"foo"));
}
