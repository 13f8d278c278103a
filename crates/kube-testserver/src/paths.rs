//! Field paths in answers, bounded in length and number: an answer never outgrows the request that it is about.

use std::fmt::Write as _;

/// The longest path that an answer repeats, in bytes. The rest of a longer one is left out.
const MAX_PATH_BYTES: usize = 1024;

/// The paths that one answer lists.
pub(crate) const MAX_PATHS: usize = 256;

/// The path to a value, which grows and shrinks with a walk. Each step costs the bytes of its own element, never those of the
/// whole path.
#[derive(Debug, Default)]
pub(crate) struct FieldPath(String);

/// The length of a path at an earlier point of the walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

impl FieldPath {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Appends a field, with a dot unless it is the first element. Returns the mark to go back to.
    pub(crate) fn push_field(&mut self, name: &str) -> Mark {
        let mark = self.mark();
        if !self.0.is_empty() {
            self.0.push('.');
        }
        self.push(name);
        mark
    }

    /// Appends a position in a list. Returns the mark to go back to.
    pub(crate) fn push_index(&mut self, at: usize) -> Mark {
        let mark = self.mark();
        // Writing to a string cannot fail.
        let _ = write!(self.0, "[{at}]");
        mark
    }

    /// Appends text as it is. Returns the mark to go back to.
    pub(crate) fn push_text(&mut self, text: &str) -> Mark {
        let mark = self.mark();
        self.push(text);
        mark
    }

    /// Removes everything that was appended since the mark was made.
    pub(crate) fn go_back(&mut self, mark: Mark) {
        self.0.truncate(mark.0);
    }

    /// Returns the path as answers repeat it.
    pub(crate) fn shown(&self) -> String {
        shortened(&self.0)
    }

    fn mark(&self) -> Mark {
        Mark(self.0.len())
    }

    fn push(&mut self, text: &str) {
        count(text.len());
        self.0.push_str(text);
    }
}

/// Copies a path as answers repeat it: whole, or its beginning and an ellipsis.
pub(crate) fn shortened(path: &str) -> String {
    let shown = if path.len() <= MAX_PATH_BYTES {
        path.to_owned()
    } else {
        let end = (0..=MAX_PATH_BYTES).rev().find(|at| path.is_char_boundary(*at)).unwrap_or_default();
        format!("{}...", &path[..end])
    };
    count(shown.len());
    shown
}

/// Counts the bytes of paths that are copied; tests bound their number.
fn count(_bytes: usize) {
    #[cfg(test)]
    COPIED_BYTES.set(COPIED_BYTES.get() + _bytes);
}

#[cfg(test)]
thread_local! {
    static COPIED_BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Runs a function and returns how many bytes of paths it copied.
#[cfg(test)]
pub(crate) fn copied_bytes(run: impl FnOnce()) -> usize {
    let before = COPIED_BYTES.get();
    run();
    COPIED_BYTES.get() - before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_is_shown_in_part() {
        let mut path = FieldPath::default();
        let start = path.push_field("spec");
        path.push_index(3);
        let mark = path.push_field(&"ä".repeat(MAX_PATH_BYTES));
        let shown = path.shown();
        assert!(shown.starts_with("spec[3].ä") && shown.ends_with("ä..."), "{shown}");
        assert!(shown.len() <= MAX_PATH_BYTES + 3);
        path.go_back(mark);
        assert_eq!(path.shown(), "spec[3]");
        path.go_back(start);
        assert_eq!(path.as_str(), "");
    }
}
