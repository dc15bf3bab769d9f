use crate::machine::{guard, written_answer};
use crate::read::{read, read_call};
use crate::refused::Refused;
use serde::Deserialize;
use serde_json::{Value, json};
use stepwell_core::event::{Message, TokenUsage};
use stepwell_core::run::{ErrorKind, TurnStatus};
use stepwell_core::session::{ChatProblem, ChatReducer, Turn, TurnTree, ViewOptions};
use stepwell_core::tool::{Tool, ToolRegistry};
use stepwell_core::{RunId, Timestamp};
use stepwell_ffi::{ToolDefinition, TurnRecord, read_run_event};

/// The contents of a chat screen, built from stored turns, the actions of the app and the events of its turns.
#[derive(Debug)]
pub struct Chat(ChatReducer);

/// The JSON that a chat is created from.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Making {
    /// Stored turns to continue: all of a thread, or those of one path.
    #[serde(default)]
    turns: Vec<TurnRecord>,
    /// The end of the path; if absent, the turn that ends last.
    turn: Option<String>,
    /// A conversation without stored turns to continue.
    messages: Option<Vec<Message>>,
    /// The agent's tools, for the schemas of approvals.
    #[serde(default)]
    tools: Vec<ToolDefinition>,
}

/// An action of the app, or a question.
#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
enum Call {
    Begin {
        turn: RunId,
        message: Option<Message>,
    },
    Resume {},
    Steer {
        message: Message,
    },
    Apply {
        events: Vec<Value>,
    },
    SetUsage {
        usage: TokenUsage,
    },
    End {
        problem: Option<Ended>,
    },
    State {},
    Update {},
    Digest {},
}

/// The problem of a turn that ended without its last event.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ended {
    kind: String,
    message: String,
    advice: String,
    #[serde(default)]
    retryable: bool,
    status: Option<u16>,
}

impl Ended {
    fn problem(self) -> Result<ChatProblem, Refused> {
        let is_kind = |kind: &&ErrorKind| json!(kind) == self.kind;
        let kind = ErrorKind::ALL.iter().find(is_kind);
        let unknown = || Refused::argument("the problem", "there is no such `kind`");
        Ok(ChatProblem {
            kind: *kind.ok_or_else(unknown)?,
            message: self.message,
            advice: self.advice,
            is_retryable: self.retryable,
            status: self.status,
        })
    }
}

impl Chat {
    /// Creates the chat of a conversation: `{"turns", "turn"}` of stored turns, or `{"messages"}`, or `{}` of an empty
    /// one; with `tools`, the definitions of the agent's tools.
    ///
    /// # Errors
    /// The JSON is not of the form, or the turns do not fit together.
    pub fn make(json: &str) -> Result<Self, Refused> {
        let making: Making = read("the chat", json)?;
        guard(|| making.chat()).map(Self)
    }

    /// Handles an action of the app, `{"chat": NAME, …}`, and returns `{"answer": …}`. `now_ms` is the time in
    /// milliseconds since the epoch.
    ///
    /// - `begin` (`turn`, `message`), `resume`, `steer` (`message`), `apply` (`events`), `setUsage` (`usage`) and `end` (`problem`, for a host that has no
    ///   `completed` event) are those of `ChatReducer` in the other bindings; their answer is `null`;
    /// - `update` answers with the changes since the last update, or with `null` if nothing changed;
    /// - `state` answers with the complete state, `digest` with its digest.
    pub fn call(&mut self, json: &str, now_ms: u64) -> String {
        let answer = read_call("chat", json).and_then(|call| guard(|| self.answer(call, now_ms)));
        written_answer(answer)
    }

    fn answer(&mut self, call: Call, now_ms: u64) -> Result<Value, Refused> {
        let Self(chat) = self;
        let now = Timestamp(now_ms);
        match call {
            Call::Begin { turn, message } => chat.begin(turn, None, message, now),
            Call::Resume {} => chat.resume(),
            Call::Steer { message } => chat.steer(message),
            Call::Apply { events } => {
                for event in events {
                    let event = read_run_event(event);
                    let event = event.map_err(|error| Refused::argument("an event", error))?;
                    if let Some(event) = event {
                        chat.apply(&event, now);
                    }
                }
            }
            Call::SetUsage { usage } => chat.set_usage(usage),
            Call::End { problem } => {
                let problem = problem.map(Ended::problem).transpose()?;
                let status = match &problem {
                    None => TurnStatus::Complete,
                    Some(problem) if problem.kind == ErrorKind::Cancelled => TurnStatus::Cancelled,
                    Some(_) => TurnStatus::Failed,
                };
                chat.end(status, problem);
            }
            Call::State {} => return Ok(json!(chat.state())),
            Call::Update {} => return Ok(json!(chat.take_update())),
            Call::Digest {} => return Ok(json!(chat.state().digest().to_string())),
        }
        Ok(Value::Null)
    }
}

impl Making {
    fn chat(self) -> Result<ChatReducer, Refused> {
        let mut tools = ToolRegistry::new();
        for definition in self.tools {
            let added = tools.register(Tool::try_from(definition)?);
            tools = added.map_err(|error| Refused::argument("the tools", error))?;
        }
        let options = ViewOptions {
            tools,
            ..ViewOptions::default()
        };
        if let Some(messages) = self.messages {
            return Ok(ChatReducer::from_messages(messages, options));
        }
        let unfit = |error: &dyn std::fmt::Display| Refused::argument("the turns", error);
        let turns = self.turns.into_iter().map(Turn::try_from);
        let turns = turns
            .collect::<Result<_, _>>()
            .map_err(|error| unfit(&error))?;
        let tree = TurnTree::new(turns).map_err(|error| unfit(&error))?;
        let path = match self.turn {
            Some(turn) => tree.path_to(&turn).map_err(|error| unfit(&error))?,
            None => tree.shown(),
        };
        ChatReducer::from_turns(path, options).map_err(|error| unfit(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(chat: &mut Chat, call: &Value) -> Value {
        serde_json::from_str(&chat.call(&call.to_string(), 1_000)).unwrap()
    }

    #[test]
    fn a_screen_follows_its_turn_in_json() {
        let mut chat = Chat::make("{}").unwrap();
        let hello = json!({ "id": "m", "role": "user", "content": "Hello" });
        let begin = json!({ "chat": "begin", "turn": "run-1", "message": hello });
        assert_eq!(call(&mut chat, &begin), json!({ "answer": null }));
        let update = call(&mut chat, &json!({ "chat": "update" }));
        assert_eq!(update["answer"]["status"], "submitted");
        assert_eq!(update["answer"]["messages"][0]["parts"][0]["text"], "Hello");
        let events = json!([
            { "type": "TEXT_MESSAGE_START", "messageId": "a", "role": "assistant" },
            { "type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "Hi" },
            { "type": "completed", "outcome": { "outcome": "success" } },
        ]);
        call(&mut chat, &json!({ "chat": "apply", "events": events }));
        let update = call(&mut chat, &json!({ "chat": "update" }));
        assert_eq!(update["answer"]["status"], "ready");
        assert_eq!(update["answer"]["messages"].as_array().unwrap().len(), 1);
        assert_eq!(
            call(&mut chat, &json!({ "chat": "update" }))["answer"],
            Value::Null
        );
        let state = call(&mut chat, &json!({ "chat": "state" }));
        assert_eq!(state["answer"]["messages"][1]["parts"][0]["text"], "Hi");
    }

    #[test]
    fn what_waits_is_that_of_the_event() {
        let mut chat = Chat::make("{}").unwrap();
        call(&mut chat, &json!({ "chat": "begin", "turn": "run-1" }));
        let waits = json!([{
            "id": "c/0", "kind": "question", "toolCallId": "c", "tool": "pay", "arguments": { "sum": 1 },
            "message": "How?", "schema": { "type": "string" }, "deadline": 7,
        }]);
        let events = json!([{ "type": "pending", "pending": waits }]);
        call(&mut chat, &json!({ "chat": "apply", "events": events }));
        let state = call(&mut chat, &json!({ "chat": "state" }));
        assert_eq!(state["answer"]["pending"], waits);
        assert_eq!(state["answer"]["status"], "waitingForUser");
    }

    #[test]
    fn a_host_ends_a_turn_by_its_problem() {
        let mut chat = Chat::make("{}").unwrap();
        call(&mut chat, &json!({ "chat": "begin", "turn": "run-1" }));
        let problem = json!({ "kind": "rateLimit", "message": "slow", "advice": "wait", "retryable": true, "status": 429 });
        call(&mut chat, &json!({ "chat": "end", "problem": problem }));
        let state = call(&mut chat, &json!({ "chat": "state" }));
        assert_eq!(state["answer"]["status"], "error");
        assert_eq!(state["answer"]["problem"], problem);
        let unknown = json!({ "kind": "?", "message": "", "advice": "" });
        let refused = call(&mut chat, &json!({ "chat": "end", "problem": unknown }));
        assert_eq!(refused["refused"]["kind"], "invalidArgument");
    }

    #[test]
    fn wrong_calls_are_refused_without_their_content() {
        let mut chat = Chat::make("{}").unwrap();
        for wrong in [
            json!({ "chat": "secret" }),
            json!({ "chat": "apply", "events": ["secret"] }),
            json!({ "chat": "apply", "events": [{ "type": "completed", "outcome": "secret" }] }),
            json!({ "chat": "begin" }),
        ] {
            let refused = call(&mut chat, &wrong);
            assert_eq!(refused["refused"]["kind"], "invalidArgument", "{wrong}");
            let reason = refused["refused"]["reason"].as_str().unwrap();
            assert!(!reason.contains("secret\"]"), "{reason}");
        }
        assert!(Chat::make(r#"{"turn":"nowhere"}"#).is_err());
    }
}
