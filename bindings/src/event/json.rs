//! Events as JSON: AG-UI's as AG-UI has them, and those of the turn itself as the JSON API has them.

use super::ag_ui::Event;
use super::parts::{EncryptedValueSubtype, EventCommon, Interrupt, TextMessageRole, ToolResult};
use crate::json_value::JsonValue;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The event as a JSON object: an event of AG-UI as AG-UI has it, `{"type": "TEXT_MESSAGE_CONTENT", …}`, and one of the turn
/// itself as the JSON API has it, `{"type": "toolCallUpdate", …}`.
#[uniffi::export]
#[must_use]
pub fn event_to_json(event: Event) -> JsonValue {
    JsonValue::of(&to_value(event))
}

/// An object that is being written; what is absent is left out.
struct Object(Map<String, Value>);

impl Object {
    fn new(kind: &str) -> Self {
        Self(Map::new()).with("type", kind)
    }

    fn with(mut self, name: &str, value: impl Serialize) -> Self {
        self.0.insert(name.to_owned(), json!(value));
        self
    }

    fn with_some(self, name: &str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    fn with_common(self, common: Option<EventCommon>) -> Value {
        let Some(common) = common else {
            return Value::Object(self.0);
        };
        let mut object = self
            .with_some("timestamp", common.timestamp)
            .with_some("rawEvent", common.raw_event)
            .with_some("metadata", common.metadata)
            .with_some("subagentRunId", common.subagent_run_id);
        if let Some(Value::Object(extra)) = common.extra.map(|extra| json!(extra)) {
            object.0.extend(extra);
        }
        Value::Object(object.0)
    }
}

fn to_value(event: Event) -> Value {
    match event {
        Event::TextMessageContent { message_id, delta } => Object::new("TEXT_MESSAGE_CONTENT")
            .with("messageId", message_id)
            .with("delta", delta)
            .with_common(None),
        Event::ToolCallArgs {
            tool_call_id,
            delta,
        } => Object::new("TOOL_CALL_ARGS")
            .with("toolCallId", tool_call_id)
            .with("delta", delta)
            .with_common(None),
        Event::ReasoningMessageContent { message_id, delta } => {
            Object::new("REASONING_MESSAGE_CONTENT")
                .with("messageId", message_id)
                .with("delta", delta)
                .with_common(None)
        }
        Event::TextMessageStart {
            message_id,
            role,
            name,
            common,
        } => Object::new("TEXT_MESSAGE_START")
            .with("messageId", message_id)
            .with_some("role", role.map(role_name))
            .with_some("name", name)
            .with_common(common),
        Event::TextMessageEnd { message_id, common } => {
            of_message("TEXT_MESSAGE_END", message_id, common)
        }
        Event::ToolCallStart {
            tool_call_id,
            tool_call_name,
            parent_message_id,
            common,
        } => Object::new("TOOL_CALL_START")
            .with("toolCallId", tool_call_id)
            .with("toolCallName", tool_call_name)
            .with_some("parentMessageId", parent_message_id)
            .with_common(common),
        Event::ToolCallEnd {
            tool_call_id,
            common,
        } => Object::new("TOOL_CALL_END")
            .with("toolCallId", tool_call_id)
            .with_common(common),
        Event::ToolCallResult {
            message_id,
            tool_call_id,
            content,
            parts,
            common,
        } => {
            let content = parts.map_or_else(|| json!(content), |parts| json!(parts));
            Object::new("TOOL_CALL_RESULT")
                .with("messageId", message_id)
                .with("toolCallId", tool_call_id)
                .with("content", content)
                .with_common(common)
        }
        Event::StepStarted { step_name, common } => Object::new("STEP_STARTED")
            .with("stepName", step_name)
            .with_common(common),
        Event::StepFinished { step_name, common } => Object::new("STEP_FINISHED")
            .with("stepName", step_name)
            .with_common(common),
        Event::StateSnapshot { snapshot, common } => Object::new("STATE_SNAPSHOT")
            .with("snapshot", snapshot)
            .with_common(common),
        Event::StateDelta { delta, common } => Object::new("STATE_DELTA")
            .with("delta", delta)
            .with_common(common),
        Event::MessagesSnapshot { messages, common } => Object::new("MESSAGES_SNAPSHOT")
            .with("messages", messages)
            .with_common(common),
        Event::ActivitySnapshot {
            message_id,
            activity_type,
            content,
            replace,
            common,
        } => Object::new("ACTIVITY_SNAPSHOT")
            .with("messageId", message_id)
            .with("activityType", activity_type)
            .with("content", content)
            .with_some("replace", replace)
            .with_common(common),
        Event::ActivityDelta {
            message_id,
            activity_type,
            patch,
            common,
        } => Object::new("ACTIVITY_DELTA")
            .with("messageId", message_id)
            .with("activityType", activity_type)
            .with("patch", patch)
            .with_common(common),
        Event::ReasoningStart { message_id, common } => {
            of_message("REASONING_START", message_id, common)
        }
        Event::ReasoningEnd { message_id, common } => {
            of_message("REASONING_END", message_id, common)
        }
        Event::ReasoningMessageStart { message_id, common } => {
            Object::new("REASONING_MESSAGE_START")
                .with("messageId", message_id)
                .with("role", "reasoning")
                .with_common(common)
        }
        Event::ReasoningMessageEnd { message_id, common } => {
            of_message("REASONING_MESSAGE_END", message_id, common)
        }
        Event::ReasoningEncryptedValue {
            subtype,
            entity_id,
            encrypted_value,
            common,
        } => Object::new("REASONING_ENCRYPTED_VALUE")
            .with("subtype", subtype_name(subtype))
            .with("entityId", entity_id)
            .with("encryptedValue", encrypted_value)
            .with_common(common),
        Event::SubagentStarted {
            subagent_run_id,
            name,
            description,
            parent_subagent_run_id,
            parent_tool_call_id,
            parent_message_id,
            common,
        } => Object::new("SUBAGENT_STARTED")
            .with("subagentRunId", subagent_run_id)
            .with("name", name)
            .with_some("description", description)
            .with_some("parentSubagentRunId", parent_subagent_run_id)
            .with_some("parentToolCallId", parent_tool_call_id)
            .with_some("parentMessageId", parent_message_id)
            .with_common(common),
        Event::SubagentFinished {
            subagent_run_id,
            result,
            outcome,
            common,
        } => Object::new("SUBAGENT_FINISHED")
            .with("subagentRunId", subagent_run_id)
            .with_some("result", result)
            .with_some("outcome", outcome)
            .with_common(common),
        Event::SubagentError {
            subagent_run_id,
            message,
            code,
            common,
        } => Object::new("SUBAGENT_ERROR")
            .with("subagentRunId", subagent_run_id)
            .with("message", message)
            .with_some("code", code)
            .with_common(common),
        Event::Raw {
            event,
            source,
            common,
        } => Object::new("RAW")
            .with("event", event)
            .with_some("source", source)
            .with_common(common),
        Event::Custom {
            name,
            value,
            common,
        } => Object::new("CUSTOM")
            .with("name", name)
            .with("value", value)
            .with_common(common),
        Event::Unknown { event, .. } => json!(event),
        Event::ToolCallUpdate {
            call,
            tool_call_id,
            name,
            status,
            result,
        } => Object::new("toolCallUpdate")
            .with("call", call)
            .with("toolCallId", tool_call_id)
            .with("name", name)
            .with("status", status)
            .with_some("result", result.map(result_value))
            .with_common(None),
        Event::Interrupted { interrupts } => {
            let interrupts: Vec<_> = interrupts.into_iter().map(interrupt_value).collect();
            Object::new("interrupted")
                .with("interrupts", interrupts)
                .with_common(None)
        }
        // The others are written by their own derive.
        own => json!(own),
    }
}

fn of_message(kind: &str, message_id: String, common: Option<EventCommon>) -> Value {
    Object::new(kind)
        .with("messageId", message_id)
        .with_common(common)
}

fn role_name(role: TextMessageRole) -> &'static str {
    match role {
        TextMessageRole::Developer => "developer",
        TextMessageRole::System => "system",
        TextMessageRole::Assistant => "assistant",
        TextMessageRole::User => "user",
    }
}

fn subtype_name(subtype: EncryptedValueSubtype) -> &'static str {
    match subtype {
        EncryptedValueSubtype::ToolCall => "tool-call",
        EncryptedValueSubtype::Message => "message",
    }
}

fn result_value(result: ToolResult) -> Value {
    match result {
        ToolResult::Finished { content } => json!({ "type": "finished", "content": content }),
        ToolResult::Failed { kind, message } => {
            json!({ "type": "failed", "kind": kind, "message": message })
        }
    }
}

fn interrupt_value(interrupt: Interrupt) -> Value {
    let object = Object(Map::new())
        .with("id", interrupt.id)
        .with("reason", interrupt.reason)
        .with_some("message", interrupt.message)
        .with_some("toolCallId", interrupt.tool_call_id)
        .with_some("responseSchema", interrupt.response_schema)
        .with_some("expiresAt", interrupt.expires_at)
        .with_some("metadata", interrupt.metadata)
        .with_some("subagentRunId", interrupt.subagent_run_id);
    Value::Object(object.0)
}
