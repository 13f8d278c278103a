//! Why bars are missed: what was found by looking, to be kept true by whoever changes it.

/// What is known about a line that misses its bar.
pub(super) fn reason(section: &str, line: &str) -> &'static str {
    let known = REASONS
        .iter()
        .find(|(in_section, in_line, _)| section.contains(in_section) && line.contains(in_line));
    known.map_or("Not yet known.", |(_, _, reason)| reason)
}

/// Parts of the titles of a section and a line, and the reason.
const REASONS: [(&str, &str, &str); 12] = [
    (
        "Decode",
        "protobuf, full type",
        "Of about 126,000 instructions a pod, a third is spent in the allocator (about 150 pieces of memory \
        a pod) and a tenth on moving large structs: k8s-openapi has optional structs in place. client-go's decoder has \
        become faster since the bar was set, and what its garbage collector does later, on another core, is not in its time.",
    ),
    (
        "Decode",
        "protobuf, five fields",
        "See the full type: the bar is a part of client-go's time, which has become shorter.",
    ),
    (
        "Sync",
        "wall time",
        "Every object is decoded into its type when it arrives, also if it rests as bytes: that is two thirds of \
        the work.",
    ),
    (
        "Sync",
        "against kube-rs",
        "Every object is decoded into its type when it arrives: that is two thirds of the work.",
    ),
    ("Sync", "resident", "See the lines below it."),
    (
        "Events",
        "handlers",
        "Two thirds of the instructions of an event are its decoding, a tenth is dropping the value, a tenth is \
        the store; so this is the decoder's ratio, and both cores are shared with the server.",
    ),
    (
        "beside a writer",
        "events the writer took",
        "Each change is decoded (two thirds of the work), and with an index the way to the \
        object is copied in four trees.",
    ),
    (
        "beside a writer",
        "",
        "The reader shares two cores with the writer and the server, and caches with both.",
    ),
    (
        "nobody writes",
        "get by key",
        "A lookup goes through four levels of a tree, each in a piece of memory of its own, and then along a \
        bucket of up to 48 entries; client-go's map is flat.",
    ),
    (
        "nobody writes",
        "list all",
        "A handle is made of each object, which counts a reference in its memory: a cache miss each. client-go \
        copies pointers.",
    ),
    (
        "nobody writes",
        "",
        "A handle is made of each object, which counts a reference in its memory: a cache miss each.",
    ),
    (
        "one more object",
        "",
        "Larger copies do not fit into the processor's caches, and the machine had other work at the time.",
    ),
];
