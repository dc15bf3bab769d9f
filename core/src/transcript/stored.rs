//! The changes by stored blocks to a conversation: see [`session`](crate::session).

use super::Transcript;
use super::index::Index;
use crate::event::{AssistantMessage, Message, TokenUsage, ToolCall};
use crate::{MessageId, ToolCallId, Usd};
use serde_json::Value;

impl Transcript {
    /// The message that asks for the call with this id; the last one, if the id was used again.
    pub(crate) fn owner(&self, call: &ToolCallId) -> Option<&MessageId> {
        let (at, _) = self.index.call(call)?;
        self.messages.get(at).map(Message::id)
    }

    /// The first place from which on there are other messages than before, since the last call.
    pub(crate) fn take_rewritten(&mut self) -> Option<usize> {
        self.index.take_rewritten()
    }

    /// Returns the message with this id, for changes to all but its id and its calls.
    pub(crate) fn message_mut(&mut self, id: &str) -> Option<&mut Message> {
        let at = self.find_message(id)?;
        self.messages.get_mut(at)
    }

    /// Replaces the message with the same id. Appends a new message, but inserts a new result after its call.
    pub(crate) fn put(&mut self, message: Message) {
        match self.find_message(message.id()) {
            Some(at) => {
                self.index.add(&message, at);
                self.messages[at] = message;
            }
            None if matches!(message, Message::Tool(_)) => self.insert_result(message),
            None => drop(self.push(message)),
        }
    }

    /// Replaces the messages after `after`. Returns `false` if there is no such message.
    pub(crate) fn rewrite(&mut self, after: Option<&MessageId>, messages: Vec<Message>) -> bool {
        let kept = match after {
            None => 0,
            Some(id) => match self.index.message(id) {
                Some(at) => at + 1,
                None => return false,
            },
        };
        if kept < self.messages.len() {
            self.messages.truncate(kept);
            self.index = Index::of(&self.messages);
        }
        for message in messages {
            self.index.add(&message, self.messages.len());
            self.messages.push(message);
        }
        true
    }

    /// Puts a call into the message that asks for it, or what is new of it.
    pub(crate) fn put_call(&mut self, parent: &MessageId, call: ToolCall) {
        let known = self.index.call(&call.id);
        if let Some((at, position)) = known.filter(|&(at, _)| self.messages[at].id() == parent)
            && let Some(known) = self.call_at(at, position)
        {
            known.function.arguments = call.function.arguments;
            known.encrypted_value = call.encrypted_value;
            known.metadata = call.metadata;
            return;
        }
        if self.find_message(parent).is_none() {
            let _ = self.push(Message::Assistant(AssistantMessage {
                id: parent.clone(),
                ..AssistantMessage::default()
            }));
        }
        let Some(at) = self.find_message(parent) else {
            return;
        };
        if let Message::Assistant(message) = &mut self.messages[at] {
            let position = message.tool_calls.len();
            self.index.add_call(call.id.clone(), (at, position));
            message.tool_calls.push(call);
        }
    }

    pub(crate) fn put_state(&mut self, state: Value) {
        self.state = state;
    }

    /// Notes the hop's usage so far.
    pub(crate) fn note_usage(&mut self, usage: &TokenUsage) {
        if self.summary.usage.as_slice() != std::slice::from_ref(usage) {
            self.summary.usage = vec![usage.clone()];
        }
    }

    /// Sets the hop's price where the provider did not report it.
    pub(crate) fn price_usage(&mut self, cost: impl Fn(&TokenUsage) -> Option<Usd>) {
        for usage in &mut self.summary.usage {
            usage.cost = usage.cost.or_else(|| cost(usage));
        }
    }

    pub(crate) fn put_usage(&mut self, usage: Vec<TokenUsage>) {
        self.summary.usage = usage;
    }
}
