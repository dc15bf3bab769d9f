//! Messages as they are compared: each with all that a user sees of it.

use serde_json::{Value, json};
use std::collections::HashMap;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::{Event, EventRef};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: String,
    pub(crate) role: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    /// The call that it is the result of.
    pub(crate) result_of: Option<String>,
    /// Whether its host's end has cut it.
    is_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The messages of a list. The results of one round, which a client has in the order of their ends, are put in the order
/// of their calls' ids.
pub(crate) fn seen(messages: &Value) -> Vec<Seen> {
    let messages = messages.as_array().unwrap().iter().map(|message| {
        let calls = message["toolCalls"].as_array().into_iter().flatten();
        let calls = calls.map(|call| Call {
            id: word(&call["id"]),
            name: word(&call["function"]["name"]),
            arguments: word(&call["function"]["arguments"]),
        });
        Seen {
            id: word(&message["id"]),
            role: word(&message["role"]),
            text: word(&message["content"]),
            calls: calls.collect(),
            result_of: message["toolCallId"].as_str().map(str::to_owned),
            is_cut: message["metadata"]["cut"] == true,
        }
    });
    let mut messages: Vec<_> = messages.collect();
    for round in
        messages.chunk_by_mut(|one, next| one.result_of.is_some() && next.result_of.is_some())
    {
        round.sort_by(|one, other| one.result_of.cmp(&other.result_of));
    }
    messages
}

/// What a client makes of a log, and how each call stands in it. What was told before a snapshot is there after it.
pub(crate) fn fold(before: &Conversation, log: &[String]) -> (Vec<Seen>, HashMap<String, String>) {
    let mut fold = before.clone();
    let mut statuses = HashMap::new();
    for data in log {
        let event: Event = serde_json::from_str(data).unwrap();
        let earlier = match &event {
            Event::MessagesSnapshot(_) => seen(&json!(fold.messages())),
            _ => Vec::new(),
        };
        let _ = fold.apply(EventRef::from(&event));
        if !earlier.is_empty() {
            stays(&earlier, &seen(&json!(fold.messages())));
        }
        if let Event::Custom(custom) = &event
            && custom.name == "tool_status"
        {
            let value = &custom.value;
            statuses.insert(word(&value["toolCallId"]), word(&value["status"]));
        }
    }
    (seen(&json!(fold.messages())), statuses)
}

fn stays(before: &[Seen], after: &[Seen]) {
    for told in before {
        let now = after.iter().find(|now| match &told.result_of {
            // A result has its call, whatever message it is in.
            Some(call) => now.result_of.as_ref() == Some(call),
            None => now.id == told.id,
        });
        let now = now.unwrap_or_else(|| panic!("{told:?} is gone: {after:#?}"));
        let is_same = match told.result_of {
            Some(_) => now.text == told.text,
            None => now.text.starts_with(&told.text),
        };
        assert!(is_same, "{told:?} is now {now:?}");
        for call in &told.calls {
            let mut calls = after.iter().flat_map(|message| &message.calls);
            let is_there =
                calls.any(|now| now.id == call.id && now.arguments.starts_with(&call.arguments));
            assert!(is_there, "{call:?} is gone: {after:#?}");
        }
    }
}
