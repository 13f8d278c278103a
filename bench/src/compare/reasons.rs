//! Why bars are missed: what was found by looking, to be kept true by whoever changes it.

/// What is known about a line that misses its bar.
pub(super) fn reason(section: &str, line: &str) -> &'static str {
    let known = REASONS
        .iter()
        .find(|(in_section, in_line, _)| section.contains(in_section) && line.contains(in_line));
    known.map_or("Not yet known.", |(_, _, reason)| reason)
}

/// Parts of the titles of a section and a line, and the reason. What was measured says how; what was not says that it is a
/// guess.
const REASONS: [(&str, &str, &str); 6] = [
    (
        "Decode",
        "protobuf, full type",
        "Callgrind: about three tenths of the instructions are the allocator's, about a twelfth moves memory. The \
        instructions are fewer than client-go's, the time is not shorter; why has not been measured.",
    ),
    ("Sync", "", "Not looked into since objects of plain kinds are no longer decoded when they arrive."),
    (
        "Events",
        "",
        "The handlers look into each object, so each is decoded, once for all of them; what is before that is a check of its \
        bytes. Not profiled since.",
    ),
    (
        "beside a writer",
        "",
        "Not looked into. The writer's rate moves much from line to line, also with nobody reading, so these lines say \
        little yet.",
    ),
    (
        "nobody writes",
        "",
        "By key: the way through two trees, to the place and from the place to the object, is longer than through \
        client-go's flat map; each step may be a cache miss.",
    ),
    ("one more object", "", "Not looked into."),
];
