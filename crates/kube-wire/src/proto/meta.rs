//! The metadata of an object in protobuf, read and rewritten without decoding the object.

use super::error::ProtoError;
use super::wire::{BYTES, Reader, Tag, field_len, put_head};
use crate::meta::ObjectKey;
use crate::object::DecodeError;

/// The number of `metadata` in every kind that has it, and of some of its fields. Tests compare them with the table.
pub(super) const METADATA_NUMBER: u32 = 1;
const NAME: u32 = 1;
const NAMESPACE: u32 = 3;
const UID: u32 = 5;
const RESOURCE_VERSION: u32 = 6;
const LABELS: u32 = 11;
const ANNOTATIONS: u32 = 12;
const MANAGED_FIELDS: u32 = 17;

/// What an object's metadata says, read from its protobuf message in one walk over the metadata, with nothing
/// allocated.
///
/// ```
/// use kube_wire::ProtoMetadata;
///
/// // metadata { name: "web-0", namespace: "shop", labels: { "app": "web" } }
/// let pod = b"\x0a\x1b\x0a\x05web-0\x1a\x04shop\x5a\x0c\x0a\x03app\x12\x05web-0";
/// let metadata = ProtoMetadata::of(pod).unwrap();
/// assert_eq!((metadata.namespace(), metadata.name()), ("shop", "web-0"));
/// assert_eq!(metadata.labels().collect::<Vec<_>>(), [("app", "web-0")]);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ProtoMetadata<'a> {
    name: &'a str,
    namespace: &'a str,
    uid: &'a str,
    resource_version: &'a str,
    /// The whole of it.
    bytes: &'a [u8],
}

impl<'a> ProtoMetadata<'a> {
    /// The metadata of an object; none if it has none that can be read.
    pub fn of(object: &'a [u8]) -> Option<Self> {
        Self::read(object).ok().flatten()
    }

    /// The object's name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The object's namespace; empty for cluster-scoped objects.
    pub fn namespace(&self) -> &'a str {
        self.namespace
    }

    /// The object's uid.
    pub fn uid(&self) -> &'a str {
        self.uid
    }

    /// The object's version.
    pub fn resource_version(&self) -> &'a str {
        self.resource_version
    }

    /// The object's labels, in the order of their keys.
    pub fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> + Clone + use<'a> {
        self.entries(LABELS)
    }

    /// The object's annotations, in the order of their keys.
    pub fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> + Clone + use<'a> {
        self.entries(ANNOTATIONS)
    }

    fn read(object: &'a [u8]) -> Result<Option<Self>, ProtoError> {
        let mut reader = Reader::new(object);
        while let Some((tag, raw)) = reader.field()? {
            if tag == Tag::new(METADATA_NUMBER, BYTES) {
                return Self::read_metadata(raw.bytes).map(Some);
            }
        }
        Ok(None)
    }

    /// What the beginning of some metadata says, as far as it can be read.
    pub(super) fn of_beginning(bytes: &'a [u8]) -> Self {
        let mut metadata = Self { bytes, ..Self::default() };
        // What cannot be read ends it.
        let _ = metadata.read_fields();
        metadata
    }

    fn read_metadata(bytes: &'a [u8]) -> Result<Self, ProtoError> {
        let mut metadata = Self { bytes, ..Self::default() };
        metadata.read_fields()?;
        Ok(metadata)
    }

    fn read_fields(&mut self) -> Result<(), ProtoError> {
        let mut reader = Reader::new(self.bytes);
        while let Some((tag, raw)) = reader.field()? {
            match tag.number() {
                NAME => self.name = raw.text_of(tag, "name")?,
                NAMESPACE => self.namespace = raw.text_of(tag, "namespace")?,
                UID => self.uid = raw.text_of(tag, "uid")?,
                RESOURCE_VERSION => self.resource_version = raw.text_of(tag, "resourceVersion")?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The entries of a map of texts; one that cannot be read ends them.
    fn entries(&self, number: u32) -> impl Iterator<Item = (&'a str, &'a str)> + Clone + use<'a> {
        let mut reader = Reader::new(self.bytes);
        std::iter::from_fn(move || {
            while let Some((tag, raw)) = reader.field().ok()? {
                if tag == Tag::new(number, BYTES) {
                    return entry(raw.bytes).ok();
                }
            }
            None
        })
    }
}

/// The key of a map of texts, and its value.
fn entry(bytes: &[u8]) -> Result<(&str, &str), ProtoError> {
    let (mut key, mut value) = ("", "");
    let mut reader = Reader::new(bytes);
    while let Some((tag, raw)) = reader.field()? {
        match tag.number() {
            1 => key = raw.text_of(tag, "key")?,
            2 => value = raw.text_of(tag, "value")?,
            _ => {}
        }
    }
    Ok((key, value))
}

/// Reads the key of an object in protobuf; none if there is no readable metadata with a name.
///
/// It works where decoding does not, as [`peek_key`](crate::peek_key) does for JSON.
pub fn peek_key_proto(object: &[u8]) -> Option<ObjectKey> {
    let metadata = ProtoMetadata::of(object)?;
    (!metadata.name.is_empty()).then(|| ObjectKey {
        namespace: metadata.namespace.to_owned(),
        name: metadata.name.to_owned(),
        uid: metadata.uid.to_owned(),
        resource_version: metadata.resource_version.to_owned(),
    })
}

/// The same object without `metadata.managedFields`, to be kept as bytes. Nothing is decoded.
pub fn strip_managed_fields_proto(object: &[u8]) -> Result<Vec<u8>, DecodeError> {
    strip(object).map_err(|error| DecodeError::new(peek_key_proto(object).map(Box::new), error.to_string()))
}

fn strip(object: &[u8]) -> Result<Vec<u8>, ProtoError> {
    // First how long it will be: what is to rest for long should not have been longer.
    let mut length = 0;
    each_field(object, |tag, field, value| {
        length += match tag == METADATA_TAG {
            true => field_len(METADATA_NUMBER, unmanaged_len(value)?),
            false => field.len(),
        };
        Ok(())
    })?;
    let mut out = Vec::with_capacity(length);
    each_field(object, |tag, field, value| {
        if tag != METADATA_TAG {
            out.extend_from_slice(field);
            return Ok(());
        }
        put_head(METADATA_NUMBER, unmanaged_len(value)?, &mut out);
        each_unmanaged(value, |fields| out.extend_from_slice(fields))
    })?;
    Ok(out)
}

const METADATA_TAG: Tag = Tag::new(METADATA_NUMBER, BYTES);

/// How long metadata is without `managedFields`.
fn unmanaged_len(metadata: &[u8]) -> Result<usize, ProtoError> {
    let mut length = 0;
    each_unmanaged(metadata, |fields| length += fields.len())?;
    Ok(length)
}

/// Shows all fields of metadata but `managedFields`, those that follow each other in one piece.
fn each_unmanaged<'a>(metadata: &'a [u8], mut show: impl FnMut(&'a [u8])) -> Result<(), ProtoError> {
    let (mut shown, mut seen) = (0, 0);
    each_field(metadata, |tag, field, _| {
        let start = seen;
        seen += field.len();
        if tag == Tag::new(MANAGED_FIELDS, BYTES) {
            show(&metadata[shown..start]);
            shown = seen;
        }
        Ok(())
    })?;
    show(&metadata[shown..]);
    Ok(())
}

/// Shows every field: its tag, all of its bytes, and those of its value if it has a length.
fn each_field<'a>(
    message: &'a [u8],
    mut show: impl FnMut(Tag, &'a [u8], &'a [u8]) -> Result<(), ProtoError>,
) -> Result<(), ProtoError> {
    let mut reader = Reader::new(message);
    loop {
        let start = reader.rest();
        let Some((tag, raw)) = reader.field()? else { return Ok(()) };
        show(tag, &start[..start.len() - reader.rest().len()], raw.bytes)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::ProtoMessage;
    use crate::proto::table::{METADATA, Table};
    use crate::proto::wire::put_bytes;

    fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_bytes(number, bytes, &mut out);
        out
    }

    fn text_entry(key: &str, value: &str) -> Vec<u8> {
        [field(1, key.as_bytes()), field(2, value.as_bytes())].concat()
    }

    fn metadata(managed: &[u8]) -> Vec<u8> {
        [
            field(NAME, b"web-0"),
            field(NAMESPACE, b"shop"),
            field(UID, b"c0ffee"),
            field(RESOURCE_VERSION, b"7"),
            field(LABELS, &text_entry("app", "web")),
            field(LABELS, &text_entry("tier", "")),
            field(ANNOTATIONS, &text_entry("note", "x")),
            managed.to_vec(),
            field(20, b"from the future"),
        ]
        .concat()
    }

    #[test]
    fn every_kind_has_its_metadata_where_it_is_looked_for() {
        let table = Table::get();
        let mut objects = 0;
        for kind in ProtoMessage::all() {
            let fields = table.fields(kind.message());
            let Some(metadata) = fields.iter().find(|field| field.name == METADATA) else { continue };
            let names: Vec<&str> =
                table.fields(table.below(metadata)).iter().map(|field| field.name).collect();
            // Lists have other metadata.
            if names.get(1) == Some(&"selfLink") {
                continue;
            }
            assert_eq!(metadata.tag, Tag::new(METADATA_NUMBER, BYTES), "{kind:?}");
            objects += 1;
            for (number, name) in [
                (NAME, "name"),
                (NAMESPACE, "namespace"),
                (UID, "uid"),
                (RESOURCE_VERSION, "resourceVersion"),
                (LABELS, "labels"),
                (ANNOTATIONS, "annotations"),
                (MANAGED_FIELDS, "managedFields"),
            ] {
                assert_eq!(names[number as usize], name, "{kind:?}");
            }
        }
        assert!(objects > 100, "{objects}");
    }

    #[test]
    fn metadata_is_read_without_decoding_the_object() {
        let object = [field(2, b"\xff\xff not a spec"), field(METADATA_NUMBER, &metadata(b""))].concat();
        let read = ProtoMetadata::of(&object).unwrap();
        assert_eq!((read.namespace(), read.name()), ("shop", "web-0"));
        assert_eq!((read.uid(), read.resource_version()), ("c0ffee", "7"));
        assert_eq!(read.labels().collect::<Vec<_>>(), [("app", "web"), ("tier", "")]);
        assert_eq!(read.annotations().collect::<Vec<_>>(), [("note", "x")]);
        assert_eq!(peek_key_proto(&object).unwrap().resource_version, "7");
    }

    #[test]
    fn what_has_no_name_has_no_key() {
        for object in
            [&b""[..], b"\x0a", b"\x0a\x00", b"\x0a\x03\x0a\x01\xff", b"\x08\x01", b"\x0a\x02\x08\x01"]
        {
            assert_eq!(peek_key_proto(object), None, "{object:x?}");
        }
    }

    #[test]
    fn managed_fields_are_taken_out_and_nothing_else() {
        let managed = [field(MANAGED_FIELDS, &[b'm'; 300]), field(MANAGED_FIELDS, b"")].concat();
        let spec = field(2, &field(MANAGED_FIELDS, b"not these"));
        let object = |managed: &[u8]| [field(METADATA_NUMBER, &metadata(managed)), spec.clone()].concat();
        let stripped = strip_managed_fields_proto(&object(&managed)).unwrap();
        assert_eq!(stripped, object(b""));
        assert_eq!(stripped.capacity(), stripped.len());
        assert_eq!(strip_managed_fields_proto(&stripped).unwrap(), stripped);
        assert_eq!(strip_managed_fields_proto(b"").unwrap(), b"");
        assert!(strip_managed_fields_proto(&stripped[..stripped.len() - 1]).is_err());
    }
}
