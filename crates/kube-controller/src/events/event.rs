//! What has happened, as the one says it who did it.

use k8s_openapi::api::core::v1::ObjectReference;

/// The longest note that servers take, in bytes. Longer ones are cut.
pub const MAX_NOTE: usize = 1024;
/// The longest reason, action, and name of an instance that servers take, in bytes. Longer ones are cut.
pub const MAX_REASON: usize = 128;

/// What has happened.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "an event is nothing until it is given to `EventRecorder::record`"]
pub struct Event {
    pub(super) warning: bool,
    pub(super) reason: String,
    pub(super) action: String,
    pub(super) note: String,
    pub(super) related: Option<ObjectReference>,
}

impl Event {
    /// Something as it should be. The reason says why it was done and the action what, in one word each, like
    /// `ScaledUp`; the note is for people.
    pub fn normal(reason: &str, action: &str, note: impl Into<String>) -> Self {
        Self::new(false, reason, action, note.into())
    }

    /// Something that somebody should look at.
    pub fn warning(reason: &str, action: &str, note: impl Into<String>) -> Self {
        Self::new(true, reason, action, note.into())
    }

    /// Another object that it is about.
    pub fn related(mut self, object: ObjectReference) -> Self {
        self.related = Some(object);
        self
    }

    pub(super) fn type_name(&self) -> &'static str {
        if self.warning { "Warning" } else { "Normal" }
    }

    fn new(warning: bool, reason: &str, action: &str, mut note: String) -> Self {
        note.truncate(cut(&note, MAX_NOTE));
        let short = |text: &str| text[..cut(text, MAX_REASON)].to_owned();
        Self { warning, reason: short(reason), action: short(action), note, related: None }
    }
}

/// Where a text ends that must not be longer, without cutting a letter in two.
pub(super) fn cut(text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_letters() {
        let event = Event::warning(&"r".repeat(200), "Act", "ä".repeat(1000));
        assert_eq!((event.reason.len(), event.note.len()), (MAX_REASON, MAX_NOTE));
        let odd = Event::normal("R", "A", format!("x{}", "ä".repeat(1000)));
        assert_eq!(odd.note.len(), MAX_NOTE - 1);
    }
}
