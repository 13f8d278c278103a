//! A Foo and its Deployment.

use kube_testserver::Fault;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_foo_gets_its_deployment_and_its_status() {
    let server = server().await;
    server.put(&foo("web", "web-deployment", 3)).unwrap();
    let process = Process::start(&server);
    settle().await;
    let deployment = read_deployment(&server, "web-deployment").unwrap();
    let web = read_foo(&server, "web");
    let owners = deployment.metadata.owner_references.unwrap();
    assert_eq!(owners.len(), 1);
    let owner = &owners[0];
    assert_eq!(
        (owner.api_version.as_str(), owner.kind.as_str()),
        ("samplecontroller.k8s.io/v1alpha1", "Foo")
    );
    assert_eq!((owner.name.as_str(), Some(owner.uid.as_str())), ("web", web.metadata.uid.as_deref()));
    assert_eq!((owner.controller, owner.block_owner_deletion), (Some(true), Some(true)));
    assert_eq!(deployment.spec.replicas, Some(3));
    let labels = deployment.spec.template.metadata.unwrap().labels.unwrap();
    assert_eq!((labels["app"].as_str(), labels["controller"].as_str()), ("nginx", "web"));
    assert_eq!(deployment.spec.selector.match_labels.unwrap(), labels);
    let container = &deployment.spec.template.spec.unwrap().containers[0];
    assert_eq!((container.name.as_str(), container.image.as_deref()), ("nginx", Some("nginx:latest")));
    let managers = deployment.metadata.managed_fields.unwrap();
    assert_eq!(managers[0].manager.as_deref(), Some("sample-controller"));
    assert_eq!(web.status, available(0), "nobody runs it");
    process.end().await;
    assert_eq!(events(&server), ["web Normal Synced Foo synced successfully"]);
}

#[tokio::test(start_paused = true)]
async fn the_status_follows_the_deployment() {
    let server = server().await;
    let process = Process::start(&server);
    let others = start_cluster(&server);
    settle().await;
    server.put(&foo("web", "web", 3)).unwrap();
    settle().await;
    assert_eq!(read_foo(&server, "web").status, available(3));
    server.mutate(FOO, "default", "web", |foo| foo["spec"]["replicas"] = json!(5)).unwrap();
    settle().await;
    assert_eq!(read_deployment(&server, "web").unwrap().spec.replicas, Some(5));
    assert_eq!(read_foo(&server, "web").status, available(5));
    assert_eq!(process.handle.status().errors, 0);
    process.end().await;
    others.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn what_others_change_is_put_right() {
    let server = server().await;
    server.put(&foo("web", "web", 3)).unwrap();
    let process = Process::start(&server);
    settle().await;
    server
        .mutate(DEPLOYMENT, "default", "web", |deployment| {
            deployment["spec"]["replicas"] = json!(7);
            deployment["metadata"]["labels"] = json!({"note": "mine"});
        })
        .unwrap();
    settle().await;
    let deployment = read_deployment(&server, "web").unwrap();
    assert_eq!(deployment.spec.replicas, Some(3));
    assert_eq!(deployment.metadata.labels.unwrap()["note"], "mine", "what is not the Foo's is left alone");
    server.delete(DEPLOYMENT, "default", "web").unwrap();
    settle().await;
    assert_eq!(read_deployment(&server, "web").unwrap().spec.replicas, Some(3), "it is made anew");
    server.mutate(FOO, "default", "web", |foo| foo["status"]["availableReplicas"] = json!(9)).unwrap();
    tokio::time::sleep(RESYNC + S).await;
    assert_eq!(read_foo(&server, "web").status, available(0), "at the next resync");
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_foo_without_replicas_leaves_them_to_the_deployment() {
    let server = server().await;
    let mut any = foo("any", "any", 1);
    any["spec"].as_object_mut().unwrap().remove("replicas");
    server.put(&any).unwrap();
    let process = Process::start(&server);
    settle().await;
    assert_eq!(read_deployment(&server, "any").unwrap().spec.replicas, Some(1), "the server's default");
    server
        .mutate(DEPLOYMENT, "default", "any", |deployment| deployment["spec"]["replicas"] = json!(4))
        .unwrap();
    settle().await;
    assert_eq!(read_deployment(&server, "any").unwrap().spec.replicas, Some(4));
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn where_nothing_has_changed_nothing_is_written() {
    let server = server().await;
    let others = start_cluster(&server);
    server.put(&foo("web", "web", 3)).unwrap();
    let process = Process::start(&server);
    settle().await;
    server.clear_requests();
    let before = process.handle.status().reconciles;
    tokio::time::sleep(10 * RESYNC).await;
    assert!(process.handle.status().reconciles >= before + 9, "it is looked at with each resync");
    assert_eq!(writes(&server), []);
    process.end().await;
    others.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_goes_with_its_foo_and_a_foo_that_goes_is_left_alone() {
    let server = server().await;
    let mut kept = foo("kept", "kept", 2);
    kept["metadata"]["finalizers"] = json!(["example.com/wait"]);
    server.put(&foo("web", "web", 3)).unwrap();
    server.put(&kept).unwrap();
    let process = Process::start(&server);
    settle().await;
    server.delete(FOO, "default", "web").unwrap();
    server.delete(FOO, "default", "kept").unwrap();
    settle().await;
    assert!(read_deployment(&server, "web").is_none(), "nobody makes it anew");
    server.delete(DEPLOYMENT, "default", "kept").unwrap();
    settle().await;
    assert!(read_deployment(&server, "kept").is_none());
    assert_eq!(process.handle.status().errors, 0);
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn writes_that_fail_are_tried_again() {
    let server = server().await;
    server.inject(Fault::reply(500).on(Verb::Create).resource("deployments").times(2));
    server.inject(Fault::reply(503).on(Verb::Patch).resource("foos").times(2));
    server.put(&foo("web", "web", 3)).unwrap();
    let process = Process::start(&server);
    tokio::time::sleep(S).await;
    assert_eq!(read_deployment(&server, "web").unwrap().spec.replicas, Some(3));
    assert_eq!(read_foo(&server, "web").status, available(0));
    assert_eq!(process.handle.status().errors, 4);
    process.end().await;
}
