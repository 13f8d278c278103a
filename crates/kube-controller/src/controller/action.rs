//! What comes of a reconcile: what to do next, or what went wrong.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use kube_informer::redact::error_text;

/// How deep the causes of an error are told.
const MAX_CAUSES: usize = 16;

/// What is to happen to a request that was reconciled. `()` is [`Action::done`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "an action does nothing until it is returned by a reconciler"]
pub struct Action {
    pub(super) again: Again,
    pub(super) priority: Option<i32>,
}

/// When a request comes again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Again {
    #[default]
    WhenItChanges,
    RateLimited,
    After(Duration),
}

impl Action {
    /// All is well: nothing is done until something changes.
    pub fn done() -> Self {
        Self::default()
    }

    /// The request comes again after so much time, if nothing changes before. This is no failure: earlier ones are
    /// forgotten.
    pub fn requeue_after(delay: Duration) -> Self {
        Self { again: Again::After(delay), priority: None }
    }

    /// The request comes again when the rate limiter lets it, as after a failure, though this is none.
    pub fn requeue() -> Self {
        Self { again: Again::RateLimited, priority: None }
    }

    /// With what priority the request comes again, instead of the one it had.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }
}

impl From<()> for Action {
    fn from((): ()) -> Self {
        Self::done()
    }
}

/// Why a reconcile failed. Every error can become one with `?`, and is tried again then.
///
/// ```
/// use kube_controller::controller::ReconcileError;
///
/// fn parse(text: &str) -> Result<u16, ReconcileError> {
///     Ok(text.parse::<u16>()?)
/// }
/// let error = parse("many").unwrap_err();
/// assert!(!error.is_terminal());
/// let terminal = ReconcileError::terminal("the image has no name; give it one");
/// assert!(terminal.is_terminal());
/// ```
pub struct ReconcileError {
    cause: Box<dyn Error + Send + Sync>,
    kind: ErrorKind,
}

/// How a reconcile failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// It may go well next time.
    Retry,
    /// It makes no sense to try again before something changes.
    Terminal,
    /// The reconciler panicked; it is tried again.
    Panic,
    /// It took too long; it is tried again.
    Timeout,
}

impl ReconcileError {
    /// An error, or a text, that is tried again.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: cause.into(), kind: ErrorKind::Retry }
    }

    /// An error, or a text, that is not tried again before something changes.
    pub fn terminal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: cause.into(), kind: ErrorKind::Terminal }
    }

    /// It is not tried again before something changes.
    pub fn is_terminal(&self) -> bool {
        self.kind == ErrorKind::Terminal
    }

    /// How the reconcile failed.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The error that it was made of.
    pub fn cause(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.cause
    }

    pub(super) fn panicked(message: &str) -> Self {
        Self { cause: format!("the reconciler panicked: {message}").into(), kind: ErrorKind::Panic }
    }

    pub(super) fn timed_out(limit: Duration) -> Self {
        Self {
            cause: format!("the reconciler did not end within {limit:?}").into(),
            kind: ErrorKind::Timeout,
        }
    }
}

// So that `?` works, as everywhere else: which is why this is no `Error` itself.
impl<E: Error + Send + Sync + 'static> From<E> for ReconcileError {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

/// The error and its causes, each once. What serde_json says of an object is told without values of the object.
impl fmt::Display for ReconcileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut said, mut is_all) = told(&*self.cause);
        f.write_str(&said)?;
        let mut next = self.cause.source();
        for _ in 0..MAX_CAUSES {
            let Some(cause) = next.filter(|_| !is_all) else { break };
            let text;
            (text, is_all) = told(cause);
            // Many errors tell their cause themselves.
            if !said.contains(&text) {
                write!(f, ": {text}")?;
            }
            said = text;
            next = cause.source();
        }
        Ok(())
    }
}

/// What an error says, and whether that is all there is to say.
fn told(error: &(dyn Error + 'static)) -> (String, bool) {
    match error.downcast_ref() {
        Some(refused @ kube_client::Error::Api(_)) => (crate::in_words(refused), true),
        _ => (error_text(error), false),
    }
}

impl fmt::Debug for ReconcileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The cause's own form may have values of objects in it.
        f.debug_struct("ReconcileError").field("kind", &self.kind).field("cause", &self.to_string()).finish()
    }
}

#[cfg(test)]
mod tests {
    use kube_client::core::Status;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("inner")]
    struct Inner;

    #[test]
    fn an_error_tells_its_causes_once() {
        assert_eq!(ReconcileError::from(Outer(Inner)).to_string(), "outer: inner");
        assert_eq!(ReconcileError::terminal("plain").to_string(), "plain");
    }

    #[derive(Debug, thiserror::Error)]
    #[error("no pod")]
    struct NoPod(#[source] kube_client::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("the settings of {0} make no sense: {1}")]
    struct NoSettings(&'static str, #[source] serde_json::Error);

    #[test]
    fn an_object_that_does_not_fit_its_type_is_told_without_its_values() {
        let mistyped = || serde_json::from_str::<u32>("\"hunter2\"").unwrap_err();
        for error in [
            ReconcileError::from(mistyped()),
            ReconcileError::from(kube_client::Error::SerdeError(mistyped())),
            ReconcileError::from(NoSettings("web", mistyped())),
            ReconcileError::terminal(NoPod(kube_client::Error::SerdeError(mistyped()))),
        ] {
            let text = error.to_string();
            assert!(text.contains("it does not fit its type (line 1 column 9)"), "{text}");
            assert_eq!(text.matches("does not fit").count(), 1, "{text}");
            assert!(!format!("{text} {error:?}").contains("hunter2"), "{error:?}");
        }
    }

    #[test]
    fn what_a_server_refused_is_told_in_its_words_alone() {
        let refused =
            || kube_client::Error::Api(Status::failure("it is full", "Forbidden").with_code(403).boxed());
        assert_eq!(ReconcileError::from(refused()).to_string(), "it is full (Forbidden)");
        assert_eq!(ReconcileError::from(NoPod(refused())).to_string(), "no pod: it is full (Forbidden)");
    }
}
