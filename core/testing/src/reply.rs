//! The replies that a provider streams, and their bytes in every dialect.
//!
//! ```
//! use stepwell_core::dialect::Dialect;
//! use stepwell_testing::reply::{Part, body, call, text};
//!
//! let parts = [text("Let me see. "), call("a", "weather", r#"{"city":"Bergen"}"#), Part::Usage { input: 9, output: 4 }];
//! let bytes = body(Dialect::Anthropic, 0, &parts);
//! assert!(bytes.starts_with(b"event: message_start"));
//! ```

use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_mock_llm::{Answer, Setting};

/// A part of a streamed reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text, in two deltas.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// A complete tool call.
    Call(Call),
    /// Tool calls with interleaved fragments.
    Calls(Vec<Call>),
    /// AG-UI only: a call that begins and never ends.
    OpenCall(Call),
    /// AG-UI only: the backend's own result of a call.
    ToolResult {
        /// The id of the call.
        call: String,
        /// The result.
        content: String,
    },
    /// AG-UI only: any event.
    Event(Value),
    /// Bytes as they are.
    Raw(String),
    /// A comment that keeps the connection alive.
    Heartbeat,
    /// The usage of the reply, in tokens.
    Usage {
        /// The tokens of the request.
        input: u64,
        /// The tokens of the reply.
        output: u64,
    },
    /// The provider's error, which ends the stream.
    Error(String),
    /// AG-UI only: the outcome with which the run ends.
    Outcome(Value),
    /// Leaves out the rest of the stream, its end too.
    Cut,
}

/// A tool call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, in the fragments in which they arrive.
    pub fragments: Vec<String>,
}

impl Call {
    /// A call whose arguments arrive in two fragments.
    #[must_use]
    pub fn new(id: &str, name: &str, arguments: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            fragments: halves(arguments).map(str::to_owned).collect(),
        }
    }
}

/// A part with text.
#[must_use]
pub fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

/// A part with one tool call.
#[must_use]
pub fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::Call(Call::new(id, name, arguments))
}

/// The body of a stream of these parts for the hop of this number; it ends as it should unless it is cut or has failed.
#[must_use]
pub fn body(dialect: Dialect, hop: usize, parts: &[Part]) -> Vec<u8> {
    frames(dialect, hop, parts, false).concat()
}

/// The frames of such a body, each with its number, from 1, as its id. A provider that can make answers in the background
/// makes this one there.
///
/// # Panics
/// If the dialect's frames are not text.
#[must_use]
pub fn numbered(dialect: Dialect, hop: usize, parts: &[Part]) -> Vec<String> {
    let frames = frames(dialect, hop, parts, dialect.has_background());
    let frames = frames.into_iter().zip(1..);
    frames
        .map(|(frame, id)| {
            let frame = String::from_utf8(frame).expect("it is text");
            format!("id: {id}\n{frame}")
        })
        .collect()
}

/// The media type of such a body.
#[must_use]
pub fn media_type(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Ollama => "application/x-ndjson",
        Dialect::BedrockConverse => "application/vnd.amazon.eventstream",
        _ => "text/event-stream; charset=utf-8",
    }
}

fn frames(dialect: Dialect, hop: usize, parts: &[Part], in_background: bool) -> Vec<Vec<u8>> {
    let is_agent = dialect == Dialect::AgUi;
    let (thread, run) = ("thread", format!("agent-run-{hop}"));
    let mut end = json!({"type": "RUN_FINISHED", "threadId": thread, "runId": run});
    let mut is_cut = false;
    let mut answer = Answer::new();
    if is_agent {
        let start = json!({"type": "RUN_STARTED", "threadId": thread, "runId": run});
        answer = answer.bare().frame(start.to_string());
    }
    for (index, part) in parts.iter().enumerate() {
        answer = match part {
            Part::Text(text) => answer.text(halves(text)),
            Part::Reasoning(text) => answer.reasoning([text]),
            Part::Call(call) => answer.call(call.into()),
            Part::Calls(batch) => answer.calls(batch.iter().map(Into::into)),
            Part::OpenCall(call) => {
                let start = json!({"type": "TOOL_CALL_START", "toolCallId": call.id, "toolCallName": call.name,
                    "parentMessageId": format!("{run}-calls")});
                call.fragments.iter().fold(answer.frame(start.to_string()), |answer, fragment| {
                    let fragment = json!({"type": "TOOL_CALL_ARGS", "toolCallId": call.id, "delta": fragment});
                    answer.frame(fragment.to_string())
                })
            }
            Part::ToolResult { call, content } => {
                let id = format!("{run}-result-{index}");
                let result = json!({"type": "TOOL_CALL_RESULT", "messageId": id, "toolCallId": call, "content": content});
                answer.frame(result.to_string())
            }
            Part::Event(event) => answer.frame(event.to_string()),
            Part::Raw(raw) => answer.bytes(raw.as_bytes()),
            Part::Heartbeat if dialect == Dialect::BedrockConverse => {
                answer.frame(json!({"ping": {}}).to_string())
            }
            Part::Heartbeat => answer.bytes(": still here\n\n"),
            Part::Usage { input, output } => {
                end["usage"] = json!([{"inputTokens": input, "outputTokens": output}]);
                answer.usage(*input, *output)
            }
            Part::Outcome(outcome) => {
                end["outcome"] = outcome.clone();
                answer
            }
            Part::Error(message) => {
                is_cut = true;
                answer.error(message)
            }
            Part::Cut => {
                is_cut = true;
                answer.cut()
            }
        };
        if is_cut {
            break;
        }
    }
    if is_agent && !is_cut {
        answer = answer.frame(end.to_string());
    }
    let setting = Setting::new().request(json!({
        "model": "m", "stream_options": {"include_usage": true}, "threadId": thread, "runId": run,
        "background": in_background,
    }));
    let dialect = stepwell_mock_llm::Dialect::from_name(dialect.name()).expect("it has them all");
    answer.frames(dialect, &setting.splits_messages())
}

impl From<&Call> for stepwell_mock_llm::Call {
    fn from(call: &Call) -> Self {
        Self::new(&call.id, &call.name, &call.fragments)
    }
}

/// A text in two deltas.
fn halves(text: &str) -> impl Iterator<Item = &str> {
    let middle = (text.len() / 2..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let (first, second) = text.split_at(middle);
    [first, second].into_iter().filter(|part| !part.is_empty())
}
