//! The outputs of a run after one input, in JSON.

use serde::Serialize;
use stepwell_core::event::{Event as AgUi, Interrupt, MessageContent};
use stepwell_core::run::{Output, RunEvent, ToolCallUpdate};
use stepwell_core::{CallKey, Timestamp};
use stepwell_ffi::{Effect, Event as Recorded, ToolCallStatus, ToolFailureKind};

/// All outputs of one input.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outputs {
    events: Vec<Event>,
    effects: Vec<Effect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wake_at_ms: Option<u64>,
}

impl Outputs {
    /// Adds an output.
    pub(crate) fn push(&mut self, output: Output) {
        match output {
            Output::Event(event) => self.events.push(event.into()),
            Output::Effect(id, effect) => self.effects.push(Effect::new(id, effect)),
            // No configuration of the JSON API asks for this output.
            Output::Moved(_) => {}
        }
    }

    /// Takes all outputs.
    pub(crate) fn taken(&mut self, wake_at: Option<Timestamp>) -> Self {
        self.wake_at_ms = wake_at.map(|at| at.0);
        std::mem::take(self)
    }
}

/// Events that AG-UI has a form for are written in that form: completely, where records keep only their text.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Event {
    AgUi(Box<AgUi>),
    Whole(Whole),
    Recorded(Box<Recorded>),
}

#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Whole {
    ToolCallUpdate {
        call: CallKey,
        tool_call_id: String,
        name: String,
        status: ToolCallStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<CallResult>,
    },
    Interrupted {
        interrupts: Vec<Interrupt>,
    },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum CallResult {
    Finished {
        content: MessageContent,
    },
    Failed {
        kind: ToolFailureKind,
        message: String,
    },
}

impl From<RunEvent> for Event {
    fn from(event: RunEvent) -> Self {
        match event {
            RunEvent::AgUi(event) => Self::AgUi(Box::new(event)),
            RunEvent::ToolCallUpdate(update) => Self::Whole(update.into()),
            RunEvent::Interrupted { interrupts } => Self::Whole(Whole::Interrupted { interrupts }),
            event => Self::Recorded(Box::new(event.into())),
        }
    }
}

impl From<ToolCallUpdate> for Whole {
    fn from(update: ToolCallUpdate) -> Self {
        let result = update.result.map(|result| match result {
            Ok(output) => CallResult::Finished {
                content: output.content,
            },
            Err(failure) => CallResult::Failed {
                kind: failure.kind.into(),
                message: failure.message,
            },
        });
        Self::ToolCallUpdate {
            call: update.call,
            tool_call_id: update.tool_call_id.into_string(),
            name: update.name,
            status: update.status.into(),
            result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use stepwell_core::dialect::{ApiError, HttpRequest};
    use stepwell_core::event::Message;
    use stepwell_core::run::{self, Block, BlockContent, EffectId, PartialArgumentsUpdate};
    use stepwell_core::tool::{Arguments, OwnedChange, ToolOutput};
    use stepwell_core::transcript::{Compaction, RunFailure, ToolCallStatus};

    const CALL: CallKey = CallKey { hop: 0, index: 1 };

    fn event(event: RunEvent) -> Value {
        serde_json::to_value(Event::from(event)).unwrap()
    }

    fn effect(id: EffectId, effect: run::Effect) -> Value {
        serde_json::to_value(Effect::new(id, effect)).unwrap()
    }

    #[test]
    fn events_of_the_turn_have_their_form() {
        let changes = vec![
            OwnedChange::Add {
                path: "".into(),
                value: json!({}),
            },
            OwnedChange::Append {
                path: "/city".into(),
                text: "Os".into(),
            },
        ];
        for (given, expected) in [
            (
                RunEvent::PartialArguments(PartialArgumentsUpdate {
                    call: CALL,
                    tool_call_id: "call".into(),
                    changes,
                    stopped: None,
                }),
                json!({
                    "type": "partialArguments",
                    "call": { "hop": 0, "index": 1 },
                    "toolCallId": "call",
                    "changes": [
                        { "op": "add", "path": "", "value": {} },
                        { "op": "append", "path": "/city", "text": "Os" },
                    ],
                }),
            ),
            (
                RunEvent::SteeringRefused {
                    message: Box::new(Message::user("message", "Stop")),
                    reason: run::SteeringRefusal::TurnOver,
                },
                json!({
                    "type": "steeringRefused",
                    "message": { "id": "message", "role": "user", "content": "Stop" },
                    "reason": "turnOver",
                    "explanation": run::SteeringRefusal::TurnOver.to_string(),
                }),
            ),
            (
                RunEvent::ContextTrimmed {
                    left_out: vec!["message".into()],
                    tokens: 5,
                    compaction: Compaction {
                        through: Some("message".into()),
                        summary: Some("In short.".to_owned()),
                        ..Compaction::default()
                    },
                },
                json!({
                    "type": "contextTrimmed", "leftOut": ["message"], "tokens": 5,
                    "compaction": { "through": "message", "kept": [], "summary": "In short." },
                }),
            ),
            (
                RunEvent::ToolCallUpdate(ToolCallUpdate {
                    call: CALL,
                    tool_call_id: "call".into(),
                    name: "look".to_owned(),
                    status: ToolCallStatus::Completed,
                    result: Some(Ok(ToolOutput {
                        content: serde_json::from_value(json!([{ "type": "text", "text": "42" }]))
                            .unwrap(),
                    })),
                }),
                json!({
                    "type": "toolCallUpdate",
                    "call": { "hop": 0, "index": 1 },
                    "toolCallId": "call",
                    "name": "look",
                    "status": "completed",
                    "result": { "type": "finished", "content": [{ "type": "text", "text": "42" }] },
                }),
            ),
        ] {
            assert_eq!(event(given), expected);
        }
    }

    #[test]
    fn an_outcome_has_its_problem_beside_it() {
        let outcome = |outcome: run::Outcome| event(RunEvent::Completed(outcome))["outcome"].take();
        assert_eq!(
            outcome(run::Outcome::Success),
            json!({ "outcome": "success" })
        );
        let limit = run::TurnLimit::MaxDuration { max_ms: 5 };
        let reached = outcome(run::Outcome::LimitReached {
            limit: limit.clone(),
        });
        assert_eq!(
            reached["limit"],
            json!({ "kind": "maxDuration", "maxMs": 5 })
        );
        assert_eq!(reached["message"], limit.to_string());
        assert_eq!(reached["problem"]["kind"], "limitReached");
        let failed = outcome(run::Outcome::Failed {
            failure: run::Failure::Api {
                error: ApiError::from_body(429, b"slow down"),
            },
        });
        assert_eq!(failed["outcome"], "failed");
        assert_eq!(failed["transient"], true);
        assert_eq!(
            failed["failure"],
            json!({ "failure": "api", "kind": "rateLimit", "status": 429, "message": "slow down" })
        );
        assert_eq!(failed["problem"]["kind"], "rateLimit");
        assert_eq!(failed["problem"]["retryable"], true);
        let failed = outcome(run::Outcome::Failed {
            failure: run::Failure::Reported {
                error: RunFailure {
                    message: "no".to_owned(),
                    code: Some("c".to_owned()),
                    ..RunFailure::default()
                },
                kind: None,
            },
        });
        assert_eq!(
            failed["failure"],
            json!({ "failure": "reported", "message": "no", "code": "c" })
        );
    }

    #[test]
    fn effects_have_their_form() {
        let request = HttpRequest {
            method: "POST",
            url: "http://localhost/v1".to_owned(),
            headers: vec![("x-a".to_owned(), "1".to_owned())],
            body: b"{}".to_vec(),
        };
        assert_eq!(
            effect(
                EffectId::Open { hop: 0, attempt: 1 },
                run::Effect::OpenStream { request }
            ),
            json!({
                "type": "openStream",
                "id": "open:0:1",
                "request": {
                    "method": "POST",
                    "url": "http://localhost/v1",
                    "headers": [["x-a", "1"]],
                    "body": "{}",
                },
            })
        );
        let invocation = run::ToolInvocation {
            call: CALL,
            tool_call_id: "call".into(),
            name: "look".to_owned(),
            arguments: Arguments {
                raw: "{ \"at\": 1 }".to_owned(),
                value: json!({ "at": 1 }),
            },
            thread_id: "thread".into(),
            turn: "turn".into(),
            run_id: "run".into(),
            attempt: 1,
        };
        assert_eq!(
            effect(
                EffectId::Tool(CALL),
                run::Effect::RunTool {
                    invocation: Box::new(invocation)
                }
            ),
            json!({
                "type": "runTool",
                "id": "tool:0:1",
                "invocation": {
                    "call": { "hop": 0, "index": 1 },
                    "toolCallId": "call",
                    "name": "look",
                    "arguments": { "at": 1 },
                    "rawArguments": "{ \"at\": 1 }",
                    "threadId": "thread",
                    "turn": "turn",
                    "runId": "run",
                    "attempt": 1,
                },
            })
        );
        let persist = effect(
            EffectId::Persist { sequence: 3 },
            run::Effect::Persist {
                turn: "run".into(),
                status: run::TurnStatus::Complete,
                outcome: Some(run::Outcome::Success),
                blocks: vec![Block {
                    sequence: 3,
                    hop: 0,
                    content: BlockContent::State {
                        state: json!({ "a": 1 }),
                    },
                }],
                checkpoint: "s".to_owned(),
            },
        );
        assert_eq!(
            persist,
            json!({
                "type": "persist",
                "id": "persist:3",
                "turn": "run",
                "status": "complete",
                "outcome": { "outcome": "success" },
                "blocks": [{ "sequence": 3, "hop": 0, "content": { "type": "state", "state": { "a": 1 } } }],
                "checkpoint": "s",
            })
        );
    }
}
