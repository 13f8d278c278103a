//! Who may do what: tokens, rules, and questions about them.

use http::{Method, Request};
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenReview};
use k8s_openapi::api::authorization::v1::{SelfSubjectAccessReview, SubjectAccessReview};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube_client::Client;
use kube_client::api::{Api, DeleteParams, ListParams, PostParams, WatchParams};
use kube_client::client::Body;
use kube_testserver::{Rule, TestServer};
use serde_json::{Value, json};

use crate::support::{
    Answer, Follower, PROTOBUF, answer, config_map, config_maps, create_all, get, object, pods, refused,
    send_json, start, within,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A server that knows alice, who is a developer, and a client of hers.
async fn with_alice() -> (TestServer, Client) {
    let server = start().await;
    server.access().add_user("alice-token", "alice", ["developers"]);
    let alice = server.client_with_token("alice-token").unwrap();
    (server, alice)
}

/// A request without any token.
async fn anonymous(server: &TestServer, path: &str) -> Answer {
    let mut config = server.client_config();
    config.auth_info = kube_client::config::AuthInfo::default();
    let client = Client::try_from(config).unwrap();
    answer(&client, Request::get(path).body(Body::from(Vec::new())).unwrap()).await
}

#[tokio::test]
async fn an_unknown_token_is_unauthorized() {
    let (server, alice) = with_alice().await;
    let nobody = server.client_with_token("who?").unwrap();
    for path in [MAPS, "/version", "/apis"] {
        let found = get(&nobody, path).await;
        assert_eq!(found.code, 401, "{path}");
        let status = found.json();
        assert_eq!(
            (status["reason"].as_str(), status["message"].as_str()),
            (Some("Unauthorized"), Some("Unauthorized"))
        );
    }
    assert_eq!(get(&alice, MAPS).await.code, 200);
    server.access().remove_token("alice-token");
    assert_eq!(get(&alice, MAPS).await.code, 401, "a token that was taken back");
    assert_eq!(server.requests().last().unwrap().user, "");
}

#[tokio::test]
async fn requests_without_a_token_are_anonymous_unless_tokens_are_required() {
    let (server, _alice) = with_alice().await;
    assert_eq!(anonymous(&server, MAPS).await.code, 200, "without rules everybody may do everything");
    assert_eq!(server.requests().last().unwrap().user, "system:anonymous");
    server.access().set_rules([Rule::allow().group("developers")]);
    let found = anonymous(&server, MAPS).await;
    assert_eq!(found.code, 403);
    assert_eq!(
        found.json()["message"],
        "configmaps is forbidden: User \"system:anonymous\" cannot list resource \"configmaps\" in API group \"\" in \
         the namespace \"default\""
    );
    server.access().require_tokens(true);
    assert_eq!(anonymous(&server, MAPS).await.code, 401);
    server.access().require_tokens(false);
    assert_eq!(anonymous(&server, MAPS).await.code, 403);
}

#[tokio::test]
async fn a_forbidden_request_is_told_what_is_missing() {
    let (server, alice) = with_alice().await;
    server.access().set_rules([Rule::allow().user("alice").verbs(["get"]).resources(["pods"])]);
    for (path, message) in [
        (
            MAPS,
            "configmaps is forbidden: User \"alice\" cannot list resource \"configmaps\" in API group \"\" in the \
             namespace \"default\"",
        ),
        (
            "/apis/apps/v1/namespaces/default/deployments/web",
            "deployments.apps \"web\" is forbidden: User \"alice\" cannot get resource \"deployments\" in API group \
             \"apps\" in the namespace \"default\"",
        ),
        (
            "/api/v1/nodes",
            "nodes is forbidden: User \"alice\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
        ),
        (
            "/api/v1/namespaces/default/pods/a/status",
            "pods \"a\" is forbidden: User \"alice\" cannot get resource \"pods/status\" in API group \"\" in the \
             namespace \"default\"",
        ),
        (
            "/api/v1/configmaps?watch=true",
            "configmaps is forbidden: User \"alice\" cannot watch resource \"configmaps\" in API group \"\" at the \
             cluster scope",
        ),
        ("/version", "forbidden: User \"alice\" cannot get path \"/version\""),
    ] {
        let found = get(&alice, path).await;
        assert_eq!(found.code, 403, "{path}");
        assert_eq!(found.json()["message"], message, "{path}");
        assert_eq!(found.json()["reason"], "Forbidden", "{path}");
    }
    let details =
        get(&alice, "/apis/apps/v1/namespaces/default/deployments/web").await.json()["details"].clone();
    assert_eq!(details, json!({"name": "web", "group": "apps", "kind": "deployments"}));
    assert_eq!(refused(pods(&alice).get("a").await).code, 404, "this one is allowed");
}

#[tokio::test]
async fn rules_can_be_changed_while_the_server_runs() {
    let (server, alice) = with_alice().await;
    let admin = config_maps(&server.client().unwrap());
    let api = config_maps(&alice);
    create_all(&api, &["a"]).await;
    server.access().set_rules([Rule::allow().user("alice").verbs(["get", "list", "watch"])]);
    api.get("a").await.unwrap();
    let status = refused(api.create(&PostParams::default(), &config_map("b", "1")).await);
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    server.access().add_rule(Rule::allow().user("alice").verbs(["create"]).resources(["configmaps"]));
    create_all(&api, &["b"]).await;
    // The first rule that matches decides.
    server.access().set_rules([Rule::deny().resources(["configmaps"]).name("b"), Rule::allow()]);
    assert_eq!(refused(api.get("b").await).code, 403);
    assert_eq!(refused(api.delete("b", &DeleteParams::default()).await).code, 403);
    api.get("a").await.unwrap();
    admin.get("b").await.unwrap();
    // No rules: everybody may do everything again.
    server.access().set_rules([]);
    api.get("b").await.unwrap();
}

#[tokio::test]
async fn a_watch_that_is_open_outlives_the_right_to_open_it() {
    let (server, alice) = with_alice().await;
    let api = config_maps(&alice);
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    server.access().set_rules([Rule::deny()]);
    assert_eq!(refused(api.watch(&WatchParams::default(), "0").await.map(|_| ())).code, 403);
    create_all(&config_maps(&server.client().unwrap()), &["a"]).await;
    watch.expect("ADDED a").await;
}

#[tokio::test]
async fn rules_tell_namespaces_subresources_and_paths_apart() {
    let (server, alice) = with_alice().await;
    server.access().set_rules([
        Rule::allow().group("developers").namespace("default").verbs(["list"]).resources(["configmaps"]),
        Rule::allow().user("alice").verbs(["get"]).resources(["*/scale", "pods/log"]),
        Rule::allow().user("alice").paths(["/healthz", "/apis*"]),
    ]);
    for (path, code) in [
        (MAPS, 200),
        ("/api/v1/configmaps", 403),
        ("/api/v1/namespaces/kube-system/configmaps", 403),
        ("/apis/apps/v1/namespaces/default/deployments/none/scale", 404),
        ("/apis/apps/v1/namespaces/default/deployments/none", 403),
        ("/api/v1/namespaces/default/pods/none/log", 404),
        ("/healthz", 200),
        ("/apis", 200),
        ("/apis/apps/v1", 200),
        ("/api", 403),
        ("/version", 403),
    ] {
        assert_eq!(get(&alice, path).await.code.as_u16(), code, "{path}");
    }
}

#[tokio::test]
async fn clients_can_ask_what_they_may_do() {
    let (server, alice) = with_alice().await;
    server.access().set_rules([
        Rule::allow().resources(["selfsubjectaccessreviews", "selfsubjectreviews"]),
        Rule::allow().user("alice").verbs(["list"]).resources(["pods"]).namespace("default"),
    ]);
    let api: Api<SelfSubjectAccessReview> = Api::all(alice.clone());
    for (asked, allowed) in [
        (json!({"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "default"}}), true),
        (json!({"resourceAttributes": {"verb": "list", "resource": "pods"}}), false),
        (
            json!({"resourceAttributes": {"verb": "delete", "resource": "pods", "namespace": "default"}}),
            false,
        ),
        (json!({"nonResourceAttributes": {"verb": "get", "path": "/version"}}), false),
    ] {
        let review: SelfSubjectAccessReview = object(json!({"metadata": {}, "spec": asked}));
        let answered = api.create(&PostParams::default(), &review).await.unwrap();
        assert_eq!(answered.status.unwrap().allowed, allowed, "{asked}");
    }
    let who: Api<SelfSubjectReview> = Api::all(alice);
    let me = who.create(&PostParams::default(), &SelfSubjectReview::default()).await.unwrap();
    let user = me.status.unwrap().user_info.unwrap();
    assert_eq!(user.username.as_deref(), Some("alice"));
    assert_eq!(user.groups.unwrap(), ["developers", "system:authenticated"]);
}

#[tokio::test]
async fn somebody_else_can_ask_for_them() {
    let (server, _alice) = with_alice().await;
    let admin = server.client().unwrap();
    server.access().set_rules([Rule::allow().user("alice").verbs(["get"]).resources(["pods"])]);
    let api: Api<SubjectAccessReview> = Api::all(admin.clone());
    let asked = |user: &str| -> SubjectAccessReview {
        object(
            json!({"metadata": {}, "spec": {"user": user, "resourceAttributes": {"verb": "get", "resource": "pods"}}}),
        )
    };
    for (user, allowed) in [("alice", true), ("bob", false)] {
        let answered = api.create(&PostParams::default(), &asked(user)).await.unwrap();
        assert_eq!(answered.status.unwrap().allowed, allowed, "{user}");
    }
    let tokens: Api<TokenReview> = Api::all(admin);
    for (token, user) in [("alice-token", Some("alice")), ("bogus", None)] {
        let review: TokenReview = object(json!({"metadata": {}, "spec": {"token": token}}));
        let status = tokens.create(&PostParams::default(), &review).await.unwrap().status.unwrap();
        assert_eq!(status.authenticated.unwrap_or(false), user.is_some());
        assert_eq!(status.user.and_then(|user| user.username).as_deref(), user);
    }
}

#[tokio::test]
async fn a_service_account_gets_a_token_that_works() {
    let (server, _alice) = with_alice().await;
    let admin = server.client().unwrap();
    server.seed("{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}").unwrap();
    let api: Api<k8s_openapi::api::core::v1::ServiceAccount> = Api::namespaced(admin, "default");
    let asked =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}});
    let answered: Value =
        api.create_subresource("token", "robot", &PostParams::default(), &asked).await.unwrap();
    let token = answered["status"]["token"].as_str().unwrap();
    server.access().set_rules([Rule::allow().user("system:serviceaccount:default:robot")]);
    let robot = server.client_with_token(token).unwrap();
    within(pods(&robot).list(&ListParams::default())).await.unwrap();
}

#[tokio::test]
async fn clients_without_sockets_have_tokens_too() {
    let (server, _alice) = with_alice().await;
    server.access().set_rules([Rule::allow().user("alice")]);
    let alice = server.in_process_client_with_token("alice-token");
    create_all(&config_maps(&alice), &["a"]).await;
    assert_eq!(server.requests()[0].user, "alice");
    assert_eq!(get(&server.in_process_client_with_token("who?"), MAPS).await.code, 401);
    assert_eq!(get(&server.in_process_client(), MAPS).await.code, 200);
}

/// Reviews a token: whether it is authenticated, for which audiences, and the error.
async fn reviewed(client: &Client, token: &str, audiences: &[&str]) -> (bool, Vec<String>, String) {
    let reviews: Api<TokenReview> = Api::all(client.clone());
    let mut review: TokenReview = object(json!({"metadata": {}, "spec": {"token": token}}));
    if !audiences.is_empty() {
        review.spec.audiences = Some(audiences.iter().map(ToString::to_string).collect());
    }
    let status = reviews.create(&PostParams::default(), &review).await.unwrap().status.unwrap();
    let authenticated = status.authenticated.unwrap_or_default();
    (authenticated, status.audiences.unwrap_or_default(), status.error.unwrap_or_default())
}

#[tokio::test]
async fn a_token_for_one_audience_is_refused_for_another() {
    const API: &str = "https://kubernetes.default.svc";
    let server = start().await;
    let client = server.client().unwrap();
    let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
    accounts.create(&PostParams::default(), &object(json!({"metadata": {"name": "robot"}}))).await.unwrap();
    let token = async |audiences: &[&str]| {
        let spec = if audiences.is_empty() { json!({}) } else { json!({"audiences": audiences}) };
        let path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
        let answered = send_json(&client, Method::POST, path, &json!({"spec": spec})).await.json();
        let expected = if audiences.is_empty() { json!([API]) } else { json!(audiences) };
        assert_eq!(answered["spec"]["audiences"], expected);
        answered["status"]["token"].as_str().unwrap().to_owned()
    };
    let good = |audiences: &[&str]| {
        (true, audiences.iter().map(ToString::to_string).collect::<Vec<_>>(), String::new())
    };
    let bad = |has: &str, wants: &str| {
        let why = format!(
            "[invalid bearer token, token audiences [{has}] is invalid for the target audiences [{wants}]]"
        );
        (false, Vec::new(), why)
    };

    let plain = token(&[]).await;
    assert_eq!(get(&server.client_with_token(&plain).unwrap(), MAPS).await.code, 200);
    assert_eq!(reviewed(&client, &plain, &[]).await, good(&[API]));
    assert_eq!(reviewed(&client, &plain, &["one"]).await, bad(&format!("\"{API}\""), "\"one\""));

    let two = token(&["one", "two"]).await;
    assert_eq!(
        get(&server.client_with_token(&two).unwrap(), MAPS).await.code,
        401,
        "it is not for this server"
    );
    assert_eq!(reviewed(&client, &two, &[]).await, bad("\"one\" \"two\"", &format!("\"{API}\"")));
    assert_eq!(reviewed(&client, &two, &["two", "three"]).await, good(&["two"]));
    assert_eq!(reviewed(&client, &two, &["one", "two", "one"]).await, good(&["one", "two", "one"]));

    let both = token(&[API, "one"]).await;
    assert_eq!(get(&server.client_with_token(&both).unwrap(), MAPS).await.code, 200);
    assert_eq!(reviewed(&client, &both, &[]).await, good(&[API]));

    // Tokens that a test adds, and unknown ones.
    server.access().add_user("alice-token", "alice", ["developers"]);
    assert_eq!(reviewed(&client, "alice-token", &[]).await, good(&[API]));
    for (token, audience) in [("alice-token", "one"), ("bogus", API)] {
        let refused = (false, Vec::new(), "invalid bearer token".to_owned());
        assert_eq!(reviewed(&client, token, &[audience]).await, refused);
    }
}

#[tokio::test]
async fn a_review_names_the_uid_of_a_service_account_and_the_identity_of_its_token() {
    let server = start().await;
    let client = server.client().unwrap();
    let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
    let robot = object(json!({"metadata": {"name": "robot"}}));
    let robot = accounts.create(&PostParams::default(), &robot).await.unwrap();
    let mut identities = Vec::new();
    for _ in 0..2 {
        let path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
        let answered = send_json(&client, Method::POST, path, &json!({"spec": {}})).await.json();
        let token = answered["status"]["token"].as_str().unwrap();
        let reviews: Api<TokenReview> = Api::all(client.clone());
        let review: TokenReview = object(json!({"metadata": {}, "spec": {"token": token}}));
        let user =
            reviews.create(&PostParams::default(), &review).await.unwrap().status.unwrap().user.unwrap();
        assert_eq!(user.uid, robot.metadata.uid);
        let extra = user.extra.unwrap();
        let identity = extra["authentication.kubernetes.io/credential-id"].clone();
        assert_eq!((extra.len(), identity.len(), identity[0].len()), (1, 1, "JTI=".len() + 36));
        assert!(identity[0].starts_with("JTI="));
        let request = http::Request::post("/apis/authentication.k8s.io/v1/tokenreviews");
        let request = request.header("Content-Type", "application/json").header("Accept", PROTOBUF);
        let body = json!({"spec": {"token": token}}).to_string().into_bytes();
        let reviewed = answer(&client, request.body(Body::from(body)).unwrap()).await.protobuf();
        assert_eq!(reviewed["status"]["user"]["extra"], json!(extra));

        let asker: Api<SelfSubjectReview> = Api::all(server.client_with_token(token).unwrap());
        let itself: SelfSubjectReview = object(json!({}));
        let itself = asker.create(&PostParams::default(), &itself).await.unwrap();
        let itself = itself.status.unwrap().user_info.unwrap();
        assert_eq!((itself.uid, itself.extra), (robot.metadata.uid.clone(), Some(extra)));
        identities.push(identity);
    }
    assert_ne!(identities[0], identities[1], "each token has its own");
}
