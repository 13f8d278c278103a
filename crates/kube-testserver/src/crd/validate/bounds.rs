//! Checks of numbers.

use serde_json::{Number, Value, json};

use super::{Outcome, Problem, Walk};
use crate::crd::causes::{invalid, print_float};
use crate::crd::structural::{JsonType, Structural};

impl Walk<'_> {
    /// `multipleOf`, `minimum` and `maximum`, and whether the number fits its format.
    ///
    /// A whole number is compared with the whole part of a bound, as in Kubernetes.
    pub(super) fn number(&mut self, schema: &Structural, number: &Number) -> Outcome {
        let rules = &schema.rules;
        let mut outcome = Outcome::default();
        let float = number.as_f64().unwrap_or(f64::NAN);
        if let Some(text) = self.out_of_range(schema, "Checked", float, number.as_i64()) {
            self.report(&mut outcome, |walk| walk.unplaced(text));
        }
        if let Some(factor) = rules.multiple_of {
            let (bound, whole) = self.bound(schema, "MultipleOf", factor, number, &mut outcome);
            // Of a factor below one, a whole number sees only the zero.
            let positive = whole.map_or(factor > 0.0, |(_, factor)| factor > 0);
            if !positive {
                self.report(&mut outcome, |walk| {
                    let path = walk.path.shown();
                    let text = format!("factor MultipleOf declared for {path} must be positive: {bound}");
                    let value = whole.map_or_else(|| json!(factor), |(_, factor)| json!(factor));
                    walk.problem(text, |field, text| invalid(field, &value, text))
                });
            } else {
                let fits = match whole {
                    Some((number, factor)) => number % factor == 0,
                    None => is_whole(if factor < 1.0 { 1.0 / factor * float } else { float / factor }),
                };
                if !fits {
                    self.report(&mut outcome, |walk| {
                        walk.bound_problem("should be a multiple of", &bound, number)
                    });
                }
            }
        }
        if let Some(minimum) = rules.minimum {
            let (bound, whole) = self.bound(schema, "Minimum boundary", minimum, number, &mut outcome);
            let (less, equal) = match whole {
                Some((number, minimum)) => (number < minimum, number == minimum),
                None => (float < minimum, (float - minimum).abs() == 0.0),
            };
            if less || (equal && rules.exclusive_minimum) {
                let what = if rules.exclusive_minimum { "greater than" } else { "greater than or equal to" };
                let what = format!("should be {what}");
                self.report(&mut outcome, |walk| walk.bound_problem(&what, &bound, number));
            }
        }
        if let Some(maximum) = rules.maximum {
            let (bound, whole) = self.bound(schema, "Maximum boundary", maximum, number, &mut outcome);
            let (more, equal) = match whole {
                Some((number, maximum)) => (number > maximum, number == maximum),
                None => (float > maximum, (float - maximum).abs() == 0.0),
            };
            if more || (equal && rules.exclusive_maximum) {
                let what = if rules.exclusive_maximum { "less than" } else { "less than or equal to" };
                let what = format!("should be {what}");
                self.report(&mut outcome, |walk| walk.bound_problem(&what, &bound, number));
            }
        }
        outcome.matches += 1;
        outcome
    }

    /// A bound as it is printed, and the number and the bound as whole numbers if they are compared as such.
    fn bound(
        &mut self,
        schema: &Structural,
        name: &str,
        bound: f64,
        number: &Number,
        outcome: &mut Outcome,
    ) -> (String, Option<(i64, i64)>) {
        let unusable = self.out_of_range(schema, name, bound, None);
        match (number.as_i64(), unusable) {
            (Some(number), None) => {
                #[expect(clippy::cast_possible_truncation, reason = "the whole part is what is meant")]
                let whole = bound as i64;
                (whole.to_string(), Some((number, whole)))
            }
            (_, unusable) => {
                if let Some(text) = unusable {
                    self.report(outcome, |walk| walk.unplaced(text));
                }
                (print_float(bound), None)
            }
        }
    }

    fn bound_problem(&self, what: &str, bound: &str, number: &Number) -> Problem {
        let value = Value::Number(number.clone());
        let text = self.said(&format!("{what} {bound}"));
        self.problem(text, |field, text| invalid(field, &value, text))
    }

    /// What to say of a number that its type and format cannot hold.
    fn out_of_range(
        &self,
        schema: &Structural,
        name: &str,
        float: f64,
        whole: Option<i64>,
    ) -> Option<String> {
        if schema.int_or_string {
            return None;
        }
        let format = schema.rules.format.as_deref().unwrap_or_default();
        let (ty, fits) = match schema.ty? {
            JsonType::Integer if format == "int32" => {
                let inside = f64::from(i32::MIN) <= float && float <= f64::from(i32::MAX);
                ("integer", float.fract() == 0.0 && inside)
            }
            // 2^63 is the first float that an i64 cannot hold.
            JsonType::Integer => {
                let inside = float.fract() == 0.0 && float.abs() < 9_223_372_036_854_775_808.0;
                ("integer", whole.is_some() || inside)
            }
            JsonType::Number if format == "float" => ("number", float.abs() <= f64::from(f32::MAX)),
            _ => return None,
        };
        let with =
            if format.is_empty() { "(default format)".to_owned() } else { format!("with format {format}") };
        (!fits).then(|| format!("{name} value must be of type {ty} {with} in {}", self.path.shown()))
    }
}

/// Whether a float is a whole number that JSON can carry without loss.
pub(super) fn is_whole(number: f64) -> bool {
    const MAX_SAFE: f64 = 9_007_199_254_740_991.0;
    number.fract() == 0.0 && number.abs() <= MAX_SAFE
}
