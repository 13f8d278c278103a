//! Objects as protobuf messages. They rest as JSON, and are encoded on their way out.

use kube_wire::{EncodeError, ProtoEnvelope, ProtoMessage, encode_known_proto};
use serde_json::Value;

use crate::http::Form;
use crate::kinds::Resource;
use crate::status::ApiError;

/// The messages of a resource in the form that a client asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Messages {
    pub(super) object: ProtoMessage,
    /// None for kinds that are never listed: reviews.
    pub(super) list: Option<ProtoMessage>,
}

impl Messages {
    /// None if the form has no protobuf.
    pub(super) fn of(resource: &Resource, form: Form) -> Option<Self> {
        let (api_version, object, list) = match form {
            Form::Object if resource.custom.is_some() => return None,
            Form::Object => (resource.api_version(), &*resource.kind, &*resource.list_kind),
            Form::Metadata(version) => {
                (version.api_version().to_owned(), "PartialObjectMetadata", "PartialObjectMetadataList")
            }
            Form::Table(_) => return None,
        };
        Some(Self { object: message(&api_version, object)?, list: message(&api_version, list) })
    }
}

/// The message of an object. What its kind has not is left out: the same text is served in several versions.
pub(super) fn encode(object: &Value, kind: ProtoMessage) -> Result<Vec<u8>, ApiError> {
    encode_known_proto(object, kind).map_err(|error| cannot(&error))
}

/// An object in its envelope.
pub(super) fn envelope(kind: ProtoMessage, object: &[u8]) -> ProtoEnvelope<'_> {
    ProtoEnvelope { api_version: kind.api_version(), kind: kind.kind(), object }
}

/// Something that says what it is, by `kind` and `apiVersion`, in its envelope; none if it has no protobuf form.
pub(crate) fn protobuf_of(value: &Value) -> Option<Vec<u8>> {
    with_envelope(value, |envelope| envelope.to_bytes())
}

/// Does something with a value in its envelope; none if it has no protobuf form.
pub(super) fn with_envelope<T>(value: &Value, then: impl FnOnce(ProtoEnvelope<'_>) -> T) -> Option<T> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or("");
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    // What belongs to no group may leave out the version, too.
    let message = message(if api_version.is_empty() { "v1" } else { api_version }, kind)?;
    let object = encode_known_proto(value, message).ok()?;
    Some(then(ProtoEnvelope { api_version, kind, object: &object }))
}

fn message(api_version: &str, kind: &str) -> Option<ProtoMessage> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ProtoMessage::of(group, version, kind)
}

pub(super) fn cannot(error: &EncodeError) -> ApiError {
    ApiError::internal(format!("the object cannot be written in protobuf: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::MetaVersion;
    use crate::kinds::{Verb, builtin_resources};
    use crate::storage::{HistoryLimits, Store};

    #[test]
    fn every_built_in_kind_has_a_protobuf_form() {
        let store = Store::new(HistoryLimits { changes: 1, bytes: 1 });
        let mut seen = 0;
        for resource in builtin_resources(&store) {
            let forms = [Form::Object, Form::Metadata(MetaVersion::V1), Form::Metadata(MetaVersion::V1Beta1)];
            for form in forms {
                let messages = Messages::of(&resource, form);
                assert!(messages.is_some(), "{} {form:?}", resource.kind);
                let listed = resource.verbs.contains(&Verb::List);
                assert!(
                    !listed || messages.is_some_and(|messages| messages.list.is_some()),
                    "{}",
                    resource.kind
                );
            }
            seen += 1;
        }
        assert!(seen > 80, "{seen}");
    }
}
