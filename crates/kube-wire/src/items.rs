//! A list, cut into items while it arrives.

use bytes::{Buf, Bytes, BytesMut};
use serde::Deserialize;

use crate::glimpse::Glimpse;
use crate::json;
use crate::limits::{Limits, WireError};
use crate::object::{DecodeOptions, text};
use crate::piece::Piece;
use crate::scan::{Scanned, Scanner};

/// Cuts the bytes of a list into items, so that no more than one item and one piece are in memory.
///
/// Bytes go in with [`push`](Self::push); items come out with [`next_item`](Self::next_item) until there is none;
/// what the list says about itself comes at the end, from [`finish`](Self::finish), because a server may send it
/// behind the items.
#[derive(Debug)]
pub struct ListItems {
    limits: Limits,
    buffer: BytesMut,
    /// How much of the buffer the scanner has seen.
    scanned: usize,
    /// Bytes taken out of the buffer so far: for errors and for the limit on the whole.
    consumed: u64,
    /// The document without its items.
    head: Vec<u8>,
    has_items: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Before the opening brace.
    Start,
    /// Before a key, or before the closing brace.
    Key { first: bool },
    /// Inside a key.
    InKey(Scanner),
    /// Before the colon behind a key.
    Colon { items: bool },
    /// Inside a value that is not the items.
    Value(Scanner),
    /// Before the bracket of the items; `null` stands for none.
    Items,
    /// Inside `null` in place of the items.
    NoItems(Scanner),
    /// Before an item, or before the closing bracket.
    Item { first: bool },
    /// Inside an item.
    InItem(Scanner),
    /// Inside an item that is too large, of which so many bytes were passed over.
    InLarge { scanner: Scanner, glimpse: Box<Glimpse>, bytes: u64 },
    /// Behind the closing brace.
    Done,
}

/// What a list says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListMeta {
    /// The version of the list; where a watch goes on.
    pub resource_version: String,
    /// The token of the next page; empty on the last one.
    pub continue_token: String,
    /// How many items follow, if the server knows.
    pub remaining_item_count: Option<i64>,
    /// For example `PodList`.
    pub kind: String,
    /// For example `v1`.
    pub api_version: String,
}

/// Cutting needs no memory for depth: an item that is too deep to be decoded is one bad item, not a bad list.
const ANY_DEPTH: usize = usize::MAX;

impl ListItems {
    /// Starts at the beginning of a list.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            buffer: BytesMut::new(),
            scanned: 0,
            consumed: 0,
            head: Vec::new(),
            has_items: false,
            state: State::Start,
        }
    }

    /// Takes in bytes. Fails if there have been more than a list may have.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.buffer.extend_from_slice(bytes);
        if self.consumed + self.buffer.len() as u64 > self.limits.list_bytes {
            return Err(WireError::ListTooLarge { limit: self.limits.list_bytes });
        }
        Ok(())
    }

    /// The next whole item; none if more bytes are needed or the list is at its end.
    pub fn next_item(&mut self) -> Result<Option<Piece>, WireError> {
        loop {
            match &mut self.state {
                State::InItem(scanner) => {
                    let scanned = scanner.scan(&self.buffer[self.scanned..]);
                    let end = self.end_of(scanned)?;
                    if end.unwrap_or(self.buffer.len()) > self.limits.item_bytes {
                        self.scanned = 0;
                        self.state = State::InLarge {
                            scanner: Scanner::new(ANY_DEPTH),
                            glimpse: Box::new(Glimpse::of_item()),
                            bytes: 0,
                        };
                        continue;
                    }
                    let Some(end) = end else { return Ok(None) };
                    let item = self.take(end);
                    self.state = State::Item { first: false };
                    return Ok(Some(Piece::Whole(item)));
                }
                State::InLarge { .. } => return self.pass_over(),
                State::Done => {
                    self.skip_space();
                    return if self.buffer.is_empty() {
                        Ok(None)
                    } else {
                        Err(self.wrong("something behind the list"))
                    };
                }
                _ => {
                    if !self.step()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Goes on inside an item that is too large; at its end, says what it was about.
    fn pass_over(&mut self) -> Result<Option<Piece>, WireError> {
        let State::InLarge { scanner, glimpse, bytes } = &mut self.state else { return Ok(None) };
        let scanned = scanner.scan(&self.buffer);
        let (passed, is_end) = match scanned {
            Scanned::End(at) => (at, true),
            _ => (self.buffer.len(), false),
        };
        glimpse.feed(&self.buffer[..passed]);
        *bytes += passed as u64;
        if self.limits.is_endless(*bytes) {
            return Err(WireError::ItemTooLarge { limit: self.limits.passed_over_bytes });
        }
        self.end_of(scanned)?;
        self.take(passed);
        if !is_end {
            return Ok(None);
        }
        let State::InLarge { glimpse, bytes, .. } =
            std::mem::replace(&mut self.state, State::Item { first: false })
        else {
            return Ok(None);
        };
        Ok(Some(glimpse.end().too_large(bytes, self.limits.item_bytes)))
    }

    /// What the list said about itself; an error if it is not whole.
    pub fn finish(self) -> Result<ListMeta, WireError> {
        if !matches!(self.state, State::Done) {
            return Err(WireError::Truncated { missing: "the end of the list" });
        }
        let head = text(&self.head).and_then(|head| {
            json::from_text(head, DecodeOptions::default()).map_err(|error| error.to_string())
        });
        let head: Head = head.map_err(|why| WireError::BadListMeta { why })?;
        if !self.has_items {
            let (kind, version) = (head.kind.unwrap_or_default(), head.api_version.unwrap_or_default());
            let why = format!("it is \"{kind}\" of \"{version}\" and has no items, not even none");
            return Err(WireError::BadListMeta { why });
        }
        Ok(ListMeta {
            resource_version: head.metadata.resource_version.unwrap_or_default(),
            continue_token: head.metadata.continue_token.unwrap_or_default(),
            remaining_item_count: head.metadata.remaining_item_count,
            kind: head.kind.unwrap_or_default(),
            api_version: head.api_version.unwrap_or_default(),
        })
    }

    /// Goes on outside of items; false if more bytes are needed.
    fn step(&mut self) -> Result<bool, WireError> {
        if let State::InKey(scanner) | State::Value(scanner) | State::NoItems(scanner) = &mut self.state {
            let scanned = scanner.scan(&self.buffer[self.scanned..]);
            let Some(end) = self.end_of(scanned)? else {
                return self.room_in_head(self.buffer.len()).map(|()| false);
            };
            let text = self.take(end);
            let next = match &self.state {
                State::InKey(_) => State::Colon { items: &text[..] == b"\"items\"" },
                _ => State::Key { first: false },
            };
            match &next {
                // The items are replaced by an empty list, so that the head stays a document.
                State::Key { .. } if matches!(self.state, State::NoItems(_)) => {
                    if &text[..] != b"null" {
                        return Err(self.wrong("items that are not a list"));
                    }
                    self.keep(b"[]")?;
                }
                _ => self.keep(&text)?,
            }
            self.state = next;
            return Ok(true);
        }
        self.skip_space();
        let Some(&byte) = self.buffer.first() else { return Ok(false) };
        self.state = match (&self.state, byte) {
            (State::Start, b'{') | (State::Key { first: false }, b',') => {
                self.pass(State::Key { first: true })
            }
            (State::Key { .. }, b'}') => self.pass(State::Done),
            (State::Key { first: true }, b'"') => State::InKey(Scanner::new(1)),
            (State::Colon { items: true }, b':') => {
                self.has_items = true;
                self.pass(State::Items)
            }
            (State::Colon { items: false }, b':') => self.pass(State::Value(Scanner::new(self.limits.depth))),
            (State::Items, b'[') => {
                self.keep(b"[]")?;
                self.drop_byte(State::Item { first: true })
            }
            (State::Items, b'n') => State::NoItems(Scanner::new(1)),
            (State::Item { .. }, b']') => self.drop_byte(State::Key { first: false }),
            (State::Item { first: false }, b',') => self.drop_byte(State::InItem(Scanner::new(ANY_DEPTH))),
            (State::Item { first: true }, _) => State::InItem(Scanner::new(ANY_DEPTH)),
            _ => return Err(self.wrong("an unexpected character")),
        };
        Ok(true)
    }

    /// Where the scanned value ends in the buffer; none if more bytes are needed.
    fn end_of(&mut self, scanned: Scanned) -> Result<Option<usize>, WireError> {
        match scanned {
            Scanned::End(at) => Ok(Some(self.scanned + at)),
            Scanned::More => {
                self.scanned = self.buffer.len();
                Ok(None)
            }
            Scanned::TooDeep => Err(WireError::TooDeep { limit: self.limits.depth }),
            Scanned::Bad(at) => {
                self.scanned += at;
                Err(self.wrong("an unexpected character"))
            }
        }
    }

    /// Takes bytes out of the buffer.
    fn take(&mut self, end: usize) -> Bytes {
        self.consumed += end as u64;
        self.scanned = 0;
        let mut taken = self.buffer.split_to(end);
        let space = taken.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        taken.advance(space);
        taken.freeze()
    }

    /// Drops one byte.
    fn drop_byte(&mut self, next: State) -> State {
        self.buffer.advance(1);
        self.consumed += 1;
        next
    }

    /// Moves one byte to the head.
    fn pass(&mut self, next: State) -> State {
        self.head.push(self.buffer[0]);
        self.drop_byte(next)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.room_in_head(bytes.len())?;
        self.head.extend_from_slice(bytes);
        Ok(())
    }

    fn room_in_head(&self, more: usize) -> Result<(), WireError> {
        if self.head.len() + more > self.limits.list_head_bytes {
            return Err(WireError::HeadTooLarge { limit: self.limits.list_head_bytes });
        }
        Ok(())
    }

    fn skip_space(&mut self) {
        let space = self.buffer.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.buffer.advance(space);
        self.consumed += space as u64;
    }

    fn wrong(&self, why: &'static str) -> WireError {
        WireError::NotAList { why, at: self.consumed + self.scanned as u64 }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    kind: Option<String>,
    api_version: Option<String>,
    #[serde(default)]
    metadata: HeadMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeadMeta {
    resource_version: Option<String>,
    #[serde(rename = "continue")]
    continue_token: Option<String>,
    remaining_item_count: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(limits: Limits, pieces: &[&[u8]]) -> Result<(Vec<String>, ListMeta), WireError> {
        let mut list = ListItems::new(limits);
        let mut items = Vec::new();
        for piece in pieces {
            list.push(piece)?;
            while let Some(item) = list.next_item()? {
                items.push(match item {
                    Piece::Whole(item) => String::from_utf8(item.to_vec()).unwrap(),
                    Piece::TooLarge(large) => {
                        let name = large.key.map(|key| key.name).unwrap_or_default();
                        format!("{name} {} of {}", large.bytes, large.limit)
                    }
                });
            }
        }
        Ok((items, list.finish()?))
    }

    fn whole(text: &str) -> Result<(Vec<String>, ListMeta), WireError> {
        cut(Limits::default(), &[text.as_bytes()])
    }

    const BUILT_IN: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"12","continue":"abc","remainingItemCount":7},"items":[{"a":"]},{"}, {"b":[1,2,{"c":"\""}]} ,{}]}"#;
    const CUSTOM: &str = r#" { "apiVersion" : "example.com/v1", "items" : [ {"a":1} , {"b":2} ] , "kind":"WidgetList", "metadata":{"resourceVersion":"12"} } "#;

    #[test]
    fn items_are_the_same_wherever_the_bytes_are_cut() {
        for (text, expected) in [
            (BUILT_IN, vec![r#"{"a":"]},{"}"#, r#"{"b":[1,2,{"c":"\""}]}"#, "{}"]),
            (CUSTOM, vec![r#"{"a":1}"#, r#"{"b":2}"#]),
        ] {
            let bytes = text.as_bytes();
            for at in 0..=bytes.len() {
                let (items, meta) = cut(Limits::default(), &[&bytes[..at], &bytes[at..]]).unwrap();
                assert_eq!(items, expected, "cut at {at}");
                assert_eq!(meta.resource_version, "12");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(cut(Limits::default(), &single).unwrap().0, expected);
        }
    }

    #[test]
    fn a_list_says_what_it_is_before_or_behind_its_items() {
        let (_, meta) = whole(BUILT_IN).unwrap();
        assert_eq!((meta.kind.as_str(), meta.api_version.as_str()), ("PodList", "v1"));
        assert_eq!((meta.continue_token.as_str(), meta.remaining_item_count), ("abc", Some(7)));
        let (_, meta) = whole(CUSTOM).unwrap();
        assert_eq!((meta.kind.as_str(), meta.api_version.as_str()), ("WidgetList", "example.com/v1"));
        assert_eq!((meta.continue_token.as_str(), meta.remaining_item_count), ("", None));
    }

    #[test]
    fn no_items_are_no_items() {
        for text in [r#"{"items":[]}"#, r#"{"items":null}"#, r#"{"items":[ ]}"#] {
            assert_eq!(whole(text).unwrap().0, Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_list_that_breaks_off_anywhere_is_an_error() {
        for end in 0..BUILT_IN.len() {
            assert!(whole(&BUILT_IN[..end]).is_err(), "ended at {end}");
        }
    }

    #[test]
    fn what_is_not_a_list_is_an_error() {
        for text in [
            "[]",
            "null",
            "{]",
            r#"{"items":{}}"#,
            r#"{"items":[}]}"#,
            r#"{"items":[1 2]}"#,
            r#"{"items":[1,]}"#,
            r#"{"a" 1}"#,
            r#"{"a":1 "b":2}"#,
            r#"{,}"#,
            r#"{"items":[]} x"#,
            r#"{"items":nul}"#,
            r#"{"metadata":1,"items":[]}"#,
            "<html>",
            r#"{"items":[,1]}"#,
            "{}",
            r#"{"metadata":{}}"#,
            r#"{"kind":"Status","apiVersion":"v1","code":503}"#,
        ] {
            assert!(whole(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_limit_is_kept() {
        let limits = Limits { item_bytes: 10, passed_over_bytes: 15, ..Limits::default() };
        let long = format!(r#"{{"items":[{{"a":"{}"}}]}}"#, "x".repeat(20));
        assert_eq!(cut(limits, &[long.as_bytes()]), Err(WireError::ItemTooLarge { limit: 15 }));
        let unfinished = long.as_bytes().chunks(1).take(30).collect::<Vec<_>>();
        assert_eq!(cut(limits, &unfinished), Err(WireError::ItemTooLarge { limit: 15 }));
        let limits = Limits { list_bytes: 20, ..Limits::default() };
        assert_eq!(cut(limits, &[long.as_bytes()]), Err(WireError::ListTooLarge { limit: 20 }));
        let limits = Limits { list_head_bytes: 20, ..Limits::default() };
        assert_eq!(cut(limits, &[BUILT_IN.as_bytes()]), Err(WireError::HeadTooLarge { limit: 20 }));
        let limits = Limits { depth: 3, ..Limits::default() };
        assert_eq!(cut(limits, &[br#"{"x":[[[[1]]]]}"#]), Err(WireError::TooDeep { limit: 3 }));
        assert!(cut(limits, &[br#"{"items":[[[[[1]]]]]}"#]).is_ok(), "an item is for its decoder to refuse");
    }

    #[test]
    fn an_item_that_is_too_large_is_passed_over_and_says_what_it_was_about() {
        let text = br#"{"items":[{"a":1}, {"data":"xxxxxxxxxxxx","metadata":{"name":"large"}} ,{"b":2}],"metadata":{"resourceVersion":"12"}}"#;
        let limits = Limits { item_bytes: 10, ..Limits::default() };
        let expected = [r#"{"a":1}"#, "large 52 of 10", r#"{"b":2}"#];
        for at in 0..=text.len() {
            let (items, meta) = cut(limits, &[&text[..at], &text[at..]]).unwrap();
            assert_eq!(items, expected, "cut at {at}");
            assert_eq!(meta.resource_version, "12");
        }
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(cut(limits, &single).unwrap().0, expected);
        for end in 0..text.len() {
            assert!(cut(limits, &[&text[..end]]).is_err(), "ended at {end}");
        }
    }

    #[test]
    fn what_is_waiting_for_more_bytes_is_bounded() {
        let limits = Limits { item_bytes: 100, passed_over_bytes: 150, ..Limits::default() };
        let mut list = ListItems::new(limits);
        list.push(br#"{"items":[""#).unwrap();
        let mut failed = false;
        for _ in 0..200 {
            list.push(b"x").unwrap();
            failed |= list.next_item().is_err();
            if failed {
                break;
            }
            assert!(list.buffer.len() <= 100);
        }
        assert!(failed);
    }
}
