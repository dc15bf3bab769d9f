//! The floor: the cost of the same bytes with lines cut by memchr, JSON read borrowed, and the deltas appended. It
//! checks no order, reports nothing, and knows only the contents of these streams.

use super::workload::Workload;
use super::{Decoded, Format};
use serde::Deserialize;
use std::borrow::Cow;
use std::time::Instant;

/// A bare `Option<Cow>` would be copied each time: serde borrows only for a field that is a `Cow` itself.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    index: usize,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    arguments: Text<'a>,
}

#[derive(Deserialize)]
struct BlockEvent<'a> {
    r#type: &'a str,
    index: Option<usize>,
    #[serde(borrow)]
    delta: Option<BlockDelta<'a>>,
}

#[derive(Deserialize)]
struct BlockDelta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgUi<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    delta: Option<Text<'a>>,
    tool_call_id: Option<&'a str>,
}

#[derive(Default)]
struct Gathered {
    text: String,
    thinking: String,
    args: Vec<String>,
    ids: Vec<String>,
}

impl Gathered {
    fn chat(&mut self, data: &[u8]) {
        let chunk: Chunk<'_> = serde_json::from_slice(data).expect("a chunk of the workload");
        for choice in chunk.choices {
            if let Some(Text(content)) = choice.delta.content {
                self.text.push_str(&content);
            }
            for call in choice.delta.tool_calls {
                if self.args.len() <= call.index {
                    self.args.resize_with(call.index + 1, String::new);
                }
                self.args[call.index].push_str(&call.function.arguments.0);
            }
        }
    }

    fn anthropic(&mut self, data: &[u8]) {
        let event: BlockEvent<'_> = serde_json::from_slice(data).expect("an event of the workload");
        let (Some(index), Some(delta)) = (event.index, event.delta) else {
            return;
        };
        if event.r#type != "content_block_delta" {
            return;
        }
        if let Some(Text(text)) = delta.text {
            self.text.push_str(&text);
        } else if let Some(Text(thinking)) = delta.thinking {
            self.thinking.push_str(&thinking);
        } else if let Some(Text(piece)) = delta.partial_json {
            if self.args.len() <= index {
                self.args.resize_with(index + 1, String::new);
            }
            self.args[index].push_str(&piece);
        }
    }

    fn ag_ui(&mut self, data: &[u8]) {
        let event: AgUi<'_> = serde_json::from_slice(data).expect("an event of the workload");
        match (event.r#type, event.delta, event.tool_call_id) {
            ("TEXT_MESSAGE_CONTENT", Some(Text(delta)), _) => self.text.push_str(&delta),
            ("TOOL_CALL_START", _, Some(id)) => {
                self.ids.push(id.to_owned());
                self.args.push(String::new());
            }
            ("TOOL_CALL_ARGS", Some(Text(delta)), Some(id)) => {
                let place = self.ids.iter().rposition(|known| known == id);
                self.args[place.expect("a call that began")].push_str(&delta);
            }
            _ => {}
        }
    }
}

pub(crate) fn decode(work: &Workload, chunk: usize) -> Decoded {
    if work.format == Format::OpenAiResponses {
        return super::responses::floor(work, chunk);
    }
    let start = Instant::now();
    let mut gathered = Gathered::default();
    frames(&work.bytes, chunk, |data| match work.format {
        Format::OpenAiChat => gathered.chat(data),
        Format::OpenAiResponses
        | Format::Cohere
        | Format::Mistral
        | Format::Gemini
        | Format::Ollama => {
            unreachable!("it has a floor of its own")
        }
        Format::Anthropic => gathered.anthropic(data),
        Format::AgUi => gathered.ag_ui(data),
    });
    Decoded {
        time: start.elapsed(),
        text: gathered.text.len() + gathered.thinking.len(),
        args: gathered.args.iter().map(String::len).sum(),
    }
}

/// The frames' data, but for the `[DONE]` at the end.
pub(crate) fn frames(bytes: &[u8], chunk: usize, mut frame: impl FnMut(&[u8])) {
    let mut line = |line: &[u8]| {
        if let Some(data) = line.strip_prefix(b"data: ")
            && data != b"[DONE]"
        {
            frame(data);
        }
    };
    let mut carry = Vec::new();
    for mut chunk in bytes.chunks(chunk) {
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            if carry.is_empty() {
                line(&chunk[..end]);
            } else {
                carry.extend_from_slice(&chunk[..end]);
                line(&carry);
                carry.clear();
            }
            chunk = &chunk[end + 1..];
        }
        carry.extend_from_slice(chunk);
    }
}
