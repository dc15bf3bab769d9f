use super::index::Index;
use super::{Conversation, ToolCallStatus};
use crate::event::{Message, MessagesSnapshot};
use std::collections::BTreeMap;

impl Conversation {
    /// `MESSAGES_SNAPSHOT`: what it does not name goes, what it names is replaced where it stands, what is new comes
    /// at the end. Activities and reasoning stay if the snapshot has none of their kind, since many agents leave those
    /// out.
    pub(super) fn replace_messages(&mut self, event: &MessagesSnapshot) {
        let has_activities = event
            .messages
            .iter()
            .any(|message| matches!(message, Message::Activity(_)));
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
                (None, Message::Activity(_)) if !has_activities => Some(message),
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
