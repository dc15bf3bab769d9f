//! What Mistral's streams have that others' have not.

use crate::chat::{Stream, body, calls, delta, finish, short, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Event;

fn outline(frames: &[Value]) -> Vec<String> {
    let (recorder, result) = Stream::new(Dialect::Mistral).run(body(frames).as_bytes(), usize::MAX);
    assert_eq!((result, recorder.warnings), (Ok(()), Vec::new()));
    recorder.events.iter().map(short).collect()
}

#[test]
fn thinking_comes_in_parts_and_the_answer_in_parts_or_plain() {
    let parts = |parts: Value| delta(json!({ "content": parts }));
    let thought = |text: &str| json!({"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": true});
    let frames = [
        delta(json!({"role": "assistant", "content": ""})),
        parts(json!([thought("Hm")])),
        parts(json!([thought("."), {"type": "text", "text": "1"}])),
        text("44"),
        finish("stop"),
    ];
    assert_eq!(
        outline(&frames)[3..],
        [
            "reasoning r-reasoning-0: Hm",
            "reasoning r-reasoning-0: .",
            "reasoning end r-reasoning-0",
            "span end r-reasoning-0",
            "text start r-message-0",
            "text r-message-0: 1",
            "text r-message-0: 44",
            "text end r-message-0",
            "finish stop",
        ]
    );
}

#[test]
fn calls_come_whole_without_an_index_or_with_an_object() {
    let mut frame = calls(json!([
        {"id": "EscTeQY62", "function": {"name": "f", "arguments": "{\"a\": 1}"}},
        {"id": "EscTeQY63", "function": {"name": "f", "arguments": {"a": 2}}},
        {"id": "EscTeQY64", "function": {"name": "f", "arguments": ""}},
    ]));
    frame["choices"][0]["delta"]["index"] = json!(0);
    frame["choices"][0]["finish_reason"] = json!("model_length");
    frame["p"] = json!("abc");
    assert_eq!(
        outline(&[frame])[1..],
        [
            "call EscTeQY62 f",
            "args EscTeQY62: {\"a\": 1}",
            "call EscTeQY63 f",
            "args EscTeQY63: {\"a\":2}",
            "call EscTeQY64 f",
            "call end EscTeQY62",
            "call end EscTeQY63",
            "call end EscTeQY64",
            "finish model_length",
        ]
    );
}

#[test]
fn an_error_is_the_whole_object() {
    let error = json!({"object": "error", "message": {"detail": [{"msg": "No"}]}, "type": "invalid", "code": "1500"});
    assert_eq!(outline(&[text("a"), error])[3..], ["error 1500: No"]);
}

proptest! {
    #[test]
    fn i03_what_the_service_says_is_what_the_events_say(
        thoughts in prop::collection::vec("\\PC{1,9}", 0..5),
        texts in prop::collection::vec("\\PC{1,9}", 0..5),
        in_parts in any::<bool>(),
        arguments in prop::collection::vec("\\PC{0,9}", 0..4),
        chunk in 1..100_usize,
    ) {
        let parts = |part: Value| delta(json!({"content": [part]}));
        let mut frames = vec![delta(json!({"role": "assistant", "content": ""}))];
        frames.extend(thoughts.iter().map(|thought| {
            parts(json!({"type": "thinking", "thinking": [{"type": "text", "text": thought}]}))
        }));
        frames.extend(texts.iter().map(|piece| match in_parts {
            true => parts(json!({"type": "text", "text": piece})),
            false => text(piece),
        }));
        frames.extend(arguments.iter().enumerate().map(|(index, arguments)| {
            let function = json!({"name": "f", "arguments": arguments});
            calls(json!([{"id": format!("c{index:08}"), "index": index, "function": function}]))
        }));
        frames.push(finish("stop"));
        let body = body(&frames);
        let (recorder, result) = Stream::new(Dialect::Mistral).run(body.as_bytes(), chunk);
        prop_assert_eq!(result, Ok(()));
        let mut said = [String::new(), String::new()];
        let mut called = Vec::new();
        for event in &recorder.events {
            match event {
                Event::ReasoningMessageContent(event) => said[0].push_str(&event.delta),
                Event::TextMessageContent(event) => said[1].push_str(&event.delta),
                Event::ToolCallStart(_) => called.push(String::new()),
                Event::ToolCallArgs(event) => called.last_mut().expect("a call").push_str(&event.delta),
                _ => {}
            }
        }
        prop_assert_eq!(said, [thoughts.concat(), texts.concat()]);
        prop_assert_eq!(called, arguments);
    }
}
