//! Reviews: objects that are answered, not stored. Who am I, may I, may they, whose token is this.

use http::Response;
use serde_json::{Value, json};

use super::create::track;
use super::{Call, WriteOptions, decode, metadata};
use crate::access::{Attributes, User};
use crate::http::{Body, Form};
use crate::kinds::Resource;
use crate::status::ApiError;

pub(crate) fn is_review(resource: &Resource) -> bool {
    matches!(&*resource.group, "authentication.k8s.io" | "authorization.k8s.io") && resource.custom.is_none()
}

pub(crate) fn review(call: &Call) -> Result<Response<Body>, ApiError> {
    if call.form != Form::Object {
        return Err(call.cluster.options.encodings.not_acceptable());
    }
    let options = WriteOptions::of(call, "CreateOptions")?;
    let (mut review, _) = decode::object(&call.resource, &call.content_type, &call.body)?;
    metadata::of(&mut review);
    if &*call.resource.plural == "selfsubjectreviews" {
        review["metadata"]["creationTimestamp"] = json!(call.cluster.clock.now_text());
    } else if &*call.resource.plural != "selfsubjectrulesreviews" {
        track(&call.cluster, &call.resource, None, &mut review, &options);
    }
    let access = &call.cluster.access;
    let status = match &*call.resource.plural {
        "selfsubjectreviews" => json!({"userInfo": user_info(&call.user)}),
        "tokenreviews" => {
            let token = review.pointer("/spec/token").and_then(Value::as_str).unwrap_or("");
            if token.is_empty() {
                return Err(ApiError::bad_request("token is required for TokenReview in authentication"));
            }
            match access.review(token, &texts(&review["spec"]["audiences"]), call.cluster.clock.now()) {
                Ok((user, audiences)) => {
                    json!({"authenticated": true, "user": user_info(&user), "audiences": audiences})
                }
                Err(why) => json!({"user": {}, "error": why}),
            }
        }
        "selfsubjectaccessreviews" => json!({"allowed": allowed(call, &call.user, &review["spec"])?}),
        "subjectaccessreviews" | "localsubjectaccessreviews" => {
            let name = review["spec"]["user"].as_str().unwrap_or("").to_owned();
            let user = User { name, groups: texts(&review["spec"]["groups"]), ..User::default() };
            json!({"allowed": allowed(call, &user, &review["spec"])?})
        }
        // The rules of a server are an ordered list with denials: what kubectl can show is an approximation.
        "selfsubjectrulesreviews" => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": true,
        }),
        _ => return Err(ApiError::method_not_allowed()),
    };
    review["status"] = status;
    Ok(call.value(201, &review))
}

fn allowed(call: &Call, user: &User, spec: &Value) -> Result<bool, ApiError> {
    let text = |part: &Value, field: &str| part[field].as_str().unwrap_or("").to_owned();
    if let Some(asked) = spec.get("resourceAttributes").filter(|part| part.is_object()) {
        let [verb, group, resource, subresource, namespace, name] =
            ["verb", "group", "resource", "subresource", "namespace", "name"].map(|field| text(asked, field));
        let what = Attributes {
            verb: &verb,
            group: &group,
            resource: &resource,
            subresource: &subresource,
            namespace: &namespace,
            name: &name,
            path: None,
        };
        return Ok(call.cluster.access.allows(user, &what));
    }
    if let Some(asked) = spec.get("nonResourceAttributes").filter(|part| part.is_object()) {
        let (verb, path) = (text(asked, "verb"), text(asked, "path"));
        let what = Attributes { verb: &verb, path: Some(&path), ..Attributes::default() };
        return Ok(call.cluster.access.allows(user, &what));
    }
    let cause = crate::status::Cause::invalid(
        "spec",
        &Value::Null,
        "exactly one of nonResourceAttributes or resourceAttributes must be specified",
    );
    let about = crate::status::About { kind: "", ..call.resource.about() };
    Err(ApiError::invalid(about, "", vec![cause]))
}

/// The texts in a list.
fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn user_info(user: &User) -> Value {
    let mut info = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        info["uid"] = json!(user.uid);
    }
    if !user.credential.is_empty() {
        info["extra"] = json!({"authentication.kubernetes.io/credential-id": [user.credential]});
    }
    info
}
