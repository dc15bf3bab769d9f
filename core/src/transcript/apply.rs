//! The reducer: what each event does to the conversation.

use super::applied::Applied;
use super::patch::patched;
use super::{RunFailure, ToolCallStatus, Transcript};
use crate::event::{
    AssistantMessage, Common, EncryptedValueSubtype, Event, EventRef, Message,
    ReasoningEncryptedValue, ReasoningMessage, RunError, RunFinished, RunStarted, StateDelta,
    TextMessageRole, TextMessageStart, TextualMessage, ToolCallEnd, UserMessage,
};
use crate::event::{ERROR_KIND, REPLACED, RETRY_AFTER_MS};
use serde_json::Value;
use std::time::Duration;

impl Transcript {
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

    fn apply_whole(&mut self, event: &Event) -> Applied {
        match event {
            Event::RunStarted(event) => self.run_started(event),
            Event::RunFinished(event) => self.run_finished(event),
            Event::RunError(event) => self.run_error(event),
            Event::TextMessageStart(event) => return self.text_started(event),
            Event::TextMessageContent(event) => {
                self.merge_text_metadata(&event.message_id, event.common.as_deref());
                return self.append_text(&event.message_id, &event.delta);
            }
            Event::TextMessageEnd(event) => {
                self.merge_text_metadata(&event.message_id, event.common.as_deref());
            }
            Event::ToolCallStart(event) => self.call_started(event),
            Event::ToolCallArgs(event) => {
                self.merge_call_metadata(&event.tool_call_id, event.common.as_deref());
                return self.append_arguments(&event.tool_call_id, &event.delta);
            }
            Event::ToolCallEnd(event) => self.call_ended(event),
            Event::ToolCallResult(event) => self.call_answered(event),
            Event::StateSnapshot(event) => self.state.clone_from(&event.snapshot),
            Event::StateDelta(event) => return self.state_delta(event),
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
                self.merge_text_metadata(&event.message_id, event.common.as_deref());
                return self.append_text(&event.message_id, &event.delta);
            }
            Event::ReasoningMessageEnd(event) => {
                self.merge_text_metadata(&event.message_id, event.common.as_deref());
            }
            Event::ReasoningEncryptedValue(event) => return self.encrypted_value(event),
            Event::Custom(event) if event.name == REPLACED => return self.replace(&event.value),
            // Chunks are expanded by the decoder; the others tell the app something and change nothing here.
            _ => {}
        }
        Applied::Whole
    }

    fn call_ended(&mut self, event: &ToolCallEnd) {
        self.merge_call_metadata(&event.tool_call_id, event.common.as_deref());
        if let Some(call) = self.live_call(&event.tool_call_id)
            && call.status == ToolCallStatus::Streaming
        {
            call.status = ToolCallStatus::Pending;
        }
    }

    fn state_delta(&mut self, event: &StateDelta) -> Applied {
        match patched(&self.state, &event.delta) {
            Ok(state) => {
                self.state = state;
                Applied::Whole
            }
            Err(reason) => Applied::Ignored(format!("a state delta that does not apply: {reason}")),
        }
    }

    fn run_started(&mut self, event: &RunStarted) {
        self.calls.clear();
        self.summary = super::HopSummary::default();
        self.brought = event.protocol_version.is_none().then(Vec::new);
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
        let metadata = |key: &str| event.common.as_ref()?.metadata.as_ref()?.get(key);
        self.summary.failure = Some(RunFailure {
            message: event.message.clone(),
            code: event.code.clone(),
            kind: metadata(ERROR_KIND).and_then(|kind| Some(kind.as_str()?.to_owned())),
            retry_after: metadata(RETRY_AFTER_MS)
                .and_then(Value::as_u64)
                .map(Duration::from_millis),
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

    /// Replaces a part of the answer that differs from its deltas, if the part is still open.
    fn replace(&mut self, value: &Value) -> Applied {
        let text = |field: &str| value[field].as_str();
        let open = ToolCallStatus::Streaming;
        if let (Some(id), Some(arguments)) = (text("toolCallId"), text("arguments")) {
            let is_open = self.live_call(id).is_some_and(|call| call.status == open);
            let place = self.find_call(id).filter(|_| is_open);
            if let Some((at, position)) = place
                && let Some(call) = self.call_at(at, position)
            {
                call.function.arguments = arguments.to_owned();
                return Applied::Whole;
            }
        }
        let from = value["from"]
            .as_u64()
            .and_then(|from| usize::try_from(from).ok());
        if let (Some(id), Some(from), Some(text)) = (text("messageId"), from, text("text"))
            && let Some(at) = self.find_message(id)
            && let Message::Assistant(message) = &mut self.messages[at]
            && let Some(content) = &mut message.content
            && content.is_char_boundary(from)
        {
            content.truncate(from);
            content.push_str(text);
            return Applied::Whole;
        }
        Applied::Ignored("what replaces a part of the answer, which is not open".to_owned())
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

    /// Ignores text for an activity, with its attached data.
    fn merge_text_metadata(&mut self, id: &str, common: Option<&Common>) {
        let place = common.and_then(|_| self.find_message(id));
        if place.is_some_and(|at| !matches!(self.messages[at], Message::Activity(_))) {
            self.merge_message_metadata(id, common);
        }
    }

    pub(super) fn merge_message_metadata(&mut self, id: &str, common: Option<&Common>) {
        if let Some(metadata) = common.and_then(|common| common.metadata.as_ref())
            && let Some(at) = self.find_message(id)
        {
            self.messages[at]
                .metadata_mut()
                .get_or_insert_default()
                .extend(metadata.clone());
        }
    }

    pub(super) fn merge_call_metadata(&mut self, id: &str, common: Option<&Common>) {
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

pub(super) fn subagent(common: Option<&Common>) -> Option<String> {
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
