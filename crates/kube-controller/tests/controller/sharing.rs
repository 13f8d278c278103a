//! Many controllers, one watch.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_informer::SharedInformerFactory;
use kube_testserver::Verb;

use super::*;

#[tokio::test(start_paused = true)]
async fn ten_controllers_on_one_kind_cost_one_watch() {
    let server = server(&configs(&["a", "b"])).await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let log = Log::default();
    let mut playing = Vec::new();
    for number in 0..10 {
        let builder = Controller::builder(format!("number-{number}"))
            .for_(&factory.of::<ConfigMap>().unwrap())
            .owns(&factory.of::<Secret>().unwrap());
        playing.push(Playing::new(builder.build(write_down(&log)).unwrap()));
    }
    settle().await;
    assert_eq!(log.take().len(), 20, "each hears of both");
    server.seed(&configs(&["c"])).unwrap();
    settle().await;
    assert_eq!(log.take(), vec!["default/c"; 10]);
    for resource in ["configmaps", "secrets"] {
        let requests = server.requests();
        let asked: Vec<_> = requests.iter().filter(|request| request.resource == resource).collect();
        let watches = asked.iter().filter(|request| request.verb == Some(Verb::Watch)).count();
        assert_eq!((watches, asked.len()), (1, 1), "{asked:?}");
    }
    for one in playing {
        one.end().await.unwrap();
    }
}
