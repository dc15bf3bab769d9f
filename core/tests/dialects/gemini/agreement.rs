//! The cursor and the serde view are two ways into the same dialect: on every frame they must say the same.

use super::support::{finish, parts, text, thought};
use crate::decoding::{Recorder, Stream, body, short};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::mem::Discriminant;
use stepwell_core::dialect::{DecodeError, Dialect};

fn decode(
    body: &[u8],
    without_cursor: bool,
) -> (Vec<String>, Result<(), Discriminant<DecodeError>>, String) {
    let mut stream = Stream::new(Dialect::Gemini);
    stream.without_cursor = without_cursor;
    // The usage shows only in a decoder that has not ended.
    let result = stream.receive(body);
    let decoder = serde_json::to_value(&stream.decoder).expect("plain data");
    let usage = decoder["gemini"]["answer"]["usage"].to_string();
    let Recorder { events, .. } = stream.recorder;
    // An error that has no words is told by its frame, which is not the same frame here.
    let events = events
        .iter()
        .map(|event| short(event).replace("\"\\u0000\":0,", ""));
    (
        events.collect(),
        result.map_err(|error| std::mem::discriminant(&error)),
        usage,
    )
}

fn frames() -> Vec<Value> {
    let mut sources = text("x");
    sources["candidates"][0]["groundingMetadata"] = json!({"a": 1});
    let mut usage = text("u");
    usage["usageMetadata"] = json!({"promptTokenCount": 7, "candidatesTokenCount": 2, "totalTokenCount": 9, "thoughtsTokenCount": 1, "cachedContentTokenCount": 3, "promptTokensDetails": [{"modality": "TEXT"}]});
    vec![
        text("plain"),
        text("\"esc\\aped\"\n\u{1f980} ä"),
        text(""),
        thought("hm"),
        sources,
        usage,
        parts(json!([{"text": "x", "thought": false}])),
        parts(json!([{"text": "x", "thoughtSignature": "s"}])),
        parts(json!([{"text": "x"}, {"text": "y"}])),
        parts(json!([{"functionCall": {"name": "f", "args": {"a": 1}}}])),
        parts(json!([{"functionCall": {"name": "f", "willContinue": true}}])),
        parts(
            json!([{"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}], "willContinue": true}}]),
        ),
        parts(json!([{"functionCall": {}}])),
        json!({"candidates": [{"content": {"parts": [{"text": "no index"}]}}]}),
        json!({"candidates": [], "usageMetadata": {"promptTokenCount": 1}}),
        json!({"candidates": [{"index": 1, "content": {"parts": [{"text": "other"}]}}]}),
        json!({"error": {"message": "no", "code": 1}}),
        finish("STOP"),
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
    ".5",
    "null",
    "\"\"",
    "\\u0061",
    "\\ud800",
    "\u{1f980}",
    "true",
    "e",
    "\"text\":\"again\",",
    "\"index\":0,",
    "\"thought\":true,",
    "\"modelVersion\":5,",
    "\"promptTokenCount\":2,",
    "\"finishReason\":\"STOP\",",
    "\"error\":null,",
    "\"promptFeedback\":{},",
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
    prop::collection::vec(frame, 1..10).prop_map(|frames| {
        let mut body = body(Dialect::Gemini, &[text("first")]).into_bytes();
        for frame in frames {
            body.extend(b"data: ");
            body.extend(frame);
            body.extend(b"\n\n");
        }
        body
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn both_ways_in_say_the_same(body in stream()) {
        prop_assert_eq!(decode(&body, false), decode(&body, true));
    }
}

#[test]
fn both_ways_in_say_the_same_of_odd_spellings() {
    for frame in [
        r#"{"candidates":[{"index":0,"content":{"parts":[{"tex\u0074":"x"}]}}]}"#,
        r#"{"candidates":[{"index":0,"content":{"parts":[{"text":"x","text":"y"}]}}]}"#,
        r#"{"candidates":[],"modelVersion":"\ud800"}"#,
        r#"{"candidates":[],"candidates":[]}"#,
        r#"{"candidates":[{"index":0,"content":{"parts":[{"text":"x"}]},"avgLogprobs":"\ud800"}]}"#,
        r#"{"candidates":[{"index":0.0,"content":{"parts":[{"text":"x"}]}}]}"#,
        r#"{"candidates":[{"index":null,"content":{"parts":[{"text":"x"}]}}]}"#,
        r#"{"candidates":[{"index":-1,"content":{"parts":[{"text":"x"}]}}]}"#,
        r#"{"candidates":[{"content":null}],"usageMetadata":{"promptTokenCount":9007199254740992}}"#,
        r#"{"candidates":[{"content":{}}],"usageMetadata":{"promptTokenCount":12.0}}"#,
        r#"{"usageMetadata":{"promptTokenCount":1,"promptTokenCount":2}}"#,
        r#" { "candidates" : [ { "content" : { "parts" : [ { "text" : "x" , "thought" : true } ] } } ] } "#,
        r#"{"candidates":[{"content":{"parts":[{"text":"x"}]}}]} x"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"x","thought":tru}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"x","y":01}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":null}]}}]}"#,
    ] {
        let body = format!(
            "{}data: {frame}\n\n",
            body(Dialect::Gemini, &[text("first")])
        );
        assert_eq!(
            decode(body.as_bytes(), false),
            decode(body.as_bytes(), true),
            "{frame}"
        );
    }
}
