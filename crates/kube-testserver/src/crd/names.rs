//! Which names Kubernetes accepts, and what it says about the others.

/// The longest DNS label.
const MAX_LABEL: usize = 63;
/// The longest DNS name.
const MAX_SUBDOMAIN: usize = 253;

/// What is wrong with a name that must be a DNS-1035 label (starts with a letter); empty if nothing is.
pub(super) fn label_1035(name: &str) -> Vec<String> {
    let mut wrong = too_long(name, MAX_LABEL);
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

/// What is wrong with a name that must be a DNS-1123 subdomain; empty if nothing is.
pub(super) fn subdomain_1123(name: &str) -> Vec<String> {
    let mut wrong = too_long(name, MAX_SUBDOMAIN);
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

/// Labels joined by dots.
pub(super) fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

/// Lower case letters, digits and dashes, with no dash at either end.
pub(super) fn is_label(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && !name.ends_with('-')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn too_long(name: &str, max: usize) -> Vec<String> {
    if name.len() > max { vec![format!("must be no more than {max} bytes")] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_start_with_a_letter_and_do_not_end_with_a_dash() {
        assert!(label_1035("widgets").is_empty());
        assert!(label_1035("a-1").is_empty());
        for bad in ["", "1a", "a-", "A", "a.b"] {
            assert_eq!(label_1035(bad).len(), 1, "{bad}");
        }
        assert_eq!(label_1035(&"a".repeat(64)), ["must be no more than 63 bytes"]);
    }

    #[test]
    fn subdomains_are_labels_joined_by_dots() {
        assert!(subdomain_1123("widgets.example.com").is_empty());
        assert!(subdomain_1123("1.2").is_empty());
        for bad in ["", "a..b", ".a", "a_b"] {
            assert_eq!(subdomain_1123(bad).len(), 1, "{bad}");
        }
    }
}
