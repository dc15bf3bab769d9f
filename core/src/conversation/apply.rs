use super::patch::patched;
use super::{Conversation, LiveCall, RunFailure, ToolCallStatus};
use crate::CallKey;
use crate::event::{
    ActivityDelta, ActivityMessage, ActivitySnapshot, AssistantMessage, Common,
    EncryptedValueSubtype, Event, EventRef, Message, MessageContent, ReasoningEncryptedValue,
    ReasoningMessage, RunError, RunFinished, RunStarted, TextMessageRole, TextMessageStart,
    TextualMessage, ToolCall, ToolCallResult, ToolCallStart, ToolMessage, UserMessage,
};
use crate::{MessageId, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A part of the conversation that deltas append to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Item {
    /// The text of the message at this position.
    Text(usize),
    /// The reasoning of the message at this position.
    Reasoning(usize),
    /// The arguments of a call: the message's position, and the call's position in it.
    Arguments(usize, usize),
}

/// What an event did to the conversation.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Applied {
    /// It appended the bytes from `from` on to an item.
    Delta {
        /// The item.
        item: Item,
        /// The item's length before.
        from: usize,
    },
    /// It did its work.
    Whole,
    /// It did nothing: why.
    Ignored(String),
}

impl Conversation {
    /// Applies one event, by the rules of AG-UI. The order of events is not checked here.
    #[inline]
    pub fn apply(&mut self, event: EventRef<'_>) -> Applied {
        match event {
            EventRef::TextMessageContent { message_id, delta } => {
                self.append_text(message_id, delta)
            }
            EventRef::ReasoningMessageContent { message_id, delta } => {
                self.append_text(message_id, delta)
            }
            EventRef::ToolCallArgs {
                tool_call_id,
                delta,
            } => self.append_arguments(tool_call_id, delta),
            EventRef::Whole(event) => self.apply_whole(event),
        }
    }

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

    fn append_text(&mut self, id: &str, delta: &str) -> Applied {
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

    fn append_arguments(&mut self, id: &str, delta: &str) -> Applied {
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
    fn find_message(&self, id: &str) -> Option<usize> {
        match self.messages.last() {
            Some(last) if last.id() == id => Some(self.messages.len() - 1),
            _ => self.index.message(id),
        }
    }

    #[inline]
    fn find_call(&self, id: &str) -> Option<(usize, usize)> {
        if let Some(Message::Assistant(message)) = self.messages.last()
            && let Some(call) = message.tool_calls.last()
            && call.id == id
        {
            return Some((self.messages.len() - 1, message.tool_calls.len() - 1));
        }
        self.index.call(id)
    }

    fn call_at(&mut self, message: usize, position: usize) -> Option<&mut ToolCall> {
        match self.messages.get_mut(message)? {
            Message::Assistant(message) => message.tool_calls.get_mut(position),
            _ => None,
        }
    }

    fn apply_whole(&mut self, event: &Event) -> Applied {
        match event {
            Event::RunStarted(event) => self.run_started(event),
            Event::RunFinished(event) => self.run_finished(event),
            Event::RunError(event) => self.run_error(event),
            Event::TextMessageStart(event) => return self.text_started(event),
            Event::TextMessageContent(event) => {
                self.merge_message_metadata(&event.message_id, event.common.as_deref());
                return self.append_text(&event.message_id, &event.delta);
            }
            Event::TextMessageEnd(event) => {
                self.merge_message_metadata(&event.message_id, event.common.as_deref());
            }
            Event::ToolCallStart(event) => self.call_started(event),
            Event::ToolCallArgs(event) => {
                self.merge_call_metadata(&event.tool_call_id, event.common.as_deref());
                return self.append_arguments(&event.tool_call_id, &event.delta);
            }
            Event::ToolCallEnd(event) => {
                self.merge_call_metadata(&event.tool_call_id, event.common.as_deref());
                if let Some(call) = self.live_call(&event.tool_call_id)
                    && call.status == ToolCallStatus::Streaming
                {
                    call.status = ToolCallStatus::Pending;
                }
            }
            Event::ToolCallResult(event) => self.call_answered(event),
            Event::StateSnapshot(event) => self.state.clone_from(&event.snapshot),
            Event::StateDelta(event) => {
                return match patched(&self.state, &event.delta) {
                    Ok(state) => {
                        self.state = state;
                        Applied::Whole
                    }
                    Err(reason) => {
                        Applied::Ignored(format!("a state delta that does not apply: {reason}"))
                    }
                };
            }
            Event::MessagesSnapshot(event) => self.replace_messages(event),
            Event::ActivitySnapshot(event) => self.activity_snapshot(event),
            Event::ActivityDelta(event) => return self.activity_delta(event),
            Event::ReasoningMessageStart(event) => {
                let message = Message::Reasoning(ReasoningMessage {
                    id: event.message_id.clone(),
                    subagent_run_id: subagent(event.common.as_deref()),
                    ..ReasoningMessage::default()
                });
                let _ = self.push(message);
                self.merge_message_metadata(&event.message_id, event.common.as_deref());
            }
            Event::ReasoningMessageContent(event) => {
                self.merge_message_metadata(&event.message_id, event.common.as_deref());
                return self.append_text(&event.message_id, &event.delta);
            }
            Event::ReasoningMessageEnd(event) => {
                self.merge_message_metadata(&event.message_id, event.common.as_deref());
            }
            Event::ReasoningEncryptedValue(event) => return self.encrypted_value(event),
            // Chunks are expanded by the decoder; the others tell the app something and change nothing here.
            _ => {}
        }
        Applied::Whole
    }

    fn run_started(&mut self, event: &RunStarted) {
        self.calls.clear();
        self.summary = super::HopSummary::default();
        for message in event.input.iter().flat_map(|input| &input.messages) {
            let _ = self.push(message.clone());
        }
    }

    fn run_finished(&mut self, event: &RunFinished) {
        self.summary.usage = event.usage.clone().unwrap_or_default();
        self.summary.outcome = event.outcome.clone();
        self.summary.result = event.result.clone();
        self.summary.stop_reason = stop_reason(event.common.as_deref());
    }

    fn run_error(&mut self, event: &RunError) {
        self.summary.usage = event.usage.clone().unwrap_or_default();
        self.summary.stop_reason = stop_reason(event.common.as_deref());
        self.summary.failure = Some(RunFailure {
            message: event.message.clone(),
            code: event.code.clone(),
        });
    }

    fn text_started(&mut self, event: &TextMessageStart) -> Applied {
        if let Some(at) = self.find_message(&event.message_id)
            && let Message::Activity(_) = self.messages[at]
        {
            return Applied::Ignored(format!(
                "text for `{}`, which is an activity",
                event.message_id
            ));
        }
        let id = event.message_id.clone();
        let name = event.name.clone();
        let subagent_run_id = subagent(event.common.as_deref());
        let textual = |id, name, subagent_run_id| TextualMessage {
            id,
            name,
            subagent_run_id,
            ..Default::default()
        };
        let _ = self.push(match event.role.unwrap_or(TextMessageRole::Assistant) {
            TextMessageRole::Assistant => Message::Assistant(AssistantMessage {
                id,
                content: Some(String::new()),
                name,
                subagent_run_id,
                ..AssistantMessage::default()
            }),
            TextMessageRole::User => Message::User(UserMessage {
                id,
                name,
                subagent_run_id,
                ..UserMessage::default()
            }),
            TextMessageRole::Developer => Message::Developer(textual(id, name, subagent_run_id)),
            TextMessageRole::System => Message::System(textual(id, name, subagent_run_id)),
        });
        self.merge_message_metadata(&event.message_id, event.common.as_deref());
        Applied::Whole
    }

    fn call_started(&mut self, event: &ToolCallStart) {
        let id = &event.tool_call_id;
        let parent = event.parent_message_id.as_ref();
        // A provider may use an id again in a later hop: with another parent it is another call.
        let known = self
            .index
            .call(id)
            .filter(|&(at, _)| parent.is_none_or(|parent| self.messages[at].id() == parent));
        if let Some((at, position)) = known {
            if let Some(call) = self.call_at(at, position) {
                call.function.name.clone_from(&event.tool_call_name);
            }
        } else {
            let at = self.assistant_for(parent, id, event.common.as_deref());
            if let Message::Assistant(message) = &mut self.messages[at] {
                message.tool_calls.push(ToolCall::new(
                    id.clone(),
                    event.tool_call_name.clone(),
                    "",
                ));
                let position = message.tool_calls.len() - 1;
                self.index.add_call(id.clone(), (at, position));
            }
        }
        self.merge_call_metadata(id, event.common.as_deref());
        if let Some(call) = self.live_call(id) {
            call.status = ToolCallStatus::Streaming;
            call.name.clone_from(&event.tool_call_name);
        } else {
            let key = CallKey {
                hop: self.hop,
                index: self.next_call,
            };
            self.next_call += 1;
            self.calls.push(LiveCall {
                key,
                id: id.clone(),
                name: event.tool_call_name.clone(),
                status: ToolCallStatus::Streaming,
                result: None,
            });
        }
    }

    /// The assistant message that a new call goes into: its parent, or a new message.
    fn assistant_for(
        &mut self,
        parent: Option<&MessageId>,
        call: &ToolCallId,
        common: Option<&Common>,
    ) -> usize {
        let place = parent.and_then(|parent| self.index.message(parent));
        let id = match (parent, place) {
            (Some(_), Some(at)) if matches!(self.messages[at], Message::Assistant(_)) => return at,
            (Some(parent), None) => parent.clone(),
            _ => MessageId::from(call.as_str()),
        };
        match self.index.message(&id) {
            Some(at) if matches!(self.messages[at], Message::Assistant(_)) => at,
            Some(_) => self.push_unindexed(Message::Assistant(AssistantMessage {
                id,
                subagent_run_id: subagent(common),
                ..AssistantMessage::default()
            })),
            None => {
                let _ = self.push(Message::Assistant(AssistantMessage {
                    id,
                    subagent_run_id: subagent(common),
                    ..AssistantMessage::default()
                }));
                self.messages.len() - 1
            }
        }
    }

    /// Two messages of one id: the first keeps the place in the index.
    fn push_unindexed(&mut self, message: Message) -> usize {
        self.messages.push(message);
        self.messages.len() - 1
    }

    fn live_call(&mut self, id: &str) -> Option<&mut LiveCall> {
        self.calls.iter_mut().rev().find(|call| call.id == id)
    }

    fn call_answered(&mut self, event: &ToolCallResult) {
        let mut message = ToolMessage {
            id: event.message_id.clone(),
            tool_call_id: event.tool_call_id.clone(),
            content: event.content.clone(),
            subagent_run_id: subagent(event.common.as_deref()),
            ..ToolMessage::default()
        };
        if let Some(metadata) = event
            .common
            .as_deref()
            .and_then(|common| common.metadata.clone())
        {
            message.metadata = Some(metadata);
        }
        self.insert_result(Message::Tool(message));
        if let Some(call) = self.live_call(&event.tool_call_id) {
            call.status = ToolCallStatus::Completed;
        }
    }

    /// Puts a tool message after the message with its call and the results that follow that already.
    pub(super) fn insert_result(&mut self, message: Message) {
        let owner = match &message {
            Message::Tool(message) => self.index.call(&message.tool_call_id).map(|(at, _)| at),
            _ => None,
        };
        let at = owner.map_or(self.messages.len(), |owner| {
            let results = self.messages[owner + 1..]
                .iter()
                .take_while(|message| matches!(message, Message::Tool(_)));
            owner + 1 + results.count()
        });
        if at < self.messages.len() {
            self.index.shift(at);
        }
        self.index.add(&message, at);
        self.messages.insert(at, message);
    }

    fn activity_snapshot(&mut self, event: &ActivitySnapshot) {
        let fresh = ActivityMessage {
            id: event.message_id.clone(),
            activity_type: event.activity_type.clone(),
            content: event.content.clone(),
            subagent_run_id: subagent(event.common.as_deref()),
            ..ActivityMessage::default()
        };
        match self.index.message(&event.message_id) {
            None => drop(self.push(Message::Activity(fresh))),
            Some(_) if event.replace == Some(false) => {}
            Some(at) => {
                let metadata = self.messages[at].metadata_mut().take();
                self.messages[at] = Message::Activity(ActivityMessage { metadata, ..fresh });
            }
        }
        self.merge_message_metadata(&event.message_id, event.common.as_deref());
    }

    fn activity_delta(&mut self, event: &ActivityDelta) -> Applied {
        self.merge_message_metadata(&event.message_id, event.common.as_deref());
        let Some(at) = self.index.message(&event.message_id) else {
            return Applied::Ignored(format!(
                "a change of the activity `{}`, which is not there",
                event.message_id
            ));
        };
        let Message::Activity(activity) = &mut self.messages[at] else {
            return Applied::Ignored(format!(
                "a change of `{}`, which is no activity",
                event.message_id
            ));
        };
        match patched(&Value::Object(activity.content.clone()), &event.patch) {
            Ok(Value::Object(content)) => {
                activity.content = content;
                Applied::Whole
            }
            Ok(_) => Applied::Ignored(
                "a change that makes an activity's content something else than an object".into(),
            ),
            Err(reason) => Applied::Ignored(format!(
                "a change of an activity that does not apply: {reason}"
            )),
        }
    }

    fn encrypted_value(&mut self, event: &ReasoningEncryptedValue) -> Applied {
        let value = Some(event.encrypted_value.clone());
        let id = event.entity_id.as_str();
        let slot = match event.subtype {
            EncryptedValueSubtype::ToolCall => {
                let place = self.index.call(id);
                place
                    .and_then(|(at, position)| self.call_at(at, position))
                    .map(|call| &mut call.encrypted_value)
            }
            EncryptedValueSubtype::Message => self
                .index
                .message(id)
                .and_then(|at| self.messages[at].encrypted_value_mut()),
        };
        match slot {
            Some(slot) => {
                *slot = value;
                Applied::Whole
            }
            None => Applied::Ignored(format!("an encrypted value for `{id}`, which is not there")),
        }
    }

    fn merge_message_metadata(&mut self, id: &str, common: Option<&Common>) {
        if let Some(metadata) = common.and_then(|common| common.metadata.as_ref())
            && let Some(at) = self.find_message(id)
        {
            self.messages[at]
                .metadata_mut()
                .get_or_insert_default()
                .extend(metadata.clone());
        }
    }

    fn merge_call_metadata(&mut self, id: &str, common: Option<&Common>) {
        if let Some(metadata) = common.and_then(|common| common.metadata.as_ref())
            && let Some((at, position)) = self.find_call(id)
            && let Some(call) = self.call_at(at, position)
        {
            call.metadata
                .get_or_insert_default()
                .extend(metadata.clone());
        }
    }
}

impl Item {
    fn message(self) -> usize {
        match self {
            Self::Text(at) | Self::Reasoning(at) | Self::Arguments(at, _) => at,
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

fn subagent(common: Option<&Common>) -> Option<String> {
    common.and_then(|common| common.subagent_run_id.clone())
}

/// Stepwell's own decoders put the provider's word for why it stopped into the metadata of the run's last event.
fn stop_reason(common: Option<&Common>) -> Option<String> {
    Some(
        common?
            .metadata
            .as_ref()?
            .get("stopReason")?
            .as_str()?
            .to_owned(),
    )
}
