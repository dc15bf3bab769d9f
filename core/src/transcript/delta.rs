//! The deltas: where each goes, and its one append.

use super::Transcript;
use super::applied::{Applied, Item};
use crate::event::{Message, MessageContent, ToolCall, ToolMessage, UserMessage};

impl Transcript {
    /// The id of an item's message or call, and its content so far.
    #[must_use]
    pub fn item(&self, item: Item) -> Option<(&str, &str)> {
        match (item, self.messages.get(item.message())?) {
            (Item::Arguments(_, position), Message::Assistant(message)) => {
                let call = message.tool_calls.get(position)?;
                Some((&call.id, &call.function.arguments))
            }
            (Item::Text(_), message) => Some((message.id(), text_of(message)?)),
            (Item::Reasoning(_), Message::Reasoning(message)) => {
                Some((&message.id, &message.content))
            }
            _ => None,
        }
    }

    pub(super) fn append_text(&mut self, id: &str, delta: &str) -> Applied {
        let Some(at) = self.find_message(id) else {
            return Applied::Ignored(format!(
                "a piece of text for the message `{id}`, which is not there"
            ));
        };
        let (item, content) = match &mut self.messages[at] {
            Message::Assistant(message) => {
                (Item::Text(at), message.content.get_or_insert_default())
            }
            Message::Reasoning(message) => (Item::Reasoning(at), &mut message.content),
            Message::Developer(message) | Message::System(message) => {
                (Item::Text(at), &mut message.content)
            }
            Message::User(UserMessage { content, .. })
            | Message::Tool(ToolMessage { content, .. }) => {
                if let MessageContent::Parts(_) = content {
                    *content = MessageContent::default();
                }
                match content {
                    MessageContent::Text(text) => (Item::Text(at), text),
                    MessageContent::Parts(_) => return Applied::Whole,
                }
            }
            Message::Activity(_) => {
                return Applied::Ignored(format!(
                    "a piece of text for `{id}`, which is an activity"
                ));
            }
        };
        let from = content.len();
        content.push_str(delta);
        Applied::Delta { item, from }
    }

    pub(super) fn append_arguments(&mut self, id: &str, delta: &str) -> Applied {
        let Some((at, position)) = self.find_call(id) else {
            return Applied::Ignored(format!(
                "arguments for the tool call `{id}`, which never began"
            ));
        };
        let Some(call) = self.call_at(at, position) else {
            return Applied::Ignored(format!("arguments for the tool call `{id}`, which is gone"));
        };
        let from = call.function.arguments.len();
        call.function.arguments.push_str(delta);
        Applied::Delta {
            item: Item::Arguments(at, position),
            from,
        }
    }

    /// Most deltas go to the last message, so look there before hashing.
    #[inline]
    pub(super) fn find_message(&self, id: &str) -> Option<usize> {
        match self.messages.last() {
            Some(last) if last.id() == id => Some(self.messages.len() - 1),
            _ => self.index.message(id),
        }
    }

    #[inline]
    pub(super) fn find_call(&self, id: &str) -> Option<(usize, usize)> {
        if let Some(Message::Assistant(message)) = self.messages.last()
            && let Some(call) = message.tool_calls.last()
            && call.id == id
        {
            return Some((self.messages.len() - 1, message.tool_calls.len() - 1));
        }
        self.index.call(id)
    }

    pub(super) fn call_at(&mut self, message: usize, position: usize) -> Option<&mut ToolCall> {
        match self.messages.get_mut(message)? {
            Message::Assistant(message) => message.tool_calls.get_mut(position),
            _ => None,
        }
    }
}

fn text_of(message: &Message) -> Option<&str> {
    match message {
        Message::Assistant(message) => message.content.as_deref(),
        Message::Developer(message) | Message::System(message) => Some(&message.content),
        Message::User(UserMessage {
            content: MessageContent::Text(text),
            ..
        })
        | Message::Tool(ToolMessage {
            content: MessageContent::Text(text),
            ..
        }) => Some(text),
        _ => None,
    }
}
