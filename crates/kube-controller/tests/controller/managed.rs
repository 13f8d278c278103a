//! Controllers in a manager.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_controller::LeaderElector;
use kube_controller::controller::ControllerPhase;
use kube_controller::manager::Manager;
use kube_informer::SharedInformerFactory;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_standby_listens_and_works_as_soon_as_it_leads() {
    let server = server(&configs(&["a"])).await;
    let election = |who: &str| {
        LeaderElector::builder(server.in_process_client(), "default", "me")
            .identity(who)
            .release_on_cancel(true)
    };
    let (leaves, mut other) = (CancellationToken::new(), election("other").build().unwrap());
    let leader = leaves.clone();
    let leading = tokio::spawn(async move {
        other.run(&leader, |leading| async move { leading.token().cancelled().await }).await
    });
    tokio::time::sleep(S).await;

    let manager = Manager::builder().leader_election(election("standby")).build().await.unwrap();
    let factory = SharedInformerFactory::new(server.in_process_client());
    let known = factory.of::<ConfigMap>().unwrap();
    let (warm, cold, anywhere) = (Log::default(), Log::default(), Log::default());
    let builder = |name: &str| Controller::builder(name).for_(&known);
    let warm_one = builder("warm").warms_up(true).build(write_down(&warm)).unwrap();
    let cold_one = builder("cold").build(write_down(&cold)).unwrap();
    let handles = [warm_one.handle(), cold_one.handle()];
    manager.add(warm_one).unwrap();
    manager.add(cold_one).unwrap();
    manager.add(builder("anywhere").needs_leader(false).build(write_down(&anywhere)).unwrap()).unwrap();
    manager.add(factory).unwrap();
    let stop = CancellationToken::new();
    let running = tokio::spawn(manager.run(stop.clone()));
    tokio::time::sleep(10 * S).await;
    assert_eq!(anywhere.take(), ["default/a"], "it needs no leader");
    assert!(warm.take().is_empty() && cold.take().is_empty());
    let states = handles.each_ref().map(|handle| (handle.status().phase, handle.status().waiting));
    assert_eq!(states, [(ControllerPhase::Warm, 1), (ControllerPhase::Created, 0)]);

    leaves.cancel();
    leading.await.unwrap();
    tokio::time::sleep(5 * S).await;
    assert_eq!((warm.take(), cold.take()), (vec!["default/a".to_owned()], vec!["default/a".to_owned()]));
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(handles[0].status().phase, ControllerPhase::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_fails_ends_the_manager_and_is_named() {
    let manager = Manager::builder().build().await.unwrap();
    let bad =
        ControllerBuilder::<String>::new("bad").func("file", |_, _| async { Err("it is not there".into()) });
    manager.add(bad.build(write_down(&Log::default())).unwrap()).unwrap();
    let error = manager.run(CancellationToken::new()).await.unwrap_err().to_string();
    assert!(error.contains("the controller \"bad\" cannot listen to file: it is not there"), "{error}");
}
