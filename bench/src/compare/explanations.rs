//! Why bars are missed: what was found by looking, to be kept true by whoever changes it.

/// What is known about a line that misses its bar.
pub(super) fn reason(section: &str, line: &str) -> &'static str {
    let known = REASONS
        .iter()
        .find(|(in_section, in_line, _)| section.contains(in_section) && line.contains(in_line));
    known.map_or("Not yet known.", |(_, _, reason)| reason)
}

const LARGE_TYPES: &str = "k8s-openapi's types have their optional parts in place, where Go's have pointers: what is not there \
    takes as much memory as what is. That is not for this library to choose; packed objects are the answer.";

/// Parts of the titles of a section and a line, and the reason. What was measured says how; what was not says that it is a
/// guess.
const REASONS: [(&str, &str, &str); 19] = [
    (
        "Decode",
        "protobuf, full type",
        "The type is made of 136 pieces of memory; the line without decoding says how long they take by themselves.",
    ),
    (
        "Decode",
        "JSON, full type",
        "Both decode with serde_json; ours passes over `managedFields`, and looks at the text once to see that it is UTF-8.",
    ),
    ("Sync", "resident, decoded", LARGE_TYPES),
    ("Sync", "peak, decoded", LARGE_TYPES),
    ("Sync", "system's allocator", "The allocator: with jemalloc it is not so."),
    ("Sync", "", "Small copies are little more than the program itself."),
    (
        "Events",
        "",
        "The handlers look into each object, so each is decoded, once for all of them; sampled, most of the rest is the memory that \
        it is made of.",
    ),
    (
        "From the server's socket",
        "p50",
        "An event goes from the task that reads to one that writes the store and to the thread of a handler. That decoding is on the \
        way, too, is a guess: copies that do not decode are quicker.",
    ),
    ("", "look into it, packed", "It is decoded each time."),
    (
        "Instructions",
        "by label",
        "Each of these few objects has labels of its own, so what the selector found is remembered in vain; 100,000 objects have \
        2,000 different labels.",
    ),
    (
        "Instructions",
        "list",
        "kube-rs copies a pointer to each object from one table, and the program then looks at each; ours goes through a table \
        of which more than half may be empty, or finds each by its place in it, in a copy that others may write to meanwhile.",
    ),
    ("Instructions", "look into it", "The value of a packed object is behind a lock and a count of its own."),
    (
        "Reads",
        "a handle to each",
        "A handle counts references in the memory of its object, so each object is touched, in an order that has nothing to do with \
        where they are in memory; client-go copies pointers, and the lines without handles do not touch objects either.",
    ),
    (
        "Reads",
        "look into it",
        "A handle counts references in the memory of the object, and a value is behind two more pointers; client-go's \
        are behind one. Not looked into further.",
    ),
    (
        "beside a writer",
        "events the writer took",
        "Two cores have the server, the writer and the reader: the more time one has, the less have the others. That \
        client-go's readers wait for locks, and leave their time to its writer, is a guess: its lists take six to ten times as \
        long beside it, ours two to five. Sampled, with objects that rest decoded: three fifths of the writer's time decode, more \
        than half of that waiting for the memory of the old object, which is far away; a tenth is the kernel's.",
    ),
    (
        "beside a writer",
        "",
        "Two cores have the server, the writer and the reader: the more time one has, the less have the others. Not looked into \
        further.",
    ),
    (
        "one more object",
        "",
        "One sync takes up to half as long again as the next one of the same size on this machine. Sampled, with decoded objects, \
        what differs between quick and slow syncs of 100,000 pods is how long the kernel takes to clear new memory: 2.5 to \
        4.7 µs for each pod.",
    ),
    (
        "Work queue",
        "memory",
        "For each key there are its text, about 80 bytes of what is known of it, its place in two lines, by priority and by age, and \
        8 bytes in a table; lines and table grow by doubling. client-go has a table of texts and one line.",
    ),
    (
        "Work queue",
        "",
        "Each call takes the time, for the metrics and for keys that have waited too long; keys are hashed with SipHash, Go's with \
        instructions of the processor; a key that is added in vain is freed at once. How much each of it takes was not measured.",
    ),
];
