//! Many kinds at once.

use std::time::Duration;

use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
use kube_informer::cache::{CacheError, CacheOptions, Kind, Query};
use kube_informer::discovery::Resources;
use kube_testserver::Rule;

use super::{cache, server};

#[tokio::test(start_paused = true)]
async fn sixty_kinds_in_one_cache_and_two_that_cannot_sync_hold_up_nobody() {
    let server = server().await;
    let client = server.in_process_client();
    let all = Resources::fetch(&client).await.unwrap();
    let mut kinds: Vec<ApiResource> =
        all.iter().filter(|one| one.can_be_followed()).map(|one| one.resource.clone()).take(59).collect();
    assert!(kinds.iter().any(|kind| kind.plural == "secrets"));
    kinds.push(ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget")));
    server.access().add_user("t", "alice", ["devs"]);
    server.access().set_rules([Rule::deny().resources(["secrets"]), Rule::allow()]);
    let options = CacheOptions::new();
    let cache = kube_informer::Cache::with(server.in_process_client_with_token("t"), options).unwrap();
    cache.start().unwrap();
    let kinds: Vec<Kind<DynamicObject>> = kinds.iter().map(|kind| cache.kind_of(kind)).collect();
    let started = tokio::time::Instant::now();
    let read = futures::future::join_all(kinds.iter().map(|kind| async {
        (kind.resource(), kind.list(&Query::new()).await.map(|objects| objects.len()))
    }))
    .await;
    assert!(started.elapsed() < Duration::from_secs(5));
    let failed: Vec<_> = read.iter().filter_map(|(name, read)| Some((name, read.as_ref().err()?))).collect();
    assert_eq!((read.len(), failed.len()), (60, 2), "{failed:?}");
    for (name, error) in failed {
        let code = if name == "secrets" { 403 } else { 404 };
        assert!(
            matches!(error, CacheError::CannotSync { cause, .. } if cause.code == code),
            "{name}: {error}"
        );
    }
    assert_eq!(cache.status().iter().filter(|(_, status)| status.synced).count(), 58);
    assert!(cache.synced().await.is_err());

    server.access().set_rules([]);
    server
        .seed(
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, \
             spec: {group: example.com, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, \
             versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}",
        )
        .unwrap();
    let late =
        kinds.iter().filter(|kind| ["secrets", "widgets.example.com"].contains(&kind.resource().as_str()));
    for kind in late {
        let mut status = kind.informer_now().await.unwrap().watch_status();
        tokio::time::timeout(crate::PATIENCE, status.wait_for(|status| status.synced))
            .await
            .unwrap()
            .unwrap();
        assert!(kind.list(&Query::new()).await.is_ok());
    }
    cache.synced().await.unwrap();
    cache.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn many_who_ask_at_once_share_one_watch() {
    let server = server().await;
    super::three(&server);
    let cache = cache(&server, CacheOptions::new());
    let reads = (0..50).map(|_| super::of_config_maps(&cache));
    assert!(futures::future::join_all(reads).await.iter().all(|keys| keys.len() == 3));
    assert_eq!(super::watches(&server, "configmaps"), 1);
}
