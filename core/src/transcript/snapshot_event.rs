use super::index::Index;
use super::{ToolCallStatus, Transcript};
use crate::ToolCallId;
use crate::event::{Message, MessagesSnapshot};
use serde_json::Value;
use std::collections::BTreeMap;

impl Transcript {
    /// Applies a `MESSAGES_SNAPSHOT`: removes the messages that the snapshot does not name, replaces the others where
    /// they are, and appends new ones. Activities and reasoning stay if the snapshot has none of their kind, since many
    /// agents leave those out; an agent may say which activities its snapshot covers.
    pub(super) fn replace_messages(&mut self, event: &MessagesSnapshot) {
        self.note_brought_calls(&event.messages);
        let authority = Authority::of(event);
        let has_reasoning = event
            .messages
            .iter()
            .any(|message| matches!(message, Message::Reasoning(_)));
        let ids = event.messages.iter().enumerate();
        let new: BTreeMap<&str, usize> = ids.map(|(at, message)| (&**message.id(), at)).collect();
        let old = std::mem::take(&mut self.messages);
        let count = old.len();
        // The messages at the beginning that stay just as they are.
        let mut kept = 0;
        let mut messages: Vec<Message> = Vec::with_capacity(count);
        for (at, message) in old.into_iter().enumerate() {
            let replacement = new.get(&**message.id()).map(|at| &event.messages[*at]);
            let stays = match (replacement, &message) {
                (Some(replacement), _) if *replacement == message => Some(message),
                (Some(replacement), _) => {
                    messages.push(replacement.clone());
                    continue;
                }
                (None, Message::Activity(activity))
                    if !authority.is_over(&activity.activity_type) =>
                {
                    Some(message)
                }
                (None, Message::Reasoning(_)) if !has_reasoning => Some(message),
                (None, _) => None,
            };
            if let Some(message) = stays {
                kept += usize::from(kept == at);
                messages.push(message);
            }
        }
        let known = Index::of(&messages);
        let end = messages.len();
        messages.extend(
            event
                .messages
                .iter()
                .filter(|message| known.message(message.id()).is_none())
                .cloned(),
        );
        let mut index = Index::of(&messages);
        let before = self.index.take_rewritten();
        let is_twice = |at: &usize| index.message(messages[*at].id()) != Some(*at);
        let twice = (end..messages.len()).find(is_twice);
        // New messages at the end replace none.
        let replaced = (kept < count).then_some(kept);
        for from in [before, replaced, twice.map(|_| end)].into_iter().flatten() {
            index.rewritten(from);
        }
        self.index = index;
        self.messages = messages;
        self.settle_calls();
    }

    /// Forgets the calls that a snapshot has left out, and completes those whose results it has.
    fn settle_calls(&mut self) {
        let Self { calls, index, .. } = self;
        calls.retain(|call| index.call(&call.id).is_some());
        for at in 0..self.messages.len() {
            if let Some(answered) = self.answered_at(at).cloned()
                && let Some(call) = self.calls.iter_mut().find(|call| call.id == answered)
                && !call.status.is_final()
            {
                call.status = ToolCallStatus::Completed;
            }
        }
    }

    /// Notes the calls of a snapshot that the history did not have.
    fn note_brought_calls(&mut self, messages: &[Message]) {
        let Self { brought, index, .. } = self;
        let Some(brought) = brought else { return };
        for message in messages {
            let Message::Assistant(message) = message else {
                continue;
            };
            let calls = message.tool_calls.iter().map(|call| &call.id);
            brought.extend(calls.filter(|id| index.call(id).is_none()).cloned());
        }
    }

    /// The calls that only snapshots of the run brought, where the agent is from before 1.0.
    pub(crate) fn take_brought_calls(&mut self) -> Vec<ToolCallId> {
        self.brought.take().unwrap_or_default()
    }
}

/// The activities that a snapshot covers: those that it covers and does not name are removed.
enum Authority<'a> {
    All,
    None,
    Types(Vec<&'a str>),
}

impl<'a> Authority<'a> {
    /// Reads the event's metadata as the reference client `@ag-ui/client` does; without them, the snapshot covers all
    /// activities if it has any.
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
