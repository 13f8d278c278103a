//! From the protobuf of a built-in kind to the JSON that Go would have written for the same object.
//!
//! Current clients in Go, `kubectl` among them, send built-in kinds as protobuf. kube-wire decodes it.

use kube_wire::{DecodeOptions, ProtoEnvelope, ProtoMessage, decode_object_proto};
use serde_json::Value;

use super::builtin;

/// Reads the body of a request: one object of a built-in kind, with its `apiVersion` and `kind`.
///
/// A body that does not say what it is is taken for what is `expected`, an `apiVersion` and a `kind`.
pub(crate) fn decode(bytes: &[u8], expected: (&str, &str)) -> Result<Value, ProtobufError> {
    let envelope =
        ProtoEnvelope::read(bytes).map_err(|error| ProtobufError { object: None, why: error.why })?;
    let api_version = if envelope.api_version.is_empty() { expected.0 } else { envelope.api_version };
    let kind = if envelope.kind.is_empty() { expected.1 } else { envelope.kind };
    let of_object = |why| ProtobufError { object: Some((api_version.to_owned(), kind.to_owned())), why };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    // kube-wire knows kinds of other Kubernetes versions, too.
    let known = builtin().root(api_version, kind).and_then(|_| ProtoMessage::of(group, version, kind));
    let message = known.ok_or_else(|| {
        of_object(format!(
            "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\""
        ))
    })?;
    let options = DecodeOptions::default().keep_managed_fields(true);
    let mut object: Value =
        decode_object_proto(envelope.object, message, options).map_err(|error| of_object(error.why))?;
    object["apiVersion"] = Value::from(api_version);
    object["kind"] = Value::from(kind);
    Ok(object)
}

/// Why bytes are not an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub(crate) struct ProtobufError {
    /// The `apiVersion` and `kind` that the body says it has, if it got as far as that.
    pub(crate) object: Option<(String, String)>,
    /// What is wrong, in the words of the Go decoder where it has some.
    why: String,
}

#[cfg(test)]
mod tests;
