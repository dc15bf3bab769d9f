//! The cursor and the serde view are two ways into the same dialect: on every frame they must say the same.

use crate::chat::{Recorder, short};
use crate::responses::{
    added, arguments_delta, body, call, completed, created, done, message, reasoning,
    summary_delta, text_delta,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::dialect::DecodeError;

fn decode(
    body: &[u8],
    without_cursor: bool,
) -> (Vec<String>, Result<(), std::mem::Discriminant<DecodeError>>) {
    let mut stream = crate::responses::stream();
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
        added(0, reasoning(0, &[])),
        summary_delta(0, 0, "plain"),
        summary_delta(0, 1, "\"esc\\aped\"\n\u{1f980} ä"),
        summary_delta(1, 0, "other item"),
        json!({"type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "delta": "raw"}),
        json!({"type": "response.reasoning_summary_text.done", "output_index": 0, "summary_index": 0, "text": "plain"}),
        done(0, reasoning(0, &["plain", "two"])),
        added(1, message(1, "")),
        text_delta(1, "plain"),
        text_delta(1, "\"esc\\aped\"\n\u{1f980} ä"),
        text_delta(1, ""),
        text_delta(2, "another"),
        json!({"type": "response.output_text.delta", "output_index": 1, "content_index": 1, "delta": "part"}),
        json!({"type": "response.output_text.delta", "delta": "no index"}),
        json!({"type": "response.output_text.delta", "item_id": "msg_1", "delta": "by id"}),
        json!({"type": "response.output_text.done", "output_index": 1, "content_index": 0, "text": "plain"}),
        json!({"type": "response.refusal.delta", "output_index": 1, "content_index": 0, "delta": "no"}),
        done(1, message(1, "plain")),
        added(3, call(3, "")),
        arguments_delta(3, "{\"x\""),
        arguments_delta(3, ":\"\\\"\"}"),
        arguments_delta(4, "{}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 3, "arguments": "{}"}),
        done(3, call(3, "{}")),
        done(4, call(4, "{}")),
        added(
            5,
            json!({"type": "custom_tool_call", "id": "ctc", "call_id": "call_5", "name": "sql"}),
        ),
        json!({"type": "response.custom_tool_call_input.delta", "output_index": 5, "delta": "\"x\""}),
        arguments_delta(5, "not mine"),
        added(6, json!({"type": "web_search_call", "id": "ws"})),
        text_delta(6, "at an odd item"),
        json!({"type": "response.completed", "response": {"status": "completed", "output": [message(1, "plain"), call(3, "{}")]}}),
        completed(json!([])),
        json!({"type": "error", "message": "no", "code": 1}),
        json!({"type": "keepalive"}),
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
    "\"type\":\"response.output_text.delta\",",
    "\"output_index\":0,",
    "\"content_index\":1,",
    "\"summary_index\":null,",
    "\"delta\":\"again\",",
    "\"item_id\":5,",
];

/// Items that have begun, so that the cursor has something to read.
fn opening() -> String {
    body(&[
        created(),
        added(0, reasoning(0, &[])),
        summary_delta(0, 0, "first"),
        added(3, call(3, "")),
        arguments_delta(3, "first"),
        added(1, message(1, "")),
        text_delta(1, "first"),
    ])
}

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
        let mut body = opening().into_bytes();
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
        r#"{"typ\u0065":"response.output_text.delta","output_index":1,"delta":"x"}"#,
        r#"{"type":"response.output_text.\u0064elta","output_index":1,"delta":"x"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"x","delta":"y"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"output_index":0,"delta":"x"}"#,
        r#"{"type":"response.output_text.delta","type":"x","output_index":1,"delta":"x"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"item_id":1,"item_id":2,"delta":"x"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"logprobs":1,"logprobs":2,"delta":"x"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"x","item_id":"\ud800"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"x","other":"\ud800"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"\ud800"}"#,
        r#"{"type":"response.output_text.delta","output_index":1.0,"delta":"x"}"#,
        r#"{"type":"response.output_text.delta","output_index":-1,"delta":"x"}"#,
        r#"{"type":"response.output_text.delta","output_index":"1","delta":"x"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"content_index":null,"delta":"x"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"content_index":99,"delta":"x"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"delta":null}"#,
        r#" { "type" : "response.output_text.delta" , "output_index" : 1 , "delta" : "x" } "#,
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"x"} x"#,
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"x","y":1e999}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"x","y":01}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"x","content_index":7}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"x"}"#,
        r#"{"type":"response.reasoning_text.delta","output_index":0,"summary_index":1,"delta":"x"}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":3,"delta":""}"#,
    ] {
        // Twice, as the first of a part is never the cursor's.
        let body = format!("{}data: {frame}\n\ndata: {frame}\n\n", opening());
        assert_eq!(
            decode(body.as_bytes(), false),
            decode(body.as_bytes(), true),
            "{frame}"
        );
    }
    let deep = format!(
        "{}data: {{\"x\":{}{},\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":\"deep\"}}\n\n",
        opening(),
        "[".repeat(500),
        "]".repeat(500)
    );
    let decoded = decode(deep.as_bytes(), false);
    assert_eq!(decoded, decode(deep.as_bytes(), true));
    assert_eq!(
        decoded.0.last().map(String::as_str),
        Some("text r-message-1: deep"),
        "what is not read may be as deep as it likes"
    );
}
