//! A typical Rust client of today: eventsource-stream, and serde with its own types for the fields it reads.

use super::workload::Workload;
use super::{Decoded, Format};
use eventsource_stream::{Event, Eventsource};
use futures::executor::block_on;
use futures::{StreamExt, stream};
use serde::Deserialize;
use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Instant;

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Delta,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    index: usize,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct BlockEvent {
    r#type: String,
    index: Option<usize>,
    delta: Option<BlockDelta>,
}

#[derive(Deserialize)]
struct BlockDelta {
    text: Option<String>,
    thinking: Option<String>,
    partial_json: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgUi {
    r#type: String,
    delta: Option<String>,
    tool_call_id: Option<String>,
}

#[derive(Default)]
struct Gathered {
    text: String,
    thinking: String,
    args: Vec<String>,
    args_by_id: HashMap<String, String>,
}

impl Gathered {
    fn chat(&mut self, data: &str) {
        if data == "[DONE]" {
            return;
        }
        let chunk: Chunk = serde_json::from_str(data).expect("a chunk of the workload");
        for choice in chunk.choices {
            if let Some(content) = choice.delta.content {
                self.text.push_str(&content);
            }
            for call in choice.delta.tool_calls.into_iter().flatten() {
                if self.args.len() <= call.index {
                    self.args.resize_with(call.index + 1, String::new);
                }
                if let Some(arguments) = call.function.arguments {
                    self.args[call.index].push_str(&arguments);
                }
            }
        }
    }

    fn anthropic(&mut self, data: &str) {
        let event: BlockEvent = serde_json::from_str(data).expect("an event of the workload");
        let ("content_block_delta", Some(index), Some(delta)) =
            (event.r#type.as_str(), event.index, event.delta)
        else {
            return;
        };
        if let Some(text) = delta.text {
            self.text.push_str(&text);
        } else if let Some(thinking) = delta.thinking {
            self.thinking.push_str(&thinking);
        } else if let Some(piece) = delta.partial_json {
            if self.args.len() <= index {
                self.args.resize_with(index + 1, String::new);
            }
            self.args[index].push_str(&piece);
        }
    }

    fn ag_ui(&mut self, data: &str) {
        let event: AgUi = serde_json::from_str(data).expect("an event of the workload");
        match (event.r#type.as_str(), event.delta, event.tool_call_id) {
            ("TEXT_MESSAGE_CONTENT", Some(delta), _) => self.text.push_str(&delta),
            ("TOOL_CALL_ARGS", Some(delta), Some(id)) => {
                self.args_by_id.entry(id).or_default().push_str(&delta);
            }
            _ => {}
        }
    }
}

pub(crate) fn decode(work: &Workload, chunk: usize) -> Decoded {
    if work.format == Format::OpenAiResponses {
        return super::responses::peer(work, chunk);
    }
    let start = Instant::now();
    let mut gathered = Gathered::default();
    frames(&work.bytes, chunk, |event| match work.format {
        Format::OpenAiChat => gathered.chat(&event.data),
        Format::OpenAiResponses
        | Format::Cohere
        | Format::Mistral
        | Format::Gemini
        | Format::Ollama => {
            unreachable!("it has a floor of its own")
        }
        Format::Anthropic => gathered.anthropic(&event.data),
        Format::AgUi => gathered.ag_ui(&event.data),
    });
    Decoded {
        time: start.elapsed(),
        text: gathered.text.len() + gathered.thinking.len(),
        args: gathered
            .args
            .iter()
            .chain(gathered.args_by_id.values())
            .map(String::len)
            .sum(),
    }
}

pub(crate) fn frames(bytes: &[u8], chunk: usize, mut frame: impl FnMut(&Event)) {
    let chunks = bytes.chunks(chunk).map(Ok::<_, Infallible>);
    let mut events = stream::iter(chunks).eventsource();
    block_on(async {
        while let Some(event) = events.next().await {
            frame(&event.expect("the workload is well formed"));
        }
    });
}
