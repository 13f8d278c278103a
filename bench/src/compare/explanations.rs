//! Why bars are missed and figures lost: what profiles and the figures themselves show. A guess says that it is one.

/// Explains a missed bar or a lost figure, by its title.
pub(super) fn explain(title: &str) -> &'static str {
    let known = EXPLANATIONS.iter().find(|(words, _)| words.iter().all(|word| title.contains(word)));
    known.map_or("Not yet known.", |(_, explanation)| explanation)
}

/// Words that a title has, and the explanation. The first that fits counts.
const EXPLANATIONS: &[(&[&str], &str)] = &[
    (
        &["first sync"],
        "Beyond what the limit does, each object is validated, its key, version and labels are read, and it is copied without its \
        managed fields into memory of its own. Which of these takes most on these objects has not been profiled.",
    ),
    (
        &["queue", "memory"],
        "A key has its text, about 80 bytes of state, and a place in two orders, by priority and by age; client-go has a \
        set and one line.",
    ),
    (
        &["queue", "resident"],
        "A key has its text, about 80 bytes of state, and a place in two orders, by priority and by age; client-go has a \
        set and one line.",
    ),
    (
        &["decoded", "resident"],
        "k8s-openapi's types hold optional parts in place, where Go's hold pointers: an absent part takes as much memory as a \
        present one. That cannot be changed from here; the default storage is the answer.",
    ),
    (
        &["resident"],
        "The default storage keeps each object as the server sent it, without its managed fields. Less needs compression or \
        shared texts.",
    ),
    (
        &["updates per second"],
        "Each update is kept encoded, and decoded once for all handlers, since they read a field. The server, TLS, the informer and \
        its handlers share two cores. Which part takes most on these objects has not been profiled.",
    ),
    (
        &["read a field"],
        "The default storage keeps objects encoded and the values of about a thousand of these pods: a program that reads a field \
        of more objects than that again and again decodes each time: 14 µs a pod in a list, 27 beside a writer. Decoded storage, a \
        projection or an index avoids it.",
    ),
    (
        &["list all", "instructions"],
        "Objects are in the slots of a hash table, of which up to half are empty; kube-rs goes through a dense map.",
    ),
    (
        &["a handle to each"],
        "A handle counts references in its object, so each object is touched; client-go copies pointers. Lists without handles \
        do not touch objects either.",
    ),
    (
        &["socket to handler"],
        "An update goes from the task that reads to one that writes the store and to the thread of a handler, and is decoded on \
        the way. Which part takes most on these objects has not been profiled.",
    ),
    (
        &["queue"],
        "Each call reads the clock, for metrics and for keys that wait too long, and hashes with SipHash; Go hashes with \
        instructions of the processor.",
    ),
];

#[cfg(test)]
mod tests {
    use super::super::bars::bars;
    use super::super::plan::Sizes;
    use super::*;

    #[test]
    fn every_bar_has_an_explanation_if_it_is_missed_and_no_handler_is_taken_for_a_handle() {
        for bar in bars(&Sizes::full()) {
            assert_ne!(explain(&bar.title), explain("something else"), "{}", bar.title);
        }
        let handle = explain("list all with a handle to each");
        assert_ne!(explain("p99 from socket to handler"), handle);
        assert_ne!(explain("updates per second, 10 handlers"), handle);
    }
}
