//! Streams as providers send them, made by a fixed rule, so that every run decodes the same bytes.

use super::Format;
use serde_json::{Value, json};
use stepwell_core::event::{AssistantMessage, Message};
use stepwell_mock_llm::{Answer, Call, Dialect, Setting};

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
    /// The messages before.
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

    /// The stream of an answer.
    pub(super) fn of(name: &str, format: Format, answer: &Answer) -> Self {
        let dialect = match format {
            Format::OpenAiChat => Dialect::OpenAiChat,
            Format::Anthropic => Dialect::Anthropic,
            Format::OpenAiResponses => Dialect::OpenAiResponses,
            Format::AgUi => Dialect::AgUi,
            Format::Cohere => Dialect::Cohere,
            Format::Mistral => Dialect::Mistral,
            Format::Gemini => Dialect::Gemini,
            Format::Ollama => Dialect::Ollama,
        };
        // The names and ids are as long as those of the providers.
        let request = json!({
            "model": "a-model-2025-01-01",
            "stream_options": { "include_usage": true },
            "threadId": "00000000-0000-4000-8000-000000000001",
            "runId": "00000000-0000-4000-8000-000000000002",
        });
        let frames = answer.frames(dialect, &Setting::new().request(request));
        Self {
            frames: frames.len(),
            bytes: frames.concat(),
            ..Self::new(name, format)
        }
    }

    pub(super) fn named_frame(&mut self, data: &Value) {
        self.frames += 1;
        let name = data["type"].as_str().unwrap_or_default();
        self.bytes
            .extend_from_slice(format!("event: {name}\ndata: {data}\n\n").as_bytes());
    }
}

fn length(pieces: &[&str]) -> usize {
    pieces.iter().map(|piece| piece.len()).sum()
}

/// Builds a call whose arguments come in deltas of `size` bytes.
fn call(id: String, index: usize, arguments: &str, size: usize) -> Call {
    let pieces = (0..arguments.len()).step_by(size);
    let pieces = pieces.map(|start| &arguments[start..arguments.len().min(start + size)]);
    Call::new(id, format!("tool_{index}"), pieces)
}

/// W1: Chat Completions, `deltas` deltas of text.
pub(crate) fn text(deltas: usize) -> Workload {
    let mut random = Random(1);
    let said: Vec<_> = (0..deltas).map(|_| random.piece()).collect();
    let answer = Answer::new().text(said.iter().copied()).usage(10, 20);
    Workload {
        text: length(&said),
        ..Workload::of("W1 chat, text", Format::OpenAiChat, &answer)
    }
}

/// W2: Chat Completions, four calls side by side with `bytes` bytes of arguments between them, 16 bytes a delta.
pub(crate) fn calls(bytes: usize) -> Workload {
    const CALLS: usize = 4;
    let mut random = Random(2);
    let all: Vec<String> = (0..CALLS)
        .map(|_| arguments(bytes / CALLS, &mut random))
        .collect();
    let calls = all.iter().enumerate();
    let calls = calls.map(|(index, text)| call(format!("call_{index}"), index, text, 16));
    let answer = Answer::new().calls(calls).usage(10, 20);
    Workload {
        args: all.iter().map(String::len).sum(),
        ..Workload::of("W2 chat, 4 calls", Format::OpenAiChat, &answer)
    }
}

/// W3: Messages, `deltas` deltas: a quarter of thinking, a quarter of text, and two calls.
pub(crate) fn blocks(deltas: usize) -> Workload {
    const PIECE: usize = 12;
    let mut random = Random(3);
    let quarter = deltas / 4;
    let thoughts: Vec<_> = (1..quarter).map(|_| random.piece()).collect();
    let said: Vec<_> = (0..quarter).map(|_| random.piece()).collect();
    let all = [(); 2].map(|()| arguments(quarter * PIECE, &mut random));
    let mut answer = Answer::new()
        .sealed_reasoning(thoughts.iter().copied(), "c2ln".repeat(40))
        .text(said.iter().copied());
    for (index, text) in all.iter().enumerate() {
        answer = answer.call(call(format!("toolu_{index}"), index, text, PIECE));
    }
    Workload {
        text: length(&thoughts) + length(&said),
        args: all.iter().map(String::len).sum(),
        ..Workload::of("W3 Messages", Format::Anthropic, &answer.usage(10, 20))
    }
}

/// W4 and W5: AG-UI, `text` deltas of text and `args` deltas of arguments for two calls, after `history` messages.
pub(crate) fn ag_ui(text: usize, args: usize, history: usize) -> Workload {
    let mut random = Random(4);
    let said: Vec<_> = (0..text).map(|_| random.piece()).collect();
    let count = if args > 0 { 2 } else { 0 };
    let all: Vec<_> = (0..count)
        .map(|_| arguments(args / 2 * 16, &mut random))
        .collect();
    let mut answer = Answer::new().text(said.iter().copied());
    for (index, text) in all.iter().enumerate() {
        let id = format!("00000000-0000-4000-8000-00000000001{index}");
        answer = answer.call(call(id, index, text, 16));
    }
    Workload {
        text: length(&said),
        args: all.iter().map(String::len).sum(),
        history: (0..history).map(|index| past(index, &mut random)).collect(),
        ..Workload::of("W4 AG-UI", Format::AgUi, &answer)
    }
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
