//! Trouble that lasts is said once, and once more when it is over.

use kube_informer::informer::InformerStatus;
use kube_informer::source::SourceError;

/// One failure may pass by itself: a watch that breaks off is opened again at once.
const LASTING: u64 = 2;

/// What was said about an informer last.
#[derive(Debug, Default)]
pub(crate) struct Told {
    wrong: Option<Wrong>,
}

/// What is to be said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    Wrong(String),
    WorksAgain,
}

/// What is wrong, as far as it makes a difference to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Unreachable,
    Answer(u16),
}

impl Told {
    /// What is to be said about this status, if anything.
    pub(crate) fn hear(&mut self, status: &InformerStatus) -> Option<News> {
        let Some(trouble) = &status.trouble else {
            return self.wrong.take().map(|_| News::WorksAgain);
        };
        let wrong = match trouble.error.code {
            0 => Wrong::Unreachable,
            code => Wrong::Answer(code),
        };
        if trouble.times < LASTING || self.wrong == Some(wrong) {
            return None;
        }
        self.wrong = Some(wrong);
        Some(News::Wrong(in_words(&trouble.error)))
    }
}

fn in_words(error: &SourceError) -> String {
    match error.code {
        0 if !error.garbled => format!("cannot be reached: {}", without_layers(&error.message)),
        _ => error.message.clone(),
    }
}

/// Why a connection failed, without the names of the layers it went through.
pub(crate) fn without_layers(message: &str) -> &str {
    let mut rest = message;
    for layer in
        ["ServiceError: ", "HyperError: ", "client error (Connect): ", "client error (SendRequest): "]
    {
        rest = rest.strip_prefix(layer).unwrap_or(rest);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_error_says_what_happened_and_not_where() {
        let refused =
            "ServiceError: client error (Connect): tcp connect error: Connection refused (os error 111)";
        assert_eq!(without_layers(refused), "tcp connect error: Connection refused (os error 111)");
        assert_eq!(without_layers("the list did not come in time"), "the list did not come in time");
    }
}
