//! What has changed comes before what is only there.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_controller::workqueue::{AddOptions, LOW_PRIORITY};
use kube_informer::SharedInformerFactory;
use kube_informer::object::ObjectName;
use serde_json::json;

use super::*;

/// Writes down each request and its priority.
fn with_priority<R: RequestKey>(
    log: &Log,
) -> impl Fn(R, Context) -> futures::future::Ready<Result<Action>> + Send + Sync + use<R> {
    let log = log.clone();
    move |request, context| {
        log.add(format!("{request} {}", context.priority()));
        futures::future::ready(Ok(Action::done()))
    }
}

async fn play(priorities: bool) -> (Log, TestServer, Playing<ObjectName>) {
    let server = server(&configs(&["a"])).await;
    let factory = SharedInformerFactory::builder(server.in_process_client()).default_resync(30 * S).build();
    let log = Log::default();
    let builder = Controller::builder("configs").for_(&factory.of::<ConfigMap>().unwrap());
    let playing = Playing::new(builder.priority_queue(priorities).build(with_priority(&log)).unwrap());
    settle().await;
    (log, server, playing)
}

#[tokio::test(start_paused = true)]
async fn what_is_there_and_what_is_told_again_has_a_low_priority() {
    let (log, server, playing) = play(true).await;
    assert_eq!(log.take(), [format!("default/a {LOW_PRIORITY}")]);
    server.mutate("v1/ConfigMap", "default", "a", |config| config["data"] = json!({"x": "y"})).unwrap();
    server.seed(&configs(&["b"])).unwrap();
    settle().await;
    assert_eq!(log.sorted(), ["default/a 0", "default/b 0"]);
    tokio::time::sleep(31 * S).await;
    assert_eq!(log.sorted(), [format!("default/a {LOW_PRIORITY}"), format!("default/b {LOW_PRIORITY}")]);
    server.delete("v1/ConfigMap", "default", "a").unwrap();
    settle().await;
    assert_eq!(log.take(), ["default/a 0"]);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_a_priority_queue_all_are_equal() {
    let (log, _server, playing) = play(false).await;
    assert_eq!(log.take(), ["default/a 0"]);
    tokio::time::sleep(31 * S).await;
    assert_eq!(log.take(), ["default/a 0"]);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_change_comes_before_a_thousand_objects_that_are_only_there() {
    let names: Vec<String> = (0..1000).map(|number| format!("n{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let server = server(&configs(&names)).await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let log = Log::default();
    let builder = Controller::builder("configs").for_(&factory.of::<ConfigMap>().unwrap());
    let controller = builder.build(with_priority(&log)).unwrap();
    controller.warm_up(CancellationToken::new()).await.unwrap();
    server.seed(&configs(&["new"])).unwrap();
    settle().await;
    let playing = Playing::new(controller);
    settle().await;
    let lines = log.take();
    assert_eq!((lines[0].as_str(), lines.len()), ("default/new 0", 1001));
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_request_keeps_its_priority_however_it_comes_again_unless_it_asks_for_another() {
    let log = Log::default();
    let (_send, builder) = texts("again");
    let lines = log.clone();
    let reconcile = move |request: String, context: Context| {
        lines.add(format!("{request} {}", context.priority()));
        let step = lines.0.lock().len() % 4;
        futures::future::ready(match step {
            1 => Err(ReconcileError::new("no")),
            2 => Ok(Action::requeue()),
            3 => Ok(Action::requeue_after(S)),
            _ if request == "raised" => Ok(Action::done()),
            _ => Ok(Action::requeue_after(S).priority(9)),
        })
    };
    let playing = Playing::new(builder.build(reconcile).unwrap());
    settle().await;
    playing.handle.queue().add_with("a".to_owned(), AddOptions::new().priority(7));
    tokio::time::sleep(S * 3 / 2).await;
    assert_eq!(log.0.lock().as_slice(), ["a 7", "a 7", "a 7", "a 7"]);
    tokio::time::sleep(S).await;
    assert_eq!(log.0.lock()[4], "a 9");
    playing.end().await.unwrap();
}
