//! The messages of the screen, from those of the conversation.

use super::layout::{Growth, Layout, Segment};
use super::media::{part_of, parts_of};
use super::reducer::{ChatReducer, Overlay, Staleness};
use super::{ChatMessage, ChatPart, ChatRole, ToolCard};
use crate::MessageId;
use crate::event::{Message, MessageContent, made_media};
use crate::session::view::{MessageView, Role, ToolExecution};
use crate::tool::PartialArguments;
use crate::transcript::ToolCallStatus;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The maximum number of messages of a state. Earlier ones are left out.
pub(super) const MAX_MESSAGES: usize = 1_000;

/// The number of parts from which on a message is complete: what follows is in the next message of the same author. So
/// the cost of an update does not grow with the length of a turn.
const MAX_PARTS: usize = 64;

impl ChatReducer {
    /// Brings the messages of the screen up to date.
    pub(super) fn build(&mut self) {
        if !self.is_rebuilt {
            self.append_new();
        }
        for (id, staleness) in std::mem::take(&mut self.stale) {
            if !self.is_rebuilt {
                self.refresh(&id, staleness);
            }
        }
        if std::mem::take(&mut self.is_rebuilt) {
            self.rebuild();
        } else {
            self.move_streaming();
        }
    }

    fn append_new(&mut self) {
        let messages = self.view.transcript.messages();
        match self.layout.growth(messages) {
            Growth::Elsewhere => self.is_rebuilt = true,
            Growth::From(new) => {
                let end = messages.len();
                self.layout.note_read(messages);
                if new < end {
                    self.view.note_messages();
                }
                for at in new..end {
                    if let Some(view) = self.view.message_at(at, &self.options) {
                        self.append(view);
                    }
                }
            }
        }
    }

    /// Appends a message of the conversation to the screen.
    fn append(&mut self, view: MessageView) {
        let role = match view.role {
            Role::User => ChatRole::User,
            _ => ChatRole::Assistant,
        };
        let (mut id, turn, cut, timestamp) =
            (view.id.clone(), view.turn.clone(), view.cut, view.timestamp);
        let is_twin = self.layout.segments.contains_key(&id);
        self.layout.has_twins |= is_twin;
        let parts = self.parts(view);
        if parts.is_empty() {
            return;
        }
        let joins = |last: &ChatMessage| {
            role == ChatRole::Assistant
                && last.role == role
                && last.turn == turn
                && (cut || !last.is_cut)
                && last.parts.len() < MAX_PARTS
        };
        if !self.chat.messages.last().is_some_and(joins) {
            if is_twin {
                let number = self.layout.dropped + self.chat.messages.len();
                id = format!("{id}#{number}").into();
            }
            self.chat.messages.push(ChatMessage {
                id: id.clone(),
                revision: 0,
                turn,
                role,
                is_streaming: false,
                is_cut: false,
                timestamp,
                parts: Vec::new(),
            });
        }
        let message = self.layout.dropped + self.chat.messages.len() - 1;
        if let Some(last) = self.chat.messages.last_mut() {
            last.is_cut |= cut;
            let segment = Segment {
                message,
                first: last.parts.len(),
                len: parts.len(),
                is_cut: cut,
            };
            last.parts.extend(parts);
            self.layout.segments.insert(id, segment);
        }
        self.touch(message);
        if self.chat.messages.len() > MAX_MESSAGES {
            self.chat.messages.remove(0);
            self.changed.remove(&self.layout.dropped);
            self.layout.dropped += 1;
            self.is_reordered = true;
        }
    }

    /// Shows a message of the conversation again.
    fn refresh(&mut self, id: &MessageId, staleness: Staleness) {
        let Some(at) = self.view.transcript.last_position(id) else {
            return;
        };
        let segment = self.layout.segments.get(id).copied();
        let is_hidden = |segment: Segment| segment.message < self.layout.dropped;
        if segment.is_some_and(is_hidden) {
            return;
        }
        if self.layout.has_twins {
            self.is_rebuilt = true;
            return;
        }
        if let (Staleness::Grown, Some(segment)) = (staleness, segment)
            && self.grow(at, segment)
        {
            return;
        }
        match (self.view.message_at(at, &self.options), segment) {
            (None, None) => {}
            (Some(view), None) => {
                let later = &self.view.transcript.messages()[at + 1..];
                let is_last = |message: &Message| !self.layout.segments.contains_key(message.id());
                if later.iter().all(is_last) {
                    self.append(view);
                } else {
                    self.is_rebuilt = true;
                }
            }
            (Some(view), Some(segment)) if view.cut == segment.is_cut => self.put(view, segment),
            (_, Some(_)) => self.is_rebuilt = true,
        }
    }

    /// Appends to a text what the conversation has more of it. Returns whether that is all that changed.
    fn grow(&mut self, at: usize, segment: Segment) -> bool {
        let Some(message) = self.view.transcript.messages().get(at) else {
            return false;
        };
        let text = match message {
            Message::Assistant(message) => message.content.as_deref(),
            Message::Reasoning(message) => Some(message.content.as_str()),
            _ => None,
        };
        if !self.view.is_live(message.id()) {
            return false;
        }
        let shown = self.chat.messages[segment.message - self.layout.dropped]
            .parts
            .get_mut(segment.first);
        let Some(ChatPart::Text { text: shown } | ChatPart::Reasoning { text: shown }) = shown
        else {
            return false;
        };
        let Some(rest) = text.and_then(|text| text.get(shown.len()..)) else {
            return false;
        };
        shown.push_str(rest);
        self.touch(segment.message);
        true
    }

    /// Replaces the parts of a message of the conversation.
    fn put(&mut self, view: MessageView, segment: Segment) {
        let id = view.id.clone();
        let parts = self.parts(view);
        let shown = &mut self.chat.messages[segment.message - self.layout.dropped].parts;
        if parts.len() != segment.len && segment.end() != shown.len() {
            self.is_rebuilt = true;
            return;
        }
        if shown[segment.first..segment.end()] == parts {
            return;
        }
        let len = parts.len();
        shown.splice(segment.first..segment.end(), parts);
        let segment = Segment { len, ..segment };
        self.layout.segments.insert(id, segment);
        self.touch(segment.message);
    }

    /// Builds all messages again, and finds those that changed.
    fn rebuild(&mut self) {
        self.view.note_messages();
        let before = std::mem::take(&mut self.chat.messages);
        let before_ids: Vec<MessageId> = before.iter().map(|message| message.id.clone()).collect();
        self.note_unreported(&before);
        let (is_touched, is_reordered) = (self.is_touched, self.is_reordered);
        self.layout = Layout::default();
        self.layout.note_read(self.view.transcript.messages());
        self.streaming = None;
        for view in self.view.messages(&self.options) {
            self.append(view);
        }
        self.move_streaming();
        // Only what differs from before has changed.
        self.changed.clear();
        (self.is_touched, self.is_reordered) = (is_touched, is_reordered);
        let mut before: HashMap<MessageId, ChatMessage> = before
            .into_iter()
            .map(|message| (message.id.clone(), message))
            .collect();
        let revision = self.chat.revision + 1;
        let unreported = std::mem::take(&mut self.unreported);
        for (at, message) in self.chat.messages.iter_mut().enumerate() {
            let old = before.remove(&message.id);
            message.revision = old.as_ref().map_or(0, |old| old.revision);
            if old.as_ref() != Some(message) {
                message.revision = revision;
                self.is_touched = true;
                self.changed.insert(self.layout.dropped + at);
            } else if unreported.contains(&message.id) {
                self.changed.insert(self.layout.dropped + at);
            }
        }
        let ids = self.chat.messages.iter().map(|message| &message.id);
        let is_grown = before_ids.len() <= self.chat.messages.len()
            && ids.zip(&before_ids).all(|(id, before)| id == before);
        self.is_reordered |= !is_grown;
        self.is_touched |= self.is_reordered;
    }

    /// Notes by their ids the messages whose changes were not reported yet.
    fn note_unreported(&mut self, messages: &[ChatMessage]) {
        let dropped = self.layout.dropped;
        let changed = std::mem::take(&mut self.changed);
        let changed = changed
            .into_iter()
            .filter_map(|at| messages.get(at.checked_sub(dropped)?));
        self.unreported = changed.map(|message| message.id.clone()).collect();
    }

    /// Marks the message that the turn under way may still change.
    fn move_streaming(&mut self) {
        let turn = self.live_turn();
        let last = self.chat.messages.last();
        let is_open = |last: &ChatMessage| {
            last.role == ChatRole::Assistant && turn.is_some() && last.turn.as_ref() == turn
        };
        let open = last.is_some_and(is_open);
        let open = open.then(|| self.layout.dropped + self.chat.messages.len() - 1);
        if open == self.streaming {
            return;
        }
        for (at, is_streaming) in [(self.streaming, false), (open, true)] {
            let at = at.and_then(|at| Some((at, at.checked_sub(self.layout.dropped)?)));
            if let Some((number, at)) = at
                && let Some(message) = self.chat.messages.get_mut(at)
                && message.is_streaming != is_streaming
            {
                message.is_streaming = is_streaming;
                self.touch(number);
            }
        }
        self.streaming = open;
    }

    /// Notes a change of a message.
    fn touch(&mut self, message: usize) {
        self.is_touched = true;
        self.changed.insert(message);
        let revision = self.chat.revision + 1;
        if let Some(at) = message.checked_sub(self.layout.dropped)
            && let Some(message) = self.chat.messages.get_mut(at)
        {
            message.revision = revision;
        }
    }

    /// Returns the parts that show a message of the conversation.
    fn parts(&self, view: MessageView) -> Vec<ChatPart> {
        if let Some(activity) = view.activity {
            return match made_media(&activity.activity_type, &activity.content) {
                Some(media) => media.into_iter().filter_map(part_of).collect(),
                None => vec![ChatPart::Activity {
                    activity_type: activity.activity_type,
                    content: activity.content,
                }],
            };
        }
        if view.role == Role::Reasoning {
            let text = view.content.to_text();
            return vec![ChatPart::Reasoning { text }];
        }
        let mut parts = parts_of(view.content);
        let cards = view.tool_executions.into_iter();
        parts.extend(cards.map(|execution| ChatPart::Tool {
            card: self.card(&view.id, execution),
        }));
        parts
    }

    fn card(&self, message: &MessageId, execution: ToolExecution) -> ToolCard {
        let status = execution.status;
        // A later message may ask under the same id.
        let is_asked_here = self.view.transcript.owner(&execution.tool_id) == Some(message);
        let overlay = self.overlays.get(&execution.tool_id);
        let overlay = overlay.filter(|_| !status.is_final() && is_asked_here);
        let Overlay {
            progress,
            partial_result,
        } = overlay.cloned().unwrap_or_default();
        let arguments = match self.arguments.get(&execution.tool_id) {
            Some(arguments) if status == ToolCallStatus::Streaming && is_asked_here => {
                certain(arguments)
            }
            _ => execution.args,
        };
        let is_failed = matches!(
            status,
            ToolCallStatus::Failed | ToolCallStatus::Denied | ToolCallStatus::Cancelled
        );
        let (failure, result) = match execution.result {
            Some(reason) if is_failed => (Some(reason), None),
            result => (None, result.filter(|_| status == ToolCallStatus::Completed)),
        };
        ToolCard {
            tool_call_id: execution.tool_id,
            name: execution.tool_name,
            label: execution.label,
            status,
            arguments,
            progress,
            partial_result,
            result,
            failure: failure.as_ref().map(MessageContent::to_text),
        }
    }
}

/// Returns the part of streaming arguments that is certain: an object from the beginning, so that a screen can look into
/// it.
fn certain(arguments: &PartialArguments) -> Value {
    match arguments.value() {
        Value::Null => Value::Object(Map::new()),
        value => value,
    }
}
