//! What the tests rely on.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Api;
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
