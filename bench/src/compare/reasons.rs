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
    (
        "Sync",
        "",
        "Callgrind, on events: two thirds of the instructions are decoding, and every object is decoded when it arrives, \
        also if it rests as bytes.",
    ),
    (
        "Events",
        "",
        "Callgrind, with one handler: two thirds of the instructions are decoding, a tenth is dropping the value, a tenth \
        is the store.",
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
        "Not profiled. A guess: the way through the tree, and a reference counted in the memory of each object, are cache \
        misses that client-go's flat map of pointers does not have.",
    ),
    ("one more object", "", "Not looked into."),
];
