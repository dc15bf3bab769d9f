//! What the model said goes back to it as it came.

use super::support::{
    call, completed, created, delta, input, start, stop, summary, text, transcript,
};
use serde_json::{Value, json};
use stepwell_core::event::Message;

fn after(frames: &[Value], status: &str) -> Vec<Message> {
    let mut all = vec![created()];
    all.extend(frames.iter().cloned());
    all.push(completed(status));
    transcript(&all)
}

fn steps(steps: &[Value]) -> Vec<Value> {
    let frames = steps.iter().cloned().enumerate();
    frames
        .flat_map(|(at, step)| [start(at, step), stop(at)])
        .collect()
}

#[test]
fn steps_go_back_as_they_came() {
    for said in [
        json!([
            {"type": "thought", "summary": [{"type": "text", "text": "Hm"}], "signature": "dGg="},
            {"type": "model_output", "content": [{"type": "text", "text": "Let me see."}]},
            {"type": "function_call", "id": "a", "name": "f", "arguments": {"x": [1, "é"]}, "signature": "Y2E="},
            {"type": "function_call", "id": "b", "name": "f", "arguments": {}},
        ]),
        json!([{"type": "thought", "signature": "dGg="}]),
        json!([
            {"type": "thought", "signature": "dGg="},
            {"type": "google_search_call", "id": "s", "arguments": {"queries": ["q"]}, "signature": "c2k="},
            {"type": "google_search_result", "call_id": "s", "result": [], "signature": "cmU="},
            {"type": "model_output", "content": [{"type": "text", "text": "Found."}]},
        ]),
        json!([
            {"type": "model_output", "content": [{"type": "image", "data": "aa==", "mime_type": "image/png"}]},
            {"type": "of_next_year", "what": 1},
        ]),
    ] {
        let said = said.as_array().expect("a list");
        let messages = after(&steps(said), "completed");
        assert_eq!(input("gemini-2.5-flash", &messages), json!(said));
    }
}

#[test]
fn what_is_not_signed_or_not_complete_does_not_go_back() {
    let frames = [
        start(0, json!({"type": "thought"})),
        summary(0, "Hm"),
        stop(0),
        start(
            1,
            json!({"type": "google_search_call", "id": "s", "arguments": {}}),
        ),
        stop(1),
        start(2, json!({"type": "model_output"})),
        text(2, "Hello"),
        stop(2),
    ];
    let messages = after(&frames, "completed");
    assert_eq!(
        input("gemini-2.5-flash", &messages),
        json!([{"type": "model_output", "content": [{"type": "text", "text": "Hello"}]}])
    );
}

#[test]
fn a_call_of_another_model_says_that_it_is_not_signed() {
    let asked = Message::user("u", "Go");
    let mut messages = vec![asked];
    messages.extend(after(&[call(0, "a"), stop(0)], "requires_action"));
    let of = |model: &str| input(model, &messages)[1]["signature"].clone();
    assert_eq!(of("gemini-3-flash"), "skip_thought_signature_validator");
    assert_eq!(of("gemini-2.5-flash"), Value::Null);
    // The thought before the call is signed.
    let frames = [
        start(0, json!({"type": "thought"})),
        delta(0, json!({"type": "thought_signature", "signature": "dGg="})),
        stop(0),
        call(1, "a"),
        stop(1),
    ];
    let mut messages = vec![Message::user("u", "Go")];
    messages.extend(after(&frames, "requires_action"));
    assert_eq!(input("gemini-3-flash", &messages)[2].get("signature"), None);
}
