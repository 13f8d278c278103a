//! Which names Kubernetes accepts, and what it says about the others.

/// The longest DNS label.
const MAX_LABEL: usize = 63;
/// The longest DNS name.
const MAX_SUBDOMAIN: usize = 253;

/// What is wrong with a name that must be a DNS-1035 label (starts with a letter); empty if nothing is.
pub(crate) fn label_1035(name: &str) -> Vec<String> {
    let mut wrong = too_long(name, MAX_LABEL, "characters");
    let starts_with_letter = name.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
    if !starts_with_letter || !is_label(name) {
        wrong.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
             alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', \
             regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    wrong
}

/// What is wrong with a name that must be a DNS-1123 label; empty if nothing is.
pub(crate) fn label_1123(name: &str) -> Vec<String> {
    let mut wrong = too_long(name, MAX_LABEL, "characters");
    if !is_label(name) {
        wrong.push(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
             start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
             validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    wrong
}

/// What is wrong with a name that must be a DNS-1123 subdomain; empty if nothing is.
pub(crate) fn subdomain_1123(name: &str) -> Vec<String> {
    let mut wrong = too_long(name, MAX_SUBDOMAIN, "characters");
    if !is_subdomain(name) {
        wrong.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
             and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
             validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    wrong
}

/// What is wrong with a name that may be anything that fits into a path; empty if nothing is.
pub(crate) fn path_segment(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if matches!(name, "." | "..") {
        wrong.push(format!("may not be '{name}'"));
    }
    for forbidden in ["/", "%"] {
        if name.contains(forbidden) {
            wrong.push(format!("may not contain '{forbidden}'"));
        }
    }
    wrong
}

/// What is wrong with the key of a label, an annotation or a finalizer: `[prefix/]name`.
pub(crate) fn qualified_name(key: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if key.matches('/').count() > 1 {
        wrong.push(
            "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
             with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
             validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and \
             '/' (e.g. 'example.com/MyName')"
                .to_owned(),
        );
        return wrong;
    }
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix {
        if prefix.is_empty() {
            wrong.push("prefix part must be non-empty".to_owned());
        } else {
            let why = subdomain_1123(prefix);
            wrong.extend(
                why.into_iter()
                    .map(|why| format!("prefix part {}", why.replace("253 characters", "253 bytes"))),
            );
        }
    }
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > MAX_LABEL {
        wrong.push(format!("name part must be no more than {MAX_LABEL} bytes"));
    }
    if !is_word(name) || name.is_empty() {
        wrong.push(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                .to_owned(),
        );
    }
    wrong
}

/// What is wrong with the value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut wrong = too_long(value, MAX_LABEL, "bytes");
    if !is_word(value) {
        wrong.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
             must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
             regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        );
    }
    wrong
}

/// Labels joined by dots.
pub(crate) fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

/// Lower case letters, digits and dashes, with no dash at either end.
pub(crate) fn is_label(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && !name.ends_with('-')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Letters, digits, `-`, `_` and `.`, with a letter or digit at both ends; may be empty.
fn is_word(text: &str) -> bool {
    let edge = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_alphanumeric());
    edge(text.bytes().next())
        && edge(text.bytes().last())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// Kubernetes counts the same and says it in two ways: names have characters, labels have bytes.
fn too_long(name: &str, max: usize, unit: &str) -> Vec<String> {
    if name.len() > max { vec![format!("must be no more than {max} {unit}")] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_start_with_a_letter_and_do_not_end_with_a_dash() {
        assert!(label_1035("widgets").is_empty());
        assert!(!label_1035("1widgets").is_empty());
        assert!(label_1123("1widgets").is_empty());
        assert!(!label_1123("widgets-").is_empty());
        assert!(!label_1123(&"a".repeat(64)).is_empty());
    }

    #[test]
    fn subdomains_are_labels_joined_by_dots() {
        assert!(subdomain_1123("a.b-c.9").is_empty());
        for bad in ["", "A", "a..b", "-a", "a_b", &"a".repeat(254)] {
            assert!(!subdomain_1123(bad).is_empty(), "{bad}");
        }
    }

    #[test]
    fn qualified_names_have_an_optional_dns_prefix() {
        for good in ["app", "App_1.x", "example.com/app"] {
            assert!(qualified_name(good).is_empty(), "{good}");
        }
        for bad in ["", "a b", "-a", "/a", "a/", "a/b/c", "Bad_/a", &"a".repeat(64)] {
            assert!(!qualified_name(bad).is_empty(), "{bad}");
        }
    }

    #[test]
    fn names_that_break_a_path_are_refused() {
        assert!(path_segment("system:node").is_empty());
        assert!(!path_segment("..").is_empty());
        assert!(!path_segment("a/b").is_empty());
    }
}
