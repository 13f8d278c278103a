//! Field selectors: `metadata.name=x,spec.nodeName!=y`.

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
    let operator =
        ["!=", "==", "="].into_iter().filter_map(|operator| Some((term.find(operator)?, operator)));
    // The first of them; of two at the same place, the longer one.
    let Some((at, operator)) = operator.min_by_key(|(at, operator)| (*at, usize::MAX - operator.len()))
    else {
        return Err("there is no =, == or !=".to_owned());
    };
    let (field, value) = (&term[..at], &term[at + operator.len()..]);
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
