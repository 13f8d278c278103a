//! What is in `deploy`.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::ClusterRole;

use super::*;

#[tokio::test(start_paused = true)]
async fn the_rights_in_the_manifest_are_those_that_are_needed() {
    let server = server().await;
    server.seed(include_str!("../../deploy/controller.yaml")).unwrap();
    let role = server.object("rbac.authorization.k8s.io/v1/ClusterRole", "", "sample-controller").unwrap();
    let role: ClusterRole = serde_json::from_value(role.unwrap()).unwrap();
    let process = Process::start(&server);
    settle().await;
    server.seed(include_str!("../../deploy/foo.yaml")).unwrap();
    server.put(&foo("rival", "example-foo", 2)).unwrap();
    settle().await;
    server.mutate(FOO, "default", "example-foo", |foo| foo["spec"]["replicas"] = json!(2)).unwrap();
    tokio::time::sleep(S).await;
    process.end().await;
    assert_eq!(read_deployment(&server, "example-foo").unwrap().spec.replicas, Some(2));
    let asked: BTreeSet<[String; 3]> = server
        .requests()
        .into_iter()
        .filter_map(|request| {
            let verb = format!("{:?}", request.verb?).to_lowercase();
            let subresource = if request.subresource.is_empty() {
                String::new()
            } else {
                format!("/{}", request.subresource)
            };
            Some([verb, format!("{}{subresource}", request.resource), request.group])
        })
        .collect();
    assert!(asked.len() >= 7, "{asked:?}");
    for [verb, resource, group] in &asked {
        let allowed = role.rules.iter().flatten().any(|rule| {
            rule.verbs.contains(verb)
                && rule.resources.iter().flatten().any(|one| one == resource)
                && rule.api_groups.iter().flatten().any(|one| one == group)
        });
        assert!(allowed, "{verb} {resource} {group:?} is not allowed by the manifest");
    }
}
