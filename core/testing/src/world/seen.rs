//! The outputs of a world's run, for assertions.

use super::World;
use crate::history::check_history;
use serde_json::Value;
use stepwell_core::event::{Event, Message};
use stepwell_core::run::{EdgeRow, Effect, EffectId, Output, RunEvent, ToolInvocation};
use stepwell_core::transcript::ToolCallStatus;

/// The outputs of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The effects and events, in order.
    pub outputs: Vec<Output>,
    /// The moves, in order.
    pub moves: Vec<EdgeRow>,
}

impl Seen {
    /// The events.
    pub fn events(&self) -> impl Iterator<Item = &RunEvent> {
        self.outputs.iter().filter_map(|output| match output {
            Output::Event(event) => Some(event),
            _ => None,
        })
    }

    /// The effects with their ids.
    pub fn effects(&self) -> impl Iterator<Item = (EffectId, &Effect)> {
        self.outputs.iter().filter_map(|output| match output {
            Output::Effect(id, effect) => Some((*id, effect)),
            _ => None,
        })
    }

    /// The effects in a word each, with their ids: `open open:0:0`.
    #[must_use]
    pub fn effect_names(&self) -> Vec<String> {
        let name = |effect: &Effect| match effect {
            Effect::CreateRun { .. } => "create",
            Effect::OpenStream { .. } => "open",
            Effect::CloseStream => "close",
            Effect::CancelAnswer { .. } => "cancel_answer",
            Effect::AskApproval { .. } => "ask",
            Effect::RunTool { .. } => "run",
            Effect::CancelTool => "cancel",
            Effect::Persist { .. } => "persist",
            Effect::TrimContext { .. } => "trim",
            Effect::DecodeOutput { .. } => "decode",
            Effect::Authorize { rejected: false } => "authorize",
            Effect::Authorize { rejected: true } => "authorize anew",
            Effect::AskUser { .. } => "ask_user",
            Effect::AnswerTool { .. } => "answer",
            Effect::ChooseModel { .. } => "choose",
            Effect::RunHook { .. } => "hook",
            _ => "effect",
        };
        self.effects()
            .map(|(id, effect)| format!("{} {id}", name(effect)))
            .collect()
    }

    /// The bodies of the requests; null for a request without a body.
    ///
    /// # Panics
    /// If one is not JSON.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.effects()
            .filter_map(|(_, effect)| match effect {
                Effect::OpenStream { request } if request.body.is_empty() => Some(Value::Null),
                Effect::OpenStream { request } => {
                    Some(serde_json::from_slice(&request.body).expect("requests are JSON"))
                }
                _ => None,
            })
            .collect()
    }

    /// The calls that the host was to run.
    #[must_use]
    pub fn invocations(&self) -> Vec<&ToolInvocation> {
        self.effects()
            .filter_map(|(_, effect)| match effect {
                Effect::RunTool { invocation } => Some(&**invocation),
                _ => None,
            })
            .collect()
    }

    /// The AG-UI events.
    pub fn ag_ui(&self) -> impl Iterator<Item = &Event> {
        self.events().filter_map(|event| match event {
            RunEvent::AgUi(event) => Some(event),
            _ => None,
        })
    }

    /// The text of all messages, joined from its deltas.
    #[must_use]
    pub fn streamed_text(&self) -> String {
        self.ag_ui()
            .filter_map(|event| match event {
                Event::TextMessageContent(content) => Some(content.delta.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The statuses that were reported of the call with this id.
    #[must_use]
    pub fn statuses(&self, id: &str) -> Vec<ToolCallStatus> {
        self.events()
            .filter_map(|event| match event {
                RunEvent::ToolCallUpdate(update) if update.tool_call_id == *id => {
                    Some(update.status)
                }
                _ => None,
            })
            .collect()
    }

    /// The effects whose answers were dropped.
    #[must_use]
    pub fn dropped(&self) -> Vec<EffectId> {
        self.events()
            .filter_map(|event| match event {
                RunEvent::AnswerDropped { effect } => Some(*effect),
                _ => None,
            })
            .collect()
    }

    /// The warnings.
    #[must_use]
    pub fn warnings(&self) -> Vec<&str> {
        self.events()
            .filter_map(|event| match event {
                RunEvent::Warning { message } => Some(message.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The number of times that the turn was reported to be over.
    #[must_use]
    pub fn ends(&self) -> usize {
        self.events()
            .filter(|event| matches!(event, RunEvent::Completed(_)))
            .count()
    }
}

impl World {
    /// The history.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.machine.transcript().messages()
    }

    /// The results in the history: the id of the call, and the text.
    #[must_use]
    pub fn results(&self) -> Vec<(String, String)> {
        self.messages()
            .iter()
            .filter_map(|message| match message {
                Message::Tool(message) => {
                    Some((message.tool_call_id.to_string(), message.content.to_text()))
                }
                _ => None,
            })
            .collect()
    }

    /// The only result in the history.
    ///
    /// # Panics
    /// If there is not exactly one.
    #[track_caller]
    pub fn result(&self) -> String {
        match &self.results()[..] {
            [(_, text)] => text.clone(),
            other => panic!("there is not one result: {other:?}"),
        }
    }

    /// Checks that the history is [valid](check_history).
    ///
    /// # Panics
    /// If it is not.
    #[track_caller]
    pub fn assert_valid_history(&self) {
        if let Err(fault) = check_history(self.messages()) {
            panic!("{fault}: {:#?}", self.messages());
        }
    }
}
