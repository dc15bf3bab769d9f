//! What a server writes comes back out of the decoder, and what the decoder made of an answer goes back as it came.

use crate::responses::{
    added, arguments_delta, body, call, completed, created, done, message, outline, reasoning,
    summary_delta, text_delta,
};
use crate::validate;
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::dialect::{Dialect, GenerationSettings, HopIds, ModelRequest};
use stepwell_core::event::Message;
use stepwell_core::pipeline::{Pipeline, StreamEnd};
use stepwell_core::provider;
use stepwell_core::transcript::Transcript;

/// An item of an answer, in the pieces that it comes in.
#[derive(Clone, Debug)]
enum Item {
    Reasoning(Vec<Vec<String>>),
    Message(Vec<String>),
    Call(Vec<String>),
    Custom(Vec<String>),
}

fn pieces() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[ -~äß\n\"\\\\🦀]{1,6}", 1..4)
}

fn item() -> impl Strategy<Value = Item> {
    prop_oneof![
        prop::collection::vec(pieces(), 0..3).prop_map(Item::Reasoning),
        pieces().prop_map(Item::Message),
        pieces().prop_map(Item::Call),
        pieces().prop_map(Item::Custom),
    ]
}

fn custom(index: u64, input: &str) -> Value {
    json!({"type": "custom_tool_call", "id": format!("ctc_{index}"), "call_id": format!("call_{index}"), "name": "sql", "input": input})
}

impl Item {
    /// The item when it is whole.
    fn whole(&self, index: u64) -> Value {
        match self {
            Self::Reasoning(parts) => {
                let parts: Vec<_> = parts.iter().map(|pieces| pieces.concat()).collect();
                reasoning(index, &parts.iter().map(String::as_str).collect::<Vec<_>>())
            }
            Self::Message(pieces) => message(index, &pieces.concat()),
            Self::Call(pieces) => call(index, &pieces.concat()),
            Self::Custom(pieces) => custom(index, &pieces.concat()),
        }
    }

    /// The events that a server writes for it; with `terse` only the last.
    fn write(&self, index: u64, terse: bool) -> Vec<Value> {
        let mut events = Vec::new();
        if !terse {
            let (empty, deltas): (_, Vec<Value>) = match self {
                Self::Reasoning(parts) => (
                    reasoning(index, &[]),
                    (0..)
                        .zip(parts)
                        .flat_map(|(part, pieces)| pieces.iter().map(move |piece| summary_delta(index, part, piece)))
                        .collect(),
                ),
                Self::Message(pieces) => (message(index, ""), pieces.iter().map(|piece| text_delta(index, piece)).collect()),
                Self::Call(pieces) => (call(index, ""), pieces.iter().map(|piece| arguments_delta(index, piece)).collect()),
                Self::Custom(pieces) => (
                    custom(index, ""),
                    pieces
                        .iter()
                        .map(|piece| json!({"type": "response.custom_tool_call_input.delta", "output_index": index, "delta": piece}))
                        .collect(),
                ),
            };
            events.push(added(index, empty));
            events.extend(deltas);
        }
        events.push(done(index, self.whole(index)));
        events
    }
}

/// The events of an outline with the pieces of one thing joined.
fn joined(outline: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for line in outline {
        let prefix = line
            .split_inclusive(": ")
            .next()
            .unwrap_or_default()
            .to_owned();
        let goes_on = ["text r", "reasoning r", "args "]
            .iter()
            .any(|start| prefix.starts_with(start));
        match joined.last_mut() {
            Some(last) if goes_on && last.starts_with(&prefix) => {
                last.push_str(&line[prefix.len()..]);
            }
            _ => joined.push(line),
        }
    }
    joined
}

/// What the events must be.
fn expected(items: &[Item]) -> Vec<String> {
    let mut lines = vec!["start".to_owned()];
    let (mut messages, mut reasonings) = (0, 0);
    // Whether the next call needs a message of its own.
    let mut parted = true;
    for (index, item) in items.iter().enumerate() {
        match item {
            Item::Reasoning(parts) => {
                let id = format!("r-reasoning-{reasonings}");
                reasonings += 1;
                parted = true;
                lines.push(format!("span {id}"));
                lines.push(format!("reasoning start {id}"));
                let parts: Vec<_> = parts.iter().map(|pieces| pieces.concat()).collect();
                if !parts.is_empty() {
                    lines.push(format!("reasoning {id}: {}", parts.join("\n\n")));
                }
                lines.push(format!("sealed {id}"));
                lines.push(format!("reasoning end {id}"));
                lines.push(format!("span end {id}"));
            }
            Item::Message(pieces) => {
                let id = format!("r-message-{messages}");
                messages += 1;
                parted = false;
                lines.push(format!("text start {id}"));
                lines.push(format!("text {id}: {}", pieces.concat()));
                lines.push(format!("text end {id}"));
            }
            Item::Call(pieces) => {
                messages += usize::from(std::mem::take(&mut parted));
                lines.push(format!("call call_{index} add"));
                lines.push(format!("args call_{index}: {}", pieces.concat()));
                lines.push(format!("call end call_{index}"));
            }
            Item::Custom(pieces) => {
                messages += usize::from(std::mem::take(&mut parted));
                lines.push(format!("call call_{index} sql"));
                lines.push(format!("sealed call_{index}"));
                lines.push(format!(
                    "args call_{index}: {}",
                    json!({"input": pieces.concat()})
                ));
                lines.push(format!("call end call_{index}"));
            }
        }
    }
    lines.push("finish completed".to_owned());
    lines
}

fn write(items: &[Item], terse: bool, output: Value) -> Vec<Value> {
    let mut frames = vec![created()];
    for (index, item) in (0..).zip(items) {
        frames.extend(item.write(index, terse));
    }
    frames.push(completed(output));
    frames
}

proptest! {
    #[test]
    fn what_is_written_comes_back(items in prop::collection::vec(item(), 0..6), terse: bool) {
        let output: Vec<_> = (0..).zip(&items).map(|(index, item)| item.whole(index)).collect();
        for output in [json!(output), json!([])] {
            prop_assert_eq!(joined(outline(&write(&items, terse, output))), expected(&items));
        }
        let only_at_the_end = [created(), completed(json!(output))];
        prop_assert_eq!(joined(outline(&only_at_the_end)), expected(&items));
    }
}

fn ids() -> HopIds {
    HopIds {
        thread_id: "t".into(),
        run_id: "r".into(),
        provider: "openai".to_owned(),
    }
}

/// What comes of these events.
fn answer(frames: &[Value]) -> Transcript {
    let mut transcript = Transcript::default();
    let mut pipeline = Pipeline::new(Dialect::OpenAiResponses, ids(), Default::default());
    pipeline
        .receive(body(frames).as_bytes(), &mut transcript, &mut ())
        .expect("a good stream");
    assert_eq!(
        pipeline.end(&mut transcript, &mut ()),
        Ok(StreamEnd::Finished)
    );
    transcript
}

/// The input of the request that follows an answer of these events.
fn next_input(frames: &[Value], provider: &str) -> Value {
    let transcript = answer(frames);
    let endpoint = provider::find(provider)
        .expect("a known provider")
        .endpoint(Some("responses"), "m-1", None, Some("k".into()))
        .expect("complete");
    let request = Dialect::OpenAiResponses.encoder().encode(&ModelRequest {
        endpoint: &endpoint,
        ids: &ids(),
        parent_run_id: None,
        instructions: None,
        messages: &transcript.messages().iter().collect::<Vec<_>>(),
        tools: &[],
        state: &Value::Null,
        settings: &GenerationSettings::default(),
        resume: &[],
        compact_above: None,
        now: stepwell_core::Timestamp(0),
    });
    let mut body: Value = serde_json::from_slice(&request.body).expect("JSON");
    body["input"].take()
}

/// A picture that the model made, as all there is of an answer but what it thought.
fn picture() -> [Value; 4] {
    [
        created(),
        done(0, reasoning(0, &["Hm."])),
        done(
            1,
            json!({"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "aa=="}),
        ),
        completed(json!([])),
    ]
}

#[test]
fn a_picture_goes_back_that_is_all_there_is_of_an_answer() {
    let history = history(&picture());
    let input = legal_input(&history, "gpt-5");
    assert_eq!(input[1]["type"], "reasoning");
    assert_eq!(input[2]["result"], "aa==");
    assert_eq!(input[3]["role"], "user");
}

#[test]
fn what_the_provider_ran_does_not_go_back_without_the_reasoning_that_it_came_of() {
    let history = history(&picture());
    let input = legal_input(&history, "gpt-4o");
    let roles: Vec<_> = input
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| &item["role"])
        .collect();
    assert_eq!(roles, ["user", "user"]);
}

/// What the user asked, and an answer of these events.
fn history(frames: &[Value]) -> Vec<Message> {
    let mut history = vec![Message::user("1", "Draw.")];
    history.extend(answer(frames).messages().iter().cloned());
    history
}

/// The input of a legal request that follows this history.
fn legal_input(history: &[Message], model: &str) -> Value {
    let mut history = history.to_vec();
    history.push(Message::user("2", "And blue."));
    let endpoint = provider::find("openai")
        .expect("a known provider")
        .endpoint(Some("responses"), model, None, Some("k".into()))
        .expect("complete");
    let request =
        crate::legal::targets::encode(&endpoint, &history, &[], &GenerationSettings::default());
    let checked = validate::request(endpoint.dialect, &endpoint.provider, &request);
    assert_eq!(checked, Ok(()));
    let mut body: Value = serde_json::from_slice(&request.body).expect("JSON");
    body["input"].take()
}

#[test]
fn an_answer_goes_back_as_it_came() {
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let mut said = message(2, "I \"look\".");
    said["phase"] = "commentary".into();
    let frames = [
        created(),
        added(0, reasoning(0, &[])),
        summary_delta(0, 0, "Hm."),
        done(0, reasoning(0, &["Hm."])),
        done(1, search.clone()),
        added(2, said.clone()),
        text_delta(2, "I \"look\"."),
        done(2, said),
        done(3, call(3, "{\"a\": 1.0}")),
        done(4, custom(4, "SELECT \"x\"\n")),
        completed(json!([])),
    ];
    assert_eq!(
        next_input(&frames, "openai"),
        json!([
            reasoning(0, &["Hm."]),
            search,
            {"type": "message", "role": "assistant", "content": "I \"look\".", "phase": "commentary"},
            {"type": "function_call", "call_id": "call_3", "name": "add", "arguments": "{\"a\": 1.0}"},
            {"type": "custom_tool_call", "call_id": "call_4", "name": "sql", "input": "SELECT \"x\"\n"},
        ])
    );
    assert_eq!(
        next_input(&frames, "openrouter"),
        json!([
            {"type": "message", "role": "assistant", "content": "I \"look\".", "phase": "commentary"},
            {"type": "function_call", "call_id": "call_3", "name": "add", "arguments": "{\"a\": 1.0}"},
            {"type": "function_call", "call_id": "call_4", "name": "sql", "arguments": "{\"input\":\"SELECT \\\"x\\\"\\n\"}"},
        ]),
        "another provider gets nothing that was sealed"
    );
}
