//! What a server said, for people.

use kube_client::Error;

/// What went wrong with a request: what the server said, and why in a word. kube's own text of such an error has all the
/// fields of the answer in it, as a program would write them.
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
        other => other.to_string(),
    }
}
