//! Label selectors: `app in (web, db), !canary, tier!=test`.

use kube_core::{Expression, Selector};

use super::SelectorError;

/// How long the name of a label and its value may be.
const MAX_LENGTH: usize = 63;

/// How long the prefix of a label's name may be.
const MAX_PREFIX: usize = 253;

/// Reads a selector, for a [`Lister`](crate::lister::Lister).
///
/// ```
/// use kube_informer::selector::parse_labels;
///
/// let selector = parse_labels("app in (web, db), !canary")?;
/// assert_eq!(selector.to_string(), "app in (db,web),!canary");
/// let wrong = parse_labels("app in web").unwrap_err();
/// assert_eq!(
///     wrong.to_string(),
///     "the label selector \"app in web\" makes no sense: after \"in\" there should be (, not \"web\"",
/// );
/// # Ok::<(), kube_informer::selector::SelectorError>(())
/// ```
pub fn parse(selector: &str) -> Result<Selector, SelectorError> {
    let wrong = |why| SelectorError::labels(selector, why);
    let requirements = requirements(selector).map_err(wrong)?;
    let expressions = requirements.into_iter().map(|requirement| match requirement {
        Requirement::Expression(expression) => Ok(expression),
        Requirement::Compared => Err(wrong("only a server can be asked for more or less than".to_owned())),
    });
    expressions.collect()
}

/// Checks that a selector can be understood by a server.
pub(crate) fn check(selector: &str) -> Result<(), SelectorError> {
    requirements(selector).map(|_| ()).map_err(|why| SelectorError::labels(selector, why))
}

/// What is asked of one label.
enum Requirement {
    Expression(Expression),
    /// More or less than a number, which [`Expression`] does not know.
    Compared,
}

fn requirements(selector: &str) -> Result<Vec<Requirement>, String> {
    let mut tokens = Tokens { rest: selector, last: "" };
    let mut all = Vec::new();
    if tokens.peek().is_empty() {
        return Ok(all);
    }
    loop {
        all.push(requirement(&mut tokens)?);
        match tokens.peek() {
            "" => return Ok(all),
            "," => tokens.next(),
            other => return Err(tokens.expected(", or the end", other)),
        };
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, String> {
    let absent = tokens.peek() == "!";
    if absent {
        tokens.next();
    }
    let key = tokens.word("the name of a label")?;
    check_key(key)?;
    let key = key.to_owned();
    if absent {
        return Ok(Requirement::Expression(Expression::DoesNotExist(key)));
    }
    let expression = match tokens.peek() {
        "" | "," => Expression::Exists(key),
        "=" | "==" => Expression::Equal(key, tokens.value()?),
        "!=" => Expression::NotEqual(key, tokens.value()?),
        "in" => Expression::In(key, tokens.values()?.into_iter().collect()),
        "notin" => Expression::NotIn(key, tokens.values()?.into_iter().collect()),
        "<" | ">" => {
            let number = tokens.value()?;
            number.parse::<i64>().map_err(|_| format!("{number:?} is no whole number"))?;
            return Ok(Requirement::Compared);
        }
        other => return Err(tokens.expected("=, ==, !=, in, notin, < or >", other)),
    };
    Ok(Requirement::Expression(expression))
}

/// What a selector is made of: words, and signs between them.
struct Tokens<'a> {
    rest: &'a str,
    /// The token before `rest`.
    last: &'a str,
}

impl<'a> Tokens<'a> {
    /// The next token; empty at the end.
    fn peek(&self) -> &'a str {
        let text = self.rest.trim_start();
        let is_sign = |letter: char| "=!<>(),".contains(letter);
        match text.chars().next() {
            None => "",
            Some(first) if is_sign(first) => {
                let double = ["==", "!="].into_iter().any(|sign| text.starts_with(sign));
                &text[..if double { 2 } else { 1 }]
            }
            Some(_) => {
                let ends = |letter: char| is_sign(letter) || letter.is_whitespace();
                &text[..text.find(ends).unwrap_or(text.len())]
            }
        }
    }

    fn next(&mut self) -> &'a str {
        let token = self.peek();
        self.rest = &self.rest.trim_start()[token.len()..];
        self.last = token;
        token
    }

    fn is_word(token: &str) -> bool {
        token.chars().next().is_some_and(|first| !"=!<>(),".contains(first))
    }

    fn word(&mut self, what: &str) -> Result<&'a str, String> {
        let token = self.peek();
        if !Self::is_word(token) {
            return Err(self.expected(what, token));
        }
        Ok(self.next())
    }

    /// What follows an operator, which may be nothing.
    fn value(&mut self) -> Result<String, String> {
        self.next();
        let value = if Self::is_word(self.peek()) { self.next() } else { "" };
        check_value(value)?;
        Ok(value.to_owned())
    }

    /// What follows `in` or `notin`.
    fn values(&mut self) -> Result<Vec<String>, String> {
        self.next();
        let open = self.peek();
        if open != "(" {
            return Err(self.expected("(", open));
        }
        let mut values = Vec::new();
        loop {
            values.push(self.value()?);
            match self.peek() {
                "," => {}
                ")" => {
                    self.next();
                    return Ok(values);
                }
                other => return Err(self.expected(", or )", other)),
            }
        }
    }

    /// Says what should be here.
    fn expected(&self, what: &str, found: &str) -> String {
        let place = if self.last.is_empty() {
            "at the beginning".to_owned()
        } else {
            format!("after {:?}", self.last)
        };
        let found = if found.is_empty() { "the end".to_owned() } else { format!("{found:?}") };
        format!("{place} there should be {what}, not {found}")
    }
}

/// `name`, or `prefix/name`.
fn check_key(key: &str) -> Result<(), String> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let is_lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let inside = part.bytes().all(|byte| is_lower(byte) || byte == b'-');
        inside && part.bytes().next().is_some_and(is_lower) && part.bytes().last().is_some_and(is_lower)
    };
    if prefix.is_some_and(|prefix| prefix.len() > MAX_PREFIX || !prefix.split('.').all(is_part)) {
        return Err(format!("what is before the / in {key:?} is no domain name in small letters"));
    }
    if name.is_empty() || !is_name(name) {
        return Err(format!(
            "{key:?} cannot be the name of a label: at most {MAX_LENGTH} letters, digits, -, _ and ., \
             with a letter or a digit at both ends"
        ));
    }
    Ok(())
}

fn check_value(value: &str) -> Result<(), String> {
    if value.is_empty() || is_name(value) {
        return Ok(());
    }
    Err(format!(
        "{value:?} cannot be the value of a label: at most {MAX_LENGTH} letters, digits, -, _ and ., \
         with a letter or a digit at both ends"
    ))
}

fn is_name(name: &str) -> bool {
    let inside = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    name.len() <= MAX_LENGTH && inside && is_end(name.bytes().next()) && is_end(name.bytes().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        for (text, read) in [
            ("", ""),
            ("  ", ""),
            ("app", "app"),
            ("!app", "!app"),
            ("app=web", "app=web"),
            ("app == web", "app=web"),
            ("app!=web", "app!=web"),
            ("app=", "app="),
            ("app in (web, db)", "app in (db,web)"),
            ("app in (,web)", "app in (,web)"),
            ("app notin(web),tier", "app notin (web),tier"),
            ("example.com/app=a.b_c-D,in=in", "example.com/app=a.b_c-D,in=in"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), read, "{text}");
            assert_eq!(check(text), Ok(()));
        }
        assert_eq!(check("size > 3, size<10"), Ok(()));
        let error = parse("size>3").unwrap_err();
        assert_eq!(error.why, "only a server can be asked for more or less than");
    }

    #[test]
    fn what_a_server_would_refuse_is_refused_with_the_place() {
        for (bad, why) in [
            ("app in web", "after \"in\" there should be (, not \"web\""),
            ("app in (web", "after \"web\" there should be , or ), not the end"),
            ("app in (web db)", "after \"web\" there should be , or ), not \"db\""),
            ("app=web tier=db", "after \"web\" there should be , or the end, not \"tier\""),
            ("app=web,", "after \",\" there should be the name of a label, not the end"),
            (",app", "at the beginning there should be the name of a label, not \",\""),
            ("app is web", "after \"app\" there should be =, ==, !=, in, notin, < or >, not \"is\""),
            ("!app=web", "after \"app\" there should be , or the end, not \"=\""),
            ("app===web", "after \"==\" there should be , or the end, not \"=\""),
            ("size > large", "\"large\" is no whole number"),
            (
                "Example.com/app",
                "what is before the / in \"Example.com/app\" is no domain name in small letters",
            ),
        ] {
            assert_eq!(check(bad).unwrap_err().why, why, "{bad}");
            assert!(parse(bad).is_err());
        }
        for bad in ["-app", "a/b/c", "/app", "app/", "app=web!", "app=-web", "ä=b", "app=ö"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert!(check(&format!("app={}", "x".repeat(MAX_LENGTH))).is_ok());
        assert!(check(&format!("app={}", "x".repeat(MAX_LENGTH + 1))).is_err());
    }
}
