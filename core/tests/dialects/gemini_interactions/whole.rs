//! Complete steps at the end of a stream, and stored interactions.

use super::support::{arguments, call, created, start, stop, summary, text};
use crate::decoding::{Stream, ids};
use serde_json::{Value, json};
use stepwell_core::dialect::{Decode, Dialect};
use stepwell_core::pipeline::Pipeline;
use stepwell_core::transcript::Transcript;

const DIALECT: Dialect = Dialect::GeminiInteractions;

fn steps() -> Value {
    json!([
        {"type": "thought", "signature": "dGg=", "summary": [{"type": "text", "text": "Hm, so."}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Let me see.",
            "annotations": [{"type": "url_citation", "url": "https://a.b"}]}]},
        {"type": "google_search_call", "id": "s", "arguments": {"queries": ["q"]}},
        {"type": "google_search_result", "call_id": "s", "result": []},
        {"type": "function_call", "id": "a", "name": "f", "arguments": {"x": 1}, "signature": "Y2E="},
    ])
}

/// The stream of these steps.
fn frames() -> Vec<Value> {
    let steps = steps();
    vec![
        created(),
        start(0, json!({"type": "thought"})),
        summary(0, "Hm, "),
        summary(0, "so."),
        super::support::delta(0, json!({"type": "thought_signature", "signature": "dGg="})),
        stop(0),
        start(1, json!({"type": "model_output"})),
        text(1, "Let me "),
        text(1, "see."),
        super::support::delta(
            1,
            json!({"type": "text_annotation_delta", "annotations": [{"type": "url_citation", "url": "https://a.b"}]}),
        ),
        stop(1),
        start(
            2,
            json!({"type": "google_search_call", "id": "s", "arguments": {}}),
        ),
        super::support::delta(
            2,
            json!({"type": "google_search_call", "arguments": {"queries": ["q"]}}),
        ),
        stop(2),
        start(3, steps[3].clone()),
        stop(3),
        start(
            4,
            json!({"type": "function_call", "id": "a", "name": "f", "arguments": {}, "signature": "Y2E="}),
        ),
        arguments(4, "{\"x\""),
        arguments(4, ":1}"),
        stop(4),
    ]
}

/// The conversation after these frames, and after the interaction is read as a whole.
fn after(frames: &[Value], interaction: &Value) -> Value {
    let mut pipeline = Pipeline::new(DIALECT, ids(DIALECT), Default::default());
    let mut transcript = Transcript::default();
    let last = json!({"event_type": "interaction.completed", "interaction": interaction});
    let all = [frames, &[last]].concat();
    let body = crate::decoding::body(DIALECT, &all);
    pipeline
        .receive(body.as_bytes(), &mut transcript, &mut ())
        .expect("good frames");
    pipeline.end(&mut transcript, &mut ()).expect("an end");
    serde_json::to_value(transcript.messages()).expect("JSON")
}

#[test]
fn wherever_the_stream_ends_the_whole_brings_the_rest() {
    let interaction = json!({"id": "v1_1", "status": "requires_action", "steps": steps()});
    let mut plain = interaction.clone();
    plain.as_object_mut().expect("an object").remove("steps");
    let frames = frames();
    let whole = after(&frames, &plain);
    assert_eq!(after(&frames, &interaction), whole);
    for end in 1..frames.len() {
        assert_eq!(after(&frames[..end], &interaction), whole, "{end}");
    }
}

#[test]
fn the_steps_of_the_request_are_not_the_answer() {
    let mut all = vec![
        json!({"type": "user_input", "content": [{"type": "text", "text": "Hello"}]}),
        json!({"type": "model_output", "content": [{"type": "text", "text": "Before"}]}),
        json!({"type": "function_call", "id": "0", "name": "f", "arguments": {}}),
        json!({"type": "function_result", "call_id": "0", "result": "1"}),
    ];
    all.extend(steps().as_array().expect("a list").iter().cloned());
    let with = |steps: Value| json!({"id": "v1_1", "status": "requires_action", "steps": steps});
    let frames = &frames()[..8];
    assert_eq!(
        after(frames, &with(json!(all))),
        after(frames, &with(steps()))
    );
}

#[test]
fn a_stored_interaction_is_read_once_it_is_finished() {
    let mut stream = Stream::new(DIALECT);
    let frames = frames();
    let body = crate::decoding::body(DIALECT, &frames[..8]);
    stream.receive(body.as_bytes()).expect("good frames");
    let mut read = |status: &str| {
        let interaction = json!({"id": "v1_1", "status": status, "steps": steps()});
        let (decoder, recorder) = (&mut stream.decoder, &mut stream.recorder);
        decoder.stored(interaction.to_string().as_bytes(), recorder)
    };
    for status in ["queued", "in_progress"] {
        assert_eq!(read(status), Ok(false));
    }
    assert_eq!(read("requires_action"), Ok(true));
    assert!(stream.decoder.stored(b"{}", &mut stream.recorder).is_err());
}

#[test]
fn a_call_that_was_cut_off_is_completed_however_it_is_written() {
    let interaction = json!({"id": "v1_1", "status": "requires_action", "steps": [
        {"type": "function_call", "id": "a", "name": "f", "arguments": {"x": 1, "y": 2}},
    ]});
    let called = |piece: &str| {
        let frames = [created(), call(0, "a"), arguments(0, piece)];
        let messages = after(&frames, &interaction);
        let text = messages[0]["toolCalls"][0]["function"]["arguments"].clone();
        serde_json::from_str::<Value>(text.as_str().expect("text")).expect("JSON")
    };
    for piece in ["{\"x\":1", "{ \"x\": 1", "{\"y\":2, \"x\":1}"] {
        assert_eq!(called(piece), json!({"x": 1, "y": 2}), "{piece}");
    }
}

#[test]
fn the_stream_may_be_cut_into_chunks_at_every_byte() {
    let mut all = frames();
    all.push(json!({"event_type": "interaction.completed",
        "interaction": {"id": "v1_1", "status": "requires_action"}}));
    let body = crate::decoding::body(DIALECT, &all) + "event: done\ndata: [DONE]\n\n";
    let (whole, result) = Stream::new(DIALECT).run(body.as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()));
    for at in 0..=body.len() {
        let mut stream = Stream::new(DIALECT);
        for part in [&body.as_bytes()[..at], &body.as_bytes()[at..]] {
            stream.receive(part).expect("good frames");
        }
        assert_eq!(stream.recorder.events, whole.events, "{at}");
    }
}
