//! W6: OpenAI's Responses, text and four calls; the floor and the peer for it.

use super::workload::{Random, Workload, arguments};
use super::{Decoded, Format, floor, peer};
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::time::Instant;

const CALLS: usize = 4;

fn id(kind: &str, index: usize) -> String {
    format!("{kind}_0123456789abcdef0123456789abcdef0123456789abcdef{index:02}")
}

/// Builds `deltas` deltas of text, then `bytes` bytes of arguments for four interleaved calls, 16 bytes per delta.
pub(crate) fn workload(deltas: usize, bytes: usize) -> Workload {
    let mut work = Workload::new("W6 Responses", Format::OpenAiResponses);
    let mut random = Random(6);
    let mut number = 0;
    let mut put = |work: &mut Workload, mut event: Value| {
        event["sequence_number"] = number.into();
        number += 1;
        work.named_frame(&event);
    };
    let created = json!({"type": "response.created", "response": {"id": "resp_1", "model": "a-model", "status": "in_progress"}});
    put(&mut work, created);
    let message = json!({"id": id("msg", 0), "type": "message", "status": "in_progress", "content": [], "role": "assistant"});
    put(
        &mut work,
        json!({"type": "response.output_item.added", "output_index": 0, "item": message}),
    );
    let mut text = String::new();
    for _ in 0..deltas {
        let piece = random.piece();
        text.push_str(piece);
        work.text += piece.len();
        put(
            &mut work,
            json!({
                "type": "response.output_text.delta", "content_index": 0, "delta": piece, "item_id": id("msg", 0),
                "logprobs": [], "obfuscation": "RvoJ43TaUvnCS8e", "output_index": 0,
            }),
        );
    }
    let mut message = message;
    message["content"] = json!([{"type": "output_text", "text": text, "annotations": []}]);
    put(
        &mut work,
        json!({"type": "response.output_item.done", "output_index": 0, "item": message}),
    );
    let all: Vec<String> = (0..CALLS)
        .map(|_| arguments(bytes / CALLS, &mut random))
        .collect();
    let call = |index: usize, arguments: &str| {
        json!({
            "id": id("fc", index), "type": "function_call", "status": "in_progress", "arguments": arguments,
            "call_id": format!("call_{index}"), "name": format!("tool_{index}"),
        })
    };
    for index in 0..CALLS {
        put(
            &mut work,
            json!({"type": "response.output_item.added", "output_index": index + 1, "item": call(index, "")}),
        );
    }
    for start in (0..bytes / CALLS).step_by(16) {
        for (index, arguments) in all.iter().enumerate() {
            let piece = &arguments[start..arguments.len().min(start + 16)];
            work.args += piece.len();
            put(
                &mut work,
                json!({
                    "type": "response.function_call_arguments.delta", "delta": piece, "item_id": id("fc", index),
                    "obfuscation": "owUEioaL30uf4t", "output_index": index + 1,
                }),
            );
        }
    }
    for (index, arguments) in all.iter().enumerate() {
        put(
            &mut work,
            json!({"type": "response.output_item.done", "output_index": index + 1, "item": call(index, arguments)}),
        );
    }
    let usage = json!({"input_tokens": 10, "output_tokens": 20, "total_tokens": 30});
    put(
        &mut work,
        json!({"type": "response.completed", "response": {"status": "completed", "output": [], "usage": usage}}),
    );
    work
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Event<'a> {
    r#type: &'a str,
    output_index: Option<usize>,
    #[serde(borrow)]
    delta: Option<Text<'a>>,
}

#[derive(Default)]
struct Gathered {
    text: String,
    args: Vec<String>,
}

impl Gathered {
    fn take(&mut self, kind: &str, output_index: Option<usize>, delta: Option<&str>) {
        match (kind, output_index, delta) {
            ("response.output_text.delta", _, Some(delta)) => self.text.push_str(delta),
            ("response.function_call_arguments.delta", Some(index), Some(delta)) => {
                if self.args.len() <= index {
                    self.args.resize_with(index + 1, String::new);
                }
                self.args[index].push_str(delta);
            }
            _ => {}
        }
    }

    fn decoded(&self, start: Instant) -> Decoded {
        Decoded {
            time: start.elapsed(),
            text: self.text.len(),
            args: self.args.iter().map(String::len).sum(),
        }
    }
}

/// Does the same as [`floor::decode`], for this format.
pub(crate) fn floor(work: &Workload, chunk: usize) -> Decoded {
    let start = Instant::now();
    let mut gathered = Gathered::default();
    floor::frames(&work.bytes, chunk, |data| {
        let event: Event<'_> = serde_json::from_slice(data).expect("an event of the workload");
        let delta = event.delta.as_ref().map(|delta| &*delta.0);
        gathered.take(event.r#type, event.output_index, delta);
    });
    gathered.decoded(start)
}

#[derive(Deserialize)]
struct OwnedEvent {
    r#type: String,
    output_index: Option<usize>,
    delta: Option<String>,
}

/// Does the same as [`peer::decode`], for this format.
pub(crate) fn peer(work: &Workload, chunk: usize) -> Decoded {
    let start = Instant::now();
    let mut gathered = Gathered::default();
    peer::frames(&work.bytes, chunk, |event| {
        let event: OwnedEvent =
            serde_json::from_str(&event.data).expect("an event of the workload");
        gathered.take(&event.r#type, event.output_index, event.delta.as_deref());
    });
    gathered.decoded(start)
}
