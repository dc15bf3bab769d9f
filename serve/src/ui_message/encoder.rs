//! The events of a run as the parts of a UI message stream.

use super::part::{DONE, MessageMetadata, MessagePart, ToolOutput, Usage, data, part, usage};
use crate::turn::announce::status_named;
use crate::turn::ending::{TOOL_PARTIAL_RESULT, TOOL_PROGRESS, TOOL_STATUS};
use crate::turn::interrupts::INPUT_REQUIRED;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use stepwell_core::event::{
    ContentPart, Custom, MessageContent, RunFinished, RunOutcome, Source, TextMessageRole,
    made_media,
};
use stepwell_core::{MessageId, ToolCallId};
use stepwell_io::tool::ToolCallStatus;
use stepwell_io::turn::Event;

/// Writes the AG-UI events of one run as the parts of a UI message stream, of version 1 as the AI SDK 6 and 7 read it:
/// one frame of server-sent events for each part, and `[DONE]` after the last.
///
/// The parts are text, reasoning, media that the model makes, tool calls and their results, questions about calls
/// (`tool-approval-request`), and the end. A question of a running tool, or of an agent, is a `data-interrupt`, and a
/// custom event a `data-NAME`; a tool's progress report has the call's id, so that the newest report replaces the one
/// before. The `finish` part has the tokens used, in `messageMetadata.usage`. The stream has no place for the shared
/// state.
#[derive(Debug)]
pub struct UiMessageEncoder {
    message_id: String,
    calls: HashMap<ToolCallId, Call>,
    /// Messages that are not the assistant's: the stream has no place for them.
    left_out: HashSet<MessageId>,
    is_in_step: bool,
    /// Whether the model has read the results of its tools: the next text begins another step.
    has_results: bool,
}

#[derive(Debug, Default)]
struct Call {
    name: String,
    arguments: String,
    /// The call's status, if it has no result.
    status: Option<ToolCallStatus>,
}

impl UiMessageEncoder {
    /// Creates an encoder whose parts belong to this assistant message: a new one, or the last one of the chat, which continues.
    #[must_use]
    pub fn new(message_id: impl Into<String>) -> Self {
        Self {
            message_id: message_id.into(),
            calls: HashMap::new(),
            left_out: HashSet::new(),
            is_in_step: false,
            has_results: false,
        }
    }

    /// Notes the final status of a call, before the event with its result.
    pub fn note(&mut self, call: &ToolCallId, status: ToolCallStatus) {
        self.calls.entry(call.clone()).or_default().status = Some(status);
    }

    /// Writes the parts of an event, which may have none.
    ///
    /// # Errors
    /// A part cannot be written as JSON.
    pub fn encode(&mut self, event: &Event, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        match event {
            Event::RunStarted(_) => {
                let message_id = &self.message_id;
                part(frames, &MessagePart::Start { message_id })
            }
            Event::TextMessageStart(_)
            | Event::TextMessageContent(_)
            | Event::TextMessageEnd(_)
            | Event::ReasoningMessageStart(_)
            | Event::ReasoningMessageContent(_)
            | Event::ReasoningMessageEnd(_) => self.text(event, frames),
            Event::ToolCallStart(_)
            | Event::ToolCallArgs(_)
            | Event::ToolCallEnd(_)
            | Event::ToolCallResult(_) => self.call(event, frames),
            Event::ActivitySnapshot(activity) => {
                let made = made_media(&activity.activity_type, &activity.content);
                for made in made.unwrap_or_default() {
                    self.file(&made, frames)?;
                }
                Ok(())
            }
            Event::Custom(event) => self.custom(event, frames),
            Event::RunFinished(finished) => self.finish(finished, frames),
            Event::RunError(error) => {
                let error_text = error.message.as_str();
                part(frames, &MessagePart::Error { error_text })?;
                self.end(frames, "error", usage(error.usage.as_deref()))
            }
            _ => Ok(()),
        }
    }

    /// Writes the part of an event of a text or of reasoning.
    fn text(&mut self, event: &Event, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        match event {
            Event::TextMessageStart(start) if is_assistant(start.role) => {
                self.step(frames)?;
                let id = start.message_id.as_str();
                part(frames, &MessagePart::TextStart { id })
            }
            Event::TextMessageStart(start) => {
                self.left_out.insert(start.message_id.clone());
                Ok(())
            }
            Event::TextMessageContent(content) if self.shows(&content.message_id) => {
                let (id, delta) = (content.message_id.as_str(), content.delta.as_str());
                part(frames, &MessagePart::TextDelta { id, delta })
            }
            Event::TextMessageEnd(end) if self.shows(&end.message_id) => {
                let id = end.message_id.as_str();
                part(frames, &MessagePart::TextEnd { id })
            }
            Event::ReasoningMessageStart(start) => {
                self.step(frames)?;
                let id = start.message_id.as_str();
                part(frames, &MessagePart::ReasoningStart { id })
            }
            Event::ReasoningMessageContent(content) => {
                let (id, delta) = (content.message_id.as_str(), content.delta.as_str());
                part(frames, &MessagePart::ReasoningDelta { id, delta })
            }
            Event::ReasoningMessageEnd(end) => {
                let id = end.message_id.as_str();
                part(frames, &MessagePart::ReasoningEnd { id })
            }
            _ => Ok(()),
        }
    }

    /// Writes the part of an event of a tool call.
    fn call(&mut self, event: &Event, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        match event {
            Event::ToolCallStart(start) => {
                self.step(frames)?;
                let call = self.calls.entry(start.tool_call_id.clone()).or_default();
                call.name.clone_from(&start.tool_call_name);
                let begins = MessagePart::ToolInputStart {
                    tool_call_id: start.tool_call_id.as_str(),
                    tool_name: &start.tool_call_name,
                };
                part(frames, &begins)
            }
            Event::ToolCallArgs(args) => {
                if let Some(call) = self.calls.get_mut(&args.tool_call_id) {
                    call.arguments.push_str(&args.delta);
                }
                let delta = MessagePart::ToolInputDelta {
                    tool_call_id: args.tool_call_id.as_str(),
                    input_text_delta: &args.delta,
                };
                part(frames, &delta)
            }
            Event::ToolCallEnd(end) => self.input(&end.tool_call_id, frames),
            Event::ToolCallResult(result) => {
                self.has_results = true;
                self.output(&result.tool_call_id, &result.content, frames)
            }
            _ => Ok(()),
        }
    }

    /// Writes the part of a custom event. Questions are written at the end of the run.
    fn custom(&mut self, event: &Custom, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        let call = || event.value["toolCallId"].as_str();
        match event.name.as_str() {
            TOOL_STATUS => {
                let status = event.value["status"].as_str();
                if let (Some(call), Some(status)) = (call(), status.and_then(status_named)) {
                    self.note(&call.into(), status);
                }
                Ok(())
            }
            "interrupt" | "interrupt_answered" => Ok(()),
            // Without the id every report would stay in the message.
            TOOL_PROGRESS | TOOL_PARTIAL_RESULT => data(frames, &event.name, call(), &event.value),
            _ => data(frames, &event.name, None, &event.value),
        }
    }

    fn shows(&self, message: &MessageId) -> bool {
        self.left_out.is_empty() || !self.left_out.contains(message)
    }

    /// Opens the step that the next part belongs to.
    fn step(&mut self, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        if std::mem::take(&mut self.has_results) {
            self.end_step(frames)?;
        }
        if !std::mem::replace(&mut self.is_in_step, true) {
            part(frames, &MessagePart::StartStep)?;
        }
        Ok(())
    }

    fn end_step(&mut self, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        match std::mem::take(&mut self.is_in_step) {
            true => part(frames, &MessagePart::FinishStep),
            false => Ok(()),
        }
    }

    /// Something that the model made. What is in a provider's store has no address.
    fn file(&mut self, made: &ContentPart, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        let (url, media_type) = match made.media().map(|(_, media)| &media.source) {
            Some(Source::Data { value, mime_type }) => {
                (format!("data:{mime_type};base64,{value}"), Some(mime_type))
            }
            Some(Source::Url { value, mime_type }) => (value.clone(), mime_type.as_ref()),
            _ => return Ok(()),
        };
        self.step(frames)?;
        let media_type = media_type.map_or("application/octet-stream", String::as_str);
        part(frames, &MessagePart::File { url, media_type })
    }

    /// Writes a call's complete arguments.
    fn input(&self, id: &ToolCallId, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        let Some(call) = self.calls.get(id) else {
            return Ok(());
        };
        let (tool_call_id, tool_name) = (id.as_str(), call.name.as_str());
        let arguments = match call.arguments.trim() {
            "" => "{}",
            arguments => arguments,
        };
        match serde_json::from_str(arguments) {
            Ok(input) => {
                let available = MessagePart::ToolInputAvailable {
                    tool_call_id,
                    tool_name,
                    input,
                };
                part(frames, &available)
            }
            Err(_) => {
                let error = MessagePart::ToolInputError {
                    tool_call_id,
                    tool_name,
                    input: arguments,
                    error_text: "the model's arguments are no JSON",
                };
                part(frames, &error)
            }
        }
    }

    fn output(
        &self,
        id: &ToolCallId,
        content: &MessageContent,
        frames: &mut Vec<u8>,
    ) -> serde_json::Result<()> {
        let tool_call_id = id.as_str();
        let text = match content {
            MessageContent::Text(text) => Some(text.as_str()),
            MessageContent::Parts(_) => None,
        };
        let status = self.calls.get(id).and_then(|call| call.status);
        let error = match status {
            Some(ToolCallStatus::Denied) => {
                return part(frames, &MessagePart::ToolOutputDenied { tool_call_id });
            }
            Some(ToolCallStatus::Failed | ToolCallStatus::Cancelled) => text,
            _ => None,
        };
        if let Some(error_text) = error {
            let failed = MessagePart::ToolOutputError {
                tool_call_id,
                error_text,
            };
            return part(frames, &failed);
        }
        let output = match text {
            Some(text) if text.starts_with(['{', '[']) => match serde_json::from_str(text) {
                Ok(json) => ToolOutput::Json(json),
                Err(_) => ToolOutput::Text(text),
            },
            Some(text) => ToolOutput::Text(text),
            None => ToolOutput::Content(content),
        };
        let available = MessagePart::ToolOutputAvailable {
            tool_call_id,
            output,
        };
        part(frames, &available)
    }

    fn finish(&mut self, finished: &RunFinished, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        let reason = match &finished.outcome {
            Some(RunOutcome::Cancelled) => {
                part(frames, &MessagePart::Abort)?;
                frames.extend_from_slice(DONE);
                return Ok(());
            }
            Some(RunOutcome::Interrupt { interrupts }) => {
                for interrupt in interrupts {
                    match &interrupt.tool_call_id {
                        Some(call) if interrupt.reason != INPUT_REQUIRED => {
                            let asks = MessagePart::ToolApprovalRequest {
                                approval_id: &interrupt.id,
                                tool_call_id: call.as_str(),
                            };
                            part(frames, &asks)?;
                        }
                        _ => data(frames, "interrupt", None, interrupt)?,
                    }
                }
                "tool-calls"
            }
            Some(RunOutcome::Success {
                pending_tool_call_ids: Some(pending),
            }) if !pending.is_empty() => "tool-calls",
            _ => match stop_reason(finished) {
                None => "stop",
                Some("length") => "length",
                Some("content_filter" | "refusal") => "content-filter",
                Some(_) => "other",
            },
        };
        self.end(frames, reason, usage(finished.usage.as_deref()))
    }

    fn end(
        &mut self,
        frames: &mut Vec<u8>,
        finish_reason: &'static str,
        usage: Option<Usage>,
    ) -> serde_json::Result<()> {
        self.end_step(frames)?;
        let finish = MessagePart::Finish {
            finish_reason,
            message_metadata: usage.map(|usage| MessageMetadata { usage }),
        };
        part(frames, &finish)?;
        frames.extend_from_slice(DONE);
        Ok(())
    }
}

fn is_assistant(role: Option<TextMessageRole>) -> bool {
    matches!(role, None | Some(TextMessageRole::Assistant))
}

/// Returns why the answer is incomplete.
fn stop_reason(finished: &RunFinished) -> Option<&str> {
    let metadata = finished.common.as_ref()?.metadata.as_ref()?;
    metadata.get("stopReason").and_then(Value::as_str)
}
