//! Objects of one kind that differ in a few places: the bytes are made once, and the places are written over.
//!
//! Every place has a fixed width, so no length in the bytes around it ever changes. That makes an object as quick to
//! serve as a copy of its bytes, in JSON and protobuf alike.

use crate::Error;

/// What differs between objects. Each is so many bytes wide as its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
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

/// What stands in a text where a place is.
const MARKS: [(Place, &str); 9] = [
    (Place::Name, "~NUMBER"),
    (Place::Namespace, "~NS"),
    (Place::Uid, "~UID~~~~~~~~"),
    (Place::Version, "~VERSION~~"),
    (Place::Instance, "~IN"),
    (Place::Shard, "~S"),
    (Place::Node, "~NODE"),
    (Place::Address, "~AA.~BB.~CC"),
    (Place::Container, "~CID~~~~~~~~"),
];

/// Texts of the realistic objects, and what they become: places that differ.
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

/// In how many shards, by label, objects are.
const SHARDS: u64 = 16;

/// How many objects a namespace has.
pub(crate) const PER_NAMESPACE: u64 = 1_000;

/// How many objects a node has.
pub(crate) const PER_NODE: u64 = 100;

/// How many objects there may be: so many names fit.
pub(crate) const MAX_OBJECTS: u64 = 1_000_000;

/// Turns a realistic object into one with marks where objects are to differ.
pub(crate) fn mark(object: &str) -> String {
    VARIED.iter().fold(object.trim().to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Bytes with places to be written over.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    places: Vec<(usize, Place)>,
}

impl Template {
    /// Finds the marks; every object has at least a name, a namespace and a version.
    pub(crate) fn new(bytes: Vec<u8>) -> Result<Self, Error> {
        let mut places = Vec::new();
        for (place, mark) in MARKS {
            let mark = mark.as_bytes();
            let found = bytes.windows(mark.len()).enumerate().filter(|(_, window)| *window == mark);
            places.extend(found.map(|(at, _)| (at, place)));
        }
        let has = |wanted: Place| places.iter().any(|(_, place)| *place == wanted);
        if !(has(Place::Name) && has(Place::Namespace) && has(Place::Version)) {
            return Err("an object without a mark for its name, namespace or version".into());
        }
        Ok(Self { bytes, places })
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends the object of a number, out of so many, in a version.
    pub(crate) fn write(&self, number: u64, of: u64, version: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        for (at, place) in &self.places {
            let rest = &mut out[start + at..];
            match place {
                Place::Name => decimal(number, &mut rest[..7]),
                Place::Namespace => decimal(namespace(number, of), &mut rest[..3]),
                Place::Uid => decimal(number, &mut rest[..12]),
                Place::Version => decimal(version, &mut rest[..10]),
                Place::Instance => decimal(number % 500, &mut rest[..3]),
                Place::Shard => decimal(number % SHARDS, &mut rest[..2]),
                Place::Node => decimal(node(number, of), &mut rest[..5]),
                Place::Address => {
                    decimal(100 + number / 10_000 % 100, &mut rest[..3]);
                    decimal(100 + number / 100 % 100, &mut rest[4..7]);
                    decimal(100 + number % 100, &mut rest[8..11]);
                }
                Place::Container => decimal(number * 7_919, &mut rest[..12]),
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
    fn an_object_without_a_place_for_its_name_is_refused() {
        assert!(Template::new(b"{}".to_vec()).is_err());
    }
}
