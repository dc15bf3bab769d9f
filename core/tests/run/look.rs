//! What can be seen of a world, for assertions.

use crate::world::{Seen, World};
use serde_json::Value;
use stepwell_core::conversation::ToolCallStatus;
use stepwell_core::event::{Event, Message, MessageContent};
use stepwell_core::run::{Effect, EffectId, Output, RunEvent, ToolInvocation};

impl Seen {
    pub fn events(&self) -> impl Iterator<Item = &RunEvent> {
        self.outputs.iter().filter_map(|output| match output {
            Output::Event(event) => Some(event),
            _ => None,
        })
    }

    pub fn effects(&self) -> impl Iterator<Item = (EffectId, &Effect)> {
        self.outputs.iter().filter_map(|output| match output {
            Output::Effect(id, effect) => Some((*id, effect)),
            _ => None,
        })
    }

    /// The effects' ids with what each is, in a word.
    pub fn effect_names(&self) -> Vec<String> {
        let name = |effect: &Effect| match effect {
            Effect::CreateRun { .. } => "create",
            Effect::OpenStream { .. } => "open",
            Effect::CloseStream => "close",
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
            Effect::RunHook { .. } => "hook",
        };
        self.effects()
            .map(|(id, effect)| format!("{} {id}", name(effect)))
            .collect()
    }

    /// The bodies of the requests.
    pub fn requests(&self) -> Vec<Value> {
        self.effects()
            .filter_map(|(_, effect)| match effect {
                Effect::OpenStream { request } => {
                    Some(serde_json::from_slice(&request.body).expect("requests are JSON"))
                }
                _ => None,
            })
            .collect()
    }

    pub fn invocations(&self) -> Vec<&ToolInvocation> {
        self.effects()
            .filter_map(|(_, effect)| match effect {
                Effect::RunTool { invocation } => Some(&**invocation),
                _ => None,
            })
            .collect()
    }

    pub fn ag_ui(&self) -> impl Iterator<Item = &Event> {
        self.events().filter_map(|event| match event {
            RunEvent::AgUi(event) => Some(event),
            _ => None,
        })
    }

    /// The text as it came out in deltas.
    pub fn streamed_text(&self) -> String {
        self.ag_ui()
            .filter_map(|event| match event {
                Event::TextMessageContent(content) => Some(content.delta.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Each status that the call with this id was said to have.
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

    pub fn dropped(&self) -> Vec<EffectId> {
        self.events()
            .filter_map(|event| match event {
                RunEvent::AnswerDropped { effect } => Some(*effect),
                _ => None,
            })
            .collect()
    }

    pub fn warnings(&self) -> Vec<&str> {
        self.events()
            .filter_map(|event| match event {
                RunEvent::Warning { message } => Some(message.as_str()),
                _ => None,
            })
            .collect()
    }

    pub fn ends(&self) -> usize {
        self.events()
            .filter(|event| matches!(event, RunEvent::Completed(_)))
            .count()
    }
}

impl World {
    pub fn messages(&self) -> &[Message] {
        self.machine.conversation().messages()
    }

    /// The results in the history: the call's id, and the text.
    pub fn results(&self) -> Vec<(String, String)> {
        self.messages()
            .iter()
            .filter_map(|message| match message {
                Message::Tool(message) => Some((
                    message.tool_call_id.to_string(),
                    content_text(&message.content),
                )),
                _ => None,
            })
            .collect()
    }

    /// The only result in the history.
    #[track_caller]
    pub fn result(&self) -> String {
        match &self.results()[..] {
            [(_, text)] => text.clone(),
            other => panic!("there is not one result: {other:?}"),
        }
    }

    #[track_caller]
    pub fn assert_legal(&self) {
        if let Err(fault) = legal(self.messages()) {
            panic!("{fault}: {:#?}", self.messages());
        }
    }
}

pub fn content_text(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Parts(_) => panic!("these tests send texts"),
    }
}

/// I8: each call of a history is answered once, right after the message that asks, in the order of the calls.
pub fn legal(messages: &[Message]) -> Result<(), String> {
    let mut asked: Vec<&str> = Vec::new();
    for message in messages {
        match message {
            Message::Tool(result) => {
                if asked.first() != Some(&result.tool_call_id.as_str()) {
                    return Err(format!(
                        "a result for {} where one for {asked:?} is due",
                        result.tool_call_id
                    ));
                }
                asked.remove(0);
            }
            _ if !asked.is_empty() => return Err(format!("no result for {asked:?}")),
            Message::Assistant(message) => {
                asked.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
            }
            _ => {}
        }
    }
    if asked.is_empty() {
        Ok(())
    } else {
        Err(format!("no result for {asked:?}"))
    }
}
