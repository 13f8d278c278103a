//! The members of a JSON object, where they stand in its text.

use std::ops::Range;

use crate::scan::{Scanned, Scanner};

/// Nesting that is looked into; deeper objects are left as they are.
const DEPTH: usize = 512;

/// The type and the object of an event, as they stand in a watch frame; none if the frame is not a whole event.
///
/// ```
/// let frame = br#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
/// let (kind, object) = kube_wire::split_event(frame).expect("an event");
/// assert_eq!((kind, object), ("ADDED", &br#"{"metadata":{"name":"a"}}"#[..]));
/// ```
pub fn split_event(frame: &[u8]) -> Option<(&str, &[u8])> {
    let frame = frame.trim_ascii();
    // What servers send.
    for kind in ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"] {
        let rest = frame.strip_prefix(br#"{"type":""#).and_then(|rest| rest.strip_prefix(kind.as_bytes()));
        if let Some(rest) = rest.and_then(|rest| rest.strip_prefix(br#"","object":"#))
            && let Scanned::End(end) = Scanner::new(DEPTH).scan(rest)
            && rest[end..].trim_ascii() == b"}"
        {
            return Some((kind, &rest[..end]));
        }
    }
    // A member that is there twice could be read in two ways.
    let find = |name: &[u8]| {
        let mut found = Members::of(frame)?.filter(|member| &frame[member.name.clone()] == name);
        let member = found.next()?;
        found.next().is_none().then_some(&frame[member.value])
    };
    let kind = find(br#""type""#)?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    Some((std::str::from_utf8(kind).ok()?, find(br#""object""#)?))
}

/// The text of an object without its `metadata.managedFields`; the same text if it has none.
///
/// ```
/// let object = br#"{"metadata":{"name":"a","managedFields":[{"manager":"m"}]},"data":{}}"#;
/// assert_eq!(kube_wire::strip_managed_fields(object), br#"{"metadata":{"name":"a"},"data":{}}"#);
/// ```
pub fn strip_managed_fields(object: &[u8]) -> Vec<u8> {
    let mut stripped = Vec::new();
    let managed = managed_fields(object);
    stripped.reserve_exact(object.len() - managed.len());
    stripped.extend_from_slice(&object[..managed.start]);
    stripped.extend_from_slice(&object[managed.end..]);
    stripped
}

/// Where the managed fields are, with the comma that goes with them; empty if there are none.
fn managed_fields(object: &[u8]) -> Range<usize> {
    let find = || -> Option<Range<usize>> {
        let is = |text: &[u8], member: &Member, name: &[u8]| &text[member.name.clone()] == name;
        let metadata = Members::of(object)?.find(|member| is(object, member, br#""metadata""#))?.value;
        let inside = &object[metadata.clone()];
        let member = Members::of(inside)?.find(|member| is(inside, member, br#""managedFields""#))?;
        let (mut start, mut end) = (metadata.start + member.name.start, metadata.start + member.value.end);
        // Either the comma before it goes, or, for the first member, the one behind it.
        let before = object[..start].iter().rposition(|byte| !byte.is_ascii_whitespace())?;
        let behind = end + object[end..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        if object[before] == b',' {
            start = before;
        } else if object[behind] == b',' {
            end = behind + 1;
        }
        Some(start..end)
    };
    find().unwrap_or(0..0)
}

/// One member of an object: places in its text.
struct Member {
    /// With its quotation marks.
    name: Range<usize>,
    value: Range<usize>,
}

/// Walks through the members of an object; ends at the first thing that is not JSON.
struct Members<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Members<'a> {
    fn of(text: &'a [u8]) -> Option<Self> {
        let at = text.iter().position(|byte| !byte.is_ascii_whitespace())?;
        (text[at] == b'{').then_some(Self { text, at: at + 1 })
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.text[self.at..].iter().position(|byte| !byte.is_ascii_whitespace());
        let Some(found) = found.map(|space| self.at + space) else { return false };
        if self.text[found] != byte {
            self.at = found;
            return false;
        }
        self.at = found + 1;
        true
    }

    /// Passes over one value, and says where it is.
    fn value(&mut self) -> Option<Range<usize>> {
        let space = self.text[self.at..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        let start = self.at + space;
        let Scanned::End(length) = Scanner::new(DEPTH).scan(&self.text[start..]) else { return None };
        self.at = start + length;
        Some(start..self.at)
    }
}

impl Iterator for Members<'_> {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        self.skip(b',');
        let name = self.value()?;
        if !self.skip(b':') {
            return None;
        }
        Some(Member { name, value: self.value()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(object: &str) -> String {
        String::from_utf8(strip_managed_fields(object.as_bytes())).unwrap()
    }

    #[test]
    fn managed_fields_go_wherever_they_stand() {
        let wanted = serde_json::json!({"metadata": {"name": "a", "uid": "u"}, "data": {"k": "v"}});
        let managed = r#""managedFields" : [{"f:metadata":{"f:name":"}]\""}}, [ ]] "#;
        for metadata in [
            format!(r#"{{{managed},"name":"a","uid":"u"}}"#),
            format!(r#"{{"name":"a", {managed} , "uid":"u"}}"#),
            format!(r#"{{ "name":"a","uid":"u",{managed}}}"#),
        ] {
            for object in [
                format!(r#"{{"data":{{"k":"v"}},"metadata":{metadata}}}"#),
                format!(" {{ \"metadata\" : {metadata}\n, \"data\":{{\"k\":\"v\"}} }}"),
            ] {
                let left: serde_json::Value = serde_json::from_str(&stripped(&object)).unwrap();
                assert_eq!(left, wanted, "{object}");
            }
        }
        assert_eq!(stripped(r#"{"metadata":{"managedFields":[]}}"#), r#"{"metadata":{}}"#);
    }

    #[test]
    fn what_has_no_managed_fields_stays_as_it_is() {
        for object in [
            r#"{"metadata":{"name":"managedFields"}}"#,
            r#"{"managedFields":[1],"metadata":{}}"#,
            r#"{"data":{"metadata":{"managedFields":[1]}}}"#,
            r#"{"metadata":null}"#,
            r#"{"metadata":{"managedFields":["#,
            r#"{"metadata"#,
            "[]",
            "",
        ] {
            assert_eq!(stripped(object), object);
        }
    }

    #[test]
    fn an_object_is_cut_out_of_a_frame_in_any_form() {
        let object = r#"{"metadata":{"name":"a"}}"#;
        for (kind, frame) in [
            ("MODIFIED", format!(r#"{{"type":"MODIFIED","object":{object}}}"#)),
            ("ADDED", format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n")),
            ("DELETED", format!(r#"{{ "object" : {object} , "type": "DELETED" }}"#)),
            ("NEW", format!(r#"{{"type":"NEW","extra":[1,{{}}],"object":{object}}}"#)),
            ("ADDED", format!(r#"{{"type":"ADDED","object":{object},"extra":{{}}}}"#)),
        ] {
            assert_eq!(split_event(frame.as_bytes()), Some((kind, object.as_bytes())), "{frame}");
        }
        assert_eq!(split_event(br#"{"type":"ADDED"}"#), None);
        assert_eq!(split_event(b"{"), None);
        let twice = format!(r#"{{"type":"ADDED","object":{object},"object":{{}}}}"#);
        assert_eq!(split_event(twice.as_bytes()), None, "nobody knows which one is meant");
    }
}
