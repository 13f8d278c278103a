//! What is around an object when it travels: four bytes, and a message that says what it carries.

use super::error::{Cause, ProtoError};
use super::wire::{Reader, field_len, put_bytes, put_head};
use crate::object::DecodeError;

/// What every Kubernetes protobuf body starts with.
pub(super) const MAGIC: &[u8; 4] = b"k8s\0";

/// The numbers of the envelope's fields.
pub(super) const TYPE: u32 = 1;
pub(super) const RAW: u32 = 2;
pub(super) const CONTENT_ENCODING: u32 = 3;
const CONTENT_TYPE: u32 = 4;

/// The numbers of the fields that say what the object is.
const API_VERSION: u32 = 1;
const KIND: u32 = 2;

/// The envelope of an object: what it is, and the bytes of its message.
///
/// ```
/// use kube_wire::ProtoEnvelope;
///
/// let bytes = ProtoEnvelope { api_version: "v1", kind: "Pod", object: b"" }.to_bytes();
/// let envelope = ProtoEnvelope::read(&bytes)?;
/// assert_eq!((envelope.api_version, envelope.kind), ("v1", "Pod"));
/// # Ok::<(), kube_wire::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProtoEnvelope<'a> {
    /// For example `apps/v1`; empty if it does not say.
    pub api_version: &'a str,
    /// For example `Deployment`; empty if it does not say.
    pub kind: &'a str,
    /// The object's message.
    pub object: &'a [u8],
}

impl<'a> ProtoEnvelope<'a> {
    /// Opens an envelope.
    pub fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let wrong = |why: &str| Err(DecodeError::new(None, why.to_owned()));
        if bytes.is_empty() {
            return wrong("empty data");
        }
        let Some(body) = bytes.strip_prefix(MAGIC) else {
            let [a, b, c, d] = MAGIC;
            return wrong(&format!(
                "provided data does not appear to be a protobuf message, expected prefix [{a} {b} {c} {d}]"
            ));
        };
        if body.is_empty() {
            return wrong("empty body");
        }
        Self::read_body(body).map_err(|error| DecodeError::new(None, error.to_string()))
    }

    /// Puts an object into its envelope.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len());
        self.write(&mut out);
        out
    }

    /// How many bytes it has with its object.
    pub(super) fn len(&self) -> usize {
        let tail = field_len(CONTENT_ENCODING, 0) + field_len(CONTENT_TYPE, 0);
        MAGIC.len() + field_len(TYPE, self.type_len()) + field_len(RAW, self.object.len()) + tail
    }

    /// Appends the envelope and its object.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        self.write_head(self.object.len(), out);
        out.extend_from_slice(self.object);
        Self::write_tail(out);
    }

    fn read_body(body: &'a [u8]) -> Result<Self, ProtoError> {
        let mut envelope = Self::default();
        let mut reader = Reader::new(body);
        while let Some((tag, raw)) = reader.field()? {
            match tag.number() {
                TYPE => envelope.read_type(raw.bytes_of(tag, "typeMeta")?)?,
                RAW => envelope.object = raw.bytes_of(tag, "raw")?,
                CONTENT_ENCODING => not_encoded(raw.bytes_of(tag, "contentEncoding")?)?,
                // The media type is that of the envelope.
                _ => {}
            }
        }
        Ok(envelope)
    }

    /// Reads what the object is.
    pub(super) fn read_type(&mut self, bytes: &'a [u8]) -> Result<(), ProtoError> {
        let mut reader = Reader::new(bytes);
        while let Some((tag, raw)) = reader.field()? {
            match tag.number() {
                API_VERSION => self.api_version = raw.text_of(tag, "apiVersion")?,
                KIND => self.kind = raw.text_of(tag, "kind")?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes what is before an object of this length.
    pub(super) fn write_head(&self, object_len: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(MAGIC);
        put_head(TYPE, self.type_len(), out);
        put_bytes(API_VERSION, self.api_version.as_bytes(), out);
        put_bytes(KIND, self.kind.as_bytes(), out);
        put_head(RAW, object_len, out);
    }

    /// Writes what is behind the object.
    pub(super) fn write_tail(out: &mut Vec<u8>) {
        put_bytes(CONTENT_ENCODING, b"", out);
        put_bytes(CONTENT_TYPE, b"", out);
    }

    fn type_len(&self) -> usize {
        field_len(API_VERSION, self.api_version.len()) + field_len(KIND, self.kind.len())
    }
}

/// Makes sure that an object is not compressed or the like, which nobody does.
pub(super) fn not_encoded(encoding: &[u8]) -> Result<(), ProtoError> {
    if encoding.is_empty() {
        return Ok(());
    }
    Err(Cause::Value("the object has a content encoding, which is not understood".to_owned()).into())
}
