//! The cursor and the serde view are two ways into the same dialect: on every line they must say the same.

use super::support::{calls, done, message, text, thinking};
use crate::decoding::{Recorder, Stream, body, short};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::mem::Discriminant;
use stepwell_core::dialect::{DecodeError, Dialect};

fn decode(
    body: &[u8],
    without_cursor: bool,
) -> (Vec<String>, Result<(), Discriminant<DecodeError>>) {
    let mut stream = Stream::new(Dialect::Ollama);
    stream.without_cursor = without_cursor;
    let (Recorder { events, .. }, result) = stream.run(body, usize::MAX);
    // An error that has no words is told by its line, which is not the same line here.
    let events = events
        .iter()
        .map(|event| short(event).replace("\"\\u0000\":0,", ""));
    (
        events.collect(),
        result.map_err(|error| std::mem::discriminant(&error)),
    )
}

fn lines() -> Vec<Value> {
    vec![
        text("plain"),
        text("\"esc\\aped\"\n\u{1f980} ä"),
        text(""),
        thinking("hm"),
        message(json!({"role": "assistant", "content": "both", "thinking": "at once"})),
        message(json!({"content": null, "thinking": null, "tool_calls": null})),
        calls(json!([{"id": "a", "function": {"index": 0, "name": "f", "arguments": {"x": 1}}}])),
        calls(json!([])),
        json!({"message": {"content": "no model"}}),
        json!({"error": "no"}),
        done("stop"),
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
    "\"done\":true,",
    "\"model\":5,",
    "\"error\":null,",
    "\"eval_count\":1,",
];

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let line = (
        prop::sample::select(lines()),
        prop::option::weighted(
            0.4,
            (
                any::<prop::sample::Index>(),
                0..3_usize,
                prop::sample::select(PIECES),
            ),
        ),
    )
        .prop_map(|(line, edit)| {
            let mut line = line.to_string().into_bytes();
            if let Some((index, cut, piece)) = edit {
                let at = index.index(line.len());
                let end = (at + cut).min(line.len());
                line.splice(at..end, piece.bytes());
            }
            line
        });
    prop::collection::vec(line, 1..10).prop_map(|lines| {
        let mut body = body(Dialect::Ollama, &[text("first")]).into_bytes();
        for line in lines {
            body.extend(line);
            body.push(b'\n');
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
    for line in [
        r#"{"message":{"conten\u0074":"x"},"done":false}"#,
        r#"{"message":{"content":"x","content":"y"},"done":false}"#,
        r#"{"message":{"content":"x"},"done":false,"done":false}"#,
        r#"{"message":{"content":"x"},"eval_count":1,"eval_count":2}"#,
        r#"{"message":{"content":"x"},"model":"a","model":"b"}"#,
        r#"{"message":{"content":"x"},"created_at":"\ud800"}"#,
        r#"{"message":{"content":"x"},"model":"\ud800"}"#,
        r#"{"message":{"content":"x"},"done":null}"#,
        r#"{"message":null,"done":false}"#,
        r#" { "message" : { "content" : "x" } , "done" : false } "#,
        r#"{"message":{"content":"x"},"done":false} x"#,
        r#"{"message":{"content":"x","y":01},"done":false}"#,
    ] {
        let body = format!("{}{line}\n", body(Dialect::Ollama, &[text("first")]));
        assert_eq!(
            decode(body.as_bytes(), false),
            decode(body.as_bytes(), true),
            "{line}"
        );
    }
}
