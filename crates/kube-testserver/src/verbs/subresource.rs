//! Subresources other than `status`: scale, binding, eviction, finalize, tokens, and what only a kubelet has.

use http::Response;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::delete::Deleted;
use super::patch::{PatchType, patched};
use super::read::{find, object_reply};
use super::update::{check_name, live_object, put};
use super::{
    Call, Change, DeleteOptions, Endpoint, WriteOptions, decode, delete_object, metadata, update_object,
};
use crate::access::{API_AUDIENCE, AccountToken, User};
use crate::clock::timestamp_text;
use crate::crd::builtin_scale;
use crate::http::{Body, reply};
use crate::kinds::Verb;
use crate::status::{About, ApiError, Cause};

pub(crate) async fn dispatch(call: &Call) -> Result<Response<Body>, ApiError> {
    let name = call.subresource.split('/').next().unwrap_or("");
    match (name, call.verb) {
        ("scale", _) => scale(call).await,
        ("binding", Verb::Create) => bind(call),
        ("eviction", Verb::Create) => evict(call),
        ("token", Verb::Create) => token(call).await,
        ("finalize", Verb::Update) => finalize(call),
        ("approval" | "ephemeralcontainers" | "resize", Verb::Get) => {
            object_reply(call, 200, &*find(call).await?)
        }
        // These write parts of the object that nothing else here protects.
        ("approval", Verb::Update) => update_part(call, Endpoint::Status),
        ("approval", Verb::Patch) => patch_part(call, Endpoint::Status),
        ("ephemeralcontainers" | "resize", Verb::Update) => update_part(call, Endpoint::Main),
        ("ephemeralcontainers" | "resize", Verb::Patch) => patch_part(call, Endpoint::Main),
        ("log", Verb::Get) => {
            let pod = live_object(&call.resource, &*find(call).await?);
            let node = pod.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or("");
            // A pod without a node has nothing to say, not even nothing.
            Ok(if node.is_empty() { reply::empty(204) } else { reply::text(200, "") })
        }
        ("exec" | "attach" | "portforward", _) => {
            let pod = live_object(&call.resource, &*find(call).await?);
            match pod.pointer("/spec/nodeName").and_then(Value::as_str) {
                None | Some("") => {
                    Err(ApiError::bad_request(format!("pod {} does not have a host assigned", call.name)))
                }
                Some(_) => Err(no_kubelet()),
            }
        }
        _ => Err(no_kubelet()),
    }
}

fn no_kubelet() -> ApiError {
    ApiError::new(503, "ServiceUnavailable", "there is no kubelet behind this server")
}

async fn scale(call: &Call) -> Result<Response<Body>, ApiError> {
    if call.verb == Verb::Get {
        let object = live_object(&call.resource, &*find(call).await?);
        return Ok(call.value(200, &scale_of(call, &object)?));
    }
    let mut options =
        WriteOptions::of(call, if call.verb == Verb::Update { "UpdateOptions" } else { "PatchOptions" })?;
    options.endpoint = Endpoint::Scale;
    let sent = match call.verb {
        Verb::Update => {
            let sent = decode::parse("Scale", &call.content_type, &call.body)?;
            let (kind, version) = (sent["kind"].as_str().unwrap_or("Scale"), sent["apiVersion"].as_str());
            if kind != "Scale" {
                let version = version.unwrap_or("").rsplit('/').next().unwrap_or("");
                return Err(ApiError::bad_request(format!(
                    "{kind} in version \"{version}\" cannot be handled as a Scale: converting ({version}.{kind}) to \
                     (autoscaling.Scale): unknown conversion"
                )));
            }
            check_name(&call.name, &sent)?;
            if !matches!(metadata::text(&sent, "namespace"), "")
                && metadata::text(&sent, "namespace") != call.namespace
            {
                return Err(ApiError::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
            Some(sent)
        }
        _ => None,
    };
    let updated =
        update_object(&call.cluster, &call.resource, &call.namespace, &call.name, &options, |live| {
            let before = scale_of(call, live)?;
            let after = match &sent {
                Some(sent) => sent.clone(),
                None => {
                    let kind = match PatchType::of(&call.resource, &call.content_type)? {
                        // A scale is a handful of scalars: merging and applying come to the same.
                        PatchType::Apply | PatchType::Strategic => PatchType::Merge,
                        kind => kind,
                    };
                    patched(&call.resource, kind, &call.body, &before)?
                }
            };
            check_name(&call.name, &after)?;
            let mut object = live.clone();
            set_replicas(call, &mut object, &after)?;
            // A patch that does not touch the version is for any version.
            let version = |scale: &Value| scale.pointer("/metadata/resourceVersion").cloned();
            let named =
                version(&after).filter(|named| sent.is_some() || Some(named) != version(&before).as_ref());
            let fields = metadata::of(&mut object);
            match named {
                Some(version) => fields.insert("resourceVersion".to_owned(), version),
                None => fields.remove("resourceVersion"),
            };
            Ok(Change::from(object))
        })?;
    let object = live_object(&call.resource, &updated.object);
    Ok(call.value(200, &scale_of(call, &object)?))
}

fn scale_of(call: &Call, object: &Value) -> Result<Value, ApiError> {
    let Some((definition, at)) = &call.resource.custom else { return Ok(builtin_scale(object)) };
    let paths = definition.versions.get(*at).and_then(|version| version.scale.as_ref());
    let Some(paths) = paths else { return Err(ApiError::not_found(call.resource.about(), &call.name)) };
    match paths.scale(object) {
        Ok(Some(scale)) => Ok(scale),
        Ok(None) => Err(ApiError::internal(format!(
            "the spec replicas field {:?} does not exist",
            paths.spec_replicas
        ))),
        Err(why) => Err(ApiError::internal(why)),
    }
}

fn set_replicas(call: &Call, object: &mut Value, scale: &Value) -> Result<(), ApiError> {
    let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
    if replicas < 0 && call.resource.custom.is_some() {
        let cause = Cause::invalid(".spec.replicas", &json!(replicas), "should be a non-negative integer");
        return Err(ApiError::invalid(call.resource.about(), &call.name, vec![cause]));
    }
    if replicas < 0 {
        let about = About { group: "autoscaling", plural: "scales", kind: "Scale" };
        let cause = Cause::invalid("spec.replicas", &json!(replicas), "must be greater than or equal to 0");
        return Err(ApiError::invalid(about, &call.name, vec![cause]));
    }
    match &call.resource.custom {
        Some((definition, at)) => {
            if let Some(paths) = definition.versions.get(*at).and_then(|version| version.scale.as_ref()) {
                paths.set_replicas(object, replicas);
            }
        }
        None => object["spec"]["replicas"] = json!(replicas),
    }
    Ok(())
}

/// Gives a pod to a node, as a scheduler does.
fn bind(call: &Call) -> Result<Response<Body>, ApiError> {
    let binding = decode::parse("Binding", &call.content_type, &call.body)?;
    let node = binding.pointer("/target/name").and_then(Value::as_str).unwrap_or("").to_owned();
    if node.is_empty() {
        let about = About { group: "", plural: "bindings", kind: "Binding" };
        return Err(ApiError::invalid(about, &call.name, vec![Cause::required("target.name", "")]));
    }
    let mut options = WriteOptions::of(call, "CreateOptions")?;
    options.endpoint = Endpoint::Binding;
    let now = call.cluster.clock.now_text();
    update_object(&call.cluster, &call.resource, &call.namespace, &call.name, &options, |live| {
        let mut pod = live.clone();
        if let Some(taken) =
            pod.pointer("/spec/nodeName").and_then(Value::as_str).filter(|name| !name.is_empty())
        {
            let why = format!("pod {} is already assigned to node \"{taken}\"", call.name);
            return Err(ApiError::conflict(
                About { plural: "pods/binding", ..call.resource.about() },
                &call.name,
                &why,
            ));
        }
        pod["spec"]["nodeName"] = json!(node);
        let condition = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": now});
        match &mut pod["status"]["conditions"] {
            Value::Array(list) => {
                list.retain(|condition| condition["type"] != "PodScheduled");
                list.push(condition);
            }
            conditions => *conditions = json!([condition]),
        }
        metadata::of(&mut pod).remove("resourceVersion");
        // Nobody owns what a scheduler decides.
        Ok(Change { object: pod, owned: true })
    })?;
    Ok(done(call, 201))
}

/// Deletes a pod on behalf of somebody who drains its node.
fn evict(call: &Call) -> Result<Response<Body>, ApiError> {
    let eviction = decode::parse("Eviction", &call.content_type, &call.body)?;
    let said = metadata::text(&eviction, "name");
    if !said.is_empty() && said != call.name {
        return Err(ApiError::bad_request("name in URL does not match name in Eviction object"));
    }
    let grace_period_seconds = eviction.pointer("/deleteOptions/gracePeriodSeconds").and_then(Value::as_i64);
    let dry_run = call.query.dry_run("CreateOptions")?;
    let options = DeleteOptions { grace_period_seconds, dry_run, ..DeleteOptions::default() };
    let deleted = delete_object(&call.cluster, &call.resource, &call.namespace, &call.name, &options)?;
    let (Deleted::Gone(_) | Deleted::Pending(_)) = deleted;
    Ok(done(call, 201))
}

/// The audiences of one token.
const MAX_AUDIENCES: usize = 64;

/// The bytes of all audiences of one token.
const MAX_AUDIENCE_BYTES: usize = 8 << 10;

/// Makes a token for a service account, which the server accepts until it expires.
async fn token(call: &Call) -> Result<Response<Body>, ApiError> {
    const DEFAULT_SECONDS: i64 = 3600;
    let account = live_object(&call.resource, &*find(call).await?);
    let request = decode::parse("TokenRequest", &call.content_type, &call.body)?;
    let mut spec = match request.get("spec") {
        None | Some(Value::Null) => serde_json::Map::new(),
        Some(Value::Object(spec)) => spec.clone(),
        Some(_) => return Err(ApiError::bad_request("spec of a TokenRequest must be an object")),
    };
    let mut audiences: Vec<String> = spec
        .get("audiences")
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        .unwrap_or_default();
    let seconds = spec.get("expirationSeconds").and_then(Value::as_i64).unwrap_or(DEFAULT_SECONDS);
    let causes = token_problems(&audiences, seconds);
    if !causes.is_empty() {
        let about = About { group: "authentication.k8s.io", plural: "tokenrequests", kind: "TokenRequest" };
        return Err(ApiError::invalid(about, "", causes));
    }
    if audiences.is_empty() {
        audiences.push(API_AUDIENCE.to_owned());
    }
    spec.insert("audiences".to_owned(), json!(audiences));
    spec.insert("expirationSeconds".to_owned(), json!(seconds));
    let token = format!("sa-{}", call.cluster.random.uuid());
    let now = call.cluster.clock.now();
    let expires = now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
    let groups =
        vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{}", call.namespace)];
    let user = User {
        name: format!("system:serviceaccount:{}:{}", call.namespace, call.name),
        groups,
        uid: metadata::text(&account, "uid").to_owned(),
        credential: format!("JTI={}", call.cluster.random.uuid()),
    };
    call.cluster.access.add_account_token(token.clone(), AccountToken { user, audiences, expires }, now);
    let answer = json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": call.name, "namespace": call.namespace},
        "spec": spec,
        "status": {"token": token, "expirationTimestamp": timestamp_text(expires)},
    });
    Ok(call.value(201, &answer))
}

/// What is wrong with the request of a token.
fn token_problems(audiences: &[String], seconds: i64) -> Vec<Cause> {
    const MIN_SECONDS: i64 = 600;
    const MAX_SECONDS: i64 = 1 << 32;
    let mut causes = Vec::new();
    if audiences.len() > MAX_AUDIENCES {
        causes.push(Cause {
            reason: "FieldValueTooMany",
            message: format!("Too many: {}: must have at most {MAX_AUDIENCES} items", audiences.len()),
            field: "spec.audiences".to_owned(),
        });
    } else if audiences.iter().map(String::len).sum::<usize>() > MAX_AUDIENCE_BYTES {
        causes.push(Cause {
            reason: "FieldValueTooLong",
            message: format!("Too long: may not be more than {MAX_AUDIENCE_BYTES} bytes"),
            field: "spec.audiences".to_owned(),
        });
    }
    let invalid = |why| Cause::invalid("spec.expirationSeconds", &json!(seconds), why);
    if seconds < MIN_SECONDS {
        causes.push(invalid("may not specify a duration less than 10 minutes"));
    } else if seconds > MAX_SECONDS {
        causes.push(invalid("may not specify a duration larger than 2^32 seconds"));
    }
    causes
}

/// Replaces the finalizers in a namespace's spec; the last one lets it go.
fn finalize(call: &Call) -> Result<Response<Body>, ApiError> {
    update_part(call, Endpoint::Finalize)
}

fn update_part(call: &Call, endpoint: Endpoint) -> Result<Response<Body>, ApiError> {
    let mut options = WriteOptions::of(call, "UpdateOptions")?;
    options.endpoint = endpoint;
    let (object, document) = decode::object(&call.resource, &call.content_type, &call.body)?;
    options.document = Some(document);
    let updated = put(&call.cluster, &call.resource, &call.namespace, &call.name, &object, &options)?;
    object_reply(call, 200, &updated.object)
}

fn patch_part(call: &Call, endpoint: Endpoint) -> Result<Response<Body>, ApiError> {
    let mut options = WriteOptions::of(call, "PatchOptions")?;
    options.endpoint = endpoint;
    let kind = PatchType::of(&call.resource, &call.content_type)?;
    let updated =
        update_object(&call.cluster, &call.resource, &call.namespace, &call.name, &options, |live| {
            patched(&call.resource, kind, &call.body, live).map(Change::from)
        })?;
    object_reply(call, 200, &updated.object)
}

fn done(call: &Call, code: u16) -> Response<Body> {
    call.value(
        code,
        &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}),
    )
}
