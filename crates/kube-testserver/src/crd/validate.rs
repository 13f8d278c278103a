//! Checks values against a schema, with the field paths and words of Kubernetes.
//!
//! On updates, what was wrong before and has not been touched is let through ("ratcheting"), so that a
//! stricter schema does not lock up the objects that exist.

mod bounds;

use serde_json::{Value, json};

use super::causes::{self, NO_FIELD, invalid, invalid_text, quote, too_long, too_many, type_invalid};
use super::structural::{Additional, JsonType, ListType, Structural};
use crate::status::Cause;

impl Structural {
    /// What is wrong with a whole object. `old` is what it replaces, if anything.
    pub(super) fn check_object(&self, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        Walk { prefix: "", path: String::new() }.causes(self, object, old)
    }

    /// What is wrong with a part of an object that has its own schema: a default, or the status.
    pub(super) fn check_part(&self, value: &Value, field: &str) -> Vec<Cause> {
        Walk { prefix: field, path: String::new() }.causes(self, value, None)
    }

    /// Like [`Structural::check_part`], for a part that replaces another one.
    pub(super) fn check_part_update(&self, value: &Value, old: Option<&Value>, field: &str) -> Vec<Cause> {
        Walk { prefix: field, path: String::new() }.causes(self, value, old)
    }
}

/// What checking one value against one schema gave.
#[derive(Default)]
struct Outcome {
    problems: Vec<Problem>,
    /// How many checks went well. Of several alternatives that all fail, the one with most is reported.
    matches: usize,
}

/// One problem. The same text is reported only once.
struct Problem {
    text: String,
    cause: Cause,
}

impl Outcome {
    fn add(&mut self, problem: Problem) {
        if self.problems.iter().all(|known| known.text != problem.text) {
            self.problems.push(problem);
        }
    }

    fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        for problem in other.problems {
            self.add(problem);
        }
    }

    fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }
}

impl From<Problem> for Outcome {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem], matches: 0 }
    }
}

/// A walk over a value. The path grows and shrinks with the recursion, so that valid objects cost nothing.
struct Walk<'a> {
    /// Where the part that is checked stands in the object.
    prefix: &'a str,
    /// The path from there. Messages have it without the prefix, as in Kubernetes.
    path: String,
}

impl Walk<'_> {
    fn causes(mut self, schema: &Structural, value: &Value, old: Option<&Value>) -> Vec<Cause> {
        self.node(schema, value, old).problems.into_iter().map(|problem| problem.cause).collect()
    }

    fn node(&mut self, schema: &Structural, value: &Value, old: Option<&Value>) -> Outcome {
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
        if !outcome.is_valid() && old == Some(value) {
            outcome.problems.clear();
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
        let cause = cause(self.field(&self.path), &text);
        Problem { text, cause }
    }

    /// A problem that Kubernetes attributes to no field.
    fn unplaced(&self, text: String) -> Problem {
        let cause = invalid_text(self.field(""), "", &text);
        Problem { text, cause }
    }

    fn wrong_type(&self, expected: &str, actual: &str) -> Outcome {
        let text = format!("{} in body must be of type {expected}: {}", self.path, quote(actual));
        self.problem(text, |field, text| type_invalid(field, actual, text)).into()
    }

    fn type_of(&self, schema: &Structural, value: &Value) -> Outcome {
        let ok = Outcome { problems: Vec::new(), matches: 1 };
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
                    let text = format!("{} must validate at least one schema (anyOf)", quote(&self.path));
                    outcome.add(self.unplaced(text));
                    outcome.merge(best);
                }
                (_, best) => outcome.merge(best),
            }
        }
        if !rules.one_of.is_empty() {
            let (valid, best) = self.best_of(&rules.one_of, value, old, false);
            if valid != 1 {
                let found = match valid {
                    0 => "Found none valid".to_owned(),
                    many => format!("Found {many} valid alternatives"),
                };
                let path = quote(&self.path);
                let text = format!("{path} must validate one and only one schema (oneOf). {found}");
                outcome.add(self.unplaced(text));
            }
            if valid < 2 {
                outcome.merge(best);
            }
        }
        let mut valid = 0;
        for one in &rules.all_of {
            let result = self.node(one, value, old);
            valid += usize::from(result.is_valid());
            outcome.merge(result);
        }
        if valid < rules.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            let text = format!("{} must validate all the schemas (allOf){none}", quote(&self.path));
            outcome.add(self.unplaced(text));
        }
        if let Some(not) = &rules.not
            && self.node(not, value, old).is_valid()
        {
            let text = format!("{} must not validate the schema (not)", quote(&self.path));
            outcome.add(self.unplaced(text));
        }
        outcome.matches += 1;
        outcome
    }

    /// How many alternatives are valid, and the outcome to report: of the first valid one, or of the one
    /// that came closest.
    fn best_of(
        &mut self,
        alternatives: &[Structural],
        value: &Value,
        old: Option<&Value>,
        stop_at_first: bool,
    ) -> (usize, Outcome) {
        let mut valid = 0;
        let mut best: Option<Outcome> = None;
        for one in alternatives {
            let result = self.node(one, value, old);
            if result.is_valid() {
                valid += 1;
                if valid == 1 {
                    best = Some(result);
                }
                if stop_at_first {
                    break;
                }
            } else if valid == 0 && best.as_ref().is_none_or(|best| result.matches > best.matches) {
                best = Some(result);
            }
        }
        (valid, best.unwrap_or_default())
    }

    fn text(&self, schema: &Structural, text: &str) -> Outcome {
        let rules = &schema.rules;
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        let said = |what: String| format!("{} in body {what}", self.path);
        if let Some(max) = rules.max_length
            && length > max
        {
            let message = said(format!("should be at most {max} chars long"));
            return self.problem(message, |field, _| too_long(field, max)).into();
        }
        if let Some(min) = rules.min_length
            && length < min
        {
            let message = said(format!("should be at least {min} chars long"));
            return self.problem(message, |field, detail| invalid_text(field, text, detail)).into();
        }
        if let Some(pattern) = &rules.pattern
            && !pattern.is_match(text)
        {
            let message = said(format!("should match '{}'", rules.pattern_text));
            return self.problem(message, |field, detail| invalid_text(field, text, detail)).into();
        }
        Outcome::default()
    }

    fn text_format(&self, schema: &Structural, text: &str) -> Outcome {
        match (&schema.rules.format, schema.rules.text_format) {
            (Some(name), Some(format)) if !format.accepts(text) => self.wrong_type(name, text),
            _ => Outcome::default(),
        }
    }

    fn list(&mut self, schema: &Structural, list: &[Value], old: Option<&Value>) -> Outcome {
        let mut outcome = Outcome::default();
        let length = self.path.len();
        if let Some(item) = &schema.items {
            for (at, element) in list.iter().enumerate() {
                self.path.push_str(&format!("[{at}]"));
                let old = old.and_then(|old| same_element(&schema.list_type, element, old));
                outcome.merge(self.node(item, element, old));
                self.path.truncate(length);
            }
        }
        let rules = &schema.rules;
        let size = i64::try_from(list.len()).unwrap_or(i64::MAX);
        if let Some(min) = rules.min_items
            && size < min
        {
            let text = format!("{} in body should have at least {min} items", self.path);
            outcome.add(self.problem(text, |field, text| invalid(field, &json!(size), text)));
        }
        if let Some(max) = rules.max_items
            && size > max
        {
            let text = format!("{} in body should have at most {max} items", self.path);
            outcome.add(self.problem(text, |field, _| too_many(field, list.len(), max)));
        }
        if rules.unique_items && list.iter().enumerate().any(|(at, one)| list[..at].contains(one)) {
            let text = format!("{} in body shouldn't contain duplicates", self.path);
            outcome.add(self.problem(text, |field, text| invalid_text(field, "", text)));
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
        let length = self.path.len();
        let size = i64::try_from(map.len()).unwrap_or(i64::MAX);
        if let Some(min) = schema.rules.min_properties
            && size < min
        {
            let text = format!("{} in body should have at least {min} properties", self.path);
            outcome.add(self.problem(text, |field, text| invalid(field, &json!(size), text)));
        }
        if let Some(max) = schema.rules.max_properties
            && size > max
        {
            let text = format!("{} in body should have at most {max} properties", self.path);
            outcome.add(self.problem(text, |field, _| too_many(field, map.len(), max)));
        }
        for (name, value) in map {
            if schema.properties.contains_key(name.as_str()) {
                continue;
            }
            match &schema.additional {
                Some(Additional::Bool(false)) => {
                    let text = format!("{}.{name} in body is a forbidden property", self.path);
                    outcome.add(self.problem(text, |field, text| invalid_text(field, name, text)));
                }
                Some(Additional::Schema(additional)) => {
                    self.path.push('.');
                    self.path.push_str(name);
                    outcome.merge(self.node(additional, value, old.and_then(|old| old.get(name))));
                    self.path.truncate(length);
                }
                Some(Additional::Bool(true)) | None => {}
            }
        }
        for (name, property) in &schema.properties {
            let Some(value) = map.get(&**name) else { continue };
            // The two are rewritten by the server, so what was there before says nothing.
            let rewritten = length == 0 && matches!(&**name, "kind" | "apiVersion");
            let old = old.filter(|_| !rewritten).and_then(|old| old.get(&**name));
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(name);
            outcome.merge(self.node(property, value, old));
            self.path.truncate(length);
        }
        for name in &schema.rules.required {
            if !map.contains_key(&**name) {
                let path = format!("{}.{name}", self.path);
                let cause = Cause::required(self.field(&path), "");
                outcome.add(Problem { text: format!("{path} in body is required"), cause });
            }
        }
        outcome
    }

    fn enumeration(&self, schema: &Structural, value: &Value) -> Outcome {
        let allowed = &schema.rules.enumeration;
        // A null is never one of the allowed values, even if it is listed; Kubernetes has it that way.
        if allowed.is_empty() || (!value.is_null() && allowed.iter().any(|one| same(one, value))) {
            return Outcome::default();
        }
        let text = format!("{} in body should be one of its values", self.path);
        let names: Vec<String> = allowed
            .iter()
            .map(|one| one.as_str().map_or_else(|| causes::compact_json(one), str::to_owned))
            .collect();
        self.problem(text, |field, _| causes::not_supported(field, value, &names)).into()
    }
}

/// Whether two values are the same; numbers compare by value.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

/// The element of an old list that a new element replaces. Only lists with keys have one.
fn same_element<'v>(list_type: &ListType, element: &Value, old: &'v Value) -> Option<&'v Value> {
    let ListType::Map(keys) = list_type else { return None };
    old.as_array()?.iter().find(|old| keys.iter().all(|key| old.get(&**key) == element.get(&**key)))
}

#[cfg(test)]
mod tests;
