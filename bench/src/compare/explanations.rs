//! Why bars are missed and figures lost: what profiles showed. A guess says that it is one.

/// Explains a missed bar or a lost figure, by its title.
pub(super) fn explain(title: &str) -> &'static str {
    let known = EXPLANATIONS.iter().find(|(words, _)| words.iter().all(|word| title.contains(word)));
    known.map_or("Not yet known.", |(_, explanation)| explanation)
}

/// Words that a title has, and the explanation. The first that fits counts.
const EXPLANATIONS: &[(&[&str], &str)] = &[
    (
        &["decoded", "resident"],
        "k8s-openapi's types hold optional parts in place, where Go's hold pointers: an absent part takes as much memory as a \
        present one. That cannot be changed from here; the default storage is the answer.",
    ),
    (
        &["handle"],
        "A handle counts references in its object, so each object is touched; client-go copies pointers. Lists without handles \
        do not touch objects either.",
    ),
    (
        &["queue", "memory"],
        "A key has its text, about 80 bytes of state, and a place in two orders, by priority and by age; client-go has a \
        set and one line.",
    ),
    (
        &["queue"],
        "Each call reads the clock, for metrics and for keys that wait too long, and hashes with SipHash; Go hashes with \
        instructions of the processor.",
    ),
];
