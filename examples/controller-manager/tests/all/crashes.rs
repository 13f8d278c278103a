//! A controller that is killed at any moment and started again ends where one ends that was not.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, Request, Response};
use kube_client::Client;
use kube_client::client::Body;
use kube_testserver::Verb;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{World, a_while, pod, replica_set};

type Broken = Box<dyn std::error::Error + Send + Sync>;
type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, Broken>> + Send>>;

/// When the process is killed.
#[derive(Clone, Copy, Debug)]
enum Kill {
    /// Before a write is sent.
    Before(usize),
    /// After it has been done, before the answer is there.
    After(usize),
}

/// A client whose process is killed at a write.
fn mortal(inner: Client, kill: Kill, killed: &CancellationToken) -> Client {
    let (writes, killed) = (Arc::new(AtomicUsize::new(0)), killed.clone());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (inner, killed, writes) = (inner.clone(), killed.clone(), Arc::clone(&writes));
        let answer: Answer = Box::pin(async move {
            let is_write = *request.method() != Method::GET && !request.uri().path().contains("/events");
            let number = if is_write { writes.fetch_add(1, Ordering::SeqCst) } else { usize::MAX };
            match kill {
                _ if killed.is_cancelled() => std::future::pending().await,
                Kill::Before(at) if number == at => {
                    killed.cancel();
                    std::future::pending().await
                }
                Kill::After(at) if number == at => {
                    let _ = inner.send(request).await;
                    killed.cancel();
                    std::future::pending().await
                }
                _ => Ok(inner.send(request).await?),
            }
        });
        answer
    });
    Client::new(service, "default")
}

/// What matters of the end: names of pods are chance.
fn end_state(world: &World) -> Value {
    let uid = world.get("ReplicaSet", "web")["metadata"]["uid"].clone();
    let owned = |pod: &Value| pod["metadata"]["ownerReferences"][0]["uid"] == uid;
    let pods = world.living_pods();
    let mut status = world.get("ReplicaSet", "web")["status"].clone();
    status["observedGeneration"].take();
    json!({"pods": pods.len(), "owned": pods.iter().filter(|pod| owned(pod)).count(), "status": status})
}

/// Sets something up that needs all that a reconcile can do: pods are made, taken, given up, and deleted after a scaling.
async fn play(kill: Option<Kill>) -> (Value, usize, bool) {
    let world = World::new().await;
    let mut free = pod("free", &json!({"app": "web"}));
    free["metadata"]["annotations"] = json!({"controller.kubernetes.io/pod-deletion-cost": "100"});
    world.seed(&[replica_set("web", 5), free]);
    let killed = CancellationToken::new();
    let mut died = false;
    let mut run = match kill {
        Some(kill) => world.run_with("replicaset", mortal(world.server.in_process_client(), kill, &killed)),
        None => world.run("replicaset"),
    };
    for step in 0..3 {
        match step {
            1 => world.scale("ReplicaSet", "web", 2),
            2 => world.change("Pod", "free", |pod| pod["metadata"]["labels"] = json!({"app": "debug"})),
            _ => {}
        }
        tokio::select! {
            biased;
            () = killed.cancelled(), if !died => {
                died = true;
                run.task.abort();
                assert!(run.task.await.unwrap_err().is_cancelled());
                run = world.run("replicaset");
                a_while().await;
            }
            () = a_while() => {}
        }
        if step == 0 {
            assert_eq!(end_state(&world)["owned"], 5, "{kill:?}");
        }
    }
    run.end().await;
    let writes = world.server.requests().into_iter().filter(|request| {
        let is_write = matches!(request.verb, Some(Verb::Create | Verb::Update | Verb::Patch | Verb::Delete));
        is_write && request.resource != "events"
    });
    (end_state(&world), writes.count(), died)
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_controller_that_is_killed_at_any_write_ends_in_the_same_state() {
    let (wanted, writes, _) = play(None).await;
    assert_eq!((&wanted["pods"], &wanted["owned"]), (&json!(3), &json!(2)), "{wanted}");
    let mut deaths = 0;
    for at in 0..writes {
        for kill in [Kill::Before(at), Kill::After(at)] {
            let (end, _, died) = play(Some(kill)).await;
            assert_eq!(end, wanted, "{kill:?}");
            deaths += usize::from(died);
        }
    }
    assert!(deaths >= 20, "{deaths} deaths in {writes} writes");
}
