//! Objects that are kept as the bytes in which they came, whatever type they are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use kube_wire::{DecodeError, DecodeOptions, Encoding, encode_object_proto};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Make, Written};
use crate::object::{Form, Object, Raw};
use crate::panics;
use crate::redact::json_words;

/// Changes an object of a kind, whatever its type.
pub(crate) type AnyTransform = Arc<dyn Fn(&[u8], &Form) -> Result<Value, DecodeError> + Send + Sync>;

/// Changes objects as values of a type.
pub(crate) fn transform_as<K>(change: impl Fn(K) -> K + Send + Sync + 'static) -> AnyTransform
where
    K: DeserializeOwned + Serialize + 'static,
{
    Arc::new(move |bytes: &[u8], form: &Form| {
        let object = change(form.encoding.decode_object::<K>(bytes, form.options)?);
        let why =
            |error: serde_json::Error| format!("what the transform made is not JSON: {}", json_words(&error));
        serde_json::to_value(object).map_err(|error| DecodeError::new(None, why(error)))
    })
}

/// Keeps the bytes of what arrives, after the transform of its namespace, if that has one.
pub(crate) fn keep_bytes(
    transform_in: impl Fn(&str) -> Option<AnyTransform> + Send + Sync + 'static,
) -> Make<Raw> {
    let forms: [OnceLock<Arc<Form>>; 4] = [const { OnceLock::new() }; 4];
    let form = move |encoding: Encoding, metadata_only: bool| {
        let slot = 2 * usize::from(metadata_only) + usize::from(encoding != Encoding::Json);
        let make = || Arc::new(Form { encoding, options: DecodeOptions::default(), metadata_only });
        let known = forms[slot].get_or_init(make);
        if known.encoding == encoding { Arc::clone(known) } else { make() }
    };
    Arc::new(move |object: Raw, bytes: Box<[u8]>, (encoding, metadata_only): Written| {
        let arrived = form(encoding, metadata_only);
        let Some(transform) = transform_in(object.namespace()) else {
            return Ok(Object::base(&object, bytes, &arrived));
        };
        let keyed = |error: DecodeError| DecodeError { key: Some(Box::new(object.key())), ..error };
        let changed = catch_unwind(AssertUnwindSafe(|| transform(&bytes, &arrived)));
        let panicked =
            |panic: Box<dyn std::any::Any + Send>| DecodeError::panicked(None, panics::transform(panic));
        let changed = changed.unwrap_or_else(|panic| Err(panicked(panic))).map_err(keyed)?;
        let (bytes, encoding) = match encoding {
            Encoding::Protobuf(message) => match encode_object_proto(&changed, message) {
                Ok(bytes) => (bytes, encoding),
                Err(_) => (changed.to_string().into_bytes(), Encoding::Json),
            },
            Encoding::Json => (changed.to_string().into_bytes(), Encoding::Json),
        };
        let form = form(encoding, metadata_only);
        let after: Raw = form.encoding.decode_object(&bytes, form.options).map_err(keyed)?;
        Ok(Object::base(&object.changed_to(after), bytes.into_boxed_slice(), &form))
    })
}
