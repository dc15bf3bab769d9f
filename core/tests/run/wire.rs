//! What a provider says, and how it stands on the wire.

use serde_json::{Value, json};
use std::fmt::Write;
use stepwell_core::dialect::Dialect;

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
    match dialect {
        Dialect::OpenAiChat => chat(says),
        Dialect::AgUi => ag_ui(hop, says),
        other => panic!("no wire for {other:?}"),
    }
    .into_bytes()
}

/// The frames of such a body, each with its number as its id, from 1.
pub fn numbered(dialect: Dialect, hop: usize, says: &[Say]) -> Vec<String> {
    let body = String::from_utf8(body(dialect, hop, says)).expect("it is text");
    let frames = body.split_inclusive("\n\n").zip(1..);
    frames
        .map(|(frame, id)| format!("id: {id}\n{frame}"))
        .collect()
}

fn frame(out: &mut String, data: &Value) {
    write!(out, "data: {data}\n\n").expect("a string takes all");
}

fn chat(says: &[Say]) -> String {
    let mut out = String::new();
    let chunk = |out: &mut String, delta: Value| {
        frame(
            out,
            &json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}),
        );
    };
    let begin = |out: &mut String, index: usize, call: &Call| {
        chunk(
            out,
            json!({"tool_calls": [{"index": index, "id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": ""}}]}),
        );
    };
    let piece = |out: &mut String, index: usize, piece: &str| {
        chunk(
            out,
            json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}),
        );
    };
    let mut calls = 0;
    let mut usage = None;
    for say in says {
        match say {
            Say::Text(text) => {
                for part in halves(text) {
                    chunk(&mut out, json!({"content": part}));
                }
            }
            Say::Reasoning(text) => chunk(&mut out, json!({"reasoning_content": text})),
            Say::Call(call) => {
                begin(&mut out, calls, call);
                for part in &call.pieces {
                    piece(&mut out, calls, part);
                }
                calls += 1;
            }
            Say::Calls(batch) => {
                for (index, call) in batch.iter().enumerate() {
                    begin(&mut out, calls + index, call);
                }
                let longest = batch.iter().map(|call| call.pieces.len()).max();
                for round in 0..longest.unwrap_or(0) {
                    for (index, call) in batch.iter().enumerate() {
                        if let Some(part) = call.pieces.get(round) {
                            piece(&mut out, calls + index, part);
                        }
                    }
                }
                calls += batch.len();
            }
            Say::Raw(raw) => out.push_str(raw),
            Say::Heartbeat => out.push_str(": still here\n\n"),
            Say::Usage { input, output } => {
                usage = Some(
                    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}),
                );
            }
            Say::Error(message) => {
                frame(
                    &mut out,
                    &json!({"error": {"message": message, "code": 500}}),
                );
                return out;
            }
            Say::Cut => return out,
            Say::OpenCall(_) | Say::Answer { .. } | Say::Event(_) | Say::Outcome(_) => {
                panic!("Chat Completions cannot say {say:?}")
            }
        }
    }
    let reason = if calls > 0 { "tool_calls" } else { "stop" };
    frame(
        &mut out,
        &json!({"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
    );
    if let Some(usage) = usage {
        frame(&mut out, &json!({"id": "x", "choices": [], "usage": usage}));
    }
    out.push_str("data: [DONE]\n\n");
    out
}

fn ag_ui(hop: usize, says: &[Say]) -> String {
    let mut out = String::new();
    let (thread, run) = ("thread", format!("agent-run-{hop}"));
    let mut end = json!({"type": "RUN_FINISHED", "threadId": thread, "runId": run});
    frame(
        &mut out,
        &json!({"type": "RUN_STARTED", "threadId": thread, "runId": run}),
    );
    let begin = |out: &mut String, call: &Call| {
        frame(
            out,
            &json!({"type": "TOOL_CALL_START", "toolCallId": call.id, "toolCallName": call.name,
            "parentMessageId": format!("hop-{hop}-calls")}),
        );
    };
    let piece = |out: &mut String, call: &Call, piece: &str| {
        frame(
            out,
            &json!({"type": "TOOL_CALL_ARGS", "toolCallId": call.id, "delta": piece}),
        );
    };
    let finish = |out: &mut String, call: &Call| {
        frame(
            out,
            &json!({"type": "TOOL_CALL_END", "toolCallId": call.id}),
        );
    };
    for (index, say) in says.iter().enumerate() {
        let id = format!("hop-{hop}-message-{index}");
        match say {
            Say::Text(text) => {
                frame(
                    &mut out,
                    &json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}),
                );
                for part in halves(text) {
                    frame(
                        &mut out,
                        &json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": part}),
                    );
                }
                frame(
                    &mut out,
                    &json!({"type": "TEXT_MESSAGE_END", "messageId": id}),
                );
            }
            Say::Reasoning(text) => {
                frame(
                    &mut out,
                    &json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}),
                );
                frame(
                    &mut out,
                    &json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": text}),
                );
                frame(
                    &mut out,
                    &json!({"type": "REASONING_MESSAGE_END", "messageId": id}),
                );
            }
            Say::Call(call) | Say::OpenCall(call) => {
                begin(&mut out, call);
                for part in &call.pieces {
                    piece(&mut out, call, part);
                }
                if let Say::Call(_) = say {
                    finish(&mut out, call);
                }
            }
            Say::Calls(batch) => {
                for call in batch {
                    begin(&mut out, call);
                }
                let longest = batch.iter().map(|call| call.pieces.len()).max();
                for round in 0..longest.unwrap_or(0) {
                    for call in batch {
                        if let Some(part) = call.pieces.get(round) {
                            piece(&mut out, call, part);
                        }
                    }
                }
                for call in batch {
                    finish(&mut out, call);
                }
            }
            Say::Answer { call, content } => {
                frame(
                    &mut out,
                    &json!({"type": "TOOL_CALL_RESULT", "messageId": id, "toolCallId": call, "content": content}),
                );
            }
            Say::Event(event) => frame(&mut out, event),
            Say::Raw(raw) => out.push_str(raw),
            Say::Heartbeat => out.push_str(": still here\n\n"),
            Say::Usage { input, output } => {
                end["usage"] = json!([{"inputTokens": input, "outputTokens": output}]);
            }
            Say::Error(message) => {
                frame(&mut out, &json!({"type": "RUN_ERROR", "message": message}));
                return out;
            }
            Say::Outcome(outcome) => end["outcome"] = outcome.clone(),
            Say::Cut => return out,
        }
    }
    frame(&mut out, &end);
    out
}

/// A text in two deltas, so that there is something to merge.
fn halves(text: &str) -> impl Iterator<Item = &str> {
    let middle = (text.len() / 2..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let (first, second) = text.split_at(middle);
    [first, second].into_iter().filter(|part| !part.is_empty())
}
