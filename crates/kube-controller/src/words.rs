//! What a server said, for people.

use kube_client::Error;
use kube_informer::redact::error_text;

/// What went wrong with a request: what the server said, and why in a word. kube's own text of such an error has all the
/// fields of the answer in it, as a program would write them. An answer that does not fit its type is not quoted: it may be a Secret.
///
/// ```
/// use kube_controller::in_words;
/// use kube_controller::kube_client::Error;
/// use kube_controller::kube_client::core::Status;
///
/// let refused = Status::failure("pods \"web\" not found", "NotFound").with_code(404);
/// assert_eq!(in_words(&Error::Api(refused.boxed())), "pods \"web\" not found (NotFound)");
/// ```
pub fn in_words(error: &Error) -> String {
    match error {
        Error::Api(status) if status.message.is_empty() => {
            format!("{} {}", status.code, status.reason).trim_end().to_owned()
        }
        Error::Api(status) if status.reason.is_empty() => status.message.clone(),
        Error::Api(status) => format!("{} ({})", status.message, status.reason),
        other => error_text(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_does_not_fit_its_type_is_told_without_its_values() {
        let mistyped = || Error::SerdeError(serde_json::from_str::<u32>("\"hunter2\"").unwrap_err());
        let text = in_words(&mistyped());
        assert_eq!(text, "Error deserializing response: it does not fit its type (line 1 column 9)");
        let failed = crate::leader::ElectionError::Request {
            action: "read",
            lease: "default/lease".to_owned(),
            source: Box::new(mistyped()),
        };
        assert!(!failed.to_string().contains("hunter2"), "{failed}");
    }
}
