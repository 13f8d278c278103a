//! What happens in the embedded cluster, in paused time.

use k8s_openapi::jiff::SignedDuration;
use kube_testserver::{RequestRecord, Verb};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::*;

/// 2026-01-01T00:00:00Z.
const NEW_YEAR: i64 = 1_767_225_600;

const FOO: &str = "samplecontroller.k8s.io/v1alpha1/Foo";
const DEPLOYMENT: &str = "apps/v1/Deployment";
const REPLICA_SET: &str = "apps/v1/ReplicaSet";
const POD: &str = "v1/Pod";

/// Long enough for anything here; it costs no time.
const LONG: Duration = Duration::from_secs(300);

async fn embedded() -> Embedded {
    let begun = Instant::now();
    let server = server().seed(7).start_time(NEW_YEAR).start().await.unwrap();
    let client = server.in_process_client();
    let clock =
        move || Timestamp::new(NEW_YEAR, 0).unwrap() + SignedDuration::try_from(begun.elapsed()).unwrap();
    Embedded::on(server, client, Arc::new(clock), DEFAULT_PAUSE).await.unwrap()
}

/// How many there are of Foos, Deployments, ReplicaSets that want pods, and pods that run.
fn counted(server: &TestServer) -> [usize; 4] {
    let count = |kind: &str, counts: fn(&Value) -> bool| {
        server.objects(kind).unwrap().iter().filter(|object| counts(object)).count()
    };
    let runs = |pod: &Value| {
        pod["status"]["phase"] == "Running"
            && pod["spec"]["nodeName"].is_string()
            && pod["metadata"]["deletionTimestamp"].is_null()
    };
    [
        count(FOO, |_| true),
        count(DEPLOYMENT, |_| true),
        count(REPLICA_SET, |set| set["spec"]["replicas"] != 0),
        count(POD, runs),
    ]
}

/// Lets it live until so many things have been said; each is handed over before it is done, and kept.
async fn hear(embedded: &mut Embedded, count: usize, mut each: impl FnMut(&TestServer, &str)) -> Vec<String> {
    let (said, enough) = (Mutex::new(Vec::new()), tokio::sync::Notify::new());
    let Embedded { server, programs, story, .. } = embedded;
    let each = Mutex::new(&mut each);
    let say = async |text: String| {
        (each.lock())(server, &text);
        said.lock().push(text);
        if said.lock().len() == count {
            enough.notify_one();
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        () = enough.notified() => {}
        error = programs.failed() => panic!("{error}"),
        error = story.tell(say) => panic!("{error}"),
        () = tokio::time::sleep(LONG) => {}
    }
    said.into_inner()
}

#[tokio::test(start_paused = true)]
async fn controllers_make_of_a_foo_what_it_wants_at_each_step_and_nothing_is_left_in_the_end() {
    let mut embedded = embedded().await;
    let mut there = Vec::new();
    let said = hear(&mut embedded, 7, |server, _| there.push(counted(server))).await;
    let beginnings: Vec<&str> = said.iter().filter_map(|text| text.split(':').next()).collect();
    assert_eq!(
        beginnings,
        [
            "A Foo is created",
            "The Foo is scaled up",
            "The Foo is scaled down",
            "The Deployment gets the image nginx",
            "A Pod is deleted",
            "The Foo is deleted",
            "A Foo is created",
        ]
    );
    assert!(said[0].contains("shop/web wants 3") && said[6].contains("shop/cart wants 3"), "{said:?}");
    // What is there before each of them.
    let wanted =
        [[0, 0, 0, 0], [1, 1, 1, 3], [1, 1, 1, 5], [1, 1, 1, 2], [1, 1, 1, 2], [1, 1, 1, 2], [0, 0, 0, 0]];
    assert_eq!(there, wanted, "{said:?}");
    assert_eq!(embedded.server.objects(POD).unwrap().len(), 0);
    assert_eq!(embedded.server.objects(REPLICA_SET).unwrap().len(), 0);
    embedded.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_is_made_by_the_one_before_it_in_the_chain() {
    let mut embedded = embedded().await;
    hear(&mut embedded, 2, |_, _| {}).await;
    let is_create = |request: &RequestRecord| {
        request.verb == Some(Verb::Create) && request.namespace == "shop" && request.resource != "events"
    };
    let made: Vec<String> = embedded
        .server
        .requests()
        .iter()
        .filter(|one| is_create(one))
        .map(|one| one.resource.clone())
        .collect();
    assert_eq!(made[..6], ["foos", "deployments", "replicasets", "pods", "pods", "pods"], "{made:?}");
    let owner = |kind: &str| {
        let all = embedded.server.objects(kind).unwrap();
        let owners = all.iter().map(|one| one["metadata"]["ownerReferences"][0]["kind"].clone());
        owners.collect::<Vec<Value>>()
    };
    assert_eq!(owner(DEPLOYMENT), ["Foo"]);
    assert_eq!(owner(REPLICA_SET), ["Deployment"]);
    assert_eq!(owner(POD), ["ReplicaSet"; 3]);
    let foo = embedded.server.object(FOO, "shop", "web").unwrap().unwrap();
    assert_eq!(foo["status"]["availableReplicas"], 3);
    embedded.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn another_image_is_brought_out_by_another_replica_set() {
    let mut embedded = embedded().await;
    hear(&mut embedded, 5, |_, _| {}).await;
    let sets = embedded.server.objects(REPLICA_SET).unwrap();
    let mut state: Vec<(i64, &str)> = sets
        .iter()
        .map(|set| {
            let image = &set["spec"]["template"]["spec"]["containers"][0]["image"];
            (set["spec"]["replicas"].as_i64().unwrap(), image.as_str().unwrap())
        })
        .collect();
    state.sort_unstable();
    assert_eq!(state, [(0, "nginx:latest"), (2, "nginx:1.29")]);
    embedded.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_foo_that_somebody_else_deletes_is_left_alone_and_another_is_made() {
    let mut embedded = embedded().await;
    let said = hear(&mut embedded, 4, |server, text| {
        if text.starts_with("The Foo is scaled up") {
            server.delete(FOO, "shop", "web").unwrap();
        }
    })
    .await;
    assert!(
        said[2].starts_with("This was refused (foos.samplecontroller.k8s.io \"web\" not found"),
        "{said:?}"
    );
    assert!(said[3].starts_with("A Foo is created: shop/cart"), "{said:?}");
    embedded.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn events_do_not_pile_up() {
    let mut embedded = embedded().await;
    let mut counts = Vec::new();
    hear(&mut embedded, 31, |server, _| counts.push(server.objects("v1/Event").unwrap().len())).await;
    assert!(counts.iter().all(|count| *count <= 25), "{counts:?}");
    assert!(counts.ends_with(&[20]), "{counts:?}");
    embedded.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stopped_cluster_leaves_no_task_behind() {
    let before = Handle::current().metrics().num_alive_tasks();
    let mut embedded = embedded().await;
    hear(&mut embedded, 3, |_, _| {}).await;
    let did = embedded.stop().await.unwrap();
    assert!(did.starts_with("the server answered "), "{did}");
    // What was aborted is gone when the runtime has looked at it.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), before);
}
