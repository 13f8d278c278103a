//! Which object a JSON text of any length is about, in little memory.

use crate::piece::Glimpsed;

/// Names, versions and types of events are shorter.
const MAX_TEXT_BYTES: usize = 1 << 10;

/// Reads the key of an object, and the type of its event, out of bytes that are not kept.
///
/// Bytes go in with [`feed`](Self::feed). It looks at texts on the way to the metadata and in it, and passes over
/// everything else.
#[derive(Debug)]
pub(crate) struct Glimpse {
    /// The members that lead to the metadata.
    path: &'static [&'static str],
    depth: usize,
    /// How many of the objects around this place lie on the path, from the outermost.
    on_path: usize,
    /// A text that comes now is the name of a member.
    at_name: bool,
    /// The name that was read last.
    name: Vec<u8>,
    text: Text,
    found: Glimpsed,
}

#[derive(Debug)]
enum Text {
    /// Between texts.
    Outside,
    /// In a text; what it is, if that matters.
    Inside { kept: Option<Vec<u8>>, escape: bool },
}

impl Glimpse {
    /// At the beginning of an object.
    pub(crate) fn of_item() -> Self {
        Self::new(&["metadata"])
    }

    /// At the beginning of an event.
    pub(crate) fn of_frame() -> Self {
        Self::new(&["object", "metadata"])
    }

    fn new(path: &'static [&'static str]) -> Self {
        Self {
            path,
            depth: 0,
            on_path: 0,
            at_name: false,
            name: Vec::new(),
            text: Text::Outside,
            found: Glimpsed::default(),
        }
    }

    /// Looks at the bytes that follow those of the last call.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(&byte) = bytes.first() {
            match &mut self.text {
                Text::Outside => {
                    self.outside(byte);
                    bytes = &bytes[1..];
                }
                Text::Inside { kept, escape } => {
                    let end = if std::mem::take(escape) {
                        1
                    } else {
                        let end = memchr::memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
                        *escape = bytes.get(end) == Some(&b'\\');
                        if bytes.get(end) == Some(&b'"') && end == 0 {
                            self.end_of_text();
                            bytes = &bytes[1..];
                            continue;
                        }
                        end + usize::from(*escape)
                    };
                    if let Some(text) = kept {
                        text.extend_from_slice(&bytes[..end.min(MAX_TEXT_BYTES + 1)]);
                        if text.len() > MAX_TEXT_BYTES {
                            *kept = None;
                        }
                    }
                    bytes = &bytes[end..];
                }
            }
        }
    }

    /// What was found.
    pub(crate) fn end(self) -> Glimpsed {
        self.found
    }

    fn is_on_path(&self) -> bool {
        self.depth == self.on_path
    }

    fn outside(&mut self, byte: u8) {
        match byte {
            b'"' => {
                let kept = (self.is_on_path() && self.depth > 0).then(Vec::new);
                self.text = Text::Inside { kept, escape: false };
            }
            b'{' | b'[' => {
                let leads = self.depth == 0
                    || self.path.get(self.depth - 1).is_some_and(|name| name.as_bytes() == self.name);
                if byte == b'{' && self.is_on_path() && leads {
                    self.on_path += 1;
                    self.at_name = true;
                }
                self.depth += 1;
            }
            b'}' | b']' => {
                if self.is_on_path() {
                    self.on_path = self.on_path.saturating_sub(1);
                    self.at_name = false;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.is_on_path() => self.at_name = true,
            b':' if self.is_on_path() => self.at_name = false,
            _ => {}
        }
    }

    fn end_of_text(&mut self) {
        let Text::Inside { kept, .. } = std::mem::replace(&mut self.text, Text::Outside) else { return };
        if !self.is_on_path() {
            return;
        }
        let text = kept.unwrap_or_default();
        if self.at_name {
            self.name = text;
            return;
        }
        let quoted = [b"\"", &text[..], b"\""].concat();
        let Ok(text) = serde_json::from_slice::<String>(&quoted) else { return };
        let key = &mut self.found.key;
        if self.depth == self.path.len() + 1 {
            match &self.name[..] {
                b"name" => key.name = text,
                b"namespace" => key.namespace = text,
                b"uid" => key.uid = text,
                b"resourceVersion" => key.resource_version = text,
                _ => {}
            }
        } else if self.depth == 1 && self.name == b"type" {
            self.found.event = text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::ObjectKey;

    fn glimpse(mut glimpse: Glimpse, pieces: &[&[u8]]) -> Glimpsed {
        for piece in pieces {
            glimpse.feed(piece);
        }
        glimpse.end()
    }

    #[test]
    fn the_key_is_found_wherever_it_stands_and_wherever_the_bytes_are_cut() {
        let object = r#"{"data":{"name":"no","metadata":{"name":"no"},"x":["metadata",{"name":"no"}]},"name":"no","kind":"K","metadata" : {"annotations":{"name":"no\"}"},"ownerReferences":[{"name":"no","uid":"no"}],"managedFields":[{"metadata":{"name":"no"}}],"n\u0061me":"no", "name":"a\u0062", "namespace":"n","uid":"u","resourceVersion":"7","generation":3},"spec":{"metadata":{"name":"no"}},"status":"name"}"#;
        let expected = ObjectKey::new("n", "ab", "u", "7");
        let frame = format!(r#" {{"object":{object},"type":"ADDED"}}"#);
        for at in 0..=object.len() {
            let (before, behind) = object.as_bytes().split_at(at);
            let found = glimpse(Glimpse::of_item(), &[before, behind]);
            assert_eq!((found.event.as_str(), &found.key), ("", &expected), "cut at {at}");
        }
        let found = glimpse(Glimpse::of_frame(), &frame.as_bytes().chunks(1).collect::<Vec<_>>());
        assert_eq!((found.event.as_str(), &found.key), ("ADDED", &expected));
    }

    #[test]
    fn what_has_no_readable_key_has_none() {
        let long = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, "x".repeat(MAX_TEXT_BYTES + 1));
        for text in [
            r#"{"metadata":["name","a"]}"#,
            r#"{"metadata":{"name":5}}"#,
            r#"[{"metadata":{"name":"a"}}]"#,
            r#"{"object":{"metadata":{"name":"a"}}}"#,
            r#"{"metadata":{"name":"\q"}}"#,
            "}}]]{\"",
            "",
            &long,
        ] {
            assert_eq!(glimpse(Glimpse::of_item(), &[text.as_bytes()]), Glimpsed::default(), "{text}");
        }
    }

    #[test]
    fn nothing_is_kept_of_texts_that_do_not_matter() {
        let mut glimpse = Glimpse::of_item();
        glimpse.feed(br#"{"metadata":{"annotations":{"a":""#);
        for _ in 0..100 {
            glimpse.feed(&[b'x'; 1 << 10]);
        }
        assert!(matches!(glimpse.text, Text::Inside { kept: None, .. }));
        glimpse.feed(br#""},"name":"a"}}"#);
        assert_eq!(glimpse.end().key.name, "a");
    }
}
