use super::agui::Encoding;
use crate::commands::recording::Recording;
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use stepwell_core::dialect::{DecodeError, Dialect, HopIds};
use stepwell_core::event::{Event, EventRef, Message, ToolCall};
use stepwell_core::pipeline::{Listener, Pipeline, StreamEnd, StreamError};
use stepwell_core::tool::parse_arguments;
use stepwell_core::transcript::{Applied, HopSummary, Transcript};
use stepwell_core::wire::{FrameLimits, WireError};
use stepwell_demo::Failure;
use stepwell_demo::Format;

/// Decodes a recorded stream. A stream of AG-UI may be server-sent events, JSON lines or protobuf, and must have the order
/// of the protocol.
///
/// Prints one JSON object: `text`, `reasoning`, `tool_calls`, `stop_reason`, `usage` and `error`; where there are any,
/// also `refusal`, `tool_plan`, `server_tools` and `thought_signatures`. A stream that holds an
/// error, breaks its format or stops too soon is printed up to that point, and the exit code is 1.
#[derive(Args, Debug)]
pub(crate) struct Decode {
    #[command(flatten)]
    format: Format,
    /// Feeds the decoder this many bytes at a time; all at once if not given.
    #[arg(long, value_name = "BYTES")]
    chunk: Option<NonZeroUsize>,
    #[command(flatten)]
    recording: Recording,
}

/// The content of a stream.
#[derive(Debug, Serialize)]
struct Decoded {
    text: String,
    reasoning: Option<String>,
    tool_calls: Vec<DecodedCall>,
    stop_reason: Option<String>,
    usage: Option<Usage>,
    error: Option<Problem>,
    /// The model's refusal to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
    /// The model's plan for its tool calls (Cohere).
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_plan: Option<String>,
    /// The calls of tools that the provider ran itself (Anthropic).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    server_tools: Vec<Value>,
    /// The number of calls with the signature of a thought.
    #[serde(skip_serializing_if = "is_none")]
    thought_signatures: usize,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Custom events, which no message of the conversation keeps.
#[derive(Debug, Default)]
struct Customs {
    refusal: Option<String>,
    server_tools: Vec<Value>,
}

impl Listener for Customs {
    fn applied(&mut self, event: EventRef<'_>, _applied: &Applied, _conversation: &Transcript) {
        let EventRef::Whole(Event::Custom(custom)) = event else {
            return;
        };
        match (custom.name.as_str(), &custom.value) {
            ("refusal", Value::String(piece)) => {
                self.refusal.get_or_insert_default().push_str(piece);
            }
            ("server_tool" | "server_tool_use", value) => {
                let fields = ["type", "id", "name", "input"].into_iter();
                let known =
                    fields.filter_map(|field| Some((field.to_owned(), value.get(field)?.clone())));
                self.server_tools.push(Value::Object(known.collect()));
            }
            _ => {}
        }
    }

    fn moving(&mut self, _conversation: &Transcript) {}
    fn warning(&mut self, _message: &str) {}
    fn unknown_call(&mut self, _id: &str, _message: &str) {}
}

#[derive(Debug, Serialize)]
struct DecodedCall {
    id: String,
    name: String,
    /// The parsed arguments, or the raw text if it is no JSON.
    arguments: Value,
}

#[derive(Debug, Serialize)]
struct Usage {
    input: Option<u64>,
    output: Option<u64>,
}

/// A fault of a stream.
#[derive(Debug, Serialize)]
struct Problem {
    message: String,
    /// The provider's own code where the stream reports the error; `truncated` where it stops before its end;
    /// `limit` where it goes beyond a limit; `malformed` where it cannot be read.
    code: Option<String>,
}

impl Decode {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let (provider, api) = self.format.find()?;
        let bytes = self.recording.read()?;
        let decoded = decode(&provider.name, api.dialect, &bytes, self.chunk);
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, &decoded).map_err(io::Error::from)?;
        writeln!(out)?;
        match decoded.error {
            None => Ok(()),
            Some(problem) => Err(Failure::Failed(problem.message)),
        }
    }
}

fn decode(provider: &str, dialect: Dialect, bytes: &[u8], chunk: Option<NonZeroUsize>) -> Decoded {
    let ids = HopIds {
        thread_id: "thread".into(),
        run_id: "run".into(),
        provider: provider.to_owned(),
    };
    let limits = FrameLimits::default();
    let mut pipeline = match dialect {
        Dialect::AgUi => {
            let media_type = Encoding::of(bytes).media_type();
            Pipeline::of_media_type(dialect, media_type, ids, limits)
        }
        _ => Pipeline::new(dialect, ids, limits),
    };
    let mut transcript = Transcript::default();
    let mut customs = Customs::default();
    let chunk = chunk.map_or(bytes.len().max(1), NonZeroUsize::get);
    let ended = bytes
        .chunks(chunk)
        .try_for_each(|chunk| pipeline.receive(chunk, &mut transcript, &mut customs))
        .and_then(|()| pipeline.end(&mut transcript, &mut customs));
    let error = problem(&ended, transcript.summary());
    let summary = transcript.summary();
    Decoded {
        text: transcript.text(),
        reasoning: reasoning(&transcript, false),
        tool_calls: transcript.tool_calls().map(decoded_call).collect(),
        stop_reason: summary.stop_reason.clone(),
        usage: usage(summary),
        error,
        refusal: customs.refusal,
        tool_plan: reasoning(&transcript, true),
        server_tools: customs.server_tools,
        thought_signatures: transcript
            .tool_calls()
            .filter(|call| is_signed(call))
            .count(),
    }
}

/// Returns whether a call has a thought's signature, which the provider wants back.
fn is_signed(call: &ToolCall) -> bool {
    let sealed = call.encrypted_value.as_deref().unwrap_or_default();
    let sealed = serde_json::from_str::<Value>(sealed).unwrap_or_default();
    sealed["value"]["thoughtSignature"].is_string()
}

/// Returns the model's reasoning, or its plan for tool calls, which is marked.
fn reasoning(transcript: &Transcript, is_plan: bool) -> Option<String> {
    let texts = transcript.messages().iter().filter_map(|message| {
        let Message::Reasoning(message) = message else {
            return None;
        };
        let mark = message
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.get("toolPlan"));
        let is_marked = mark == Some(&Value::Bool(true));
        (is_marked == is_plan).then_some(message.content.as_str())
    });
    Some(texts.collect::<String>()).filter(|text| !text.is_empty())
}

fn decoded_call(call: &ToolCall) -> DecodedCall {
    let raw = &call.function.arguments;
    DecodedCall {
        id: call.id.to_string(),
        name: call.function.name.clone(),
        arguments: parse_arguments(raw).unwrap_or_else(|_| Value::String(raw.clone())),
    }
}

fn usage(summary: &HopSummary) -> Option<Usage> {
    let sum = |counts: Vec<Option<u64>>| counts.into_iter().flatten().reduce(u64::saturating_add);
    let usage = Usage {
        input: sum(summary
            .usage
            .iter()
            .map(|usage| usage.input_tokens)
            .collect()),
        output: sum(summary
            .usage
            .iter()
            .map(|usage| usage.output_tokens)
            .collect()),
    };
    (usage.input.is_some() || usage.output.is_some()).then_some(usage)
}

/// Returns whether a stream exceeded a limit.
fn is_limit(error: &DecodeError) -> bool {
    match error {
        DecodeError::Answer(_) => true,
        DecodeError::Wire(error) => !matches!(error, WireError::Stopped),
        _ => false,
    }
}

fn problem(ended: &Result<StreamEnd, StreamError>, summary: &HopSummary) -> Option<Problem> {
    match ended {
        Ok(StreamEnd::Finished) => None,
        Ok(StreamEnd::Errored) => {
            let failure = summary.failure.as_ref();
            Some(Problem {
                message: failure.map_or_else(
                    || "the stream reports an error".to_owned(),
                    |failure| format!("the stream reports an error: {}", failure.message),
                ),
                code: failure.and_then(|failure| failure.code.clone()),
            })
        }
        Ok(StreamEnd::Truncated) => Some(Problem {
            message: "the stream ended before the answer did".to_owned(),
            code: Some("truncated".to_owned()),
        }),
        Err(error) => Some(Problem {
            message: error.to_string(),
            code: Some(
                if is_limit(&error.source) {
                    "limit"
                } else {
                    "malformed"
                }
                .to_owned(),
            ),
        }),
    }
}
