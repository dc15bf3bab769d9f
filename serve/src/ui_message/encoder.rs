use crate::turn::announce::status_named;
use crate::turn::ending::{TOOL_PARTIAL_RESULT, TOOL_PROGRESS, TOOL_STATUS};
use crate::turn::interrupts::INPUT_REQUIRED;
use serde::Serialize;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use stepwell_core::event::{
    ContentPart, MessageContent, RunFinished, RunOutcome, Source, TextMessageRole, TokenUsage,
    made_media,
};
use stepwell_core::{MessageId, ToolCallId};
use stepwell_io::{Event, ToolCallStatus};

/// Writes the AG-UI events of one run as the parts of a UI message stream, of version 1 as the AI SDK 6 and 7 read it: one
/// frame of server-sent events for each part, and `[DONE]` behind the last.
///
/// Text, reasoning, media that the model makes, tool calls and their results, questions about calls (`tool-approval-request`), and the end. What a
/// running tool asks, or an agent besides, is a `data-interrupt`, and a custom event a `data-NAME`; what a tool says of its progress has
/// the call's id, so that the newest report replaces the one before. The `finish` part has the tokens used, in
/// `messageMetadata.usage`. The stream has no place for the shared state.
#[derive(Debug)]
pub struct UiMessageEncoder {
    message_id: String,
    calls: HashMap<ToolCallId, Call>,
    /// Messages that are not the assistant's: the stream has no place for them.
    left_out: HashSet<MessageId>,
    is_in_step: bool,
    /// The model has read what its tools gave: what it says now is another step.
    has_results: bool,
}

#[derive(Debug, Default)]
struct Call {
    name: String,
    arguments: String,
    /// What it has come to, if that is no result.
    status: Option<ToolCallStatus>,
}

/// One part of the stream.
#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
enum Part<'a> {
    Start {
        message_id: &'a str,
    },
    StartStep,
    FinishStep,
    TextStart {
        id: &'a str,
    },
    TextDelta {
        id: &'a str,
        delta: &'a str,
    },
    TextEnd {
        id: &'a str,
    },
    ReasoningStart {
        id: &'a str,
    },
    ReasoningDelta {
        id: &'a str,
        delta: &'a str,
    },
    ReasoningEnd {
        id: &'a str,
    },
    ToolInputStart {
        tool_call_id: &'a str,
        tool_name: &'a str,
    },
    ToolInputDelta {
        tool_call_id: &'a str,
        input_text_delta: &'a str,
    },
    ToolInputAvailable {
        tool_call_id: &'a str,
        tool_name: &'a str,
        input: Value,
    },
    ToolInputError {
        tool_call_id: &'a str,
        tool_name: &'a str,
        input: &'a str,
        error_text: &'a str,
    },
    ToolApprovalRequest {
        approval_id: &'a str,
        tool_call_id: &'a str,
    },
    ToolOutputAvailable {
        tool_call_id: &'a str,
        output: Output<'a>,
    },
    ToolOutputError {
        tool_call_id: &'a str,
        error_text: &'a str,
    },
    ToolOutputDenied {
        tool_call_id: &'a str,
    },
    File {
        url: String,
        media_type: &'a str,
    },
    Error {
        error_text: &'a str,
    },
    Abort,
    Finish {
        finish_reason: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_metadata: Option<MessageMetadata>,
    },
}

/// What a message is told of the run that wrote it.
#[derive(Serialize)]
struct MessageMetadata {
    usage: Usage,
}

/// The tokens of a run, with the names of the AI SDK's `LanguageModelUsage`.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input_tokens: Option<u64>,
}

/// What a tool gave.
#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(&'a str),
    Json(Value),
    Content(&'a MessageContent),
}

/// An app-defined part. A part with the type and id of an earlier one replaces it.
#[derive(Serialize)]
struct Data<'a, T> {
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    data: &'a T,
}

impl UiMessageEncoder {
    /// The parts belong to this message of the assistant's: a new one, or the last one of the chat, which goes on.
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

    /// A call has come to this: its result is the next that is told of it.
    pub fn note(&mut self, call: &ToolCallId, status: ToolCallStatus) {
        self.calls.entry(call.clone()).or_default().status = Some(status);
    }

    /// Writes what the stream has for an event, which may be nothing.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn encode(&mut self, event: &Event, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        match event {
            Event::RunStarted(_) => {
                let message_id = &self.message_id;
                part(frames, &Part::Start { message_id })
            }
            Event::TextMessageStart(start) if is_assistant(start.role) => {
                self.step(frames)?;
                let id = start.message_id.as_str();
                part(frames, &Part::TextStart { id })
            }
            Event::TextMessageStart(start) => {
                self.left_out.insert(start.message_id.clone());
                Ok(())
            }
            Event::TextMessageContent(piece) if self.shows(&piece.message_id) => {
                let (id, delta) = (piece.message_id.as_str(), piece.delta.as_str());
                part(frames, &Part::TextDelta { id, delta })
            }
            Event::TextMessageEnd(end) if self.shows(&end.message_id) => {
                let id = end.message_id.as_str();
                part(frames, &Part::TextEnd { id })
            }
            Event::ReasoningMessageStart(start) => {
                self.step(frames)?;
                let id = start.message_id.as_str();
                part(frames, &Part::ReasoningStart { id })
            }
            Event::ReasoningMessageContent(piece) => {
                let (id, delta) = (piece.message_id.as_str(), piece.delta.as_str());
                part(frames, &Part::ReasoningDelta { id, delta })
            }
            Event::ReasoningMessageEnd(end) => {
                let id = end.message_id.as_str();
                part(frames, &Part::ReasoningEnd { id })
            }
            Event::ToolCallStart(start) => {
                self.step(frames)?;
                let call = self.calls.entry(start.tool_call_id.clone()).or_default();
                call.name.clone_from(&start.tool_call_name);
                let begins = Part::ToolInputStart {
                    tool_call_id: start.tool_call_id.as_str(),
                    tool_name: &start.tool_call_name,
                };
                part(frames, &begins)
            }
            Event::ToolCallArgs(piece) => {
                if let Some(call) = self.calls.get_mut(&piece.tool_call_id) {
                    call.arguments.push_str(&piece.delta);
                }
                let delta = Part::ToolInputDelta {
                    tool_call_id: piece.tool_call_id.as_str(),
                    input_text_delta: &piece.delta,
                };
                part(frames, &delta)
            }
            Event::ToolCallEnd(end) => self.input(&end.tool_call_id, frames),
            Event::ToolCallResult(result) => {
                self.has_results = true;
                self.output(&result.tool_call_id, &result.content, frames)
            }
            Event::ActivitySnapshot(activity) => {
                let made = made_media(&activity.activity_type, &activity.content);
                for made in made.unwrap_or_default() {
                    self.file(&made, frames)?;
                }
                Ok(())
            }
            Event::Custom(custom) if custom.name == TOOL_STATUS => {
                let call = custom.value["toolCallId"].as_str();
                let status = custom.value["status"].as_str();
                if let (Some(call), Some(status)) = (call, status.and_then(status_named)) {
                    self.note(&call.into(), status);
                }
                Ok(())
            }
            // What is asked is told at the end.
            Event::Custom(custom)
                if ["interrupt", "interrupt_answered"].contains(&&*custom.name) =>
            {
                Ok(())
            }
            Event::Custom(custom) => {
                let id = match custom.name.as_str() {
                    // Else every report would stay in the message.
                    TOOL_PROGRESS | TOOL_PARTIAL_RESULT => custom.value["toolCallId"].as_str(),
                    _ => None,
                };
                data(frames, &custom.name, id, &custom.value)
            }
            Event::RunFinished(finished) => self.finish(finished, frames),
            Event::RunError(error) => {
                let error_text = error.message.as_str();
                part(frames, &Part::Error { error_text })?;
                self.end(frames, "error", usage(error.usage.as_deref()))
            }
            _ => Ok(()),
        }
    }

    fn shows(&self, message: &MessageId) -> bool {
        self.left_out.is_empty() || !self.left_out.contains(message)
    }

    /// The model says something: the step that this belongs to is open.
    fn step(&mut self, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        if std::mem::take(&mut self.has_results) {
            self.end_step(frames)?;
        }
        if !std::mem::replace(&mut self.is_in_step, true) {
            part(frames, &Part::StartStep)?;
        }
        Ok(())
    }

    fn end_step(&mut self, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        match std::mem::take(&mut self.is_in_step) {
            true => part(frames, &Part::FinishStep),
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
        part(frames, &Part::File { url, media_type })
    }

    /// The arguments are whole.
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
                let available = Part::ToolInputAvailable {
                    tool_call_id,
                    tool_name,
                    input,
                };
                part(frames, &available)
            }
            Err(_) => {
                let error = Part::ToolInputError {
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
                return part(frames, &Part::ToolOutputDenied { tool_call_id });
            }
            Some(ToolCallStatus::Failed | ToolCallStatus::Cancelled) => text,
            _ => None,
        };
        if let Some(error_text) = error {
            let failed = Part::ToolOutputError {
                tool_call_id,
                error_text,
            };
            return part(frames, &failed);
        }
        let output = match text {
            Some(text) if text.starts_with(['{', '[']) => match serde_json::from_str(text) {
                Ok(json) => Output::Json(json),
                Err(_) => Output::Text(text),
            },
            Some(text) => Output::Text(text),
            None => Output::Content(content),
        };
        let available = Part::ToolOutputAvailable {
            tool_call_id,
            output,
        };
        part(frames, &available)
    }

    fn finish(&mut self, finished: &RunFinished, frames: &mut Vec<u8>) -> serde_json::Result<()> {
        let reason = match &finished.outcome {
            Some(RunOutcome::Cancelled) => {
                part(frames, &Part::Abort)?;
                frames.extend_from_slice(DONE);
                return Ok(());
            }
            Some(RunOutcome::Interrupt { interrupts }) => {
                for interrupt in interrupts {
                    match &interrupt.tool_call_id {
                        Some(call) if interrupt.reason != INPUT_REQUIRED => {
                            let asks = Part::ToolApprovalRequest {
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
        let finish = Part::Finish {
            finish_reason,
            message_metadata: usage.map(|usage| MessageMetadata { usage }),
        };
        part(frames, &finish)?;
        frames.extend_from_slice(DONE);
        Ok(())
    }
}

const DONE: &[u8] = b"data: [DONE]\n\n";

fn is_assistant(role: Option<TextMessageRole>) -> bool {
    matches!(role, None | Some(TextMessageRole::Assistant))
}

/// Why the answer is not whole.
fn stop_reason(finished: &RunFinished) -> Option<&str> {
    let metadata = finished.common.as_ref()?.metadata.as_ref()?;
    metadata.get("stopReason").and_then(Value::as_str)
}

/// Sums what the models of a run used.
fn usage(models: Option<&[TokenUsage]>) -> Option<Usage> {
    let models = models.filter(|models| !models.is_empty())?;
    let mut sum = Usage::default();
    let add = |sum: &mut Option<u64>, tokens: Option<u64>| {
        if let Some(tokens) = tokens {
            *sum = Some(sum.unwrap_or_default().saturating_add(tokens));
        }
    };
    for model in models {
        let input = model.input_tokens.unwrap_or_default();
        let output = model.output_tokens.unwrap_or_default();
        let total = model.total_tokens.unwrap_or(input.saturating_add(output));
        sum.input_tokens = sum.input_tokens.saturating_add(input);
        sum.output_tokens = sum.output_tokens.saturating_add(output);
        sum.total_tokens = sum.total_tokens.saturating_add(total);
        add(&mut sum.reasoning_tokens, model.reasoning_tokens);
        add(&mut sum.cached_input_tokens, model.cached_input_tokens);
    }
    Some(sum)
}

fn data(
    frames: &mut Vec<u8>,
    name: &str,
    id: Option<&str>,
    data: &impl Serialize,
) -> serde_json::Result<()> {
    let r#type = format!("data-{name}");
    part(frames, &Data { r#type, id, data })
}

fn part(frames: &mut Vec<u8>, part: &impl Serialize) -> serde_json::Result<()> {
    frames.extend_from_slice(b"data: ");
    serde_json::to_writer(&mut *frames, part)?;
    frames.extend_from_slice(b"\n\n");
    Ok(())
}
