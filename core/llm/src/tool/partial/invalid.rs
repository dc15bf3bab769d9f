/// The mistake that makes partial arguments invalid JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are not JSON at byte {at}: {reason}")]
#[non_exhaustive]
pub struct InvalidArguments {
    /// The byte of the text, from 0: the one that cannot stand there, or the first of a number or key that is refused.
    pub at: usize,
    /// The description of the mistake.
    pub reason: &'static str,
}

/// Reading stops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) reason: InvalidArguments,
    /// The length of the text that is needed to find the mistake again.
    pub(super) read: usize,
}

impl Stop {
    /// The character at `at` cannot stand there.
    pub(super) fn at(text: &str, at: usize, reason: &'static str) -> Self {
        Self::from(text, at, at, reason)
    }

    /// Returns what begins at `from` is refused, as the character at `at` shows.
    pub(super) fn from(text: &str, from: usize, at: usize, reason: &'static str) -> Self {
        let character = text.get(at..).and_then(|rest| rest.chars().next());
        Self {
            reason: InvalidArguments { at: from, reason },
            read: at + character.map_or(0, char::len_utf8),
        }
    }
}
