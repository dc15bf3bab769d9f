//! The state that a client builds from a log, as `@ag-ui/client` does: messages, calls in them, and results.

use super::findings::Rule;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) role: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    /// The call that it is the result of.
    pub(crate) result_of: Option<String>,
    /// Whether the message is marked as cut by its host's end.
    pub(crate) is_cut: bool,
}

/// The messages of a log so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fold {
    pub(crate) messages: Vec<Message>,
    /// The last reported status of each call.
    pub(crate) statuses: BTreeMap<String, String>,
    /// The ids of the open questions.
    pub(crate) questions: BTreeMap<String, Option<String>>,
    pub(crate) is_over: bool,
    /// The number of snapshots.
    pub(crate) snapshots: u32,
    /// Whether a run has begun, and has reported nothing of the conversation.
    begins: bool,
    /// The messages on a client's screen when it resumed a run. The run sends them again, and has sent all of them at
    /// its end.
    to_return: Vec<Message>,
}

/// A rule that an event breaks.
pub(crate) type Broken = Vec<(Rule, String)>;

fn word(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

impl Fold {
    /// Creates the state of a client that has these messages on its screen.
    pub(crate) fn on_screen(messages: &Value) -> Self {
        Self {
            messages: self::messages(messages),
            ..Self::default()
        }
    }

    pub(crate) fn result(&self, call: &str) -> Option<&Message> {
        let mut messages = self.messages.iter();
        messages.find(|message| message.result_of.as_deref() == Some(call))
    }

    /// The ids of all calls.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &str> {
        let calls = self.messages.iter().flat_map(|message| &message.calls);
        calls.map(|call| call.id.as_str())
    }

    /// Adds a message of the user.
    pub(crate) fn say(&mut self, id: String, text: &str) {
        self.said(id, "user").text.push_str(text);
    }

    /// The client brings what its own tool gave, for each call that waits for it.
    pub(crate) fn bring(&mut self, tool: &str) {
        let calls = self.messages.iter().flat_map(|message| &message.calls);
        let calls = calls.filter(|call| call.name == tool && self.result(&call.id).is_none());
        let results: Vec<_> = calls
            .map(|call| Message {
                id: format!("{}-brought", call.id),
                role: "tool".to_owned(),
                text: "here".to_owned(),
                calls: Vec::new(),
                is_cut: false,
                result_of: Some(call.id.clone()),
            })
            .collect();
        self.messages.extend(results);
    }

    /// The messages, as the protocol has them.
    pub(crate) fn to_messages(&self) -> Vec<Value> {
        let messages = self.messages.iter().map(|message| {
            let calls = message.calls.iter().map(|call| {
                let function = json!({"name": call.name, "arguments": call.arguments});
                json!({"id": call.id, "type": "function", "function": function})
            });
            let calls: Vec<_> = calls.collect();
            let mut value =
                json!({"id": message.id, "role": message.role, "content": message.text});
            if !calls.is_empty() {
                value["toolCalls"] = json!(calls);
            }
            if let Some(call) = &message.result_of {
                value["toolCallId"] = json!(call);
            }
            value
        });
        messages.collect()
    }

    fn message(&mut self, id: &str) -> Option<&mut Message> {
        self.messages.iter_mut().find(|message| message.id == id)
    }

    fn call(&mut self, id: &str) -> Option<&mut Call> {
        let messages = self.messages.iter_mut();
        let mut calls = messages.flat_map(|message| message.calls.iter_mut());
        calls.find(|call| call.id == id)
    }

    fn said(&mut self, id: String, role: &str) -> &mut Message {
        let at = self.messages.iter().position(|message| message.id == id);
        let at = at.unwrap_or_else(|| {
            self.messages.push(Message {
                id,
                role: role.to_owned(),
                text: String::new(),
                calls: Vec::new(),
                is_cut: false,
                result_of: None,
            });
            self.messages.len() - 1
        });
        &mut self.messages[at]
    }

    /// Applies the next event of the log, and returns the rules that it breaks.
    pub(crate) fn apply(&mut self, event: &Value) -> Broken {
        let mut broken = Vec::new();
        match event["type"].as_str().unwrap_or_default() {
            "TEXT_MESSAGE_START" => {
                self.said(word(event, "messageId"), "assistant");
            }
            "TEXT_MESSAGE_CONTENT" => {
                let delta = word(event, "delta");
                if let Some(message) = self.message(&word(event, "messageId")) {
                    message.text.push_str(&delta);
                }
            }
            "TOOL_CALL_START" => {
                let id = word(event, "toolCallId");
                let parent = event["parentMessageId"].as_str().unwrap_or(&id).to_owned();
                let call = Call {
                    id,
                    name: word(event, "toolCallName"),
                    arguments: String::new(),
                };
                self.said(parent, "assistant").calls.push(call);
            }
            "TOOL_CALL_ARGS" => {
                let delta = word(event, "delta");
                if let Some(call) = self.call(&word(event, "toolCallId")) {
                    call.arguments.push_str(&delta);
                }
            }
            "TOOL_CALL_RESULT" => {
                let call = word(event, "toolCallId");
                if self.result(&call).is_some() {
                    broken.push((Rule::ResultStays, format!("`{call}` has a second result")));
                }
                let message = Message {
                    id: word(event, "messageId"),
                    role: "tool".to_owned(),
                    text: text(&event["content"]),
                    calls: Vec::new(),
                    is_cut: false,
                    result_of: Some(call),
                };
                self.messages.push(message);
            }
            "MESSAGES_SNAPSHOT" => {
                let before = std::mem::take(&mut self.messages);
                self.messages = messages(&event["messages"]);
                self.snapshots += 1;
                match self.begins {
                    true => self.to_return.extend(before),
                    false => self.compare(&before, &mut broken),
                }
            }
            "CUSTOM" => self.custom(event, &mut broken),
            "RUN_FINISHED" | "RUN_ERROR" => {
                self.is_over = true;
                let told = std::mem::take(&mut self.to_return);
                self.compare(&told, &mut broken);
            }
            _ => {}
        }
        self.begins = match event["type"].as_str() {
            Some("STATE_SNAPSHOT") => self.begins,
            kind => kind == Some("RUN_STARTED"),
        };
        broken
    }

    /// Returns the calls whose results a client must bring.
    pub(crate) fn awaited(&self) -> Vec<String> {
        let statuses = self.statuses.iter();
        let awaited = statuses.filter(|(_, status)| *status == "deferred");
        awaited.map(|(call, _)| call.clone()).collect()
    }

    fn custom(&mut self, event: &Value, broken: &mut Broken) {
        let value = &event["value"];
        match event["name"].as_str().unwrap_or_default() {
            "tool_status" => {
                let (call, status) = (word(value, "toolCallId"), word(value, "status"));
                let before = self.statuses.insert(call.clone(), status.clone());
                if let Some(before) = before
                    && is_final(&before)
                    && before != status
                {
                    let what = format!("`{call}` was {before}, and is {status}");
                    broken.push((Rule::StatusStays, what));
                }
            }
            "interrupt" => {
                let call = value["toolCallId"].as_str().map(str::to_owned);
                self.questions.insert(word(value, "id"), call);
            }
            "interrupt_answered" => {
                self.questions.remove(&word(value, "interruptId"));
            }
            _ => {}
        }
    }

    /// Checks that the messages before a snapshot are there after it.
    fn compare(&self, before: &[Message], broken: &mut Broken) {
        for told in before {
            if let Some(call) = &told.result_of {
                match self.result(call) {
                    Some(result) if result.text == told.text => {}
                    Some(result) => broken.push((
                        Rule::ResultIsSame,
                        format!("`{call}` gave `{}`, and gives `{}`", told.text, result.text),
                    )),
                    None => {
                        let what = format!("the result of `{call}` is gone");
                        broken.push((Rule::ResultStays, what));
                    }
                }
                continue;
            }
            let mut messages = self.messages.iter();
            let now = messages.find(|message| message.id == told.id);
            let text = now.map_or("", |now| now.text.as_str());
            if !text.starts_with(&told.text) {
                let what = format!("`{}` of {} is `{text}`", told.text, told.id);
                broken.push((Rule::TextStays, what));
            }
            for call in &told.calls {
                let calls = self.messages.iter().flat_map(|message| &message.calls);
                let is_there = calls
                    .clone()
                    .any(|now| now.id == call.id && now.arguments.starts_with(&call.arguments));
                if !is_there {
                    broken.push((Rule::CallStays, format!("the call `{}` is gone", call.id)));
                }
            }
        }
    }
}

pub(crate) fn is_final(status: &str) -> bool {
    ["completed", "failed", "denied", "cancelled"].contains(&status)
}

/// The messages with the results of each round in the order of their calls' ids: a client has them in the order of their
/// ends.
pub(crate) fn in_order(mut messages: Vec<Message>) -> Vec<Message> {
    for round in
        messages.chunk_by_mut(|one, next| one.result_of.is_some() && next.result_of.is_some())
    {
        round.sort_by(|one, other| one.result_of.cmp(&other.result_of));
    }
    messages
}

/// The messages of a list in the protocol's form.
pub(crate) fn messages(list: &Value) -> Vec<Message> {
    let list = list.as_array().into_iter().flatten();
    list.map(|message| {
        let calls = message["toolCalls"].as_array().into_iter().flatten();
        let calls = calls.map(|call| Call {
            id: word(call, "id"),
            name: word(&call["function"], "name"),
            arguments: word(&call["function"], "arguments"),
        });
        Message {
            id: word(message, "id"),
            role: word(message, "role"),
            text: text(&message["content"]),
            calls: calls.collect(),
            is_cut: message["metadata"]["cut"] == true,
            result_of: message["toolCallId"].as_str().map(str::to_owned),
        }
    })
    .collect()
}
