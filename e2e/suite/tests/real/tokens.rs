//! A token that expires or is taken back is trouble, and ends when there is a new one.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{RoleBinding, RoleRef, Subject};
use kube_client::Client;
use kube_client::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube_client::config::AuthInfo;
use kube_informer::SharedInformer;
use kube_informer::source::KubeSource;
use kube_informer_e2e::{Proxy, skip};
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair};
use serde_json::Value;

use crate::heard::listen;
use crate::{caught_up, create, namespace, quick, shared, synced, trouble};

/// A server takes a token for so long after it has expired: clocks differ.
const GRACE: i64 = 60;

/// A client reads its token's file again after a minute at the latest.
const A_WHILE: Duration = Duration::from_secs(150);

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

/// An account that may read everything in its namespace, of the same name.
async fn make_account(admin: &Client, name: &str) {
    let account = ServiceAccount { metadata: named(name), ..ServiceAccount::default() };
    Api::namespaced(admin.clone(), name).create(&PostParams::default(), &account).await.unwrap();
    let binding = RoleBinding {
        metadata: named(name),
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".into()),
            kind: "ClusterRole".into(),
            name: "cluster-admin".into(),
        },
        subjects: Some(vec![Subject {
            api_group: None,
            kind: "ServiceAccount".into(),
            name: name.into(),
            namespace: Some(name.into()),
        }]),
    };
    Api::namespaced(admin.clone(), name).create(&PostParams::default(), &binding).await.unwrap();
}

/// A token of the account that is good for as long as a secret is there.
async fn issue(admin: &Client, account: &str, secret: &str) -> String {
    let bound = Secret { metadata: named(secret), ..Secret::default() };
    let bound: Secret =
        Api::namespaced(admin.clone(), account).create(&PostParams::default(), &bound).await.unwrap();
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
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), account);
    let issued = accounts.create_token_request(account, &PostParams::default(), &request).await.unwrap();
    issued.status.unwrap().token.unwrap()
}

/// The same token, but one that expires in some seconds: a server issues none for less than ten minutes.
fn short_lived(token: &str, keys: &Path) -> String {
    let mut parts = token.split('.');
    let (head, claims) = (parts.next().unwrap(), parts.next().unwrap());
    let mut claims: Value = serde_json::from_slice(&bytes(claims)).unwrap();
    claims["exp"] = (claims["iat"].as_i64().unwrap() + 5 - GRACE).into();
    let signed = format!("{head}.{}", text(claims.to_string().as_bytes()));

    let key = std::fs::read_to_string(keys.join("account.key")).unwrap();
    let key: String = key.lines().filter(|line| !line.starts_with('-')).collect();
    // SEC 1 of P-256: the private key is behind seven bytes, and the public key is the end.
    let key = bytes(&key);
    let (private, public) = (&key[7..39], &key[key.len() - 65..]);
    let random = SystemRandom::new();
    let algorithm = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
    let key = EcdsaKeyPair::from_private_key_and_public_key(algorithm, private, public, &random).unwrap();
    let signature = key.sign(&random, signed.as_bytes()).unwrap();
    format!("{signed}.{}", text(signature.as_ref()))
}

/// Base64 as tokens have it.
fn text(bytes: &[u8]) -> String {
    let text = serde_json::to_value(ByteString(bytes.to_vec())).unwrap();
    text.as_str().unwrap().trim_end_matches('=').replace('+', "-").replace('/', "_")
}

fn bytes(text: &str) -> Vec<u8> {
    let mut text = text.replace('-', "+").replace('_', "/");
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    serde_json::from_value::<ByteString>(text.into()).unwrap().0
}

/// Follows with a token that becomes worthless, and after a while is replaced in its file.
async fn replaced(name: &str, expires: bool) {
    let server = shared().await;
    let admin = server.client().await.unwrap();
    let configs = namespace(&admin, name).await;
    create(&configs, "a", "1").await;
    make_account(&admin, name).await;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let first = issue(&admin, name, "first").await;
    let first = if expires { short_lived(&first, server.keys()) } else { first };
    std::fs::write(&file, &first).unwrap();

    let proxy = Proxy::start(server.address()).await.unwrap();
    let mut config = server.config_at(&proxy.url()).await.unwrap();
    let token_file = Some(file.to_string_lossy().into_owned());
    config.auth_info = AuthInfo { token_file, ..AuthInfo::default() };
    let source = KubeSource::<ConfigMap>::namespaced(Client::try_from(config).unwrap(), name, &());
    let informer = SharedInformer::builder(source).config(quick()).build();
    let heard = listen(&informer);
    informer.start();
    synced(&informer).await;
    caught_up(&informer, &configs).await;

    let secrets: Api<Secret> = Api::namespaced(admin.clone(), name);
    if !expires {
        secrets.delete("first", &DeleteParams::default()).await.unwrap();
    }
    // The server believes a token for some seconds after it has looked at it, and an open watch goes on.
    let refused = async {
        while trouble(&informer.status()) != Some(401) {
            proxy.cut();
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    tokio::time::timeout(A_WHILE, refused).await.expect("it is refused");
    create(&configs, "b", "1").await;
    assert_eq!(informer.store().list().len(), 1, "what was seen is kept, and no more is seen");

    std::fs::write(&file, issue(&admin, name, "second").await).unwrap();
    let mut status = informer.watch_status();
    let over = status.wait_for(|status| status.trouble.is_none() && status.objects == 2);
    tokio::time::timeout(A_WHILE, over).await.expect("the trouble is over").unwrap();
    caught_up(&informer, &configs).await;
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    informer.shutdown().await;
}

/// Together, since most of it is waiting.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_expires_or_is_taken_back_is_trouble_until_it_is_replaced() {
    if skip() {
        return;
    }
    tokio::join!(replaced("token-expires", true), replaced("token-taken-back", false));
}
