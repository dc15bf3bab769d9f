//! How a run ends, as the protocol has it.

use crate::turn::failure_report::{failure_report, without_key};
use crate::turn::stop::Stop;
use serde_json::{Value, json};
use stepwell_core::ToolCallId;
use stepwell_core::dialect::Endpoint;
use stepwell_core::event::{
    Common, Custom, RunAgentInput, RunError, RunFinished, RunOutcome, TokenUsage,
};
use stepwell_core::run::{ToolProgress, TurnStatus};
use stepwell_io::turn::{Event, Outcome};

/// The event that reports, before the end, why the answer is incomplete.
pub(crate) const ANSWER_INCOMPLETE: &str = "answer_incomplete";

/// The event with the status of a tool call, for readers of a turn of a thread.
pub(crate) const TOOL_STATUS: &str = "tool_status";

/// The event with the progress of a running tool.
pub(crate) const TOOL_PROGRESS: &str = "tool_progress";

/// The event with the partial result of a running tool.
pub(crate) const TOOL_PARTIAL_RESULT: &str = "tool_partial_result";

/// The event that reports, before the end, which limit was reached.
pub(crate) const LIMIT_REACHED: &str = "limit_reached";

/// The end of a run.
#[derive(Debug, PartialEq)]
pub enum Ending {
    /// The run did its work, or was stopped on purpose.
    Finished(RunOutcome),
    /// The run reached a limit, or the model's answer is incomplete; what was sent remains valid.
    Limited {
        /// The event that reports the limit before the end.
        notice: &'static str,
        /// For programs: the limit's name, or the reason's.
        code: &'static str,
        /// For people.
        message: String,
    },
    /// The run failed.
    Failed {
        /// For programs.
        code: String,
        /// For people.
        message: String,
    },
}

impl Ending {
    /// The run failed: a code for programs, and a message for people.
    pub fn failed(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Failed {
            code: code.into(),
            message: message.into(),
        }
    }

    /// The run waits for the client to run these calls.
    pub fn pending(calls: Vec<ToolCallId>) -> Self {
        Self::Finished(RunOutcome::Success {
            pending_tool_call_ids: Some(calls),
        })
    }

    /// The fault is the server's own.
    pub fn internal() -> Self {
        Self::failed("internal_error", "the server failed: see its log")
    }

    /// Returns the end of a run with this outcome. Errors between the server and its model are for the server's log:
    /// addresses, keys and error pages are not the client's business.
    pub fn of(outcome: &Outcome, stopped: Option<Stop>, models: &[Endpoint]) -> Self {
        // Without the endpoints the keys are not known, and so cannot be removed from the message; the app has the outcome
        // then.
        if let Outcome::Failed { failure } = outcome
            && !models.is_empty()
        {
            let reason = models.iter().fold(failure.to_string(), without_key);
            tracing::warn!(target: "stepwell", reason, "a run failed");
        }
        match outcome {
            Outcome::Cancelled if stopped == Some(Stop::OutOfTime) => Self::failed(
                "run_timeout",
                "the run took longer than it may, and was stopped",
            ),
            Outcome::Cancelled if stopped == Some(Stop::StoreAway) => Self::failed(
                "store_unavailable",
                "the server's store was full or out of reach for too long, and the turn was stopped",
            ),
            _ => Self::stored(outcome),
        }
    }

    /// Returns how a run has ended, from its stored outcome.
    pub fn stored(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Success => Self::Finished(RunOutcome::Success {
                pending_tool_call_ids: None,
            }),
            Outcome::Cancelled => Self::Finished(RunOutcome::Cancelled),
            Outcome::Truncated => Self::failed(
                "model_truncated",
                "the model's answer broke off before its end",
            ),
            Outcome::Incomplete { reason } => Self::Limited {
                notice: ANSWER_INCOMPLETE,
                code: reason.name(),
                message: reason.to_string(),
            },
            Outcome::LimitReached { limit } => Self::Limited {
                notice: LIMIT_REACHED,
                code: limit.name(),
                message: limit.to_string(),
            },
            _ => match outcome {
                Outcome::Failed { failure } => {
                    let (code, message) = failure_report(failure);
                    Self::failed(code, message)
                }
                _ => Self::internal(),
            },
        }
    }

    /// Returns how a stored turn has ended.
    pub fn of_turn(status: TurnStatus, outcome: Option<&Outcome>) -> Self {
        match (outcome, status) {
            (Some(outcome), _) => Self::stored(outcome),
            (None, TurnStatus::Cancelled) => Self::stored(&Outcome::Cancelled),
            (None, TurnStatus::Complete) => Self::stored(&Outcome::Success),
            (None, _) => Self::failed(
                "turn_failed",
                "the turn could not go on: see the server's log",
            ),
        }
    }

    /// Returns what a page can show before the end: the limit that was reached, or why the answer is incomplete.
    pub fn notice(&self) -> Option<Event> {
        let Self::Limited {
            notice,
            code,
            message,
        } = self
        else {
            return None;
        };
        Some(custom(notice, json!({ "code": code, "message": message })))
    }

    /// Returns the event of the end.
    pub fn event(self, input: &RunAgentInput, usage: Option<TokenUsage>) -> Event {
        let usage = usage.map(|usage| vec![usage]);
        let (outcome, stop_reason) = match self {
            Self::Finished(outcome) => (outcome, None),
            Self::Limited { code, .. } => {
                let outcome = RunOutcome::Success {
                    pending_tool_call_ids: None,
                };
                (outcome, Some(code))
            }
            Self::Failed { code, message } => {
                return Event::from(RunError {
                    message,
                    code: Some(code),
                    usage,
                    common: None,
                });
            }
        };
        let common = stop_reason.map(|reason| {
            let metadata = [("stopReason".to_owned(), json!(reason))];
            Box::new(Common {
                metadata: Some(metadata.into_iter().collect()),
                ..Common::default()
            })
        });
        Event::from(RunFinished {
            thread_id: input.thread_id.clone(),
            run_id: input.run_id.clone(),
            outcome: Some(outcome),
            usage,
            common,
            ..RunFinished::default()
        })
    }
}

/// Returns the event of a running tool's progress.
pub(crate) fn tool_progress(progress: &ToolProgress) -> Event {
    let value = json!({
        "toolCallId": progress.tool_call_id,
        "toolName": progress.name,
        "fraction": progress.fraction,
        "message": progress.message,
    });
    custom(TOOL_PROGRESS, value)
}

/// Returns an app-defined event.
pub fn custom(name: &str, value: Value) -> Event {
    Custom {
        name: name.to_owned(),
        value,
        common: None,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_core::dialect::ApiError;
    use stepwell_core::run::{Incomplete, TurnLimit};
    use stepwell_io::provider;
    use stepwell_io::turn::Failure;

    fn endpoint() -> Endpoint {
        let provider = provider::find("openai").expect("a provider");
        let key = Some("sk-secret".into());
        provider
            .endpoint(None, "m", None, key)
            .expect("an endpoint")
    }

    fn ending(failure: Failure) -> (String, String) {
        match Ending::of(&Outcome::Failed { failure }, None, &[endpoint()]) {
            Ending::Failed { code, message } => (code, message),
            finished => panic!("{finished:?}"),
        }
    }

    #[test]
    fn a_failure_tells_neither_key_nor_address() {
        let body = br#"{"error":{"message":"Incorrect API key provided: sk-secret","code":"invalid_api_key"}}"#;
        let error = ApiError::from_body(401, body);
        let (code, message) = ending(Failure::Api { error });
        assert_eq!(code, "model_unauthorized");
        assert!(!message.contains("sk-"), "{message}");

        let body = br#"{"error":{"message":"The header sk-secret is odd","type":"invalid_request_error"}}"#;
        let error = ApiError::from_body(400, body);
        let (code, message) = ending(Failure::Api { error });
        assert_eq!(code, "model_refused");
        assert!(!message.contains("odd"), "{message}");

        let reported = r#"{"message":"http://10.0.0.7 says sk-theirs is odd","code":null}"#;
        let error = serde_json::from_str(reported).expect("an error");
        let (code, message) = ending(Failure::Reported { error, kind: None });
        assert_eq!(
            (&*code, &*message),
            (
                "model_error",
                "the model's provider failed: see the server's log"
            )
        );

        let message = "tcp connect error: 10.0.0.7:443".to_owned();
        let (code, message) = ending(Failure::Connection { message });
        assert_eq!(code, "model_unreachable");
        assert!(!message.contains("10.0.0.7"), "{message}");
    }

    #[test]
    fn a_limit_that_was_reached_is_no_error() {
        let limit = || TurnLimit::MaxToolRounds { max: 1 };
        let outcome = Outcome::LimitReached { limit: limit() };
        let ending = Ending::of(&outcome, None, &[endpoint()]);
        let notice = serde_json::to_value(ending.notice()).expect("JSON");
        assert_eq!(notice["name"], LIMIT_REACHED);
        assert_eq!(notice["value"]["code"], "max_tool_rounds");
        let end = ending.event(&RunAgentInput::default(), None);
        let end = serde_json::to_value(end).expect("JSON");
        assert_eq!(end["type"], "RUN_FINISHED");
        assert_eq!(end["outcome"], json!({"type": "success"}));
        assert_eq!(end["metadata"], json!({"stopReason": "max_tool_rounds"}));

        let failure = Failure::LimitReached { limit: limit() };
        let ending = Ending::of(&Outcome::Failed { failure }, None, &[endpoint()]);
        assert!(ending.notice().is_none());
        let end = ending.event(&RunAgentInput::default(), None);
        assert_eq!(end.kind(), "RUN_ERROR");
    }

    #[test]
    fn an_answer_that_is_not_whole_is_finished_with_its_reason() {
        let reason = Incomplete::Length;
        let ending = Ending::of(&Outcome::Incomplete { reason }, None, &[endpoint()]);
        let notice = serde_json::to_value(ending.notice()).expect("JSON");
        assert_eq!(notice["name"], ANSWER_INCOMPLETE);
        assert_eq!(notice["value"]["code"], "length");
        let end = ending.event(&RunAgentInput::default(), None);
        let end = serde_json::to_value(end).expect("JSON");
        assert_eq!(end["type"], "RUN_FINISHED");
        assert_eq!(end["metadata"], json!({"stopReason": "length"}));
    }
}
