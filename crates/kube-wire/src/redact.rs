//! Texts of decode errors: the place, the kind of what was found, what was expected. Never a value.
//!
//! Errors reach logs, the status and debug pages, and an object may be a Secret. So serde's texts are not taken over where they quote
//! what was found, and a message that a type makes itself is replaced: nothing is known of what it quotes. Names of members are not
//! values and are shown, shortened, as `kubectl describe secret` shows the keys of a Secret. What was expected is the type's own
//! text.

use std::fmt;

use serde::de::{Expected, Unexpected};

/// Stands for a message that a type makes itself.
pub(crate) const REFUSED: &str = "the type does not accept what is there";

/// The longest name that is shown, in characters.
const MAX_NAME_CHARS: usize = 64;

/// The longest path that is shown, in bytes, the mark for what is left out and one more name aside.
const MAX_PATH_BYTES: usize = 256;

/// The kind of a value, without the value.
fn kind_of(found: &Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "integer",
        Unexpected::Float(_) => "floating point",
        Unexpected::Char(_) => "character",
        Unexpected::Str(_) => "string",
        Unexpected::Bytes(_) => "byte array",
        // What serde calls a unit is null to those who write JSON.
        Unexpected::Unit => "null",
        Unexpected::Option => "Option value",
        Unexpected::NewtypeStruct => "newtype struct",
        Unexpected::Seq => "sequence",
        Unexpected::Map => "map",
        Unexpected::Enum => "enum",
        Unexpected::UnitVariant => "unit variant",
        Unexpected::NewtypeVariant => "newtype variant",
        Unexpected::TupleVariant => "tuple variant",
        Unexpected::StructVariant => "struct variant",
        // A text that the type chose.
        Unexpected::Other(_) => "something else",
    }
}

/// serde's text for a value of another type.
pub(crate) fn invalid_type(found: &Unexpected<'_>, expected: &dyn Expected) -> String {
    format!("invalid type: {}, expected {expected}", kind_of(found))
}

/// serde's text for a value that the type does not allow.
pub(crate) fn invalid_value(found: &Unexpected<'_>, expected: &dyn Expected) -> String {
    format!("invalid value: {}, expected {expected}", kind_of(found))
}

/// serde's text for an unknown variant, which may be a value.
pub(crate) fn unknown_variant(expected: &'static [&'static str]) -> String {
    format!("unknown variant, {}", OneOf(expected))
}

/// serde's text for an unknown member.
pub(crate) fn unknown_field(name: &str, expected: &'static [&'static str]) -> String {
    format!("unknown field {:?}, {}", short(name), OneOf(expected))
}

/// What would have been right.
struct OneOf(&'static [&'static str]);

impl fmt::Display for OneOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("there are none"),
            [one] => write!(f, "expected `{one}`"),
            [one, other] => write!(f, "expected `{one}` or `{other}`"),
            many => {
                f.write_str("expected one of ")?;
                many.iter()
                    .enumerate()
                    .try_for_each(|(at, name)| write!(f, "{}`{name}`", if at > 0 { ", " } else { "" }))
            }
        }
    }
}

fn short(name: &str) -> String {
    let mut chars = name.chars();
    let mut short: String = chars.by_ref().take(MAX_NAME_CHARS).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}

/// Where in an object something is: `spec.containers[2].image`. It grows from the inside out while an error is handed up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    /// From the inside out.
    parts: Vec<String>,
    bytes: usize,
}

impl Path {
    /// The path is below a member of this name.
    pub(crate) fn name(&mut self, name: &str) {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let short = short(name);
        self.push(if !name.is_empty() && name.bytes().all(is_plain) {
            format!(".{short}")
        } else {
            format!("[{short:?}]")
        });
    }

    /// The path is below this element of a list.
    pub(crate) fn element(&mut self, index: usize) {
        self.push(format!("[{index}]"));
    }

    /// The path is below some element of a list.
    pub(crate) fn some_element(&mut self) {
        self.push("[]".to_owned());
    }

    fn push(&mut self, part: String) {
        let before = self.bytes;
        self.bytes += part.len();
        if self.bytes <= MAX_PATH_BYTES {
            self.parts.push(part);
        } else if before <= MAX_PATH_BYTES {
            self.parts.push("…".to_owned());
        }
    }
}

/// Nothing at the object itself; else ` in ` and the path.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.parts.iter().rev();
        let Some(first) = parts.next() else { return Ok(()) };
        write!(f, " in {}", first.strip_prefix('.').unwrap_or(first))?;
        parts.try_for_each(|part| f.write_str(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_as_it_is_in_a_selector_and_is_bounded() {
        let mut path = Path::default();
        assert_eq!(path.to_string(), "");
        path.name("image");
        path.element(2);
        path.name("tls.crt");
        path.name("spec");
        assert_eq!(path.to_string(), r#" in spec["tls.crt"][2].image"#);
        let mut path = Path::default();
        for _ in 0..100_000 {
            path.name(&"x\u{202e}".repeat(500));
        }
        let text = path.to_string();
        assert!(text.len() < MAX_PATH_BYTES + 20 && text.starts_with(" in …"), "{text}");
        assert!(!text.contains('\u{202e}'), "{text}");
    }

    #[test]
    fn a_name_is_shortened() {
        assert_eq!(short("ab"), "ab");
        assert_eq!(short(&"a".repeat(MAX_NAME_CHARS)).len(), MAX_NAME_CHARS);
        assert!(short(&"a".repeat(1 << 20)).len() < 80);
    }
}
