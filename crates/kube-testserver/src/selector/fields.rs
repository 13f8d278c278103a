//! Field selectors: `metadata.name=a,status.phase!=Running`.

use crate::storage::Stored;

/// All terms must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: Field,
    value: String,
    equal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
    /// One of the kind's own selectable fields, by its place in their list.
    Of(usize),
}

impl FieldSelector {
    /// Parses a selector for a kind with the given selectable fields (beyond name and namespace). `unknown` words
    /// the error for any other field, which kinds do differently.
    pub(crate) fn parse(
        text: &str,
        selectable: &[Box<str>],
        unknown: impl Fn(&str) -> String,
    ) -> Result<Self, String> {
        let mut terms = Vec::new();
        for term in split_terms(text) {
            let (path, value, equal) = split_term(term)
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{term}'"))?;
            let field = match path {
                "metadata.name" => Field::Name,
                "metadata.namespace" => Field::Namespace,
                _ => Field::Of(
                    selectable
                        .iter()
                        .position(|known| !path.is_empty() && **known == *path)
                        .ok_or_else(|| unknown(path))?,
                ),
            };
            terms.push(Term { field, value: unescape(value)?, equal });
        }
        Ok(Self(terms))
    }

    /// Selects the object of one name.
    pub(crate) fn name(name: &str) -> Self {
        Self(vec![Term { field: Field::Name, value: name.to_owned(), equal: true }])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.0.iter().all(|term| {
            let value = match term.field {
                Field::Name => object.name(),
                Field::Namespace => object.namespace(),
                Field::Of(at) => object.field(at),
            };
            (value == term.value) == term.equal
        })
    }
}

/// Splits at commas that are not escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms.retain(|term| !term.is_empty());
    terms
}

fn split_term(term: &str) -> Option<(&str, &str, bool)> {
    let at = term.find(['=', '!'])?;
    let (path, rest) = term.split_at(at);
    if let Some(value) = rest.strip_prefix("!=") {
        return Some((path, value, false));
    }
    let value = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?;
    Some((path, value, true))
}

fn unescape(value: &str) -> Result<String, String> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                _ => return Err(format!("invalid field selector: invalid escape sequence: {value}")),
            },
            ',' | '=' => return Err(format!("invalid field selector: unescaped character in value: {c}")),
            _ => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, selectable: &[Box<str>]) -> Result<FieldSelector, String> {
        FieldSelector::parse(text, selectable, |path| format!("field label not supported: {path}"))
    }

    #[test]
    fn only_known_fields_are_accepted() {
        let pods = [Box::from("spec.nodeName"), Box::from("status.phase")];
        assert!(parse("spec.nodeName=a,status.phase!=Running,metadata.name==x", &pods).is_ok());
        assert_eq!(parse("spec.foo=a", &pods).unwrap_err(), "field label not supported: spec.foo");
        assert!(parse("spec.nodeName", &pods).is_err());
        assert!(parse("", &pods).unwrap().is_empty());
    }

    #[test]
    fn values_may_hold_escaped_separators() {
        let parsed = parse(r"metadata.name=a\,b\=c\\d", &[]).unwrap();
        assert_eq!(parsed.0[0].value, r"a,b=c\d");
        assert!(parse(r"metadata.name=a=b", &[]).is_err());
        assert!(parse(r"metadata.name=a\x", &[]).is_err());
    }
}
