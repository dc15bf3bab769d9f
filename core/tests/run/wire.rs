//! What a provider says, and how it stands on the wire.

use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_mock_llm::{Answer, Setting};

/// One thing that a stream says.
#[derive(Clone, Debug, PartialEq)]
pub enum Say {
    Text(String),
    Reasoning(String),
    /// A call that is whole.
    Call(Call),
    /// Calls whose fragments come interleaved.
    Calls(Vec<Call>),
    /// AG-UI only: a call that begins and never ends.
    OpenCall(Call),
    /// AG-UI only: the backend answers a call itself.
    Answer {
        call: String,
        content: String,
    },
    /// AG-UI only: any event.
    Event(Value),
    /// Bytes as they are.
    Raw(String),
    /// A comment that keeps the connection alive.
    Heartbeat,
    Usage {
        input: u64,
        output: u64,
    },
    /// The run failed.
    Error(String),
    /// AG-UI only: the run ends with this outcome.
    Outcome(Value),
    /// Nothing more is said: the stream has no end of its own.
    Cut,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub id: String,
    pub name: String,
    /// The arguments, in the pieces in which they come.
    pub pieces: Vec<String>,
}

pub fn text(text: &str) -> Say {
    Say::Text(text.to_owned())
}

pub fn a_call(id: &str, name: &str, arguments: &str) -> Call {
    let middle = (arguments.len() / 2..arguments.len())
        .find(|at| arguments.is_char_boundary(*at))
        .unwrap_or(0);
    let (first, second) = arguments.split_at(middle);
    let pieces = [first, second].map(str::to_owned).to_vec();
    Call {
        id: id.to_owned(),
        name: name.to_owned(),
        pieces: pieces
            .into_iter()
            .filter(|piece| !piece.is_empty())
            .collect(),
    }
}

pub fn call(id: &str, name: &str, arguments: &str) -> Say {
    Say::Call(a_call(id, name, arguments))
}

/// The body of a stream that says these things, and then, unless it was cut or has failed, ends as it should.
pub fn body(dialect: Dialect, hop: usize, says: &[Say]) -> Vec<u8> {
    frames(dialect, hop, says).concat()
}

/// The frames of such a body, each with its number as its id, from 1.
pub fn numbered(dialect: Dialect, hop: usize, says: &[Say]) -> Vec<String> {
    let frames = frames(dialect, hop, says).into_iter().zip(1..);
    frames
        .map(|(frame, id)| {
            let frame = String::from_utf8(frame).expect("it is text");
            format!("id: {id}\n{frame}")
        })
        .collect()
}

fn frames(dialect: Dialect, hop: usize, says: &[Say]) -> Vec<Vec<u8>> {
    let is_agent = dialect == Dialect::AgUi;
    let (thread, run) = ("thread", format!("agent-run-{hop}"));
    let mut end = json!({"type": "RUN_FINISHED", "threadId": thread, "runId": run});
    let mut is_cut = false;
    let mut answer = Answer::new();
    if is_agent {
        let start = json!({"type": "RUN_STARTED", "threadId": thread, "runId": run});
        answer = answer.bare().frame(start.to_string());
    }
    for (index, say) in says.iter().enumerate() {
        answer = match say {
            Say::Text(text) => answer.text(halves(text)),
            Say::Reasoning(text) => answer.reasoning([text]),
            Say::Call(call) => answer.call(call.into()),
            Say::Calls(batch) => answer.calls(batch.iter().map(Into::into)),
            Say::OpenCall(call) => {
                let start = json!({"type": "TOOL_CALL_START", "toolCallId": call.id, "toolCallName": call.name,
                    "parentMessageId": format!("{run}-calls")});
                call.pieces.iter().fold(answer.frame(start.to_string()), |answer, piece| {
                    let piece = json!({"type": "TOOL_CALL_ARGS", "toolCallId": call.id, "delta": piece});
                    answer.frame(piece.to_string())
                })
            }
            Say::Answer { call, content } => {
                let id = format!("{run}-result-{index}");
                let result = json!({"type": "TOOL_CALL_RESULT", "messageId": id, "toolCallId": call, "content": content});
                answer.frame(result.to_string())
            }
            Say::Event(event) => answer.frame(event.to_string()),
            Say::Raw(raw) => answer.bytes(raw.as_bytes()),
            Say::Heartbeat => answer.bytes(": still here\n\n"),
            Say::Usage { input, output } => {
                end["usage"] = json!([{"inputTokens": input, "outputTokens": output}]);
                answer.usage(*input, *output)
            }
            Say::Outcome(outcome) => {
                end["outcome"] = outcome.clone();
                answer
            }
            Say::Error(message) => {
                is_cut = true;
                answer.error(message)
            }
            Say::Cut => {
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
    }));
    let dialect = stepwell_mock_llm::Dialect::from_name(dialect.name()).expect("it has them all");
    answer.frames(dialect, &setting.splits_messages())
}

impl From<&Call> for stepwell_mock_llm::Call {
    fn from(call: &Call) -> Self {
        Self::new(&call.id, &call.name, &call.pieces)
    }
}

/// A text in two deltas, so that there is something to merge.
fn halves(text: &str) -> impl Iterator<Item = &str> {
    let middle = (text.len() / 2..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let (first, second) = text.split_at(middle);
    [first, second].into_iter().filter(|part| !part.is_empty())
}
