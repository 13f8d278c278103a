//! What the tests rely on.

use std::path::Path;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::Api;
use kube_client::api::PostParams;
use kube_informer_e2e::{Options, RealServer, ServerError, skip};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_start_says_why() {
    if skip() {
        return;
    }
    let error = RealServer::start(Options::new().flag("--no-such-flag")).await.unwrap_err();
    assert!(matches!(error, ServerError::Ended { .. }), "{error:?}");
    assert!(error.to_string().contains("unknown flag: --no-such-flag"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_keeps_its_data_and_its_users_over_a_restart_and_leaves_nothing_behind() {
    if skip() {
        return;
    }
    let mut server = crate::start(Options::new().token("secret", "bob")).await;
    let (url, folder) = (server.url().to_owned(), server.log().parent().unwrap().to_owned());
    let configs = Api::default_namespaced(server.client().await.unwrap());
    crate::create(&configs, "kept", "1").await;
    server.restart().await.unwrap();
    assert_eq!(server.url(), url);
    let configs: Api<ConfigMap> = Api::default_namespaced(server.client_for_token("secret").await.unwrap());
    configs.get("kept").await.expect("the client, the user and the object are what they were");
    let revision = server.compact().await.unwrap();
    assert!(revision > 1, "{revision}");
    assert!(server.version().starts_with("v1."), "{}", server.version());
    assert!(folder.is_dir());
    server.stop().await.unwrap();
    assert!(!folder.exists() || std::env::var_os("KUBE_INFORMER_E2E_KEEP").is_some());
    let refused = configs.get("kept").await.unwrap_err();
    assert!(!matches!(refused, kube_client::Error::Api(_)), "nobody answers: {refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_takes_users_from_a_file_and_may_have_no_watch_cache_of_a_resource() {
    if skip() {
        return;
    }
    let tokens = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tokens.csv");
    std::fs::write(&tokens, "of-eve,eve,eve,\"system:masters\"\nof-mallory,mallory,mallory\n").unwrap();
    let options = Options::new().rbac().token_file(&tokens).without_watch_cache_of("configmaps");
    let server = crate::start(options.max_requests_inflight(50)).await;
    let mallory: Api<ConfigMap> =
        Api::default_namespaced(server.client_for_token("of-mallory").await.unwrap());
    let refused = mallory.get("a").await.unwrap_err().to_string();
    assert!(refused.contains("User \"mallory\" cannot get resource"), "{refused}");

    let eve = server.client_for_token("of-eve").await.unwrap();
    let (configs, secrets) =
        (Api::default_namespaced(eve.clone()), Api::<Secret>::default_namespaced(eve.clone()));
    for name in ["a", "b", "c"] {
        crate::create(&configs, name, "1").await;
        let secret: Secret = serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).unwrap();
        secrets.create(&PostParams::default(), &secret).await.unwrap();
    }
    // What is in memory is sent whole at version 0.
    let page = async |resource: &str| {
        let path = format!("/api/v1/namespaces/default/{resource}?resourceVersion=0&limit=2");
        let list: serde_json::Value =
            eve.request(http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap();
        list["items"].as_array().unwrap().len()
    };
    assert_eq!((page("configmaps").await, page("secrets").await), (2, 3));
}
