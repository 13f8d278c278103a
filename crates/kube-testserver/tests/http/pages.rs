//! Lists page by page: consistent while others write, and honest when that is no longer possible.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Client;
use kube_client::api::{Api, DeleteParams, ListParams, PostParams};
use kube_testserver::TestServer;

use crate::support::{
    config_map, config_maps, create_all, get, get_json, labelled, names, start_with_client, status_of,
};

const COUNT: usize = 25;

async fn fill(client: &Client) -> Api<ConfigMap> {
    let api = config_maps(client);
    for number in 0..COUNT {
        create_all(&api, &[&format!("n{number:02}")]).await;
    }
    api
}

#[tokio::test]
async fn pages_show_one_version_whatever_is_written_meanwhile() {
    let (server, client) = start_with_client().await;
    let api = fill(&client).await;
    let at = server.resource_version().to_string();
    let mut params = ListParams::default().limit(10);
    let mut seen = Vec::new();
    for (page, remaining) in [(0, Some(15)), (1, Some(5)), (2, None)] {
        let list = api.list(&params).await.unwrap();
        assert_eq!(list.metadata.resource_version.as_deref(), Some(at.as_str()), "page {page}");
        assert_eq!(list.metadata.remaining_item_count, remaining, "page {page}");
        for item in &list.items {
            assert_eq!(item.data.as_ref().unwrap()["value"], "1", "page {page}");
        }
        seen.extend(names(&list.items));
        match (list.metadata.continue_, remaining) {
            (Some(token), Some(_)) => params = ListParams::default().limit(10).continue_token(&token),
            (None, None) => {}
            other => panic!("page {page}: {other:?}"),
        }
        // On this side and on that of the place where the next page begins.
        let new = PostParams::default();
        api.delete(&format!("n{:02}", page * 3 + 2), &DeleteParams::default()).await.unwrap();
        api.delete(&format!("n{:02}", 20 + page), &DeleteParams::default()).await.unwrap();
        create_all(&api, &[&format!("n{page:02}-new"), &format!("n2{page}-new")]).await;
        api.replace(&format!("n1{}", page + 5), &new, &config_map(&format!("n1{}", page + 5), "2"))
            .await
            .unwrap();
    }
    let expected: Vec<String> = (0..COUNT).map(|number| format!("n{number:02}")).collect();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_page_that_ends_exactly_at_the_end_is_the_last() {
    let (_server, client) = start_with_client().await;
    let api = fill(&client).await;
    let list = api.list(&ListParams::default().limit(COUNT as u32)).await.unwrap();
    assert_eq!(
        (list.items.len(), list.metadata.continue_, list.metadata.remaining_item_count),
        (COUNT, None, None)
    );
}

#[tokio::test]
async fn selected_pages_do_not_guess_how_many_remain() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    for number in 0..6 {
        let label = if number % 2 == 0 { "even" } else { "odd" };
        api.create(&PostParams::default(), &labelled(&format!("n{number}"), label, "1")).await.unwrap();
    }
    let first = api.list(&ListParams::default().labels("app=even").limit(2)).await.unwrap();
    assert_eq!(names(&first.items), ["n0", "n2"]);
    assert_eq!(first.metadata.remaining_item_count, None);
    let token = first.metadata.continue_.unwrap();
    let rest =
        api.list(&ListParams::default().labels("app=even").limit(2).continue_token(&token)).await.unwrap();
    assert_eq!(names(&rest.items), ["n4"]);
    assert_eq!(rest.metadata.continue_, None);
}

#[tokio::test]
async fn an_expired_token_brings_one_that_goes_on_at_the_present() {
    let (server, client) = start_with_client().await;
    let api = fill(&client).await;
    let first = api.list(&ListParams::default().limit(10)).await.unwrap();
    let token = first.metadata.continue_.unwrap();
    api.delete("n12", &DeleteParams::default()).await.unwrap();
    create_all(&api, &["n13-new"]).await;
    server.compact();

    let path = format!("/api/v1/namespaces/default/configmaps?limit=10&continue={token}");
    let found = get(&client, &path).await;
    assert_eq!(found.code, 410);
    let status = found.json();
    assert_eq!(status["reason"], "Expired");
    let next = status["metadata"]["continue"].as_str().expect("a token that still works");
    let params = ListParams::default().limit(10).continue_token(&token);
    assert_eq!(status_of(api.list(&params).await.unwrap_err()).code, 410, "again and again");

    let now = server.resource_version().to_string();
    let second = api.list(&ListParams::default().limit(10).continue_token(next)).await.unwrap();
    assert_eq!(second.metadata.resource_version.as_deref(), Some(now.as_str()));
    let seen = names(&second.items);
    let expected = ["n10", "n11", "n13", "n13-new", "n14", "n15", "n16", "n17", "n18", "n19"];
    assert_eq!(seen, expected, "the remainder, as it is now");
    let token = second.metadata.continue_.unwrap();
    let last = api.list(&ListParams::default().continue_token(&token)).await.unwrap();
    assert_eq!(names(&last.items), ["n20", "n21", "n22", "n23", "n24"]);
}

#[tokio::test]
async fn tokens_that_nobody_made_are_refused() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let status = status_of(api.list(&ListParams::default().continue_token("bogus")).await.unwrap_err());
    assert_eq!((status.code, status.reason.as_str()), (400, "BadRequest"));
    let found = get(&client, "/api/v1/configmaps?continue=bogus&resourceVersion=5").await;
    assert_eq!(found.code, 400);
}

#[tokio::test]
async fn version_zero_ignores_the_limit_with_a_watch_cache_and_honours_it_without() {
    for (cache, wanted) in [(true, COUNT), (false, 3)] {
        let server = TestServer::builder().watch_cache(cache).start().await.unwrap();
        let client = server.client().unwrap();
        fill(&client).await;
        let list = get_json(&client, "/api/v1/namespaces/default/configmaps?resourceVersion=0&limit=3").await;
        assert_eq!(list["items"].as_array().unwrap().len(), wanted, "watch_cache({cache})");
        assert_eq!(list["metadata"].get("continue").is_some(), !cache);
        // Without a version the limit always counts.
        let list = get_json(&client, "/api/v1/namespaces/default/configmaps?limit=3").await;
        assert_eq!(list["items"].as_array().unwrap().len(), 3);
    }
}

#[tokio::test]
async fn pages_cross_namespaces_in_order() {
    let (server, client) = start_with_client().await;
    for namespace in ["a", "b"] {
        for name in ["x", "y"] {
            let map = serde_json::json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace},
            });
            server.put(&map).unwrap();
        }
    }
    let api: Api<ConfigMap> = Api::all(client);
    let mut params = ListParams::default().limit(3);
    let mut seen = Vec::new();
    loop {
        let list = api.list(&params).await.unwrap();
        seen.extend(list.items.iter().map(|item| {
            format!("{}/{}", item.metadata.namespace.as_ref().unwrap(), item.metadata.name.as_ref().unwrap())
        }));
        let Some(token) = list.metadata.continue_ else { break };
        params = ListParams::default().limit(3).continue_token(&token);
    }
    assert_eq!(seen, ["a/x", "a/y", "b/x", "b/y"]);
}
