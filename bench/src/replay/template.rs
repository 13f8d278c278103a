//! Encoded objects with marks: the bytes are made once, and the marks are overwritten for each object.
//!
//! Every mark has a fixed width, so no length in the bytes around it ever changes. An object is as cheap to serve as a
//! copy of its bytes, in JSON and protobuf alike.

use crate::Error;

/// A field that differs between objects. It is as wide as its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
    Uid,
    Version,
    Instance,
    Shard,
    Node,
    Address,
    Container,
}

/// The text that stands where a field is.
const MARKS: [(Field, &str); 9] = [
    (Field::Name, "~NUMBER"),
    (Field::Namespace, "~NS"),
    (Field::Uid, "~UID~~~~~~~~"),
    (Field::Version, "~VERSION~~"),
    (Field::Instance, "~IN"),
    (Field::Shard, "~S"),
    (Field::Node, "~NODE"),
    (Field::Address, "~AA.~BB.~CC"),
    (Field::Container, "~CID~~~~~~~~"),
];

/// Texts of the realistic pod, and the marks that replace them.
const VARIED: [(&str, &str); 9] = [
    ("x2k9p\"", "~NUMBER\""),
    ("team-042", "team-~NS"),
    ("-2f3a4b5c6d7e", "-~UID~~~~~~~~"),
    ("\"184467\"", "\"~VERSION~~\""),
    ("web-prod", "web-~IN"),
    ("\"team\":\"payments\"", "\"shard\":\"s~S\",\"team\":\"payments\""),
    ("node-0731", "node-~NODE"),
    ("10.42.17.33", "10.~AA.~BB.~CC"),
    ("11b68fbf8fb9\"", "~CID~~~~~~~~\""),
];

/// How many values the label `shard` has.
const SHARDS: u64 = 16;

/// How many objects a namespace has.
const PER_NAMESPACE: u64 = 1_000;

/// How many objects a node has.
const PER_NODE: u64 = 100;

/// How many objects there may be: the mark of the name has seven digits.
pub(crate) const MAX_OBJECTS: u64 = 1_000_000;

/// Puts marks into the realistic pod.
pub(crate) fn mark(object: &str) -> String {
    VARIED.iter().fold(object.trim().to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The bytes of an object, and where its marks are.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    marks: Vec<(usize, Field)>,
}

impl Template {
    /// Finds the marks. Fails unless there is one for the name and one for the version.
    pub(crate) fn new(bytes: Vec<u8>) -> Result<Self, Error> {
        let mut marks = Vec::new();
        for at in (0..bytes.len()).filter(|&at| bytes[at] == b'~') {
            let field = MARKS.into_iter().find(|(_, mark)| bytes[at..].starts_with(mark.as_bytes()));
            marks.extend(field.map(|(field, _)| (at, field)));
        }
        let has = |wanted: Field| marks.iter().any(|(_, field)| *field == wanted);
        if !(has(Field::Name) && has(Field::Version)) {
            return Err("an object without a mark for its name or its version".into());
        }
        Ok(Self { bytes, marks })
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends the object with this number, one of `of`, in this version.
    pub(crate) fn write(&self, number: u64, of: u64, version: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        for (at, field) in &self.marks {
            let rest = &mut out[start + at..];
            match field {
                Field::Name => decimal(number, &mut rest[..7]),
                Field::Namespace => decimal(namespace(number, of), &mut rest[..3]),
                Field::Uid => decimal(number, &mut rest[..12]),
                Field::Version => decimal(version, &mut rest[..10]),
                Field::Instance => decimal(number % 500, &mut rest[..3]),
                Field::Shard => decimal(number % SHARDS, &mut rest[..2]),
                Field::Node => decimal(node(number, of), &mut rest[..5]),
                Field::Address => {
                    decimal(100 + number / 10_000 % 100, &mut rest[..3]);
                    decimal(100 + number / 100 % 100, &mut rest[4..7]);
                    decimal(100 + number % 100, &mut rest[8..11]);
                }
                Field::Container => decimal(number * 7_919, &mut rest[..12]),
            }
        }
    }
}

/// The namespace of an object, by number.
fn namespace(number: u64, of: u64) -> u64 {
    number % of.div_ceil(PER_NAMESPACE).max(1)
}

/// The node of an object, by number.
fn node(number: u64, of: u64) -> u64 {
    number % of.div_ceil(PER_NODE).max(1)
}

/// Writes a number with leading zeros; what does not fit is cut off in front.
fn decimal(mut number: u64, out: &mut [u8]) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_differ_where_the_marks_are_and_nowhere_else() {
        let text = mark(
            r#"{"name":"a-x2k9p","namespace":"team-042","resourceVersion":"184467","ip":"10.42.17.33"}"#,
        );
        let template = Template::new(text.into_bytes()).unwrap();
        let mut out = b"before ".to_vec();
        template.write(2_345, 10_000, 77, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"before {"name":"a-0002345","namespace":"team-005","resourceVersion":"0000000077","ip":"10.100.123.145"}"#
        );
    }

    #[test]
    fn an_object_without_a_mark_for_its_name_is_refused() {
        assert!(Template::new(b"{}".to_vec()).is_err());
    }
}
