//! The parts of a UI message stream, and their frames.

use serde::Serialize;
use serde_json::Value;
use stepwell_core::event::{MessageContent, TokenUsage};

/// The frame behind the last part.
pub(super) const DONE: &[u8] = b"data: [DONE]\n\n";

/// One part of the stream.
#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub(super) enum MessagePart<'a> {
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
        output: ToolOutput<'a>,
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

/// The metadata that a message has of the run that wrote it.
#[derive(Serialize)]
pub(super) struct MessageMetadata {
    pub(super) usage: Usage,
}

/// The tokens of a run, with the names of the AI SDK's `LanguageModelUsage`.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input_tokens: Option<u64>,
}

/// The output of a tool.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ToolOutput<'a> {
    Text(&'a str),
    Json(Value),
    Content(&'a MessageContent),
}

/// An app-defined part. A part with the type and id of an earlier one replaces it.
#[derive(Serialize)]
struct DataPart<'a, T> {
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    data: &'a T,
}

/// Sums what the models of a run used.
pub(super) fn usage(models: Option<&[TokenUsage]>) -> Option<Usage> {
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

/// Writes an app-defined part.
pub(super) fn data(
    frames: &mut Vec<u8>,
    name: &str,
    id: Option<&str>,
    data: &impl Serialize,
) -> serde_json::Result<()> {
    let r#type = format!("data-{name}");
    part(frames, &DataPart { r#type, id, data })
}

/// Writes a part.
pub(super) fn part(frames: &mut Vec<u8>, part: &impl Serialize) -> serde_json::Result<()> {
    frames.extend_from_slice(b"data: ");
    serde_json::to_writer(&mut *frames, part)?;
    frames.extend_from_slice(b"\n\n");
    Ok(())
}
