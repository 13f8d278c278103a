//! Many clients at once: nothing is lost, and of those who race one wins.

use futures::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::ResourceExt;
use kube_client::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::support::{config_map, config_maps, object, start_with_client, status_of, version, within};

const TASKS: usize = 20;

async fn together<T, F>(work: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(work(task))).collect();
    within(join_all(tasks)).await.into_iter().map(Result::unwrap).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patches_of_many_clients_all_land() {
    const EACH: usize = 10;
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    api.create(&PostParams::default(), &config_map("shared", "1")).await.unwrap();
    let before = server.resource_version();
    let versions = together(|task| {
        let api = api.clone();
        async move {
            let mut versions = Vec::new();
            for count in 1..=EACH {
                let patch = Patch::Merge(json!({"data": {format!("task-{task}"): count.to_string()}}));
                versions.push(version(&api.patch("shared", &PatchParams::default(), &patch).await.unwrap()));
            }
            versions
        }
    })
    .await;
    let mut versions: Vec<u64> = versions.into_iter().flatten().collect();
    versions.sort_unstable();
    let expected: Vec<u64> = (before + 1..=before + (TASKS * EACH) as u64).collect();
    assert_eq!(versions, expected, "each patch is a write of its own");
    let data = api.get("shared").await.unwrap().data.unwrap();
    for task in 0..TASKS {
        assert_eq!(data[&format!("task-{task}")], EACH.to_string());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_updates_of_one_version_exactly_one_wins() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let mut current = api.create(&PostParams::default(), &config_map("shared", "1")).await.unwrap();
    for round in 0..10 {
        let results = together(|task| {
            let (api, mut mine) = (api.clone(), current.clone());
            mine.data = config_map("shared", &format!("{round} {task}")).data;
            async move { api.replace("shared", &PostParams::default(), &mine).await }
        })
        .await;
        let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, TASKS - 1), "round {round}");
        for error in lost.into_iter().filter_map(Result::err) {
            let status = status_of(error);
            assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
        }
        let winner = won.into_iter().next().unwrap().unwrap();
        current = api.get("shared").await.unwrap();
        assert_eq!(current, winner, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_counter_that_is_read_and_written_back_loses_no_step() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    api.create(&PostParams::default(), &config_map("counter", "0")).await.unwrap();
    together(|_| {
        let api = api.clone();
        async move {
            loop {
                let mut counter = api.get("counter").await.unwrap();
                let value = counter.data.as_mut().unwrap().get_mut("value").unwrap();
                *value = (value.parse::<usize>().unwrap() + 1).to_string();
                match api.replace("counter", &PostParams::default(), &counter).await {
                    Ok(_) => return,
                    Err(error) => assert_eq!(status_of(error).code, 409),
                }
            }
        }
    })
    .await;
    assert_eq!(api.get("counter").await.unwrap().data.unwrap()["value"], TASKS.to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_creates_and_of_deletes_of_one_name_exactly_one_wins() {
    let (_server, client) = start_with_client().await;
    let api: Api<ConfigMap> = config_maps(&client);
    let created = together(|task| {
        let api = api.clone();
        async move { api.create(&PostParams::default(), &config_map("one", &task.to_string())).await }
    })
    .await;
    assert_eq!(created.iter().filter(|result| result.is_ok()).count(), 1);
    for error in created.into_iter().filter_map(Result::err) {
        assert_eq!(status_of(error).reason, "AlreadyExists");
    }
    let deleted = together(|_| {
        let api = api.clone();
        async move { api.delete("one", &DeleteParams::default()).await.map(|_| ()) }
    })
    .await;
    assert_eq!(deleted.iter().filter(|result| result.is_ok()).count(), 1);
    for error in deleted.into_iter().filter_map(Result::err) {
        assert_eq!(status_of(error).reason, "NotFound");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_names_of_many_clients_are_all_different() {
    let (_server, client) = start_with_client().await;
    let api: Api<ConfigMap> = config_maps(&client);
    let names = together(|_| {
        let api = api.clone();
        async move {
            let new = object(json!({"metadata": {"generateName": "n-"}}));
            api.create(&PostParams::default(), &new).await.unwrap().name_any()
        }
    })
    .await;
    let different: std::collections::BTreeSet<String> = names.into_iter().collect();
    assert_eq!(different.len(), TASKS);
}
