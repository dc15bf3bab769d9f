//! One answer, written in every dialect.

use serde_json::{Value, json};
use stepwell_core::dialect::{ApiErrorKind, Dialect, HopIds};
use stepwell_core::event::EventRef;
use stepwell_core::pipeline::{AnswerLimits, Listener, Pipeline, StreamEnd, StreamError};
use stepwell_core::run::Failure;
use stepwell_core::transcript::{Applied, Transcript};
use stepwell_core::wire::FrameLimits;

/// What the model says. A piece is the inside of a JSON string, as it stands in the frame.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) thought: Vec<String>,
    pub(crate) text: Vec<String>,
    pub(crate) calls: Vec<Call>,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) arguments: Vec<String>,
}

fn strings(pieces: &[&str]) -> Vec<String> {
    pieces.iter().map(|piece| (*piece).to_owned()).collect()
}

impl Answer {
    /// Of everything a little.
    pub(crate) fn small() -> Self {
        Self {
            thought: strings(&["Hm, ", "let me see."]),
            text: strings(&["Gr\u{fc}\u{df}e ", "\\\"you\\\"", "\\n"]),
            calls: vec![
                Call {
                    id: "one",
                    name: "f",
                    arguments: strings(&["{\\\"x\\\":", "[1,", "2]}"]),
                },
                Call {
                    id: "two",
                    name: "g",
                    arguments: strings(&["{\\\"y\\\":{\\\"z\\\":", "\\\"\\\"}}"]),
                },
            ],
        }
    }

    /// The frames of a stream that says it, as text.
    pub(crate) fn frames(&self, dialect: Dialect) -> Vec<String> {
        let mut frames = Vec::new();
        let mut add = |frame: Value| frames.push(frame.to_string());
        match dialect {
            Dialect::OpenAiChat | Dialect::Mistral => chat(self, &mut add),
            Dialect::OpenAiResponses => responses(self, &mut add),
            Dialect::Anthropic => anthropic(self, &mut add),
            Dialect::Gemini => gemini(self, &mut add),
            Dialect::GeminiInteractions => interactions(self, &mut add),
            Dialect::Ollama => ollama(self, &mut add),
            Dialect::Cohere => cohere(self, &mut add),
            Dialect::BedrockConverse => bedrock_converse(self, &mut add),
            _ => ag_ui(self, &mut add),
        }
        frames.iter().map(|frame| filled(frame)).collect()
    }
}

/// Stands for JSON that no `Value` can hold.
fn hole(json: &str) -> String {
    let bytes = json.bytes().map(|byte| format!("{byte:02x}"));
    format!("@@{}@@", bytes.collect::<String>())
}

/// A piece in a frame.
fn raw(piece: &str) -> String {
    hole(&format!("\"{piece}\""))
}

/// The arguments of a call as JSON in a frame.
fn object(call: &Call) -> String {
    hole(&call.arguments.concat().replace("\\\"", "\""))
}

/// The frame with JSON in its holes.
fn filled(frame: &str) -> String {
    let mut filled = String::new();
    let mut rest = frame;
    while let Some((before, behind)) = rest.split_once("\"@@") {
        let (hex, behind) = behind.split_once("@@\"").expect("the end of a hole");
        let bytes = (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16));
        let bytes: Vec<_> = bytes.collect::<Result<_, _>>().expect("bytes");
        filled.push_str(before);
        filled.push_str(std::str::from_utf8(&bytes).expect("a text"));
        rest = behind;
    }
    filled + rest
}

fn chat(answer: &Answer, add: &mut dyn FnMut(Value)) {
    let chunk = |delta: Value, reason: Value| json!({"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    add(chunk(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    ));
    for piece in &answer.thought {
        add(chunk(json!({"reasoning_content": raw(piece)}), Value::Null));
    }
    for piece in &answer.text {
        add(chunk(json!({"content": raw(piece)}), Value::Null));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let function = json!({"name": call.name, "arguments": ""});
        let begin =
            json!({"index": index, "id": call.id, "type": "function", "function": function});
        add(chunk(json!({"tool_calls": [begin]}), Value::Null));
        for piece in &call.arguments {
            let more = json!({"index": index, "function": {"arguments": raw(piece)}});
            add(chunk(json!({"tool_calls": [more]}), Value::Null));
        }
    }
    add(chunk(json!({}), json!("tool_calls")));
    add(json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 9}}));
}

fn responses(answer: &Answer, add: &mut dyn FnMut(Value)) {
    let mut number = 0;
    let mut add = |mut event: Value| {
        event["sequence_number"] = number.into();
        number += 1;
        add(event);
    };
    add(json!({"type": "response.created", "response": {"model": "m"}}));
    let item = |kind: &str, index: usize, item: Value| json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item});
    let mut index = 0;
    if !answer.thought.is_empty() {
        add(item(
            "added",
            index,
            json!({"type": "reasoning", "id": "rs"}),
        ));
        for piece in &answer.thought {
            add(
                json!({"type": "response.reasoning_summary_text.delta", "output_index": index, "summary_index": 0, "item_id": "rs", "delta": raw(piece)}),
            );
        }
        add(item(
            "done",
            index,
            json!({"type": "reasoning", "id": "rs"}),
        ));
        index += 1;
    }
    if !answer.text.is_empty() {
        add(item(
            "added",
            index,
            json!({"type": "message", "id": "msg"}),
        ));
        for piece in &answer.text {
            add(
                json!({"type": "response.output_text.delta", "output_index": index, "content_index": 0, "item_id": "msg", "delta": raw(piece)}),
            );
        }
        let whole = answer.text.concat();
        add(
            json!({"type": "response.output_text.done", "output_index": index, "content_index": 0, "item_id": "msg", "text": raw(&whole)}),
        );
        add(item("done", index, json!({"type": "message", "id": "msg"})));
        index += 1;
    }
    for call in &answer.calls {
        let begun = json!({"type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id, "name": call.name, "arguments": ""});
        add(item("added", index, begun.clone()));
        for piece in &call.arguments {
            add(
                json!({"type": "response.function_call_arguments.delta", "output_index": index, "item_id": format!("fc_{}", call.id), "delta": raw(piece)}),
            );
        }
        add(item("done", index, begun));
        index += 1;
    }
    add(
        json!({"type": "response.completed", "response": {"model": "m", "status": "completed", "usage": {"input_tokens": 7, "output_tokens": 9}}}),
    );
}

fn anthropic(answer: &Answer, add: &mut dyn FnMut(Value)) {
    add(
        json!({"type": "message_start", "message": {"model": "m", "content": [], "usage": {"input_tokens": 7}}}),
    );
    let mut index = 0;
    let mut block = |start: Value, kind: &str, field: &str, pieces: &[String]| {
        add(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for piece in pieces {
            let mut delta = json!({"type": kind});
            delta[field] = raw(piece).into();
            add(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        add(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    };
    if !answer.thought.is_empty() {
        let start = json!({"type": "thinking", "thinking": "", "signature": ""});
        block(start, "thinking_delta", "thinking", &answer.thought);
    }
    if !answer.text.is_empty() {
        block(
            json!({"type": "text", "text": ""}),
            "text_delta",
            "text",
            &answer.text,
        );
    }
    for call in &answer.calls {
        let start = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
        block(start, "input_json_delta", "partial_json", &call.arguments);
    }
    add(
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
    );
    add(json!({"type": "message_stop"}));
}

fn gemini(answer: &Answer, add: &mut dyn FnMut(Value)) {
    let chunk = |part: Value| json!({"modelVersion": "m", "candidates": [{"index": 0, "content": {"parts": [part]}}]});
    for piece in &answer.thought {
        add(chunk(json!({"text": raw(piece), "thought": true})));
    }
    for piece in &answer.text {
        add(chunk(json!({"text": raw(piece)})));
    }
    for call in &answer.calls {
        add(chunk(
            json!({"functionCall": {"id": call.id, "name": call.name, "args": object(call)}}),
        ));
    }
    add(
        json!({"candidates": [{"index": 0, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 9}}),
    );
}

fn interactions(answer: &Answer, add: &mut dyn FnMut(Value)) {
    let mut number = 0;
    let mut add = |kind: &str, mut event: Value| {
        event["event_type"] = kind.into();
        event["event_id"] = format!("e{number}").into();
        number += 1;
        add(event);
    };
    add(
        "interaction.created",
        json!({"interaction": {"id": "i", "model": "m", "status": "in_progress"}}),
    );
    let mut index = 0;
    let mut step = |step: Value, deltas: Vec<Value>| {
        add("step.start", json!({"index": index, "step": step}));
        for delta in deltas {
            add("step.delta", json!({"index": index, "delta": delta}));
        }
        add("step.stop", json!({ "index": index }));
        index += 1;
    };
    let text = |piece: &String| json!({"type": "text", "text": raw(piece)});
    if !answer.thought.is_empty() {
        let summary = |piece| json!({"type": "thought_summary", "content": text(piece)});
        step(
            json!({"type": "thought"}),
            answer.thought.iter().map(summary).collect(),
        );
    }
    if !answer.text.is_empty() {
        step(
            json!({"type": "model_output"}),
            answer.text.iter().map(text).collect(),
        );
    }
    for call in &answer.calls {
        let start =
            json!({"type": "function_call", "id": call.id, "name": call.name, "arguments": {}});
        let delta = |piece: &String| json!({"type": "arguments_delta", "arguments": raw(piece)});
        step(start, call.arguments.iter().map(delta).collect());
    }
    let status = match answer.calls.is_empty() {
        true => "completed",
        false => "requires_action",
    };
    add(
        "interaction.completed",
        json!({"interaction": {"id": "i", "status": status, "usage": {"total_input_tokens": 7, "total_output_tokens": 9}}}),
    );
}

fn ollama(answer: &Answer, add: &mut dyn FnMut(Value)) {
    let line = |message: Value| json!({"model": "m", "message": message, "done": false});
    for piece in &answer.thought {
        add(line(
            json!({"role": "assistant", "content": "", "thinking": raw(piece)}),
        ));
    }
    for piece in &answer.text {
        add(line(json!({"role": "assistant", "content": raw(piece)})));
    }
    for call in &answer.calls {
        add(line(
            json!({"content": "", "tool_calls": [{"id": call.id, "function": {"name": call.name, "arguments": object(call)}}]}),
        ));
    }
    add(
        json!({"model": "m", "message": {"content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 9}),
    );
}

fn cohere(answer: &Answer, add: &mut dyn FnMut(Value)) {
    add(json!({"type": "message-start", "id": "x"}));
    for piece in &answer.thought {
        add(
            json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"thinking": raw(piece)}}}}),
        );
    }
    for piece in &answer.text {
        add(
            json!({"type": "content-delta", "index": 1, "delta": {"message": {"content": {"text": raw(piece)}}}}),
        );
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let of = |kind: &str, call: Value| json!({"type": kind, "index": index, "delta": {"message": {"tool_calls": call}}});
        add(of(
            "tool-call-start",
            json!({"id": call.id, "function": {"name": call.name, "arguments": ""}}),
        ));
        for piece in &call.arguments {
            add(of(
                "tool-call-delta",
                json!({"function": {"arguments": raw(piece)}}),
            ));
        }
        add(json!({"type": "tool-call-end", "index": index}));
    }
    add(
        json!({"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {"tokens": {"input_tokens": 7, "output_tokens": 9}}}}),
    );
}

/// Each event with its name in the field `event`: see [`on_the_wire`].
fn bedrock_converse(answer: &Answer, add: &mut dyn FnMut(Value)) {
    add(json!({"event": "messageStart", "role": "assistant"}));
    let mut index = 0;
    let mut deltas = |add: &mut dyn FnMut(Value),
                      pieces: &[String],
                      delta: &dyn Fn(String) -> Value| {
        for piece in pieces {
            add(
                json!({"event": "contentBlockDelta", "contentBlockIndex": index, "delta": delta(raw(piece)), "p": "abc"}),
            );
        }
        add(json!({"event": "contentBlockStop", "contentBlockIndex": index}));
        index += 1;
    };
    if !answer.thought.is_empty() {
        deltas(
            add,
            &answer.thought,
            &|text| json!({"reasoningContent": {"text": text}}),
        );
    }
    if !answer.text.is_empty() {
        deltas(add, &answer.text, &|text| json!({"text": text}));
    }
    let before = usize::from(!answer.thought.is_empty()) + usize::from(!answer.text.is_empty());
    for (call, index) in answer.calls.iter().zip(before..) {
        let start = json!({"toolUse": {"toolUseId": call.id, "name": call.name}});
        add(json!({"event": "contentBlockStart", "contentBlockIndex": index, "start": start}));
        deltas(
            add,
            &call.arguments,
            &|text| json!({"toolUse": {"input": text}}),
        );
    }
    add(json!({"event": "messageStop", "stopReason": "tool_use"}));
    add(json!({"event": "metadata", "usage": {"inputTokens": 7, "outputTokens": 9}}));
}

fn ag_ui(answer: &Answer, add: &mut dyn FnMut(Value)) {
    add(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}));
    if !answer.thought.is_empty() {
        add(json!({"type": "REASONING_START", "messageId": "z"}));
        add(json!({"type": "REASONING_MESSAGE_START", "messageId": "z", "role": "reasoning"}));
        for piece in &answer.thought {
            add(
                json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "z", "delta": raw(piece)}),
            );
        }
        add(json!({"type": "REASONING_MESSAGE_END", "messageId": "z"}));
        add(json!({"type": "REASONING_END", "messageId": "z"}));
    }
    if !answer.text.is_empty() {
        add(json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}));
        for piece in &answer.text {
            add(
                json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": raw(piece), "timestamp": 1}),
            );
        }
        add(json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}));
    }
    for call in &answer.calls {
        add(json!({"type": "TOOL_CALL_START", "toolCallId": call.id, "toolCallName": call.name}));
        for piece in &call.arguments {
            add(json!({"type": "TOOL_CALL_ARGS", "toolCallId": call.id, "delta": raw(piece)}));
        }
        add(json!({"type": "TOOL_CALL_END", "toolCallId": call.id}));
    }
    let pending: Vec<_> = answer.calls.iter().map(|call| call.id).collect();
    add(
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "usage": [{"inputTokens": 7, "outputTokens": 9, "model": "m"}], "outcome": {"type": "success", "pendingToolCallIds": pending}}),
    );
}

/// The frames as a body.
pub(crate) fn body<T: AsRef<str>>(dialect: Dialect, frames: &[T]) -> String {
    let frame = |frame: &T| match dialect {
        Dialect::Ollama => format!("{}\n", frame.as_ref()),
        _ => format!("data: {}\n\n", frame.as_ref()),
    };
    frames.iter().map(frame).collect()
}

/// The body as it goes over the wire: where the dialect has binary messages, each event of the text is one. Its name is
/// that in the field `event`, which the dialect does not read.
pub(crate) fn on_the_wire(dialect: Dialect, body: &str) -> Vec<u8> {
    if dialect != Dialect::BedrockConverse {
        return body.as_bytes().to_vec();
    }
    let events = body.split("\n\n").filter(|event| !event.is_empty());
    let events = events.flat_map(|event| {
        let data = event.strip_prefix("data: ").unwrap_or(event);
        let name = data
            .rsplit_once("\"event\":\"")
            .and_then(|(_, rest)| rest.split_once('"'));
        crate::wire::event_stream::event(name.map_or("", |(name, _)| name), data)
    });
    events.collect()
}

/// What came of a body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Read {
    pub(crate) thought: String,
    pub(crate) text: String,
    /// The id, the name and the arguments of each call.
    pub(crate) calls: Vec<[String; 3]>,
    pub(crate) input_tokens: Option<u64>,
    pub(crate) failure: Option<String>,
    /// Of the failure: its kind, whether it may pass by itself, the wait that it asks for.
    pub(crate) kind: Option<ApiErrorKind>,
    pub(crate) is_transient: bool,
    pub(crate) retry_after_ms: Option<u128>,
    pub(crate) end: Result<StreamEnd, StreamError>,
}

#[derive(Default)]
pub(crate) struct Warnings(pub(crate) Vec<String>);

impl Listener for Warnings {
    fn applied(&mut self, _event: EventRef<'_>, _applied: &Applied, _conversation: &Transcript) {}
    fn moving(&mut self, _conversation: &Transcript) {}
    fn warning(&mut self, message: &str) {
        self.0.push(message.to_owned());
    }
    fn unknown_call(&mut self, _id: &str, message: &str) {
        self.0.push(message.to_owned());
    }
}

/// Reads a body in pieces of so many bytes, with a snapshot between them.
pub(crate) fn read_in(dialect: Dialect, body: &str, size: usize) -> (Read, Vec<String>) {
    read_with(dialect, body, size, true)
}

/// Reads a body at once, without snapshots.
pub(crate) fn read_once(dialect: Dialect, body: &str) -> Read {
    read_with(dialect, body, usize::MAX, false).0
}

fn read_with(dialect: Dialect, body: &str, size: usize, snapshots: bool) -> (Read, Vec<String>) {
    let ids = HopIds {
        thread_id: "t".into(),
        run_id: "r".into(),
        provider: "p".to_owned(),
    };
    let limits = AnswerLimits {
        calls: 100_000,
        ..AnswerLimits::default()
    };
    let mut pipeline = Pipeline::new(dialect, ids, FrameLimits::default()).limited_to(limits);
    let mut transcript = Transcript::default();
    let mut warnings = Warnings::default();
    let mut end = Ok(());
    for piece in on_the_wire(dialect, body).chunks(size) {
        end = pipeline.receive(piece, &mut transcript, &mut warnings);
        if end.is_err() {
            break;
        }
        if snapshots {
            let snapshot = serde_json::to_string(&pipeline).expect("a pipeline is plain data");
            pipeline = serde_json::from_str(&snapshot).expect("a snapshot can be read");
        }
    }
    let end = end.and_then(|()| pipeline.end(&mut transcript, &mut warnings));
    let summary = transcript.summary();
    let failure = summary.failure.clone().map(Failure::reported);
    let calls = transcript.tool_calls().map(|call| {
        let (name, arguments) = (&call.function.name, &call.function.arguments);
        [call.id.to_string(), name.clone(), arguments.clone()]
    });
    let read = Read {
        thought: transcript.reasoning(),
        text: transcript.text(),
        calls: calls.collect(),
        input_tokens: summary.usage.first().and_then(|usage| usage.input_tokens),
        failure: summary
            .failure
            .as_ref()
            .map(|failure| failure.message.clone()),
        kind: failure.as_ref().and_then(Failure::kind),
        is_transient: failure.as_ref().is_some_and(Failure::is_transient),
        retry_after_ms: failure
            .as_ref()
            .and_then(Failure::retry_after)
            .map(|wait| wait.as_millis()),
        end,
    };
    (read, warnings.0)
}

pub(crate) fn read<T: AsRef<str>>(dialect: Dialect, frames: &[T]) -> Read {
    read_in(dialect, &body(dialect, frames), usize::MAX).0
}

#[test]
fn every_dialect_says_the_same() {
    let answer = Answer::small();
    for dialect in Dialect::ALL {
        let frames = answer.frames(dialect);
        let (read, warnings) = read_in(dialect, &body(dialect, &frames), 50);
        let arguments = [r#"{"x":[1,2]}"#, r#"{"y":{"z":""}}"#];
        let calls = answer.calls.iter().zip(arguments);
        let expected = Read {
            thought: "Hm, let me see.".to_owned(),
            text: "Gr\u{fc}\u{df}e \"you\"\n".to_owned(),
            calls: calls
                .map(|(call, arguments)| [call.id, call.name, arguments].map(str::to_owned))
                .collect(),
            input_tokens: Some(7),
            failure: None,
            kind: None,
            is_transient: false,
            retry_after_ms: None,
            end: Ok(StreamEnd::Finished),
        };
        assert_eq!(read, expected, "{dialect:?}");
        assert_eq!(warnings, [] as [&str; 0], "{dialect:?}");
    }
}
