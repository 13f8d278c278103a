//! Foos that make no sense, and Deployments that are somebody else's.

use kube_client::Api;
use kube_client::api::PostParams;
use kube_controller::controller::ErrorKind;

use super::*;

const FOREIGN: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: taken, namespace: default, labels: {whose: theirs}}
spec:
  replicas: 1
  selector: {matchLabels: {app: theirs}}
  template: {metadata: {labels: {app: theirs}}, spec: {containers: [{name: c, image: theirs}]}}
";

#[tokio::test(start_paused = true)]
async fn a_deployment_of_somebody_else_is_not_taken_over() {
    let server = server().await;
    server.seed(FOREIGN).unwrap();
    let before = server.object(DEPLOYMENT, "default", "taken").unwrap();
    server.put(&foo("web", "taken", 3)).unwrap();
    server.put(&foo("fine", "fine", 1)).unwrap();
    let process = Process::start(&server);
    tokio::time::sleep(S).await;
    assert_eq!(server.object(DEPLOYMENT, "default", "taken").unwrap(), before, "nothing was written to it");
    assert_eq!(read_foo(&server, "web").status, None);
    assert_eq!(read_foo(&server, "fine").status, available(0), "others are not held up");
    let status = process.handle.status();
    assert!(status.errors > 1 && status.terminal_errors == 0, "it is tried again");
    let failure = status.last_failure.unwrap();
    assert_eq!(failure.request, "default/web");
    assert_eq!(failure.message, "Resource \"taken\" already exists and is not managed by Foo");
    let exists = "web Warning ErrResourceExists Resource \"taken\" already exists and is not managed by Foo";
    assert_eq!(events(&server), ["fine Normal Synced Foo synced successfully", exists]);
    // When it has gone, the name is free.
    server.delete(DEPLOYMENT, "default", "taken").unwrap();
    tokio::time::sleep(RESYNC + S).await;
    assert_eq!(read_deployment(&server, "taken").unwrap().spec.replicas, Some(3));
    assert_eq!(read_foo(&server, "web").status, available(0));
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_of_a_foo_that_had_the_same_name_is_not_taken_over() {
    let server = TestServer::start().await.unwrap();
    server.seed(include_str!("../../deploy/crd.yaml")).unwrap();
    server.put(&foo("web", "web", 3)).unwrap();
    let process = Process::start(&server);
    settle().await;
    // Nobody collects garbage here: the Deployment of the first stays.
    server.delete(FOO, "default", "web").unwrap();
    server.put(&foo("web", "web", 5)).unwrap();
    settle().await;
    assert_eq!(read_deployment(&server, "web").unwrap().spec.replicas, Some(3));
    let message = process.handle.status().last_failure.unwrap().message;
    assert_eq!(message, "Resource \"web\" already exists and is not managed by Foo");
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_foo_that_names_no_deployment_is_an_error_that_is_not_tried_again() {
    let server = server().await;
    server.put(&foo("nameless", "", 3)).unwrap();
    let process = Process::start(&server);
    tokio::time::sleep(S).await;
    let status = process.handle.status();
    assert_eq!((status.reconciles, status.terminal_errors), (1, 1));
    let failure = status.last_failure.unwrap();
    assert_eq!(failure.kind, ErrorKind::Terminal);
    let why = "spec.deploymentName is empty; say what the Deployment shall be called";
    assert_eq!(failure.message, format!("Foo default/nameless: {why}"));
    assert_eq!(events(&server), [format!("nameless Warning ErrInvalidFoo {why}")]);
    assert_eq!(server.objects(DEPLOYMENT).unwrap().len(), 0);
    // Somebody mends it.
    server.mutate(FOO, "default", "nameless", |foo| foo["spec"]["deploymentName"] = json!("named")).unwrap();
    settle().await;
    assert_eq!(read_deployment(&server, "named").unwrap().spec.replicas, Some(3));
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_name_that_no_server_takes_is_told_as_the_server_tells_it() {
    let server = server().await;
    server.put(&foo("odd", "Not A Name", 3)).unwrap();
    let process = Process::start(&server);
    settle().await;
    let message = process.handle.status().last_failure.unwrap().message;
    assert!(message.contains("Not A Name") && message.contains("metadata.name"), "{message}");
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn more_replicas_than_a_foo_may_have_are_refused_by_the_server() {
    let server = server().await;
    let foos: Api<Foo> = Api::namespaced(server.in_process_client(), "default");
    for (replicas, fine) in [(0, false), (1, true), (10, true), (11, false)] {
        let mut one = kube_core::DynamicObject::new(
            &format!("foo-{replicas}"),
            &kube_core::ApiResource::erase::<Foo>(&()),
        );
        one.data = json!({"spec": {"deploymentName": "x", "replicas": replicas}});
        let api: Api<kube_core::DynamicObject> = Api::namespaced_with(
            server.in_process_client(),
            "default",
            &kube_core::ApiResource::erase::<Foo>(&()),
        );
        let made = api.create(&PostParams::default(), &one).await;
        assert_eq!(made.is_ok(), fine, "{replicas}");
        if let Err(error) = made {
            assert!(error.to_string().contains("spec.replicas"), "{error}");
        }
    }
    assert_eq!(foos.list(&Default::default()).await.unwrap().items.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_know_foos_is_told_apart() {
    let server = TestServer::start().await.unwrap();
    let process = Process::start(&server);
    let error = process.running.await.unwrap().unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("\"sample-controller\" has waited 120s in vain for foos.samplecontroller.k8s.io"),
        "{text}"
    );
    assert!(text.contains("404") && !text.contains("deployments"), "{text}");
}
