//! The core's form of how a turn ended, for what the app says of its own runs.

use super::{Failure, Outcome, TurnLimit};
use std::time::Duration;
use stepwell_core::conversation::RunFailure;
use stepwell_core::{dialect, run};

impl From<Outcome> for run::Outcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success => Self::Success,
            Outcome::Incomplete { reason, .. } => Self::Incomplete {
                reason: reason.into(),
            },
            Outcome::LimitReached { limit, message } => match limit.into_core() {
                Some(limit) => Self::LimitReached { limit },
                None => Self::Failed {
                    failure: unknown(message),
                },
            },
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Truncated => Self::Truncated,
            Outcome::Failed {
                failure, message, ..
            } => Self::Failed {
                failure: failure.into_core(message),
            },
        }
    }
}

/// What the core has no name for keeps its words.
fn unknown(message: String) -> run::Failure {
    run::Failure::Stream { message }
}

impl Failure {
    fn into_core(self, said: String) -> run::Failure {
        match self {
            Self::Api {
                kind,
                status,
                message,
                code,
                retry_after_ms,
            } => {
                let mut error = dialect::ApiError::from_body(status, b"");
                error.kind = kind.into();
                error.message = message;
                error.code = code;
                error.retry_after = retry_after_ms.map(Duration::from_millis);
                run::Failure::Api { error }
            }
            Self::Connection { message } => run::Failure::Connection { message },
            Self::UnexpectedBody {
                content_type,
                excerpt,
            } => run::Failure::UnexpectedBody {
                content_type,
                excerpt,
            },
            Self::Stream { message } => run::Failure::Stream { message },
            Self::Reported {
                message,
                code,
                kind,
            } => run::Failure::Reported {
                error: RunFailure { message, code },
                kind: kind.map(Into::into),
            },
            Self::TimedOut { deadline } => run::Failure::TimedOut {
                deadline: deadline.into(),
            },
            Self::RunNotCreated { message } => run::Failure::RunNotCreated { message },
            Self::NotStored { message } => run::Failure::NotStored { message },
            Self::LimitReached { limit } => match limit.into_core() {
                Some(limit) => run::Failure::LimitReached { limit },
                None => unknown(said),
            },
            Self::ContextTooLong { tokens, window } => {
                run::Failure::ContextTooLong { tokens, window }
            }
            Self::AttachmentRefused { message } => run::Failure::AttachmentRefused { message },
            Self::Other { message } => unknown(message),
        }
    }
}

impl TurnLimit {
    /// Nothing for a limit that only a later version knows.
    fn into_core(self) -> Option<run::TurnLimit> {
        Some(match self {
            Self::MaxToolRounds { max } => run::TurnLimit::MaxToolRounds { max },
            Self::MaxToolCalls { max } => run::TurnLimit::MaxToolCalls { max },
            Self::MaxTokens { max } => run::TurnLimit::MaxTokens { max },
            Self::MaxDuration { max_ms } => run::TurnLimit::MaxDuration { max_ms },
            Self::NoProgress { tool, times } => run::TurnLimit::NoProgress { tool, times },
            Self::MaxAnswerBytes { max } => run::TurnLimit::MaxAnswerBytes { max },
            Self::MaxAnswerCalls { max } => run::TurnLimit::MaxAnswerCalls { max },
            Self::Other { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Failures that have the same fields could be taken for each other.
    #[test]
    fn a_failure_keeps_its_name_both_ways() {
        let message = || "Words.".to_owned();
        let samples = [
            run::Failure::Connection { message: message() },
            run::Failure::Stream { message: message() },
            run::Failure::RunNotCreated { message: message() },
            run::Failure::NotStored { message: message() },
            run::Failure::AttachmentRefused { message: message() },
        ];
        for sample in samples {
            let here = Failure::from(sample.clone());
            let name = |debug: String| debug.split(' ').next().map(str::to_owned);
            assert_eq!(name(format!("{here:?}")), name(format!("{sample:?}")));
            assert_eq!(here.into_core(message()), sample);
        }
    }
}
