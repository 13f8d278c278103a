//! Label selectors: `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>3`.

use crate::names;
use crate::storage::Labels;

/// All requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

impl LabelSelector {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { rest: text.trim() };
        let mut requirements = Vec::new();
        match parser.peek() {
            Token::End => return Ok(Self(requirements)),
            Token::Word(_) | Token::Not => {}
            other => {
                return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text()));
            }
        }
        loop {
            let requirement = parser.requirement();
            requirements.push(requirement.map_err(|why| match why {
                Bad::Requirement(why) => format!("unable to parse requirement: {why}"),
                Bad::Syntax(why) => why,
            })?);
            match parser.next() {
                Token::End => return Ok(Self(requirements)),
                Token::Comma => match parser.peek() {
                    Token::Word(_) | Token::Not => {}
                    other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
                },
                other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|requirement| requirement.matches(labels))
    }
}

impl Requirement {
    fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        match &self.operator {
            Operator::In(values) => value.is_some_and(|value| values.iter().any(|v| v == value)),
            Operator::NotIn(values) => value.is_none_or(|value| !values.iter().any(|v| v == value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan(bound) => number(value).is_some_and(|n| n > *bound),
            Operator::LessThan(bound) => number(value).is_some_and(|n| n < *bound),
        }
    }
}

fn number(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}

/// Where a selector went wrong: Kubernetes words the two differently.
enum Bad {
    Requirement(String),
    Syntax(String),
}

impl From<String> for Bad {
    fn from(why: String) -> Self {
        Self::Requirement(why)
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Equals,
    NotEquals,
    Greater,
    Less,
    Not,
    Comma,
    Open,
    Close,
    End,
}

impl Token<'_> {
    fn text(&self) -> &str {
        match self {
            Token::Word(word) => word,
            Token::Equals => "=",
            Token::NotEquals => "!=",
            Token::Greater => ">",
            Token::Less => "<",
            Token::Not => "!",
            Token::Comma => ",",
            Token::Open => "(",
            Token::Close => ")",
            Token::End => "",
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Token<'a> {
        self.rest = self.rest.trim_start();
        for (text, token) in [
            ("==", Token::Equals),
            ("!=", Token::NotEquals),
            ("=", Token::Equals),
            ("!", Token::Not),
            (">", Token::Greater),
            ("<", Token::Less),
            (",", Token::Comma),
            ("(", Token::Open),
            (")", Token::Close),
        ] {
            if let Some(rest) = self.rest.strip_prefix(text) {
                self.rest = rest;
                return token;
            }
        }
        let end =
            self.rest.find(|c: char| c.is_whitespace() || "=!<>,()".contains(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if word.is_empty() { Token::End } else { Token::Word(word) }
    }

    fn peek(&self) -> Token<'a> {
        Parser { rest: self.rest }.next()
    }

    fn requirement(&mut self) -> Result<Requirement, Bad> {
        let (key, negated) = match self.peek() {
            Token::Not => {
                self.next();
                (self.key()?, true)
            }
            _ => (self.key()?, false),
        };
        let operator = if negated {
            Operator::DoesNotExist
        } else {
            match self.peek() {
                Token::End | Token::Comma => Operator::Exists,
                Token::Not => {
                    return Err(Bad::Syntax("found '!', expected: ',' or 'end of string'".to_owned()));
                }
                _ => self.operator()?,
            }
        };
        Ok(Requirement { key: key.to_owned(), operator })
    }

    fn key(&mut self) -> Result<&'a str, String> {
        match self.next() {
            Token::Word(key) => {
                check_key(key)?;
                Ok(key)
            }
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn operator(&mut self) -> Result<Operator, String> {
        Ok(match self.next() {
            Token::Equals => Operator::In(vec![self.value()?]),
            Token::NotEquals => Operator::NotIn(vec![self.value()?]),
            Token::Greater => Operator::GreaterThan(self.bound()?),
            Token::Less => Operator::LessThan(self.bound()?),
            Token::Word("in") => Operator::In(self.values()?),
            Token::Word("notin") => Operator::NotIn(self.values()?),
            other => {
                return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text()));
            }
        })
    }

    /// The one value behind `=` or `!=`, which may be empty.
    fn value(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::Comma | Token::End => Ok(String::new()),
            Token::Word(word) => {
                self.next();
                check_value(word)
            }
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn bound(&mut self) -> Result<i64, String> {
        let word = self.value()?;
        word.parse().map_err(|_| {
            format!(
                "values[0]: Invalid value: \"{word}\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
        })
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.next() {
            Token::Open => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = Vec::new();
        loop {
            match self.next() {
                Token::Word(word) => {
                    values.push(check_value(word)?);
                    match self.next() {
                        Token::Comma => {}
                        Token::Close => return Ok(values),
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                // `(a,)` and `()` hold the empty value.
                Token::Comma => values.push(String::new()),
                Token::Close => {
                    values.push(String::new());
                    return Ok(values);
                }
                other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
            }
        }
    }
}

fn check_key(key: &str) -> Result<(), String> {
    match names::qualified_name(key).first() {
        None => Ok(()),
        Some(why) => Err(format!("key: Invalid value: \"{key}\": {why}")),
    }
}

fn check_value(value: &str) -> Result<String, String> {
    match names::label_value(value).first() {
        None => Ok(value.to_owned()),
        Some(why) => Err(format!("values[0][]: Invalid value: \"{value}\": {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels = Labels::new(labels.iter().copied());
        LabelSelector::parse(selector).expect(selector).matches(&labels)
    }

    #[test]
    fn every_operator_selects_as_kubernetes_does() {
        let web = [("app", "web"), ("tier", "front"), ("weight", "5")];
        for yes in [
            "",
            "app",
            "app=web",
            "app==web",
            " app = web , tier!=back",
            "app in (web, api)",
            "tier notin (back)",
            "!gone",
            "gone!=x",
            "gone notin (x)",
            "weight>4",
            "weight<6",
            "app,tier=front",
        ] {
            assert!(selects(yes, &web), "{yes}");
        }
        for no in [
            "gone",
            "app=api",
            "app!=web",
            "app in (api)",
            "app notin (web)",
            "!app",
            "weight>5",
            "weight<5",
            "app>1",
            "app=",
            "app in ()",
        ] {
            assert!(!selects(no, &web), "{no}");
        }
        assert!(selects("app=", &[("app", "")]));
        assert!(selects("example.com/app=web", &[("example.com/app", "web")]));
    }

    #[test]
    fn bad_selectors_say_what_was_expected() {
        for bad in [
            "a=b c", "=b", "a in b", "a in (b", "a,,b", "a=b=c", "-a=b", "a=-b", "a>x", "a/b/c=d", "!", "a b",
        ] {
            assert!(LabelSelector::parse(bad).is_err(), "{bad}");
        }
        let why = |text: &str| LabelSelector::parse(text).err().unwrap();
        assert_eq!(why("="), "found '=', expected: !, identifier, or 'end of string'");
        assert_eq!(why(",a"), "found ',', expected: !, identifier, or 'end of string'");
        assert_eq!(why("a,=b"), "found '=', expected: identifier after ','");
        assert_eq!(why("a,"), "found '', expected: identifier after ','");
        assert_eq!(why("!=b"), "found '!=', expected: !, identifier, or 'end of string'");
        assert_eq!(why("!"), "unable to parse requirement: found '', expected: identifier");
    }
}
