//! A token that is taken back is trouble, and ends when there is a new one.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{RoleBinding, RoleRef, Subject};
use kube_client::Client;
use kube_client::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube_client::config::AuthInfo;
use kube_informer::SharedInformer;
use kube_informer::source::KubeSource;
use kube_informer_e2e::{Proxy, skip};

use crate::heard::listen;
use crate::{caught_up, create, namespace, quick, shared, synced, trouble};

const NAME: &str = "tokens";

/// A client reads its token's file again after a minute at the latest.
const A_WHILE: Duration = Duration::from_secs(150);

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

/// An account that may read everything in its namespace.
async fn make_account(admin: &Client) {
    let account = ServiceAccount { metadata: named(NAME), ..ServiceAccount::default() };
    Api::namespaced(admin.clone(), NAME).create(&PostParams::default(), &account).await.unwrap();
    let binding = RoleBinding {
        metadata: named(NAME),
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".into()),
            kind: "ClusterRole".into(),
            name: "cluster-admin".into(),
        },
        subjects: Some(vec![Subject {
            api_group: None,
            kind: "ServiceAccount".into(),
            name: NAME.into(),
            namespace: Some(NAME.into()),
        }]),
    };
    Api::namespaced(admin.clone(), NAME).create(&PostParams::default(), &binding).await.unwrap();
}

/// Writes a token into a file that is good for as long as a secret of a name is there.
async fn issue(admin: &Client, secret: &str, file: &Path) {
    let bound = Secret { metadata: named(secret), ..Secret::default() };
    let bound: Secret =
        Api::namespaced(admin.clone(), NAME).create(&PostParams::default(), &bound).await.unwrap();
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            bound_object_ref: Some(BoundObjectReference {
                api_version: Some("v1".into()),
                kind: Some("Secret".into()),
                name: Some(secret.into()),
                uid: bound.metadata.uid,
            }),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), NAME);
    let issued = accounts.create_token_request(NAME, &PostParams::default(), &request).await.unwrap();
    std::fs::write(file, issued.status.unwrap().token.unwrap()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_taken_back_and_replaced_is_trouble_that_ends() {
    if skip() {
        return;
    }
    let server = shared().await;
    let admin = server.client().await.unwrap();
    let configs = namespace(&admin, NAME).await;
    create(&configs, "a", "1").await;
    make_account(&admin).await;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("token");
    issue(&admin, "first", &file).await;

    let proxy = Proxy::start(server.address()).await.unwrap();
    let mut config = server.config_at(&proxy.url()).await.unwrap();
    let token_file = Some(file.to_string_lossy().into_owned());
    config.auth_info = AuthInfo { token_file, ..AuthInfo::default() };
    let source = KubeSource::<ConfigMap>::namespaced(Client::try_from(config).unwrap(), NAME, &());
    let informer = SharedInformer::builder(source).config(quick()).build();
    let heard = listen(&informer);
    informer.start();
    synced(&informer).await;
    caught_up(&informer, &configs).await;

    let secrets: Api<Secret> = Api::namespaced(admin.clone(), NAME);
    secrets.delete("first", &DeleteParams::default()).await.unwrap();
    // The server believes a token for some seconds after it has looked at it.
    let refused = async {
        while trouble(&informer.status()) != Some(401) {
            proxy.cut();
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    tokio::time::timeout(A_WHILE, refused).await.expect("it is refused");
    create(&configs, "b", "1").await;
    assert_eq!(informer.store().list().len(), 1, "what was seen is kept, and no more is seen");

    issue(&admin, "second", &file).await;
    let mut status = informer.watch_status();
    let over = status.wait_for(|status| status.trouble.is_none() && status.objects == 2);
    tokio::time::timeout(A_WHILE, over).await.expect("the trouble is over").unwrap();
    caught_up(&informer, &configs).await;
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    informer.shutdown().await;
}
