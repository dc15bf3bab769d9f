//! The cursor and the serde view are two ways into the same dialect: on every frame they must say the same.

use crate::chat::{Recorder, Stream, body, calls, delta, finish, short, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::dialect::{DecodeError, Dialect};

fn decode(
    body: &[u8],
    without_cursor: bool,
) -> (Vec<String>, Result<(), std::mem::Discriminant<DecodeError>>) {
    let mut stream = Stream::new(Dialect::OpenAiChat);
    stream.without_cursor = without_cursor;
    let (Recorder { events, .. }, result) = stream.run(body, usize::MAX);
    // An error that has no words is told by its frame, which is not the same frame here.
    let events = events
        .iter()
        .map(|event| short(event).replace("\"\\u0000\":0,", ""));
    (
        events.collect(),
        result.map_err(|error| std::mem::discriminant(&error)),
    )
}

fn frames() -> Vec<Value> {
    vec![
        text("plain"),
        text("\"esc\\aped\"\n\u{1f980} ä"),
        text(""),
        json!({"choices": [{"delta": {"content": "no index"}, "finish_reason": null}]}),
        json!({"choices": []}),
        json!({"model": null, "choices": [{"index": 1, "delta": {"content": "other choice"}}]}),
        delta(
            json!({"role": "assistant", "content": "", "reasoning": "hm", "reasoning_details": []}),
        ),
        delta(
            json!({"content": null, "reasoning_content": "hm hm", "refusal": null, "tool_calls": null}),
        ),
        delta(
            json!({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm", "index": 0}]}),
        ),
        delta(json!({"reasoning": "both", "content": "at once"})),
        delta(json!({"refusal": "no"})),
        delta(json!({"content": "cited", "annotations": [{"type": "url_citation"}]})),
        delta(json!({"content": "not cited", "annotations": []})),
        delta(json!({"content": [{"type": "text", "text": "part"}]})),
        delta(
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": true}]}),
        ),
        delta(
            json!({"content": [{"type": "thinking", "thinking": "bare"}, {"type": "text", "text": "two"}]}),
        ),
        delta(json!({"content": [{"type": "reference", "reference_ids": [1]}]})),
        delta(json!({"content": []})),
        calls(
            json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]),
        ),
        calls(
            json!([{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{\"x\": \"\\\"\"}"}}]),
        ),
        calls(json!([{"index": 0, "function": {"arguments": "{\"a\""}}])),
        calls(json!([{"index": 0, "id": "a", "function": {"name": "", "arguments": ":1}"}}])),
        calls(json!([{"index": 1, "id": null, "function": {"name": null, "arguments": null}}])),
        calls(json!([{"index": 0, "id": "c", "function": {"name": "h", "arguments": "{}"}}])),
        calls(
            json!([{"index": 0, "function": {"arguments": "1"}}, {"index": 1, "function": {"arguments": "2"}}]),
        ),
        calls(json!([{"id": "b", "function": {"arguments": "no index"}}])),
        finish("stop"),
        json!({"choices": [], "usage": {"prompt_tokens": 1}}),
        json!({"error": {"message": "no", "code": 1}}),
        json!({"object": "error", "message": "no"}),
    ]
}

/// Bytes to put, and pieces that make new shapes.
const PIECES: &[&str] = &[
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "0",
    "1",
    "null",
    "\"\"",
    "\\u0061",
    "\\ud800",
    "\u{1f980}",
    "true",
    "e",
    "\"content\":\"again\",",
    "\"index\":0,",
    "\"model\":5,",
    "\"object\":\"error\",",
    "\"usage\":{},",
    "\"id\":7,",
    "\"annotations\":[],",
    "\"type\":\"text\",",
    "\"text\":\"more\",",
];

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let frame = (
        prop::sample::select(frames()),
        prop::option::weighted(
            0.4,
            (
                any::<prop::sample::Index>(),
                0..3_usize,
                prop::sample::select(PIECES),
            ),
        ),
    )
        .prop_map(|(frame, edit)| {
            let mut frame = frame.to_string().into_bytes();
            if let Some((index, cut, piece)) = edit {
                let at = index.index(frame.len());
                let end = (at + cut).min(frame.len());
                frame.splice(at..end, piece.bytes());
            }
            frame
        });
    prop::collection::vec(frame, 1..12).prop_map(|frames| {
        let mut body = body(&[text("first")]).into_bytes();
        for frame in frames {
            body.extend(b"data: ");
            body.extend(frame);
            body.extend(b"\n\n");
        }
        body
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn both_ways_in_say_the_same(body in stream()) {
        prop_assert_eq!(decode(&body, false), decode(&body, true));
    }
}

#[test]
fn both_ways_in_say_the_same_of_odd_spellings() {
    for frame in [
        r#"{"choices":[{"index":0,"delta":{"conten\u0074":"x"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"x"},"delta":{"content":"y"}}]}"#,
        r#"{"choices":[],"choices":[]}"#,
        r#"{"choices":[],"usage":null,"usage":null}"#,
        r#"{"choices":[],"id":1,"id":2}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"x"},"logprobs":"\ud800"}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"\ud800"}}]}"#,
        r#"{"model":"\ud800","choices":[{"index":0,"delta":{"content":"x"}}]}"#,
        r#"{"choices":[{"index":0.0,"delta":{"content":"x"}}]}"#,
        r#"{"choices":[{"index":-1,"delta":{"content":"x"}}]}"#,
        r#" { "choices" : [ { "index" : 0 , "delta" : { "content" : "x" } } ] } "#,
        r#"{"choices":[{"index":0,"delta":{"content":"x"}}]} x"#,
        r#"{"choices":[{"index":0,"delta":{"content":"x"}},{"index":0,"delta":{"content":"y"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{}},{"delta":{"content":"y"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"x","y":1e999}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"x","y":01}}]}"#,
    ] {
        let body = format!("{}data: {frame}\n\n", body(&[text("first")]));
        assert_eq!(
            decode(body.as_bytes(), false),
            decode(body.as_bytes(), true),
            "{frame}"
        );
    }
    let deep = format!(
        "{}data: {{\"x\":{}{},\"choices\":[{{\"delta\":{{\"content\":\"x\"}}}}]}}\n\n",
        body(&[text("first")]),
        "[".repeat(500),
        "]".repeat(500)
    );
    assert_eq!(
        decode(deep.as_bytes(), false),
        decode(deep.as_bytes(), true)
    );
    assert_eq!(
        decode(deep.as_bytes(), false).0.len(),
        4,
        "what is not read may be as deep as it likes"
    );
}
