//! Checks values against a schema, with the field paths and words of Kubernetes.
//!
//! On updates, what was wrong before and has not been touched is let through ("ratcheting"), so that a
//! stricter schema does not lock up the objects that exist.

mod bounds;

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::causes::{self, NO_FIELD, invalid, invalid_text, quote, too_long, too_many, type_invalid};
use super::structural::{Additional, JsonType, ListType, Structural};
use crate::paths::FieldPath;
use crate::status::Cause;

/// The problems that are reported about one object.
const MAX_PROBLEMS: usize = 256;

impl Structural {
    /// What is wrong with a whole object. `old` is what it replaces, if anything.
    pub(super) fn check_object(&self, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        Walk::at("").causes(self, object, old)
    }

    /// What is wrong with a part of an object that has its own schema: a default, or the status.
    pub(super) fn check_part(&self, value: &Value, field: &str) -> Vec<Cause> {
        Walk::at(field).causes(self, value, None)
    }

    /// Like [`Structural::check_part`], for a part that replaces another one.
    pub(super) fn check_part_update(&self, value: &Value, old: Option<&Value>, field: &str) -> Vec<Cause> {
        Walk::at(field).causes(self, value, old)
    }
}

/// What checking one value against one schema gave.
#[derive(Clone, Copy)]
struct Outcome {
    is_valid: bool,
    /// How many checks went well. Of several alternatives that all fail, the one with most is reported.
    matches: usize,
}

impl Default for Outcome {
    fn default() -> Self {
        Self { is_valid: true, matches: 0 }
    }
}

impl Outcome {
    fn merge(&mut self, other: Self) {
        self.is_valid &= other.is_valid;
        self.matches += other.matches;
    }
}

/// One problem. The same text is reported only once.
struct Problem {
    text: String,
    cause: Cause,
}

/// A walk over a value. The path grows and shrinks with the recursion, so that valid objects cost nothing.
struct Walk<'a> {
    /// Where the part that is checked stands in the object.
    prefix: &'a str,
    /// The path from there. Messages have it without the prefix, as in Kubernetes.
    path: FieldPath,
    /// The problems so far, at most [`MAX_PROBLEMS`]. Further ones are not even put into words. A problem that turns out not to
    /// count is removed together with all that came after it, so none is missing before the last one.
    problems: Vec<Problem>,
}

impl<'a> Walk<'a> {
    fn at(prefix: &'a str) -> Self {
        Self { prefix, path: FieldPath::default(), problems: Vec::new() }
    }

    fn causes(mut self, schema: &Structural, value: &Value, old: Option<&Value>) -> Vec<Cause> {
        self.node(schema, value, old);
        let mut texts = HashSet::new();
        self.problems.retain(|problem| texts.insert(problem.text.clone()));
        self.problems.into_iter().map(|problem| problem.cause).collect()
    }

    /// Adds a problem to an outcome, and keeps it if there is room.
    fn report(&mut self, outcome: &mut Outcome, problem: impl FnOnce(&Self) -> Problem) {
        outcome.is_valid = false;
        if self.problems.len() < MAX_PROBLEMS {
            let problem = problem(self);
            self.problems.push(problem);
        }
    }

    /// The outcome of one problem.
    fn failed(&mut self, problem: impl FnOnce(&Self) -> Problem) -> Outcome {
        let mut outcome = Outcome::default();
        self.report(&mut outcome, problem);
        outcome
    }

    fn node(&mut self, schema: &Structural, value: &Value, old: Option<&Value>) -> Outcome {
        let before = self.problems.len();
        let mut outcome = Outcome::default();
        let mut merge = |other: Outcome| {
            outcome.merge(other);
            outcome.matches += 1;
        };
        if schema.ty.is_some() || schema.int_or_string || schema.rules.format.is_some() {
            merge(self.type_of(schema, value));
        }
        if !value.is_null() {
            merge(self.combined(schema, value, old));
            match value {
                Value::String(text) => {
                    merge(self.text(schema, text));
                    merge(self.text_format(schema, text));
                }
                Value::Number(number) => merge(self.number(schema, number)),
                Value::Array(list) => merge(self.list(schema, list, old)),
                Value::Object(map) => merge(self.object(schema, map, old)),
                Value::Null | Value::Bool(_) => {}
            }
        }
        merge(self.enumeration(schema, value));
        if !outcome.is_valid && old == Some(value) {
            self.problems.truncate(before);
            outcome.is_valid = true;
        }
        outcome
    }

    /// The field of a problem at the current path, or at a given one.
    fn field(&self, path: &str) -> String {
        let path = path.strip_prefix('.').unwrap_or(path);
        match (self.prefix, path) {
            ("", "") => NO_FIELD.to_owned(),
            ("", path) => path.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}.{path}"),
        }
    }

    fn problem(&self, text: String, cause: impl FnOnce(String, &str) -> Cause) -> Problem {
        let cause = cause(self.field(&self.path.shown()), &text);
        Problem { text, cause }
    }

    /// A problem that Kubernetes attributes to no field.
    fn unplaced(&self, text: String) -> Problem {
        let cause = invalid_text(self.field(""), "", &text);
        Problem { text, cause }
    }

    fn wrong_type(&mut self, expected: &str, actual: &str) -> Outcome {
        self.failed(|walk| {
            let text = format!("{} in body must be of type {expected}: {}", walk.path.shown(), quote(actual));
            walk.problem(text, |field, text| type_invalid(field, actual, text))
        })
    }

    fn type_of(&mut self, schema: &Structural, value: &Value) -> Outcome {
        let ok = Outcome { is_valid: true, matches: 1 };
        let (actual, width) = match value {
            Value::Null => ("null", ""),
            Value::Bool(_) => ("boolean", ""),
            Value::String(_) => ("string", ""),
            Value::Array(_) => ("array", ""),
            Value::Object(_) => ("object", ""),
            Value::Number(number) if number.is_i64() => ("integer", "int64"),
            Value::Number(_) => ("number", "float64"),
        };
        let expected =
            if schema.int_or_string { "integer,string" } else { schema.ty.map_or("", JsonType::name) };
        if value.is_null() {
            return if expected.is_empty() || schema.nullable {
                ok
            } else {
                self.wrong_type(expected, actual)
            };
        }
        let takes_integer = schema.int_or_string || schema.ty == Some(JsonType::Integer);
        let takes_number = schema.ty == Some(JsonType::Number);
        let fits = expected.split(',').any(|one| one == actual)
            || (actual == "number" && takes_integer && value.as_f64().is_some_and(bounds::is_whole))
            || (actual == "integer" && takes_number);
        let has_letters = value.is_string() || value.is_array();
        match &schema.rules.format {
            Some(format) if !has_letters && !fits && **format != *width => self.wrong_type(format, width),
            Some(_) if has_letters && !takes_integer && !takes_number => ok,
            _ if fits => ok,
            _ => self.wrong_type(expected, actual),
        }
    }

    /// `anyOf`, `oneOf`, `allOf` and `not`.
    fn combined(&mut self, schema: &Structural, value: &Value, old: Option<&Value>) -> Outcome {
        let rules = &schema.rules;
        let mut outcome = Outcome::default();
        if !rules.any_of.is_empty() {
            match self.best_of(&rules.any_of, value, old, true) {
                (0, best) => {
                    self.report(&mut outcome, |walk| {
                        let path = quote(&walk.path.shown());
                        walk.unplaced(format!("{path} must validate at least one schema (anyOf)"))
                    });
                    self.restore(&mut outcome, best);
                }
                (_, best) => self.restore(&mut outcome, best),
            }
        }
        if !rules.one_of.is_empty() {
            let (valid, best) = self.best_of(&rules.one_of, value, old, false);
            if valid != 1 {
                let found = match valid {
                    0 => "Found none valid".to_owned(),
                    many => format!("Found {many} valid alternatives"),
                };
                self.report(&mut outcome, |walk| {
                    let path = quote(&walk.path.shown());
                    walk.unplaced(format!("{path} must validate one and only one schema (oneOf). {found}"))
                });
            }
            if valid < 2 {
                self.restore(&mut outcome, best);
            }
        }
        let mut valid = 0;
        for one in &rules.all_of {
            let result = self.node(one, value, old);
            valid += usize::from(result.is_valid);
            outcome.merge(result);
        }
        if valid < rules.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            self.report(&mut outcome, |walk| {
                let path = quote(&walk.path.shown());
                walk.unplaced(format!("{path} must validate all the schemas (allOf){none}"))
            });
        }
        if let Some(not) = &rules.not
            && self.apart(not, value, old).0.is_valid
        {
            self.report(&mut outcome, |walk| {
                let path = quote(&walk.path.shown());
                walk.unplaced(format!("{path} must not validate the schema (not)"))
            });
        }
        outcome.matches += 1;
        outcome
    }

    /// Checks a value against an alternative. Its problems are taken out of the walk until it is known whether they count.
    fn apart(&mut self, schema: &Structural, value: &Value, old: Option<&Value>) -> (Outcome, Vec<Problem>) {
        let before = self.problems.len();
        let outcome = self.node(schema, value, old);
        (outcome, self.problems.split_off(before))
    }

    /// Adds the outcome of an alternative and its problems.
    fn restore(&mut self, outcome: &mut Outcome, (alternative, problems): (Outcome, Vec<Problem>)) {
        outcome.merge(alternative);
        let room = MAX_PROBLEMS - self.problems.len();
        self.problems.extend(problems.into_iter().take(room));
    }

    /// How many alternatives are valid, and the outcome to report: of the first valid one, or of the one
    /// that came closest.
    fn best_of(
        &mut self,
        alternatives: &[Structural],
        value: &Value,
        old: Option<&Value>,
        stop_at_first: bool,
    ) -> (usize, (Outcome, Vec<Problem>)) {
        let mut valid = 0;
        let mut best: Option<(Outcome, Vec<Problem>)> = None;
        for one in alternatives {
            let result = self.apart(one, value, old);
            if result.0.is_valid {
                valid += 1;
                if valid == 1 {
                    best = Some(result);
                }
                if stop_at_first {
                    break;
                }
            } else if valid == 0 && best.as_ref().is_none_or(|best| result.0.matches > best.0.matches) {
                best = Some(result);
            }
        }
        (valid, best.unwrap_or_default())
    }

    fn text(&mut self, schema: &Structural, text: &str) -> Outcome {
        let rules = &schema.rules;
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(max) = rules.max_length
            && length > max
        {
            return self.failed(|walk| {
                let message = walk.said(&format!("should be at most {max} chars long"));
                walk.problem(message, |field, _| too_long(field, max))
            });
        }
        if let Some(min) = rules.min_length
            && length < min
        {
            return self.failed(|walk| {
                let message = walk.said(&format!("should be at least {min} chars long"));
                walk.problem(message, |field, detail| invalid_text(field, text, detail))
            });
        }
        if let Some(pattern) = &rules.pattern
            && !pattern.is_match(text)
        {
            return self.failed(|walk| {
                let message = walk.said(&format!("should match '{}'", rules.pattern_text));
                walk.problem(message, |field, detail| invalid_text(field, text, detail))
            });
        }
        Outcome::default()
    }

    /// What is said of the value at the current path.
    fn said(&self, what: &str) -> String {
        format!("{} in body {what}", self.path.shown())
    }

    fn text_format(&mut self, schema: &Structural, text: &str) -> Outcome {
        match (&schema.rules.format, schema.rules.text_format) {
            (Some(name), Some(format)) if !format.accepts(text) => self.wrong_type(name, text),
            _ => Outcome::default(),
        }
    }

    fn list(&mut self, schema: &Structural, list: &[Value], old: Option<&Value>) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(item) = &schema.items {
            let old = Keyed::of(&schema.list_type, old);
            for (at, element) in list.iter().enumerate() {
                let parent = self.path.push_index(at);
                outcome.merge(self.node(item, element, old.same_element(element)));
                self.path.go_back(parent);
            }
        }
        let rules = &schema.rules;
        let size = i64::try_from(list.len()).unwrap_or(i64::MAX);
        if let Some(min) = rules.min_items
            && size < min
        {
            self.report(&mut outcome, |walk| {
                let text = walk.said(&format!("should have at least {min} items"));
                walk.problem(text, |field, text| invalid(field, &json!(size), text))
            });
        }
        if let Some(max) = rules.max_items
            && size > max
        {
            self.report(&mut outcome, |walk| {
                let text = walk.said(&format!("should have at most {max} items"));
                walk.problem(text, |field, _| too_many(field, list.len(), max))
            });
        }
        if rules.unique_items && list.iter().collect::<HashSet<_>>().len() < list.len() {
            self.report(&mut outcome, |walk| {
                let text = walk.said("shouldn't contain duplicates");
                walk.problem(text, |field, text| invalid_text(field, "", text))
            });
        }
        outcome.matches += 1;
        outcome
    }

    fn object(
        &mut self,
        schema: &Structural,
        map: &serde_json::Map<String, Value>,
        old: Option<&Value>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let size = i64::try_from(map.len()).unwrap_or(i64::MAX);
        if let Some(min) = schema.rules.min_properties
            && size < min
        {
            self.report(&mut outcome, |walk| {
                let text = walk.said(&format!("should have at least {min} properties"));
                walk.problem(text, |field, text| invalid(field, &json!(size), text))
            });
        }
        if let Some(max) = schema.rules.max_properties
            && size > max
        {
            self.report(&mut outcome, |walk| {
                let text = walk.said(&format!("should have at most {max} properties"));
                walk.problem(text, |field, _| too_many(field, map.len(), max))
            });
        }
        for (name, value) in map {
            if schema.properties.contains_key(name.as_str()) {
                continue;
            }
            match &schema.additional {
                Some(Additional::Bool(false)) => self.report(&mut outcome, |walk| {
                    let text = format!("{}.{name} in body is a forbidden property", walk.path.shown());
                    walk.problem(text, |field, text| invalid_text(field, name, text))
                }),
                Some(Additional::Schema(additional)) => {
                    let parent = self.path.push_text(".");
                    self.path.push_text(name);
                    outcome.merge(self.node(additional, value, old.and_then(|old| old.get(name))));
                    self.path.go_back(parent);
                }
                Some(Additional::Bool(true)) | None => {}
            }
        }
        for (name, property) in &schema.properties {
            let Some(value) = map.get(&**name) else { continue };
            // The two are rewritten by the server, so what was there before says nothing.
            let rewritten = self.path.as_str().is_empty() && matches!(&**name, "kind" | "apiVersion");
            let old = old.filter(|_| !rewritten).and_then(|old| old.get(&**name));
            let parent = self.path.push_field(name);
            outcome.merge(self.node(property, value, old));
            self.path.go_back(parent);
        }
        for name in &schema.rules.required {
            if !map.contains_key(&**name) {
                self.report(&mut outcome, |walk| {
                    let path = format!("{}.{name}", walk.path.shown());
                    let cause = Cause::required(walk.field(&path), "");
                    Problem { text: format!("{path} in body is required"), cause }
                });
            }
        }
        outcome
    }

    fn enumeration(&mut self, schema: &Structural, value: &Value) -> Outcome {
        let allowed = &schema.rules.enumeration;
        // A null is never one of the allowed values, even if it is listed; Kubernetes has it that way.
        if allowed.is_empty() || (!value.is_null() && allowed.iter().any(|one| same(one, value))) {
            return Outcome::default();
        }
        self.failed(|walk| {
            let names: Vec<String> = allowed
                .iter()
                .map(|one| one.as_str().map_or_else(|| causes::compact_json(one), str::to_owned))
                .collect();
            let text = walk.said("should be one of its values");
            walk.problem(text, |field, _| causes::not_supported(field, value, &names))
        })
    }
}

/// Whether two values are the same; numbers compare by value.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

/// The elements of an old list by their keys. Only lists with keys have any.
struct Keyed<'v> {
    keys: &'v [Box<str>],
    elements: HashMap<Vec<Option<&'v Value>>, &'v Value>,
}

impl<'v> Keyed<'v> {
    fn of(list_type: &'v ListType, old: Option<&'v Value>) -> Self {
        let (ListType::Map(keys), Some(Value::Array(list))) = (list_type, old) else {
            return Self { keys: &[], elements: HashMap::new() };
        };
        let mut elements = HashMap::with_capacity(list.len());
        for element in list {
            elements.entry(keys_of(keys, element)).or_insert(element);
        }
        Self { keys, elements }
    }

    /// The old element that a new one replaces: the first with the same keys.
    fn same_element(&self, element: &'v Value) -> Option<&'v Value> {
        if self.elements.is_empty() {
            return None;
        }
        self.elements.get(&keys_of(self.keys, element)).copied()
    }
}

fn keys_of<'v>(keys: &[Box<str>], element: &'v Value) -> Vec<Option<&'v Value>> {
    #[cfg(test)]
    KEYS_READ.set(KEYS_READ.get() + 1);
    keys.iter().map(|key| element.get(&**key)).collect()
}

#[cfg(test)]
thread_local! {
    /// How often this thread has read the keys of an element.
    static KEYS_READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests;
