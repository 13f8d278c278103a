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
        "Three parts. A third of the time allocates and frees what the type is made of, 136 pieces of memory: the line without \
        decoding says how long that takes by itself, and no decoder into this type can be quicker; mimalloc halves it. A fifth \
        walks the bytes, as a check of the object does. The rest is between the walk and the type: the type's own \
        `Deserialize`, which builds each struct beside its place and moves it there, 3 kB for each volume. Only decoders made for \
        each type would save that, in place of one that serves all types and projections. client-go frees nothing while it \
        decodes, and keeps nothing here, so that its collector has nothing to mark.",
    ),
    ("Sync", "", "Not looked into since objects of plain kinds are no longer decoded when they arrive."),
    (
        "Events",
        "",
        "The handlers look into each object, so each is decoded, once for all of them; what is before that is a check of its \
        bytes. Sampled, with one handler: two thirds of the time are checking, decoding and freeing what was decoded. Objects \
        are often freed by other threads than made them, for which glibc takes locks; how much that costs is a guess, and the \
        lines with larger caches show what fewer of them save.",
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
        "By key, sampled: nearly all of the time waits for memory. Of four looks into memory that is not near (the slot of the \
        key, the place, the object, the text of its key) the longest is the object, of which a handle counts a reference; \
        client-go has the first and the last, and touches no object.",
    ),
    ("one more object", "", "Not looked into."),
];
