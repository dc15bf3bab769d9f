//! Events of a turn from their JSON, for the core's reducer.

use crate::event::Compaction;
use crate::outcome::Outcome;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stepwell_core::event::{Event, Interrupt, Message, MessageContent};
use stepwell_core::run::{
    ErrorKind, Pending, RunEvent, ToolCallUpdate, ToolPartialResult, ToolProgress,
};
use stepwell_core::tool::{ToolFailure, ToolOutput};
use stepwell_core::{CallKey, MessageId, RunId, ToolCallId};

/// The events of the turn itself that change a chat screen, as the JSON API writes them.
#[derive(Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum TurnEvent {
    HopStarted {
        hop: u32,
        run_id: RunId,
    },
    ToolCallUpdate {
        call: CallKey,
        tool_call_id: ToolCallId,
        name: String,
        status: String,
        result: Option<CallResult>,
    },
    Retrying {
        kind: ErrorKind,
        attempt: u32,
        delay_ms: u64,
        reason: String,
    },
    Pending {
        pending: Vec<Pending>,
    },
    Interrupted {
        interrupts: Vec<Interrupt>,
    },
    Completed {
        outcome: Outcome,
    },
    SteeringTaken {
        message_id: MessageId,
        hop: u32,
    },
    SteeringRefused {
        message: Box<Message>,
        reason: String,
    },
    WaitingForNetwork {
        up_to_ms: u64,
    },
    StreamResumed {
        hop: u32,
        attempt: u32,
    },
    ContextTrimmed {
        left_out: Vec<MessageId>,
        tokens: u64,
        compaction: Compaction,
    },
    OutputRefused {
        reason: String,
        retries_left: u32,
        correction: Option<Box<Message>>,
    },
    ToolProgress {
        call: CallKey,
        tool_call_id: ToolCallId,
        name: String,
        fraction: Option<f64>,
        message: Option<String>,
    },
    ToolPartialResult {
        call: CallKey,
        tool_call_id: ToolCallId,
        name: String,
        content: MessageContent,
        parts: Option<MessageContent>,
    },
    #[serde(other)]
    Other,
}

/// The result of a call.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum CallResult {
    Finished { content: MessageContent },
    Failed { kind: String, message: String },
}

/// Reads an event of a turn from its JSON: an event of AG-UI, or one of the turn itself, as `event_to_json` and the JSON
/// API write it. Returns `None` for an event that changes nothing of a chat screen.
///
/// # Errors
/// The JSON is no event. The error describes the fault without its content.
pub fn read_run_event(json: Value) -> Result<Option<RunEvent>, String> {
    let Value::Object(mut event) = json else {
        return Err("an event is a JSON object with a `type`".to_owned());
    };
    let kind = event.get("type").and_then(Value::as_str);
    let is_ag_ui = kind.is_some_and(|kind| kind.starts_with(|c: char| c.is_ascii_uppercase()));
    if is_ag_ui {
        if kind == Some("TOOL_CALL_RESULT")
            && let Some(parts) = event.shift_remove("parts")
        {
            event.insert("content".to_owned(), parts);
        }
        let event = Event::from_object(event).map_err(|error| error.to_string())?;
        return Ok(Some(RunEvent::AgUi(event)));
    }
    let event: TurnEvent = read("the event", Value::Object(event))?;
    event.into_core()
}

impl TurnEvent {
    fn into_core(self) -> Result<Option<RunEvent>, String> {
        Ok(Some(match self {
            Self::HopStarted { hop, run_id } => RunEvent::HopStarted { hop, run_id },
            Self::ToolCallUpdate {
                call,
                tool_call_id,
                name,
                status,
                result,
            } => RunEvent::ToolCallUpdate(ToolCallUpdate {
                call,
                tool_call_id,
                name,
                status: word("the status of the call", &status)?,
                result: result.map(CallResult::into_core).transpose()?,
            }),
            Self::Retrying {
                kind,
                attempt,
                delay_ms,
                reason,
            } => RunEvent::Retrying {
                kind,
                attempt,
                delay_ms,
                reason,
            },
            Self::Pending { pending } => RunEvent::Pending { pending },
            Self::Interrupted { interrupts } => RunEvent::Interrupted { interrupts },
            Self::Completed { outcome } => RunEvent::Completed(outcome.into()),
            Self::SteeringTaken { message_id, hop } => RunEvent::SteeringTaken { message_id, hop },
            Self::SteeringRefused { message, reason } => RunEvent::SteeringRefused {
                message,
                reason: word("the reason of the refusal", &reason)?,
            },
            Self::WaitingForNetwork { up_to_ms } => RunEvent::WaitingForNetwork { up_to_ms },
            Self::StreamResumed { hop, attempt } => RunEvent::StreamResumed { hop, attempt },
            Self::ContextTrimmed {
                left_out,
                tokens,
                compaction,
            } => RunEvent::ContextTrimmed {
                left_out,
                tokens,
                compaction: compaction.into(),
            },
            Self::OutputRefused {
                reason,
                retries_left,
                correction,
            } => RunEvent::OutputRefused {
                reason,
                retries_left,
                correction,
            },
            Self::ToolProgress {
                call,
                tool_call_id,
                name,
                fraction,
                message,
            } => RunEvent::ToolProgress(ToolProgress {
                call,
                tool_call_id,
                name,
                fraction,
                message,
            }),
            Self::ToolPartialResult {
                call,
                tool_call_id,
                name,
                content,
                parts,
            } => RunEvent::ToolPartialResult(ToolPartialResult {
                call,
                tool_call_id,
                name,
                output: ToolOutput {
                    content: parts.unwrap_or(content),
                },
            }),
            Self::Other => return Ok(None),
        }))
    }
}

impl CallResult {
    fn into_core(self) -> Result<stepwell_core::tool::ToolResult, String> {
        Ok(match self {
            Self::Finished { content } => Ok(ToolOutput { content }),
            Self::Failed { kind, message } => {
                let kind = word("the kind of the failure", &kind)?;
                Err(ToolFailure::new(kind, message))
            }
        })
    }
}

/// Reads a word of the core from its name in camel case.
fn word<T: DeserializeOwned>(what: &str, name: &str) -> Result<T, String> {
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    read(what, Value::String(snake))
}

fn read<T: DeserializeOwned>(what: &str, json: Value) -> Result<T, String> {
    serde_json::from_value(json)
        .map_err(|_| format!("{what} cannot be read: give the event just as it came"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use stepwell_core::transcript::ToolCallStatus;

    #[test]
    fn an_event_is_read_as_it_was_written() {
        let update = json!({
            "type": "toolCallUpdate", "call": {"hop": 0, "index": 1}, "toolCallId": "c", "name": "pay",
            "status": "awaitingApproval",
        });
        let Ok(Some(RunEvent::ToolCallUpdate(update))) = read_run_event(update) else {
            panic!("an update");
        };
        assert_eq!(update.status, ToolCallStatus::AwaitingApproval);
        let delta = json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi"});
        assert!(matches!(
            read_run_event(delta),
            Ok(Some(RunEvent::AgUi(Event::TextMessageContent(_))))
        ));
        let trimmed = json!({
            "type": "contextTrimmed", "leftOut": ["m"], "tokens": 5,
            "compaction": {"through": "m", "kept": [], "summary": "In short."},
        });
        let Ok(Some(RunEvent::ContextTrimmed { compaction, .. })) = read_run_event(trimmed) else {
            panic!("a compaction");
        };
        assert_eq!(compaction.summary.as_deref(), Some("In short."));
        let ended = json!({"type": "completed", "outcome": {"outcome": "success"}});
        assert_eq!(
            read_run_event(ended),
            Ok(Some(RunEvent::Completed(
                stepwell_core::run::Outcome::Success
            )))
        );
        assert_eq!(
            read_run_event(json!({"type": "warning", "message": "x"})),
            Ok(None)
        );
    }

    #[test]
    fn an_error_has_none_of_the_content() {
        let secret = json!({"type": "toolCallUpdate", "name": "secret"});
        let error = read_run_event(secret).unwrap_err();
        assert!(!error.contains("secret"), "{error}");
        assert!(read_run_event(json!("secret")).is_err());
    }
}
