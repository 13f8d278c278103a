//! Finished jobs.

use std::time::Duration;

use serde_json::{Value, json};

use crate::World;

fn job(name: &str, ttl: Option<u32>, finished: Option<&str>) -> Value {
    let condition =
        |kind: &str| json!([{"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"ttlSecondsAfterFinished": ttl, "template": {"spec": {"containers": []}}},
        "status": {"conditions": finished.map(condition)},
    })
}

#[tokio::test(start_paused = true)]
async fn a_job_is_deleted_some_time_after_it_has_finished() {
    let world = World::idle(|server| server.garbage_collection(true)).await;
    world.seed(&[
        job("done", Some(60), Some("Complete")),
        job("failed", Some(100), Some("Failed")),
        job("running", Some(0), None),
        job("kept", None, Some("Complete")),
        job("patient", Some(60), Some("Complete")),
    ]);
    let run = world.run("ttl-after-finished");
    tokio::time::sleep(Duration::from_secs(58)).await;
    assert_eq!(world.names("Job").len(), 5);
    // Somebody wants to look at it for longer.
    world.change("Job", "patient", |job| job["spec"]["ttlSecondsAfterFinished"] = json!(1000));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(world.names("Job"), ["failed", "kept", "patient", "running"]);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.names("Job"), ["kept", "patient", "running"]);
    world.change("Job", "running", |job| {
        job["status"] = json!({"conditions": [
            {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:01:00Z"}
        ]});
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(world.names("Job"), ["kept", "patient"], "it was over when it finished");
    tokio::time::sleep(Duration::from_secs(1000)).await;
    assert_eq!(world.names("Job"), ["kept"]);
    run.end().await;
}
