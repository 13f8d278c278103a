//! Field selectors: `metadata.name=x,spec.nodeName!=y`.

use serde_json::Value;

use super::SelectorError;

/// Checks that a selector can be understood. Which fields there are to select by, only the server knows.
pub(crate) fn check(selector: &str) -> Result<(), SelectorError> {
    terms(selector).into_iter().try_for_each(|term| {
        check_term(term).map_err(|why| SelectorError::fields(selector, format!("{why} in {term:?}")))
    })
}

/// The parts between commas, but for those after a backslash; empty parts mean nothing.
fn terms(selector: &str) -> Vec<&str> {
    let (mut terms, mut begin, mut escaped) = (Vec::new(), 0, false);
    for (at, letter) in selector.char_indices() {
        if letter == ',' && !escaped {
            terms.push(&selector[begin..at]);
            begin = at + 1;
        }
        escaped = letter == '\\' && !escaped;
    }
    terms.push(&selector[begin..]);
    terms.retain(|term| !term.is_empty());
    terms
}

fn check_term(term: &str) -> Result<(), String> {
    let Some((field, operator, value)) = split(term) else {
        return Err("there is no =, == or !=".to_owned());
    };
    if field.trim().is_empty() {
        return Err(format!("there is no field before {operator}"));
    }
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if !letters.next().is_some_and(|next| "\\,=".contains(next)) => {
                return Err("only \\\\, \\, and \\= may follow a backslash".to_owned());
            }
            '=' => return Err("a value has an = that needs a backslash before it".to_owned()),
            _ => {}
        }
    }
    Ok(())
}

/// The field, the operator and the value of a term.
fn split(term: &str) -> Option<(&str, &'static str, &str)> {
    let operators =
        ["!=", "==", "="].into_iter().filter_map(|operator| Some((term.find(operator)?, operator)));
    // The first of them; of two at the same place, the longer one.
    let (at, operator) = operators.min_by_key(|(at, operator)| (*at, usize::MAX - operator.len()))?;
    Some((&term[..at], operator, &term[at + operator.len()..]))
}

/// Selectors know them by these names, and objects by others.
const NAMED_OTHERWISE: [&str; 6] =
    ["name", "reportingComponent", "source", "spec.host", "status.podIPs", "status.successful"];

/// Whether a selector leaves an object in, as far as its JSON shows; what it does not show is taken for fitting.
pub(crate) fn may_match(selector: &str, object: &Value) -> bool {
    terms(selector).into_iter().all(|term| term_may_match(term, object))
}

fn term_may_match(term: &str, object: &Value) -> bool {
    let Some((field, operator, wanted)) = split(term) else { return true };
    let (field, wanted) = (field.trim(), unescaped(wanted));
    if NAMED_OTHERWISE.contains(&field) {
        return true;
    }
    let found = match field.split('.').try_fold(object, |object, part| object.get(part)) {
        // What is false or zero is often left out.
        None | Some(Value::Null) if ["false", "0"].contains(&wanted.as_str()) => return true,
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
        Some(Value::Array(_) | Value::Object(_)) => return true,
    };
    (found == wanted) == (operator != "!=")
}

/// A value without the backslashes that take the meaning from what follows them.
fn unescaped(value: &str) -> String {
    let mut escaped = false;
    let letters = value.trim().chars().filter(|letter| {
        escaped = *letter == '\\' && !escaped;
        !escaped
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_compared_with_values() {
        for good in
            ["", "a=b", "a==b", "a!=b", "a=", "metadata.name=x,spec.nodeName!=y", "a=b,", r"a=b\,c\=d\\"]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn fields_are_looked_up_in_the_object() {
        let object = serde_json::json!({
            "metadata": {"name": "a", "labels": {"x": "y"}},
            "spec": {"nodeName": "n1", "hostNetwork": true, "odd": "a,b=c\\d"},
            "status": {"replicas": 3, "phase": null},
        });
        for (selector, fits) in [
            ("", true),
            ("spec.nodeName=n1", true),
            ("spec.nodeName==n1", true),
            ("spec.nodeName!=n1", false),
            ("spec.nodeName=n2", false),
            ("spec.nodeName!=n2", true),
            ("spec.nodeName=n1,metadata.name=b", false),
            (" spec.nodeName = n1 , metadata.name = a ", true),
            ("spec.hostNetwork=true,status.replicas=3", true),
            ("spec.hostNetwork=false", false),
            (r"spec.odd=a\,b\=c\\d", true),
            ("metadata.namespace=", true),
            ("metadata.namespace=shop", false),
            ("status.phase=", true),
            ("status.phase=Running", false),
            ("status.phase!=Running", true),
            ("spec.unschedulable=true", false),
            // What cannot be seen.
            ("spec.unschedulable=false", true),
            ("status.ready=0", true),
            ("metadata.labels=x", true),
            ("status.successful=1", true),
            ("spec.nodeName", true),
        ] {
            assert_eq!(may_match(selector, &object), fits, "{selector}");
        }
    }

    #[test]
    fn what_a_server_would_refuse_is_refused_with_the_place() {
        for (bad, why) in [
            ("a", "there is no =, == or != in \"a\""),
            ("a=b,c", "there is no =, == or != in \"c\""),
            ("=b", "there is no field before = in \"=b\""),
            ("!=b", "there is no field before != in \"!=b\""),
            ("a=b=c", "a value has an = that needs a backslash before it in \"a=b=c\""),
            (r"a=b\c", r#"only \\, \, and \= may follow a backslash in "a=b\\c""#),
        ] {
            assert_eq!(check(bad).unwrap_err().why, why, "{bad}");
        }
    }
}
