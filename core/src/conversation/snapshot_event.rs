use super::index::Index;
use super::{Conversation, ToolCallStatus};
use crate::event::{Message, MessagesSnapshot};
use serde_json::Value;
use std::collections::BTreeMap;

impl Conversation {
    /// `MESSAGES_SNAPSHOT`: what it does not name goes, what it names is replaced where it stands, what is new comes
    /// at the end. Activities and reasoning stay if the snapshot has none of their kind, since many agents leave those
    /// out; an agent may say for which activities it speaks.
    pub(super) fn replace_messages(&mut self, event: &MessagesSnapshot) {
        let authority = Authority::of(event);
        let has_reasoning = event
            .messages
            .iter()
            .any(|message| matches!(message, Message::Reasoning(_)));
        let new: BTreeMap<&str, &Message> = event
            .messages
            .iter()
            .map(|message| (message.id().as_str(), message))
            .collect();
        let mut messages: Vec<Message> = std::mem::take(&mut self.messages)
            .into_iter()
            .filter_map(|message| match (new.get(message.id().as_str()), &message) {
                (Some(&replacement), _) => Some(replacement.clone()),
                (None, Message::Activity(activity))
                    if !authority.is_over(&activity.activity_type) =>
                {
                    Some(message)
                }
                (None, Message::Reasoning(_)) if !has_reasoning => Some(message),
                (None, _) => None,
            })
            .collect();
        let known = Index::of(&messages);
        messages.extend(
            event
                .messages
                .iter()
                .filter(|message| known.message(message.id()).is_none())
                .cloned(),
        );
        self.index = Index::of(&messages);
        self.messages = messages;
        let Self { calls, index, .. } = self;
        calls.retain(|call| index.call(&call.id).is_some());
        // A call whose result the snapshot has is answered.
        for message in &self.messages {
            if let Message::Tool(message) = message
                && let Some(call) = calls
                    .iter_mut()
                    .find(|call| call.id == message.tool_call_id)
                && !call.status.is_final()
            {
                call.status = ToolCallStatus::Completed;
            }
        }
    }
}

/// For which activities a snapshot speaks: those of them that it does not name are gone.
enum Authority<'a> {
    All,
    None,
    Types(Vec<&'a str>),
}

impl<'a> Authority<'a> {
    /// What the event's metadata says, as the reference client `@ag-ui/client` reads it; else all, if the snapshot has
    /// any activity.
    fn of(event: &'a MessagesSnapshot) -> Self {
        let metadata = event
            .common
            .as_deref()
            .and_then(|common| common.metadata.as_ref());
        let said = metadata
            .and_then(|metadata| metadata.get("@ag-ui/client"))
            .and_then(|client| client.get("authoritativeActivityTypes"));
        match said {
            Some(Value::Null) => return Self::All,
            Some(Value::Array(types)) => {
                return Self::Types(types.iter().filter_map(Value::as_str).collect());
            }
            _ => {}
        }
        let is_activity = |message| matches!(message, &Message::Activity(_));
        if event.messages.iter().any(is_activity) {
            Self::All
        } else {
            Self::None
        }
    }

    fn is_over(&self, activity_type: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Types(types) => types.contains(&activity_type),
        }
    }
}
