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
        "Callgrind, with the system's allocator: two fifths of the instructions allocate and free what the type is made of, 136 \
        pieces of memory, a fifth walks the bytes, a tenth checks that texts are texts. The line without decoding says how long \
        the pieces take by themselves.",
    ),
    ("Sync", "", "Not looked into."),
    (
        "Events",
        "",
        "The handlers look into each object, so each is decoded, once for all of them; what is before that is a check of its \
        bytes. Packed copies, which keep nothing decoded, take half as many events again; adaptive ones keep what was looked at for a \
        while. Why that costs so much is a guess: its memory is far away when it goes.",
    ),
    (
        "beside a writer",
        "get by key",
        "A guess: what is read was just written by another core, and a handle to it counts a reference there; client-go's reads touch no \
        object.",
    ),
    (
        "beside a writer",
        "",
        "Two cores have the server, the writer and the reader: the more time one has, the less have the others. Not looked into \
        further.",
    ),
    ("one more object", "", "Not looked into."),
];
