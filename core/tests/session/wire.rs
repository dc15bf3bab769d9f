//! The bodies of a plan's hops, in the words of each API.

use crate::plan::{Call, End, Hop, Part};
use serde_json::{Value, json};
use std::fmt::Write;
use stepwell_core::dialect::{Dialect, Endpoint};
use stepwell_core::provider;

/// An API that threads run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    Chat,
    OpenRouter,
    Responses,
    Anthropic,
    Gemini,
    Ollama,
    Mistral,
    Agent,
}

impl Api {
    pub const ALL: [Self; 8] = [
        Self::Chat,
        Self::OpenRouter,
        Self::Responses,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::Mistral,
        Self::Agent,
    ];

    pub fn endpoint(self) -> Endpoint {
        let (name, api) = match self {
            Self::Chat => ("openai-compatible", None),
            Self::OpenRouter => ("openrouter", None),
            Self::Responses => ("openai", Some("responses")),
            Self::Anthropic => ("anthropic", None),
            Self::Gemini => ("gemini", None),
            Self::Ollama => ("ollama", None),
            Self::Mistral => ("mistral", None),
            Self::Agent => ("ag-ui", None),
        };
        provider::find(name)
            .expect("the table has it")
            .endpoint(
                api,
                "a-model",
                Some("http://localhost/v1"),
                Some("key".into()),
            )
            .expect("nothing is missing")
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }
}

/// A call of a hop as it goes over the wire. Its id may be one that was used before.
pub fn call_id(name: &str, index: usize, call: &Call) -> String {
    if call.reused {
        "call_again".to_owned()
    } else {
        format!("call_{name}_{index}")
    }
}

/// The body of a hop; `name` tells it apart from the others of the thread.
pub fn body(api: Api, name: &str, hop: &Hop) -> Vec<u8> {
    let mut frames = match api.endpoint().dialect {
        Dialect::Anthropic => anthropic(name, hop),
        Dialect::Gemini => gemini(hop),
        Dialect::OpenAiResponses => responses(name, hop),
        Dialect::Ollama => ollama(hop),
        _ => chat(name, hop),
    };
    if hop.end == End::Cut || hop.end == End::Breaks {
        // The last two frames are the end.
        frames.truncate(frames.len().saturating_sub(2));
    }
    let mut body = String::new();
    for frame in frames {
        match (api, &frame) {
            (Api::Ollama, frame) => writeln!(body, "{frame}"),
            (_, Value::String(text)) => write!(body, "data: {text}\n\n"),
            (Api::Anthropic | Api::Responses, frame) => {
                let kind = frame["type"].as_str().expect("a type");
                write!(body, "event: {kind}\ndata: {frame}\n\n")
            }
            (_, frame) => write!(body, "data: {frame}\n\n"),
        }
        .expect("a string takes all");
    }
    body.into_bytes()
}

fn chat(name: &str, hop: &Hop) -> Vec<Value> {
    let chunk = |delta: Value| json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let mut frames = Vec::new();
    let mut calls = 0;
    for part in &hop.parts {
        match part {
            Part::Text(text) => frames.push(chunk(json!({ "content": text }))),
            Part::Cited(text) => {
                let citation = json!({"type": "url_citation", "url_citation": {"url": "https://a.b", "title": "A", "start_index": 0, "end_index": 1}});
                frames.push(chunk(json!({"content": text, "annotations": [citation]})));
            }
            Part::Refusal(text) => frames.push(chunk(json!({ "refusal": text }))),
            Part::Thought(text, false) => frames.push(chunk(json!({ "reasoning_content": text }))),
            Part::Thought(text, true) => {
                let detail = json!({"type": "reasoning.text", "text": text, "signature": "c2ln", "format": "x", "index": 0});
                frames.push(chunk(
                    json!({"reasoning": text, "reasoning_details": [detail]}),
                ));
            }
            Part::Redacted => {
                let detail = json!({"type": "reasoning.encrypted", "data": "ZW5j", "id": "rs", "format": "x", "index": 1});
                frames.push(chunk(json!({ "reasoning_details": [detail] })));
            }
            Part::Calls(batch) => {
                for call in batch {
                    let id = call_id(name, calls, call);
                    let half = call.arguments.len() / 2;
                    let (first, second) = call.arguments.split_at(half);
                    frames.push(chunk(json!({"tool_calls": [{"index": calls, "id": id, "type": "function", "function": {"name": call.tool, "arguments": first}}]})));
                    frames.push(chunk(json!({"tool_calls": [{"index": calls, "function": {"arguments": second}}]})));
                    calls += 1;
                }
            }
            Part::Agent(_) => {}
        }
    }
    if hop.end == End::Fails {
        frames.push(json!({"error": {"message": "overloaded", "code": 500}}));
        return frames;
    }
    if hop.usage {
        frames.push(json!({"id": "x", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}));
    }
    let reason = if calls > 0 { "tool_calls" } else { "stop" };
    frames
        .push(json!({"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    frames.push(json!("[DONE]"));
    frames
}

fn anthropic(name: &str, hop: &Hop) -> Vec<Value> {
    let mut frames = vec![json!({"type": "message_start", "message": {
        "id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null,
        "usage": {"input_tokens": 7, "output_tokens": 1},
    }})];
    let mut index = 0;
    let mut calls = 0;
    let mut refused = false;
    let mut block = |frames: &mut Vec<Value>, start: Value, deltas: Vec<Value>| {
        frames.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        frames.extend(
            deltas.into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        frames.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    };
    for part in &hop.parts {
        let said = |text: &str| json!({"type": "text_delta", "text": text});
        match part {
            Part::Text(text) => {
                block(
                    &mut frames,
                    json!({"type": "text", "text": ""}),
                    vec![said(text)],
                );
            }
            Part::Refusal(text) => {
                refused = true;
                block(
                    &mut frames,
                    json!({"type": "text", "text": ""}),
                    vec![said(text)],
                );
            }
            Part::Cited(text) => {
                let citation = json!({"type": "char_location", "cited_text": "x", "document_index": 0, "document_title": "A", "start_char_index": 0, "end_char_index": 1});
                let cited = json!({"type": "citations_delta", "citation": citation});
                block(
                    &mut frames,
                    json!({"type": "text", "text": "", "citations": []}),
                    vec![cited, said(text)],
                );
            }
            Part::Thought(text, sealed) => {
                let mut deltas = vec![json!({"type": "thinking_delta", "thinking": text})];
                if *sealed {
                    deltas.push(json!({"type": "signature_delta", "signature": "c2ln"}));
                }
                let start = json!({"type": "thinking", "thinking": "", "signature": ""});
                block(&mut frames, start, deltas);
            }
            Part::Redacted => {
                let start = json!({"type": "redacted_thinking", "data": "ZW5j"});
                block(&mut frames, start, Vec::new());
            }
            Part::Calls(batch) => {
                for call in batch {
                    let id = call_id(name, calls, call);
                    let mut start =
                        json!({"type": "tool_use", "id": id, "name": call.tool, "input": {}});
                    if call.sealed {
                        start["caller"] = json!({"type": "code_execution_1", "tool_id": "s"});
                    }
                    let half = call.arguments.len() / 2;
                    let (first, second) = call.arguments.split_at(half);
                    let piece =
                        |text: &str| json!({"type": "input_json_delta", "partial_json": text});
                    block(&mut frames, start, vec![piece(first), piece(second)]);
                    calls += 1;
                }
            }
            Part::Agent(_) => {}
        }
    }
    if hop.end == End::Fails {
        frames.push(json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}));
        return frames;
    }
    let reason = match (calls, refused) {
        (0, true) => "refusal",
        (0, false) => "end_turn",
        _ => "tool_use",
    };
    frames.push(json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 9}}));
    frames.push(json!({"type": "message_stop"}));
    frames
}

fn gemini(hop: &Hop) -> Vec<Value> {
    let chunk = |part: Value| json!({"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}], "modelVersion": "m", "responseId": "r"});
    let mut frames = Vec::new();
    for part in &hop.parts {
        match part {
            Part::Text(text) | Part::Cited(text) | Part::Refusal(text) => {
                frames.push(chunk(json!({ "text": text })));
            }
            Part::Thought(text, sealed) => {
                let mut part = json!({"text": text, "thought": true});
                if *sealed {
                    part["thoughtSignature"] = json!("dGhvdWdodA==");
                }
                frames.push(chunk(part));
            }
            Part::Redacted => frames.push(chunk(json!({"text": "", "thoughtSignature": "ZW5k"}))),
            Part::Calls(batch) => {
                for call in batch {
                    let args: Value = serde_json::from_str(call.arguments).unwrap_or(json!({}));
                    let mut part = json!({"functionCall": {"name": call.tool, "args": args}});
                    if call.sealed {
                        part["thoughtSignature"] = json!("Y2FsbA==");
                    }
                    frames.push(chunk(part));
                }
            }
            Part::Agent(_) => {}
        }
    }
    if hop.end == End::Fails {
        frames.push(
            json!({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}),
        );
        return frames;
    }
    let mut end = json!({"candidates": [{"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "STOP", "index": 0}]});
    if hop.usage {
        end["usageMetadata"] =
            json!({"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12});
    }
    frames.push(json!({"modelVersion": "m"}));
    frames.push(end);
    frames
}

fn responses(name: &str, hop: &Hop) -> Vec<Value> {
    let mut frames = vec![
        json!({"type": "response.created", "response": {"id": "resp", "model": "m", "status": "in_progress", "output": []}}),
    ];
    let mut items: Vec<Value> = Vec::new();
    let mut calls = 0;
    let of_item = |what: &str, index: usize, item: &Value| json!({"type": format!("response.output_item.{what}"), "output_index": index, "item": item});
    for part in &hop.parts {
        let index = items.len();
        let message = |content: Value| json!({"type": "message", "id": format!("msg_{name}_{index}"), "role": "assistant", "content": content});
        match part {
            Part::Text(text) | Part::Cited(text) => {
                frames.push(of_item("added", index, &message(json!([]))));
                frames.push(json!({"type": "response.output_text.delta", "content_index": 0, "output_index": index, "item_id": format!("msg_{name}_{index}"), "delta": text}));
                let annotations = match part {
                    Part::Cited(_) => {
                        json!([{"type": "url_citation", "url": "https://a.b", "title": "A", "start_index": 0, "end_index": 1}])
                    }
                    _ => json!([]),
                };
                items.push(message(
                    json!([{"type": "output_text", "text": text, "annotations": annotations}]),
                ));
                frames.push(of_item("done", index, &items[index]));
            }
            Part::Refusal(text) => {
                frames.push(of_item("added", index, &message(json!([]))));
                frames.push(json!({"type": "response.refusal.delta", "content_index": 0, "output_index": index, "item_id": format!("msg_{name}_{index}"), "delta": text}));
                items.push(message(json!([{"type": "refusal", "refusal": text}])));
                frames.push(of_item("done", index, &items[index]));
            }
            Part::Thought(text, sealed) => {
                let mut item =
                    json!({"type": "reasoning", "id": format!("rs_{name}_{index}"), "summary": []});
                frames.push(of_item("added", index, &item));
                frames.push(json!({"type": "response.reasoning_summary_text.delta", "output_index": index, "summary_index": 0, "item_id": "rs", "delta": text}));
                item["summary"] = json!([{"type": "summary_text", "text": text}]);
                if *sealed {
                    item["encrypted_content"] = json!("gAAA");
                }
                frames.push(of_item("done", index, &item));
                items.push(item);
            }
            Part::Redacted => {
                let item = json!({"type": "reasoning", "id": format!("rs_{name}_{index}"), "summary": [], "encrypted_content": "gBBB"});
                frames.push(of_item("added", index, &item));
                frames.push(of_item("done", index, &item));
                items.push(item);
            }
            Part::Calls(batch) => {
                for call in batch {
                    let index = items.len();
                    let id = call_id(name, calls, call);
                    let mut item = json!({"type": "function_call", "id": format!("fc_{name}_{index}"), "call_id": id, "name": call.tool, "arguments": ""});
                    frames.push(of_item("added", index, &item));
                    frames.push(json!({"type": "response.function_call_arguments.delta", "output_index": index, "item_id": "fc", "delta": call.arguments}));
                    item["arguments"] = json!(call.arguments);
                    frames.push(of_item("done", index, &item));
                    items.push(item);
                    calls += 1;
                }
            }
            Part::Agent(_) => {}
        }
    }
    if hop.end == End::Fails {
        frames.push(json!({"type": "error", "code": "server_error", "message": "overloaded", "param": null}));
        return frames;
    }
    let mut response = json!({"id": "resp", "model": "m", "status": "completed", "error": null, "incomplete_details": null, "output": items});
    if hop.usage {
        response["usage"] = json!({"input_tokens": 10, "output_tokens": 6, "total_tokens": 16});
    }
    // Something that is passed over: what is cut off is two frames.
    frames.push(json!({"type": "response.in_progress", "response": {"id": "resp"}}));
    frames.push(json!({"type": "response.completed", "response": response}));
    frames
}

fn ollama(hop: &Hop) -> Vec<Value> {
    let line = |mut message: Value| {
        message["role"] = json!("assistant");
        json!({"model": "m", "message": message, "done": false})
    };
    let mut frames = Vec::new();
    for part in &hop.parts {
        match part {
            Part::Text(text) | Part::Cited(text) | Part::Refusal(text) => {
                frames.push(line(json!({ "content": text })));
            }
            Part::Thought(text, _) => {
                frames.push(line(json!({"content": "", "thinking": text})));
            }
            Part::Calls(batch) => {
                for call in batch {
                    let arguments: Value =
                        serde_json::from_str(call.arguments).unwrap_or(json!({}));
                    let call = json!({"function": {"name": call.tool, "arguments": arguments}});
                    frames.push(line(json!({"content": "", "tool_calls": [call]})));
                }
            }
            Part::Redacted | Part::Agent(_) => {}
        }
    }
    if hop.end == End::Fails {
        frames.push(json!({"error": "overloaded"}));
        return frames;
    }
    frames.push(line(json!({"content": ""})));
    let mut end = json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"});
    if hop.usage {
        end["prompt_eval_count"] = json!(10);
        end["eval_count"] = json!(5);
    }
    frames.push(end);
    frames
}
