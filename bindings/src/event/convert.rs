use super::ag_ui::Event;
use crate::json_value::JsonValue;
use crate::time::Duration;
use stepwell_core::event::{Event as AgUi, MessageContent};
use stepwell_core::run::RunEvent;

impl From<RunEvent> for Event {
    fn from(event: RunEvent) -> Self {
        match event {
            RunEvent::AgUi(event) => event.into(),
            RunEvent::Started { thread_id, run_id } => Self::Started {
                thread_id: thread_id.into_string(),
                run_id: run_id.into_string(),
            },
            RunEvent::HopStarted { hop, run_id } => Self::HopStarted {
                hop,
                run_id: run_id.into_string(),
            },
            RunEvent::ToolCallUpdate(update) => Self::ToolCallUpdate {
                call: update.call.into(),
                tool_call_id: update.tool_call_id.into_string(),
                name: update.name,
                status: update.status.into(),
                result: update.result.map(Into::into),
            },
            RunEvent::PartialArguments(update) => Self::PartialArguments {
                call: update.call.into(),
                tool_call_id: update.tool_call_id.into_string(),
                changes: update.changes.into_iter().map(Into::into).collect(),
                stopped: update.stopped,
            },
            RunEvent::Retrying {
                attempt,
                delay_ms,
                reason,
            } => Self::Retrying {
                attempt,
                delay: Duration::from_millis(delay_ms),
                reason,
            },
            RunEvent::Interrupted { interrupts } => Self::Interrupted {
                interrupts: interrupts.into_iter().map(Into::into).collect(),
            },
            RunEvent::AnswerDropped { effect } => Self::AnswerDropped {
                effect: effect.to_string(),
            },
            RunEvent::Warning { message } => Self::Warning { message },
            RunEvent::Completed(outcome) => Self::Completed {
                outcome: outcome.into(),
            },
            RunEvent::UnknownToolCall { tool_call_id } => Self::UnknownToolCall {
                tool_call_id: tool_call_id.into_string(),
            },
            RunEvent::SteeringTaken { message_id, hop } => Self::SteeringTaken {
                message_id: message_id.into_string(),
                hop,
            },
            RunEvent::SteeringRefused { message, reason } => Self::SteeringRefused {
                message: JsonValue::of(&message),
                reason: reason.into(),
                explanation: reason.to_string(),
            },
            RunEvent::WaitingForNetwork { up_to_ms } => Self::WaitingForNetwork {
                up_to: Duration::from_millis(up_to_ms),
            },
            RunEvent::StreamResumed { hop, attempt } => Self::StreamResumed { hop, attempt },
            RunEvent::ContextNearlyFull { tokens, window } => {
                Self::ContextNearlyFull { tokens, window }
            }
            RunEvent::ContextTrimmed { left_out, tokens } => Self::ContextTrimmed {
                left_out: left_out.into_iter().map(|id| id.into_string()).collect(),
                tokens,
            },
            RunEvent::PartialOutput(update) => Self::PartialOutput {
                hop: update.hop,
                changes: update.changes.into_iter().map(Into::into).collect(),
                stopped: update.stopped,
            },
            RunEvent::OutputRefused {
                reason,
                retries_left,
                correction,
            } => Self::OutputRefused {
                reason,
                retries_left,
                correction: correction.as_ref().map(JsonValue::of),
            },
            RunEvent::HookRefused {
                hook,
                moment,
                reason,
                tool_call_id,
            } => Self::HookRefused {
                hook,
                moment: moment.into(),
                reason,
                tool_call_id: tool_call_id.map(stepwell_core::ToolCallId::into_string),
            },
            RunEvent::ToolProgress(progress) => Self::ToolProgress {
                call: progress.call.into(),
                tool_call_id: progress.tool_call_id.into_string(),
                name: progress.name,
                fraction: progress.fraction,
                message: progress.message,
            },
            RunEvent::ToolPartialResult(partial) => Self::ToolPartialResult {
                call: partial.call.into(),
                tool_call_id: partial.tool_call_id.into_string(),
                name: partial.name,
                content: partial.output.content.to_text(),
                parts: parts(&partial.output.content),
            },
        }
    }
}

/// The parts of a content that is more than text.
fn parts(content: &MessageContent) -> Option<JsonValue> {
    matches!(content, MessageContent::Parts(_)).then(|| JsonValue::of(content))
}

impl From<AgUi> for Event {
    fn from(event: AgUi) -> Self {
        match event {
            AgUi::TextMessageContent(e) => Self::TextMessageContent {
                message_id: e.message_id.into_string(),
                delta: e.delta,
            },
            AgUi::ToolCallArgs(e) => Self::ToolCallArgs {
                tool_call_id: e.tool_call_id.into_string(),
                delta: e.delta,
            },
            AgUi::ReasoningMessageContent(e) => Self::ReasoningMessageContent {
                message_id: e.message_id.into_string(),
                delta: e.delta,
            },
            AgUi::TextMessageStart(e) => Self::TextMessageStart {
                message_id: e.message_id.into_string(),
                role: e.role.map(Into::into),
                name: e.name,
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::TextMessageEnd(e) => Self::TextMessageEnd {
                message_id: e.message_id.into_string(),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::ToolCallStart(e) => Self::ToolCallStart {
                tool_call_id: e.tool_call_id.into_string(),
                tool_call_name: e.tool_call_name,
                parent_message_id: e.parent_message_id.map(|id| id.into_string()),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::ToolCallEnd(e) => Self::ToolCallEnd {
                tool_call_id: e.tool_call_id.into_string(),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::ToolCallResult(e) => Self::ToolCallResult {
                message_id: e.message_id.into_string(),
                tool_call_id: e.tool_call_id.into_string(),
                content: e.content.to_text(),
                parts: parts(&e.content),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::StepStarted(e) => Self::StepStarted {
                step_name: e.step_name,
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::StepFinished(e) => Self::StepFinished {
                step_name: e.step_name,
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::StateSnapshot(e) => Self::StateSnapshot {
                snapshot: JsonValue::of(&e.snapshot),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::StateDelta(e) => Self::StateDelta {
                delta: JsonValue::of(&e.delta),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::MessagesSnapshot(e) => Self::MessagesSnapshot {
                messages: JsonValue::of(&e.messages),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::ActivitySnapshot(e) => Self::ActivitySnapshot {
                message_id: e.message_id.into_string(),
                activity_type: e.activity_type,
                content: JsonValue::of(&e.content),
                replace: e.replace,
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::ActivityDelta(e) => Self::ActivityDelta {
                message_id: e.message_id.into_string(),
                activity_type: e.activity_type,
                patch: JsonValue::of(&e.patch),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::ReasoningStart(e) => Self::ReasoningStart {
                message_id: e.message_id.into_string(),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::ReasoningEnd(e) => Self::ReasoningEnd {
                message_id: e.message_id.into_string(),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::ReasoningMessageStart(e) => Self::ReasoningMessageStart {
                message_id: e.message_id.into_string(),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::ReasoningMessageEnd(e) => Self::ReasoningMessageEnd {
                message_id: e.message_id.into_string(),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::ReasoningEncryptedValue(e) => Self::ReasoningEncryptedValue {
                subtype: e.subtype.into(),
                entity_id: e.entity_id,
                encrypted_value: e.encrypted_value,
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::SubagentStarted(e) => Self::SubagentStarted {
                subagent_run_id: e.subagent_run_id,
                name: e.name,
                description: e.description,
                parent_subagent_run_id: e.parent_subagent_run_id,
                parent_tool_call_id: e.parent_tool_call_id.map(|id| id.into_string()),
                parent_message_id: e.parent_message_id.map(|id| id.into_string()),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::SubagentFinished(e) => Self::SubagentFinished {
                subagent_run_id: e.subagent_run_id,
                result: e.result.as_ref().map(JsonValue::of),
                outcome: e.outcome.as_ref().map(JsonValue::of),
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::SubagentError(e) => Self::SubagentError {
                subagent_run_id: e.subagent_run_id,
                message: e.message,
                code: e.code,
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::Raw(e) => Self::Raw {
                event: JsonValue::of(&e.event),
                source: e.source,
                common: e.common.map(|common| (*common).into()),
            },
            AgUi::Custom(e) => Self::Custom {
                name: e.name,
                value: JsonValue::of(&e.value),
                common: e.common.map(|common| (*common).into()),
            },
            // Chunks are in the long form by now, and a hop's beginning and end are not the turn's.
            other @ (AgUi::TextMessageChunk(_)
            | AgUi::ToolCallChunk(_)
            | AgUi::ReasoningMessageChunk(_)
            | AgUi::RunStarted(_)
            | AgUi::RunFinished(_)
            | AgUi::RunError(_)
            | AgUi::Unknown(_)) => Self::Unknown {
                kind: other.kind().to_owned(),
                event: JsonValue::of(&other),
            },
        }
    }
}
