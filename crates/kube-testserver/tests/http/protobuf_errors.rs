//! Refusals in protobuf.

use http::Method;
use kube_testserver::{Fault, Rule, TestServer, Verb};

use crate::support::{PROTOBUF, answer, get_with, start_with_client};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn refusals_come_as_a_status_in_protobuf() {
    let (server, client) = start_with_client().await;
    server.inject(Fault::reply(503).on(Verb::List).resource("secrets"));
    server.inject(
        Fault::too_many_requests(std::time::Duration::from_secs(7)).on(Verb::Watch).resource("secrets"),
    );
    let secrets = "/api/v1/namespaces/default/secrets";
    for (method, path, code, reason) in [
        (Method::GET, format!("{MAPS}/none"), 404, "NotFound"),
        (Method::POST, format!("{MAPS}/none"), 405, "MethodNotAllowed"),
        (Method::GET, "/api/v1/things".to_owned(), 404, "NotFound"),
        (Method::GET, "/api/v7".to_owned(), 404, "NotFound"),
        (Method::GET, format!("{MAPS}?resourceVersion=1&resourceVersionMatch=x"), 422, "Invalid"),
        (Method::GET, secrets.to_owned(), 503, "ServiceUnavailable"),
        (Method::GET, format!("{secrets}?watch=true"), 429, "TooManyRequests"),
    ] {
        let mut request = get_with(&path, &[("accept", PROTOBUF)]);
        *request.method_mut() = method;
        let refused = answer(&client, request).await;
        assert_eq!(refused.code, code, "{path}");
        let status = refused.protobuf();
        assert_eq!(
            (status["code"].as_u64(), status["reason"].as_str()),
            (Some(code.into()), Some(reason)),
            "{path}"
        );
        if code == 429 {
            assert_eq!(
                (refused.header("retry-after"), status["details"]["retryAfterSeconds"].as_i64()),
                ("7", Some(7))
            );
        }
        // The same in words.
        let mut request = get_with(&path, &[]);
        request.method_mut().clone_from(&if code == 405 { Method::POST } else { Method::GET });
        assert_eq!(answer(&client, request).await.json()["message"], status["message"], "{path}");
    }
}

#[tokio::test]
async fn an_error_that_is_asked_for_in_another_form_only_is_json() {
    let (_server, client) = start_with_client().await;
    let metadata = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    for (accept, expected) in [
        (format!("{PROTOBUF};{metadata}"), "application/json"),
        (format!("{PROTOBUF};{metadata},application/json;{metadata}"), "application/json"),
        (format!("{PROTOBUF};{metadata},{PROTOBUF}"), PROTOBUF),
        (format!("{PROTOBUF};stream=watch"), PROTOBUF),
    ] {
        let refused = answer(&client, get_with(&format!("{MAPS}/none"), &[("accept", &accept)])).await;
        assert_eq!((refused.code.as_u16(), refused.header("content-type")), (404, expected), "{accept}");
    }
}

#[tokio::test]
async fn those_who_may_not_are_told_in_protobuf() {
    let server = TestServer::start().await.unwrap();
    server.access().add_user("low", "bob", ["nobodies"]);
    server.access().set_rules([Rule::allow().group("system:masters")]);
    for (token, code, reason) in [("wrong", 401, "Unauthorized"), ("low", 403, "Forbidden")] {
        let client = server.client_with_token(token).unwrap();
        let refused = answer(&client, get_with(MAPS, &[("accept", PROTOBUF)])).await;
        assert_eq!(refused.code, code);
        assert_eq!(refused.protobuf()["reason"], reason);
        let refused = answer(&client, get_with(MAPS, &[("accept", "application/xml")])).await;
        assert_eq!((refused.code.as_u16(), refused.json()["reason"].as_str()), (code, Some(reason)));
    }
}
