//! The core's form of how a turn ended, for what the app says of its own runs.

use super::{Failure, Outcome, TurnLimit};
use stepwell_core::conversation::RunFailure;
use stepwell_core::{Usd, dialect, run};

impl From<Outcome> for run::Outcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success => Self::Success,
            Outcome::Incomplete { reason, .. } => Self::Incomplete {
                reason: reason.into(),
            },
            Outcome::LimitReached { limit, .. } => Self::LimitReached {
                limit: limit.into(),
            },
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Truncated => Self::Truncated,
            Outcome::Failed { failure, .. } => Self::Failed {
                failure: failure.into(),
            },
        }
    }
}

impl From<Failure> for run::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Api {
                kind,
                status,
                message,
                code,
                retry_after,
            } => {
                let mut error = dialect::ApiError::from_body(status, b"");
                error.kind = kind.into();
                error.message = message;
                error.code = code;
                error.retry_after = retry_after.map(Into::into);
                Self::Api { error }
            }
            Failure::Connection { message } => Self::Connection { message },
            Failure::UnexpectedBody {
                content_type,
                excerpt,
            } => Self::UnexpectedBody {
                content_type,
                excerpt,
            },
            Failure::Stream { message } => Self::Stream { message },
            Failure::Reported {
                message,
                code,
                kind,
            } => Self::Reported {
                error: RunFailure {
                    message,
                    code,
                    ..RunFailure::default()
                },
                kind: kind.map(Into::into),
            },
            Failure::TimedOut { deadline } => Self::TimedOut {
                deadline: deadline.into(),
            },
            Failure::RunNotCreated { message } => Self::RunNotCreated { message },
            Failure::NotStored { message } => Self::NotStored { message },
            Failure::LimitReached { limit } => Self::LimitReached {
                limit: limit.into(),
            },
            Failure::ContextTooLong { tokens, window } => Self::ContextTooLong { tokens, window },
            Failure::AttachmentRefused { message } => Self::AttachmentRefused { message },
            Failure::OutputInvalid { reason, text } => Self::OutputInvalid {
                reason,
                text: text.into(),
            },
            Failure::Busy => Self::Busy,
            Failure::ToolNotSetUp { tool, message } => Self::ToolNotSetUp { tool, message },
            Failure::NoInstructions { message } => Self::NoInstructions { message },
            Failure::NotAuthorized { message } => Self::NotAuthorized { message },
            Failure::RefusedByHook {
                hook,
                moment,
                reason,
            } => Self::RefusedByHook {
                hook,
                moment: moment.into(),
                reason,
            },
        }
    }
}

impl From<TurnLimit> for run::TurnLimit {
    fn from(limit: TurnLimit) -> Self {
        match limit {
            TurnLimit::MaxToolRounds { max } => Self::MaxToolRounds { max },
            TurnLimit::MaxToolCalls { max } => Self::MaxToolCalls { max },
            TurnLimit::MaxTokens { max } => Self::MaxTokens { max },
            TurnLimit::MaxCost { max } => Self::MaxCost {
                // What the core has told is an amount.
                max: Usd::from_dollars(max).unwrap_or_default(),
            },
            TurnLimit::MaxDuration { max } => Self::MaxDuration {
                max_ms: max.as_millis(),
            },
            TurnLimit::NoProgress { tool, times } => Self::NoProgress { tool, times },
            TurnLimit::MaxAnswerBytes { max } => Self::MaxAnswerBytes { max },
            TurnLimit::MaxAnswerCalls { max } => Self::MaxAnswerCalls { max },
        }
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
            run::Failure::Busy,
            run::Failure::ToolNotSetUp {
                tool: message(),
                message: message(),
            },
            run::Failure::NoInstructions { message: message() },
            run::Failure::NotAuthorized { message: message() },
        ];
        for sample in samples {
            let here = Failure::from(sample.clone());
            let name = |debug: String| debug.split(' ').next().map(str::to_owned);
            assert_eq!(name(format!("{here:?}")), name(format!("{sample:?}")));
            assert_eq!(run::Failure::from(here), sample);
        }
    }
}
