use crate::run::{ErrorKind, Problem};
use crate::tool::one_line;
use serde::Serialize;

/// The maximum number of characters of a problem's message.
const MAX_MESSAGE_CHARS: usize = 1_000;

/// The reason why the last turn failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ChatProblem {
    /// The kind, for the app to act on.
    pub kind: ErrorKind,
    /// A sentence that describes the problem.
    pub message: String,
    /// The advice on how to solve the problem.
    pub advice: String,
    /// Whether the same message may succeed another time.
    #[serde(rename = "retryable")]
    pub is_retryable: bool,
    /// The HTTP status of the provider's answer, if it answered with an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

impl ChatProblem {
    /// Creates a problem. A message that is too long is cut, and a turn that the user stopped has no problem.
    pub(super) fn shown(self) -> Option<Self> {
        if self.kind == ErrorKind::Cancelled {
            return None;
        }
        Some(Self {
            message: one_line(&self.message, MAX_MESSAGE_CHARS),
            ..self
        })
    }
}

impl From<Problem> for ChatProblem {
    fn from(problem: Problem) -> Self {
        Self {
            kind: problem.kind,
            message: problem.message,
            advice: problem.advice.to_owned(),
            is_retryable: problem.is_retryable,
            status: problem.status,
        }
    }
}
