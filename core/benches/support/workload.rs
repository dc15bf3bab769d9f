//! Streams as providers send them, made by a fixed rule, so that every run decodes the same bytes.

use super::Format;
use serde_json::{Value, json};
use stepwell_core::event::{AssistantMessage, Message};

/// A stream, and what it holds.
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) bytes: Vec<u8>,
    /// Frames in it.
    pub(crate) frames: usize,
    /// Bytes of text in it, thinking included.
    pub(crate) text: usize,
    /// Bytes of tool arguments in it.
    pub(crate) args: usize,
    /// What was said before.
    pub(crate) history: Vec<Message>,
}

/// Words, punctuation, escapes and several scripts, in the lengths that models stream.
pub(super) const PIECES: [&str; 16] = [
    "The",
    " answer",
    " is",
    ",",
    " naïve",
    " “quoted”",
    "\n\n",
    " 東京",
    " 🚀",
    " \"x\"",
    " C:\\dir",
    ".",
    " and",
    " 42",
    " Привет",
    "\tcafé",
];

/// Numbers that look random: SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap_or(0)
    }

    pub(crate) fn piece(&mut self) -> &'static str {
        PIECES[self.below(PIECES.len())]
    }
}

impl Workload {
    pub(super) fn new(name: &str, format: Format) -> Self {
        Self {
            name: name.to_owned(),
            format,
            bytes: Vec::new(),
            frames: 0,
            text: 0,
            args: 0,
            history: Vec::new(),
        }
    }

    fn frame(&mut self, data: &Value) {
        self.frames += 1;
        self.bytes
            .extend_from_slice(format!("data: {data}\n\n").as_bytes());
    }

    pub(super) fn named_frame(&mut self, data: &Value) {
        let name = data["type"].as_str().unwrap_or_default();
        self.bytes
            .extend_from_slice(format!("event: {name}\n").as_bytes());
        self.frame(data);
    }

    /// A content block with these deltas.
    fn block(&mut self, index: usize, block: &Value, deltas: impl Iterator<Item = Value>) {
        self.named_frame(
            &json!({ "type": "content_block_start", "index": index, "content_block": block }),
        );
        for delta in deltas {
            self.named_frame(
                &json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            );
        }
        self.named_frame(&json!({ "type": "content_block_stop", "index": index }));
    }

    fn chat(&mut self, delta: &Value, finish_reason: Option<&str>) {
        self.frame(&json!({
            "id": "chatcmpl-0123456789abcdefghijklmnopqrs",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": "a-model-2025-01-01",
            "service_tier": "default",
            "system_fingerprint": "fp_0123456789",
            "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason }],
            "usage": null,
        }));
    }

    fn end_chat(&mut self) {
        self.frame(&json!({
            "id": "chatcmpl-0123456789abcdefghijklmnopqrs",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": "a-model-2025-01-01",
            "choices": [],
            "usage": { "prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30 },
        }));
        self.bytes.extend_from_slice(b"data: [DONE]\n\n");
    }
}

/// W1: Chat Completions, `deltas` pieces of text.
pub(crate) fn text(deltas: usize) -> Workload {
    let mut work = Workload::new("W1 chat, text", Format::OpenAiChat);
    let mut random = Random(1);
    work.chat(
        &json!({ "role": "assistant", "content": "", "refusal": null }),
        None,
    );
    for _ in 0..deltas {
        let piece = random.piece();
        work.text += piece.len();
        work.chat(&json!({ "content": piece }), None);
    }
    work.chat(&json!({}), Some("stop"));
    work.end_chat();
    work
}

/// W2: Chat Completions, four calls side by side with `bytes` bytes of arguments between them, 16 bytes a delta.
pub(crate) fn calls(bytes: usize) -> Workload {
    const CALLS: usize = 4;
    let mut work = Workload::new("W2 chat, 4 calls", Format::OpenAiChat);
    let mut random = Random(2);
    let all: Vec<String> = (0..CALLS)
        .map(|_| arguments(bytes / CALLS, &mut random))
        .collect();
    work.chat(&json!({ "role": "assistant", "content": null }), None);
    for index in 0..CALLS {
        let call = json!({
            "index": index,
            "id": format!("call_{index}"),
            "type": "function",
            "function": { "name": format!("tool_{index}"), "arguments": "" },
        });
        work.chat(&json!({ "tool_calls": [call] }), None);
    }
    for start in (0..bytes / CALLS).step_by(16) {
        for (index, arguments) in all.iter().enumerate() {
            let piece = &arguments[start..arguments.len().min(start + 16)];
            work.args += piece.len();
            let call = json!({ "index": index, "function": { "arguments": piece } });
            work.chat(&json!({ "tool_calls": [call] }), None);
        }
    }
    work.chat(&json!({}), Some("tool_calls"));
    work.end_chat();
    work
}

/// W3: Messages, `deltas` pieces: a quarter of thinking, a quarter of text, and two calls.
pub(crate) fn blocks(deltas: usize) -> Workload {
    const PIECE: usize = 12;
    let mut work = Workload::new("W3 Messages", Format::Anthropic);
    let mut random = Random(3);
    let quarter = deltas / 4;
    let usage = json!({
        "input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1,
    });
    work.named_frame(&json!({ "type": "message_start", "message": {
        "id": "msg_0123456789", "type": "message", "role": "assistant", "model": "a-model-2025-01-01", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    } }));
    let thoughts: Vec<_> = (1..quarter).map(|_| random.piece()).collect();
    let said: Vec<_> = (0..quarter).map(|_| random.piece()).collect();
    let pieces = thoughts.iter().chain(&said);
    work.text = pieces.map(|piece| piece.len()).sum();
    let signature = json!({ "type": "signature_delta", "signature": "c2ln".repeat(40) });
    let thoughts = thoughts
        .iter()
        .map(|piece| json!({ "type": "thinking_delta", "thinking": piece }))
        .chain([signature]);
    let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
    work.block(0, &block, thoughts);
    work.named_frame(&json!({ "type": "ping" }));
    let said = said
        .iter()
        .map(|piece| json!({ "type": "text_delta", "text": piece }));
    work.block(1, &json!({ "type": "text", "text": "" }), said);
    for call in 0..2 {
        let block = json!({
            "type": "tool_use", "id": format!("toolu_{call}"), "name": format!("tool_{call}"), "input": {},
        });
        let arguments = arguments(quarter * PIECE, &mut random);
        work.args += arguments.len();
        let pieces = (0..arguments.len()).step_by(PIECE).map(|start| {
            let piece = &arguments[start..arguments.len().min(start + PIECE)];
            json!({ "type": "input_json_delta", "partial_json": piece })
        });
        work.block(2 + call, &block, pieces);
    }
    work.named_frame(&json!({
        "type": "message_delta",
        "delta": { "stop_reason": "tool_use", "stop_sequence": null },
        "usage": { "output_tokens": 20 },
    }));
    work.named_frame(&json!({ "type": "message_stop" }));
    work
}

/// W4 and W5: AG-UI, `text` pieces of text and `args` pieces of arguments for two calls, after `history` messages.
pub(crate) fn ag_ui(text: usize, args: usize, history: usize) -> Workload {
    let mut work = Workload::new("W4 AG-UI", Format::AgUi);
    let mut random = Random(4);
    let run = json!({
        "type": "RUN_STARTED",
        "threadId": "00000000-0000-4000-8000-000000000001",
        "runId": "00000000-0000-4000-8000-000000000002",
    });
    let message = "00000000-0000-4000-8000-000000000003";
    work.frame(&run);
    work.frame(&json!({ "type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant" }));
    for _ in 0..text {
        let delta = random.piece();
        work.text += delta.len();
        work.frame(
            &json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": delta }),
        );
    }
    work.frame(&json!({ "type": "TEXT_MESSAGE_END", "messageId": message }));
    for call in 0..if args > 0 { 2 } else { 0 } {
        let id = format!("00000000-0000-4000-8000-00000000001{call}");
        work.frame(&json!({
            "type": "TOOL_CALL_START",
            "toolCallId": id,
            "toolCallName": format!("tool_{call}"),
            "parentMessageId": message,
        }));
        let arguments = arguments(args / 2 * 16, &mut random);
        for start in (0..arguments.len()).step_by(16) {
            let delta = &arguments[start..arguments.len().min(start + 16)];
            work.args += delta.len();
            work.frame(&json!({ "type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta }));
        }
        work.frame(&json!({ "type": "TOOL_CALL_END", "toolCallId": id }));
    }
    let mut finished = run;
    finished["type"] = "RUN_FINISHED".into();
    work.frame(&finished);
    work.history = (0..history).map(|index| past(index, &mut random)).collect();
    work
}

fn past(index: usize, random: &mut Random) -> Message {
    let text: String = (0..40).map(|_| random.piece()).collect();
    let id = format!("00000000-0000-4000-8000-{:012x}", 4096 + index);
    if index.is_multiple_of(2) {
        return Message::user(id, text);
    }
    Message::Assistant(AssistantMessage {
        id: id.into(),
        content: Some(text),
        ..AssistantMessage::default()
    })
}

/// An object of `size` bytes of JSON: records, as a tool that edits files gets them.
pub(crate) fn arguments(size: usize, random: &mut Random) -> String {
    let mut text = String::from("{\"edits\":[");
    loop {
        let record = json!({
            "path": format!("src/part_{}/file_{}.rs", random.below(99), random.below(999)),
            "line": random.below(5000),
            "done": random.below(2) == 0,
            "weight": random.below(1000) as f64 / 1000.0,
            "new": format!("let {0} = \"{0}\";\n\treturn {0};", ["one", "two", "three"][random.below(3)]),
        })
        .to_string();
        if text.len() + record.len() + 16 > size {
            break;
        }
        text.push_str(&record);
        text.push(',');
    }
    if text.ends_with(',') {
        text.pop();
    }
    text.push_str("],\"pad\":\"");
    let pad = size.saturating_sub(text.len() + 2);
    text.extend(std::iter::repeat_n('x', pad));
    text.push_str("\"}");
    text
}
