//! The part of Kubernetes' JSONPath that definitions use: printer columns, selectable fields.
//!
//! Understood are fields (`.spec.replicas`, dots in names escaped as `\.`), keys in quotes (`['key']`),
//! elements (`[0]`, `[-1]`), all elements (`[*]`, `.*`) and filters (`[?(@.type=="Ready")]`,
//! `[?(@.ready)]`). Slices, unions, recursive descent and ranges are not.

use std::cmp::Ordering;

use serde_json::Value;

/// A parsed path.
#[derive(Clone, Debug)]
pub(crate) struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    Field(Box<str>),
    /// From the end if negative.
    Element(i64),
    AllElements,
    /// Every value of an object or a list.
    AllValues,
    Filter(Filter),
}

#[derive(Clone, Debug)]
struct Filter {
    left: JsonPath,
    /// None: elements in which `left` exists.
    test: Option<(Operator, Operand)>,
}

#[derive(Clone, Copy, Debug)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Debug)]
enum Operand {
    Literal(Value),
    Path(JsonPath),
}

impl JsonPath {
    /// Parses a path such as `.status.conditions[?(@.type=="Ready")].status`; none if it is outside of what
    /// is understood.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut rest = text.trim();
        rest = rest.strip_prefix(['$', '@']).unwrap_or(rest);
        while !rest.is_empty() {
            rest = if let Some(after) = rest.strip_prefix("[?(") {
                let (filter, after) = take_filter(after)?;
                steps.push(Step::Filter(filter));
                after
            } else if let Some(after) = rest.strip_prefix('[') {
                let (inner, after) = after.split_once(']')?;
                push_brackets(&mut steps, inner.trim())?;
                after
            } else {
                let (name, after) = take_field(rest.strip_prefix('.')?);
                match name.as_str() {
                    "" if after.is_empty() && steps.is_empty() => {}
                    "" => return None,
                    "*" => steps.push(Step::AllValues),
                    _ => steps.push(Step::Field(name.into())),
                }
                after
            };
        }
        Some(Self { steps })
    }

    /// Everything the path points to. None if the path does not fit the data (an index into something that
    /// is no list, or out of bounds); missing fields are no error.
    pub(crate) fn find<'v>(&self, value: &'v Value) -> Option<Vec<&'v Value>> {
        let mut found = vec![value];
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found {
                step.apply(value, &mut next)?;
            }
            found = next;
        }
        Some(found)
    }

    /// The first thing the path points to.
    pub(crate) fn first<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.find(value)?.into_iter().next()
    }
}

impl Step {
    fn apply<'v>(&self, value: &'v Value, out: &mut Vec<&'v Value>) -> Option<()> {
        match self {
            Self::Field(name) => out.extend(value.get(&**name)),
            Self::AllValues => match value {
                Value::Object(map) => out.extend(map.values()),
                Value::Array(list) => out.extend(list),
                _ => {}
            },
            Self::AllElements | Self::Element(_) if value.is_null() => {}
            Self::AllElements => out.extend(value.as_array()?),
            Self::Element(at) => {
                let list = value.as_array()?;
                let length = i64::try_from(list.len()).ok()?;
                let at = if *at < 0 { at + length } else { *at };
                out.push(list.get(usize::try_from(at).ok()?)?);
            }
            Self::Filter(filter) => {
                for element in value.as_array()? {
                    if filter.accepts(element)? {
                        out.push(element);
                    }
                }
            }
        }
        Some(())
    }
}

impl Filter {
    fn accepts(&self, element: &Value) -> Option<bool> {
        let left = self.left.find(element)?;
        let Some((operator, operand)) = &self.test else { return Some(!left.is_empty()) };
        let right = match operand {
            Operand::Literal(value) => vec![value],
            Operand::Path(path) => path.find(element)?,
        };
        match (&left[..], &right[..]) {
            ([], _) | (_, []) => Some(false),
            ([left], [right]) => operator.holds(left, right),
            _ => None,
        }
    }
}

impl Operator {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// None if the two cannot be compared: the whole path then finds nothing.
    fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) => left.as_f64()?.partial_cmp(&right.as_f64()?)?,
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            _ => return None,
        };
        Some(match self {
            Self::Equal => order == Ordering::Equal,
            Self::NotEqual => order != Ordering::Equal,
            Self::Less => order == Ordering::Less,
            Self::LessOrEqual => order != Ordering::Greater,
            Self::Greater => order == Ordering::Greater,
            Self::GreaterOrEqual => order != Ordering::Less,
        })
    }
}

/// A field's name up to the next unescaped separator, and what follows.
fn take_field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next().map(|(_, escaped)| escaped)),
            '.' | '[' | ']' | ',' | '$' | '@' | '{' | '}' | ' ' | '\t' | '\r' | '\n' => {
                return (name, &text[at..]);
            }
            letter => name.push(letter),
        }
    }
    (name, "")
}

/// What stands between `[` and `]`.
fn push_brackets(steps: &mut Vec<Step>, inner: &str) -> Option<()> {
    if inner == "*" {
        steps.push(Step::AllElements);
    } else if let Some(key) = inner.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        // Kubernetes reads the key as a path of its own: dots in it have to be escaped, too.
        steps.extend(JsonPath::parse(&format!(".{key}"))?.steps);
    } else {
        steps.push(Step::Element(inner.parse().ok()?));
    }
    Some(())
}

/// A filter behind `[?(`, and what follows its `)]`.
fn take_filter(text: &str) -> Option<(Filter, &str)> {
    let mut quote = None;
    let mut end = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if letter == open => quote = None,
            (None, ')') => {
                end = Some(at);
                break;
            }
            _ => {}
        }
    }
    let end = end?;
    let after = text[end + 1..].strip_prefix(']')?;
    Some((parse_filter(&text[..end])?, after))
}

fn parse_filter(text: &str) -> Option<Filter> {
    let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
    let Some(at) = text.find(is_operator) else {
        return Some(Filter { left: JsonPath::parse(text)?, test: None });
    };
    let (left, rest) = text.split_at(at);
    let right = rest.trim_start_matches(is_operator);
    let operator = Operator::parse(&rest[..rest.len() - right.len()])?;
    Some(Filter { left: JsonPath::parse(left)?, test: Some((operator, parse_operand(right.trim())?)) })
}

fn parse_operand(text: &str) -> Option<Operand> {
    if text.starts_with(['@', '$', '.']) {
        return JsonPath::parse(text).map(Operand::Path);
    }
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return Some(Operand::Literal(Value::String(inner.to_owned())));
        }
    }
    // Numbers, `true` and `false` are spelled as in JSON.
    serde_json::from_str(text).ok().map(Operand::Literal)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn first(path: &str, value: &Value) -> Option<Value> {
        JsonPath::parse(path).expect(path).first(value).cloned()
    }

    #[test]
    fn fields_quoted_keys_and_escaped_dots() {
        let value =
            json!({"spec": {"replicas": 3}, "metadata": {"annotations": {"a.b/c": "x", "plain": "y"}}});
        assert_eq!(first(".spec.replicas", &value), Some(json!(3)));
        assert_eq!(first(r".metadata.annotations.a\.b/c", &value), Some(json!("x")));
        assert_eq!(first(r".metadata.annotations['a\.b/c']", &value), Some(json!("x")));
        assert_eq!(first(".metadata.annotations['plain']", &value), Some(json!("y")));
        assert_eq!(first(".metadata.missing.deeper", &value), None);
    }

    #[test]
    fn elements_count_from_both_ends() {
        let value = json!({"list": [1, 2, 3]});
        assert_eq!(first(".list[0]", &value), Some(json!(1)));
        assert_eq!(first(".list[-1]", &value), Some(json!(3)));
        assert_eq!(first(".list[7]", &value), None);
        assert_eq!(JsonPath::parse(".list[*]").unwrap().find(&value).unwrap().len(), 3);
        assert_eq!(first(".list[*].x", &value), None);
    }

    #[test]
    fn filters_pick_elements() {
        let value = json!({"status": {"conditions": [
            {"type": "Synced", "status": "False"},
            {"type": "Ready", "status": "True", "n": 2},
        ]}});
        assert_eq!(first(r#".status.conditions[?(@.type=="Ready")].status"#, &value), Some(json!("True")));
        assert_eq!(first(".status.conditions[?(@.type=='Ready')].status", &value), Some(json!("True")));
        assert_eq!(first(".status.conditions[?(@.n > 1)].type", &value), Some(json!("Ready")));
        assert_eq!(first(".status.conditions[?(@.n)].type", &value), Some(json!("Ready")));
        assert_eq!(first(r#".status.conditions[?(@.type=="None")].status"#, &value), None);
        assert_eq!(first(r#".status[?(@.type=="None")]"#, &value), None, "a filter needs a list");
    }

    #[test]
    fn what_is_not_understood_does_not_parse() {
        for path in ["..x", ".a[0:2]", ".a[", ".a[?(@.b==]", ".a[x]", "a b"] {
            assert!(JsonPath::parse(path).is_none(), "{path}");
        }
    }
}
