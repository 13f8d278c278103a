//! Texts of errors without the values of objects.
//!
//! Errors reach logs, the status and pages, and an object may be a Secret. What serde_json says of an object that does not fit its
//! type quotes what it found, and errors that wrap it repeat that. A message that a program makes itself of such a text is not
//! recognised.

use std::error::Error;
use std::io;
use std::iter::successors;

/// How deep the causes of an error are looked through.
pub(crate) const MAX_CAUSES: usize = 16;

/// The text of an error, without its causes. Where it repeats what serde_json said, in itself or in a cause, it has the kind of the
/// failure and the place instead.
///
/// ```
/// use kube_informer::redact::error_text;
///
/// let error = serde_json::from_str::<u32>("\"hunter2\"").unwrap_err();
/// assert_eq!(error.to_string(), "invalid type: string \"hunter2\", expected u32 at line 1 column 9");
/// assert_eq!(error_text(&error), "it does not fit its type (line 1 column 9)");
/// ```
pub fn error_text(error: &(dyn Error + 'static)) -> String {
    causes(error).filter_map(|cause| cause.downcast_ref()).fold(error.to_string(), |text, cause| {
        let words = json_words(cause);
        text.replace(&cause.to_string(), &words).replace(&format!("{cause:?}"), &words)
    })
}

/// What serde_json found, without its own words: they may have values of an object in them.
pub(crate) fn json_words(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        serde_json::error::Category::Io => "it cannot be read or written",
        serde_json::error::Category::Syntax => "it is not JSON",
        serde_json::error::Category::Data => "it does not fit its type",
        serde_json::error::Category::Eof => "it ends too early",
    };
    format!("{what} (line {} column {})", error.line(), error.column())
}

/// An error and its causes, from the outside in.
pub(crate) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |&error| {
        // An I/O error names the cause of its cause as its cause.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|cause| cause as &(dyn Error + 'static)).or_else(|| error.source())
    })
    .take(MAX_CAUSES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{what}: {source:?}")]
    struct Debugging<E: Error + 'static> {
        what: &'static str,
        source: E,
    }

    fn mistyped() -> serde_json::Error {
        serde_json::from_str::<u32>("\"hunter2\"").unwrap_err()
    }

    #[test]
    fn what_serde_json_quotes_is_in_no_text_of_an_error_that_wraps_it() {
        let errors: [Box<dyn Error + 'static>; 5] = [
            Box::new(mistyped()),
            Box::new(kube_client::Error::SerdeError(mistyped())),
            Box::new(kube_client::Error::Service(Box::new(kube_client::Error::SerdeError(mistyped())))),
            Box::new(kube_client::Error::ReadEvents(io::Error::other(mistyped()))),
            Box::new(Debugging { what: "outer", source: mistyped() }),
        ];
        for error in errors {
            assert!(error.to_string().contains("hunter2"), "{error}");
            let text = error_text(&*error);
            assert!(!text.contains("hunter2"), "{text}");
            assert!(text.ends_with("it does not fit its type (line 1 column 9)"), "{text}");
        }
    }

    #[test]
    fn other_errors_say_what_they_say() {
        let error = io::Error::other("the disk is full");
        assert_eq!(error_text(&error), "the disk is full");
        assert_eq!(
            error_text(&kube_client::Error::ReadEvents(error)),
            "Error reading events stream: the disk is full"
        );
    }
}
