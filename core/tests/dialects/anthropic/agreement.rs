//! The cursor and the serde view are two ways into the same dialect: on every frame they must say the same.

use super::support::{
    Recorder, Stream, block, body, call, delta, input, short, start, stop, text, thinking, whole,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::dialect::{DecodeError, Dialect};

fn decode(
    body: &[u8],
    without_cursor: bool,
) -> (Vec<String>, Result<(), std::mem::Discriminant<DecodeError>>) {
    let mut stream = Stream::new(Dialect::Anthropic);
    stream.without_cursor = without_cursor;
    let (Recorder { events, .. }, result) = stream.run(body, usize::MAX);
    // What is told as it came holds the key that was put in, or is told by its frame.
    let events = events
        .iter()
        .map(|event| short(event).replace("\"\\u0000\":0,", ""));
    (
        events.collect(),
        result.map_err(|error| std::mem::discriminant(&error)),
    )
}

fn frames() -> Vec<Value> {
    [
        text(0, &["plain", "", "\"esc\\aped\"\n\u{1f980} ä"]),
        thinking(1, &["hm", "", "\u{7f}\t"], "c2ln"),
        call(2, "a", "f", &["", "{\"x\": \"\\\"\"", "}"]),
        vec![
            block(
                3,
                json!({"type": "tool_use", "id": "b", "name": "g", "input": {"y": 1}}),
            ),
            delta(3, input(&["{}"])[0].clone()),
            delta(
                0,
                json!({"type": "text_delta", "text": "also", "thinking": "this"}),
            ),
            delta(
                0,
                json!({"type": "citations_delta", "citation": {"type": "x"}}),
            ),
            delta(0, json!({"type": "text_delta"})),
            delta(0, json!({"type": "new_delta", "text": "x"})),
            json!({"type": "ping"}),
            stop("end_turn"),
            json!({"type": "message_stop"}),
            json!({"type": "error", "error": {"type": "t", "message": "no"}}),
        ],
        whole(
            4,
            json!({"type": "server_tool_use", "id": "s", "name": "n", "input": {}}),
            input(&["{\"q\"", ":1}"]),
        ),
    ]
    .concat()
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
    "-",
    "1",
    "null",
    "\"\"",
    "\\u0061",
    "\\ud800",
    "\u{1f980}",
    "true",
    "e",
    "\"text\":\"again\",",
    "\"index\":0,",
    "\"type\":\"text_delta\",",
    "\"usage\":{},",
    "\"error\":1,",
    "\"signature\":\"s\",",
    "\"delta\":{},",
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
    prop::collection::vec(frame, 1..14).prop_map(|frames| {
        let mut body = body(&[start()]).into_bytes();
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
        r#"{"delta":{"text":"sorted","type":"text_delta"},"index":0,"type":"content_block_delta"}"#,
        r#" { "type" : "content_block_delta" , "index" : 0 , "delta" : { "type" : "text_delta" , "text" : "x" } } "#,
        r#"{"type":"content_block_\u0064elta","index":0,"delta":{"type":"text_delta","text":"x"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_d\u0065lta","text":"x"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","t\u0065xt":"x"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"},"delta":{}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x","x":1,"x":2}}"#,
        r#"{"type":"content_block_delta","index":0,"usage":1,"usage":2,"delta":{"type":"text_delta","text":"x"}}"#,
        r#"{"type":"content_block_delta","index":0,"error":{},"delta":{"type":"text_delta","text":"x"}}"#,
        r#"{"type":"content_block_delta","index":0.0,"delta":{"type":"text_delta","text":"x"}}"#,
        r#"{"type":"content_block_delta","index":-0,"delta":{"type":"text_delta","text":"x"}}"#,
        r#"{"type":"content_block_delta","index":null,"delta":{"type":"text_delta","text":"x"}}"#,
        r#"{"type":"content_block_delta","index":99999999999999999999,"delta":{"type":"text_delta","text":"x"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x","thinking":"\ud800"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud800"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":null}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"},"x":01}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}} x"#,
    ] {
        let body = format!("{}data: {frame}\n\n", body(&[start()]));
        assert_eq!(
            decode(body.as_bytes(), false),
            decode(body.as_bytes(), true),
            "{frame}"
        );
    }
    let deep = format!(
        "{}data: {{\"x\":{}{},\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"x\"}}}}\n\n",
        body(&[start()]),
        "[".repeat(500),
        "]".repeat(500)
    );
    assert_eq!(
        decode(deep.as_bytes(), false),
        decode(deep.as_bytes(), true)
    );
    assert_eq!(
        decode(deep.as_bytes(), false).0.len(),
        3,
        "what is not read may be as deep as it likes"
    );
}
