//! The cursor and the serde view are two ways into the same dialect: on every frame they must say the same.

use super::frames::*;
use crate::chat::{Recorder, Stream, body, short};
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::dialect::{DecodeError, Dialect};

fn decode_by(
    body: &[u8],
    without_cursor: bool,
) -> (
    Vec<String>,
    Vec<String>,
    Result<(), std::mem::Discriminant<DecodeError>>,
) {
    let mut stream = Stream::new(Dialect::Cohere);
    stream.without_cursor = without_cursor;
    let (Recorder { events, warnings }, result) = stream.run(body, usize::MAX);
    // An error that has no words is told by its frame, which is not the same frame here.
    let events = events
        .iter()
        .map(|event| short(event).replace("\"\\u0000\":0,", ""));
    (
        events.collect(),
        warnings,
        result.map_err(|error| std::mem::discriminant(&error)),
    )
}

fn samples() -> Vec<Value> {
    vec![
        text("plain"),
        text("\"esc\\aped\"\n\u{1f980} ä"),
        text(""),
        thinking("hm"),
        plan("I will"),
        content(
            "content-delta",
            0,
            json!({"text": "both", "thinking": "at once"}),
        ),
        content("content-start", 0, json!({"type": "text", "text": "x"})),
        json!({"type": "content-end", "index": 0}),
        json!({"index": 0, "delta": {"message": {"content": {"text": "late"}}}, "type": "content-delta"}),
        call_start(0, "a", "f"),
        call_start(1, "b", "g"),
        arguments(0, json!("{\"a\"")),
        arguments(1, json!("\"quoted\\\"\"")),
        arguments(1, json!({"x": 1})),
        arguments(7, json!("nobody's")),
        arguments(0, Value::Null),
        call_end(0),
        json!({"type": "citation-start", "delta": {"message": {"citations": {"text": "x"}}}}),
        end("COMPLETE"),
    ]
}

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
    "null",
    "\"\"",
    "\\u0061",
    "\\ud800",
    "\u{1f980}",
    "\"text\":\"again\",",
    "\"index\":0,",
    "\"type\":\"content-delta\",",
    "\"error\":5,",
    "\"name\":\"n\",",
    "\"message\":{},",
];

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let edit = (
        any::<prop::sample::Index>(),
        0..3_usize,
        prop::sample::select(PIECES),
    );
    let frame = (
        prop::sample::select(samples()),
        prop::option::weighted(0.4, edit),
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
        let mut body = body(&[start(), call_start(0, "z", "f")]).into_bytes();
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
        prop_assert_eq!(decode_by(&body, false), decode_by(&body, true));
    }
}
