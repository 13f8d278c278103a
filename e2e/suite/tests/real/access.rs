//! What a user may not see is trouble, and ends when they may.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, RoleBinding, RoleRef, Subject};
use kube_client::Client;
use kube_client::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube_informer::SharedInformer;
use kube_informer::source::KubeSource;
use kube_informer_e2e::{Proxy, skip};

use crate::heard::listen;
use crate::{TOKEN, caught_up, create, namespace, quick, shared, synced, trouble, until};

const NAME: &str = "permission";

fn named() -> ObjectMeta {
    ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() }
}

/// A role that may read configs.
async fn make_role(client: &Client) {
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        verbs: ["get", "list", "watch"].map(str::to_owned).into(),
        ..PolicyRule::default()
    };
    let role = ClusterRole { metadata: named(), rules: Some(vec![rule]), ..ClusterRole::default() };
    Api::all(client.clone()).create(&PostParams::default(), &role).await.unwrap();
}

async fn grant(bindings: &Api<RoleBinding>) {
    let (group, user) = ("rbac.authorization.k8s.io", "alice");
    let binding = RoleBinding {
        metadata: named(),
        role_ref: RoleRef { api_group: Some(group.into()), kind: "ClusterRole".into(), name: NAME.into() },
        subjects: Some(vec![Subject {
            api_group: Some(group.into()),
            kind: "User".into(),
            name: user.into(),
            namespace: None,
        }]),
    };
    bindings.create(&PostParams::default(), &binding).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_that_is_taken_and_given_back_is_trouble_that_ends() {
    if skip() {
        return;
    }
    let server = shared().await;
    let admin = server.client().await.unwrap();
    let configs = namespace(&admin, NAME).await;
    let bindings: Api<RoleBinding> = Api::namespaced(admin.clone(), NAME);
    create(&configs, "a", "1").await;
    make_role(&admin).await;

    let proxy = Proxy::start(server.address()).await.unwrap();
    let alice = server.client_for_token_at(TOKEN, &proxy.url()).await.unwrap();
    let source = KubeSource::<ConfigMap>::namespaced(alice, NAME, &());
    let informer = SharedInformer::builder(source).config(quick()).build();
    let heard = listen(&informer);
    informer.start();
    until(&informer, "it is refused", |status| trouble(status) == Some(403)).await;
    assert!(!informer.has_synced());

    grant(&bindings).await;
    synced(&informer).await;
    caught_up(&informer, &configs).await;

    // A watch that is open goes on: who may open one is asked when it is opened.
    bindings.delete(NAME, &DeleteParams::default()).await.unwrap();
    create(&configs, "b", "1").await;
    caught_up(&informer, &configs).await;
    // The server learns of the deleted binding a moment later, so more than one watch may have to end.
    let refused = async {
        while trouble(&informer.status()) != Some(403) {
            proxy.cut();
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(crate::PATIENCE, refused).await.expect("it is refused");
    create(&configs, "c", "1").await;
    assert_eq!(informer.store().list().len(), 2, "what was seen is kept, and no more is seen");

    grant(&bindings).await;
    caught_up(&informer, &configs).await;
    until(&informer, "the trouble is over", |status| status.trouble.is_none()).await;
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    informer.shutdown().await;
}
