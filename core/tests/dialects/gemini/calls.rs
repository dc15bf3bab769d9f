use super::support::{finish, outline, parts, text};
use crate::decoding::{Stream, body, short};
use serde_json::{Value, json};
use stepwell_core::dialect::{DecodeError, Dialect};

fn call(name: &str, args: Value) -> Value {
    json!({"functionCall": {"name": name, "args": args}})
}

#[test]
fn calls_come_whole_and_belong_to_the_message_before() {
    let chunk = parts(json!([
        {"text": "Look. "},
        call("get", json!({"b": 1, "a": "\u{1f980} \"x\""})),
        {"functionCall": {"name": "get", "id": "8hd01vsf", "args": {}}},
        {"functionCall": {"name": "now"}},
    ]));
    assert_eq!(
        outline(&[chunk, text("after")]),
        [
            "text start r-message-0",
            "text r-message-0: Look. ",
            "text end r-message-0",
            "call r-call-0 get of r-message-0",
            "args r-call-0: {\"b\":1,\"a\":\"\u{1f980} \\\"x\\\"\"}",
            "call end r-call-0",
            "call 8hd01vsf get of r-message-0",
            r#"sealed 8hd01vsf: {"id":"8hd01vsf"}"#,
            "args 8hd01vsf: {}",
            "call end 8hd01vsf",
            "call r-call-2 now of r-message-0",
            "call end r-call-2",
            "text start r-message-1",
            "text r-message-1: after",
            "text end r-message-1",
        ]
    );
}

#[test]
fn an_id_that_comes_twice_is_two_calls() {
    let twice = json!({"functionCall": {"name": "f", "id": "same", "args": {}}});
    let events = outline(&[parts(json!([twice, twice]))]);
    let calls: Vec<_> = events
        .iter()
        .filter(|event| event.starts_with("call ") && !event.starts_with("call end"))
        .collect();
    assert_eq!(
        calls,
        [
            "call same f of r-message-0",
            "call r-call-1 f of r-message-0"
        ]
    );
}

#[test]
fn arguments_in_pieces_are_given_out_when_the_call_is_whole() {
    let piece = |call: Value| parts(json!([{ "functionCall": call }]));
    let events = outline(&[
        parts(
            json!([{"functionCall": {"name": "book", "id": "i1", "willContinue": true}, "thoughtSignature": "s"}]),
        ),
        piece(
            json!({"partialArgs": [{"jsonPath": "$.city", "stringValue": "New ", "willContinue": true}], "willContinue": true}),
        ),
        piece(
            json!({"partialArgs": [{"jsonPath": "$.city", "stringValue": "Delhi"}, {"jsonPath": "$.days", "numberValue": 3}], "willContinue": true}),
        ),
        piece(
            json!({"partialArgs": [{"jsonPath": "$.who[0].adult", "boolValue": false}, {"jsonPath": "$.note", "nullValue": "NULL_VALUE"}], "willContinue": true}),
        ),
        piece(json!({})),
        parts(json!([call("next", json!({}))])),
    ]);
    assert_eq!(
        events,
        [
            "call i1 book of r-message-0",
            r#"sealed i1: {"id":"i1","thoughtSignature":"s"}"#,
            r#"args i1: {"city":"New Delhi","days":3,"who":[{"adult":false}],"note":null}"#,
            "call end i1",
            "call r-call-1 next of r-message-0",
            "args r-call-1: {}",
            "call end r-call-1",
        ]
    );
}

#[test]
fn a_call_in_pieces_ends_with_the_next_one_or_with_the_answer() {
    let open = |name: &str| {
        parts(
            json!([{"functionCall": {"name": name, "args": {"a": 1}, "partialArgs": [{"jsonPath": "$.b", "numberValue": 2}], "willContinue": true}}]),
        )
    };
    let late = parts(json!([{"functionCall": {"willContinue": true}, "thoughtSignature": "late"}]));
    assert_eq!(
        outline(&[open("f"), late, open("g")]),
        [
            "call r-call-0 f of r-message-0",
            r#"sealed r-call-0: {"thoughtSignature":"late"}"#,
            r#"args r-call-0: {"a":1,"b":2}"#,
            "call end r-call-0",
            "call r-call-1 g of r-message-0",
            r#"args r-call-1: {"a":1,"b":2}"#,
            "call end r-call-1",
        ]
    );
}

#[test]
fn pieces_of_nothing_are_dropped_with_a_warning() {
    let stray = parts(json!([{"functionCall": {"args": {}}}]));
    let lost = parts(
        json!([{"functionCall": {"name": "f", "partialArgs": [{"jsonPath": "odd", "stringValue": "x"}]}}]),
    );
    let bytes = body(Dialect::Gemini, &[stray, lost, finish("STOP")]);
    let (recorder, result) = Stream::new(Dialect::Gemini).run(bytes.as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()));
    assert_eq!(recorder.warnings.len(), 2, "{:?}", recorder.warnings);
    let events: Vec<_> = recorder.events.iter().map(short).collect();
    assert_eq!(
        events[1..3],
        ["call r-call-0 f of r-message-0", "args r-call-0: {}"]
    );
}

#[test]
fn a_frame_with_too_much_in_it_says_nothing() {
    let many: Vec<_> = (0..1_025).map(|_| call("f", json!({}))).collect();
    let mut first = vec![json!({"text": "never said"})];
    first.extend(many);
    let pieces = "x".repeat(9 << 20);
    let piece = json!({"jsonPath": "$.a", "stringValue": pieces});
    let heavy = json!([{"text": "never said"}, {"functionCall": {"name": "f", "partialArgs": [piece, piece, piece, piece]}}]);
    for frame in [parts(json!(first)), parts(heavy)] {
        let bytes = body(Dialect::Gemini, &[text("a"), frame]);
        let limits = stepwell_core::wire::FrameLimits {
            line: 1 << 30,
            event: 1 << 30,
        };
        let mut stream = Stream::new(Dialect::Gemini);
        stream.framer = Dialect::Gemini.framer(limits);
        let (recorder, result) = stream.run(bytes.as_bytes(), usize::MAX);
        assert!(matches!(result, Err(DecodeError::Answer(_))), "{result:?}");
        assert_eq!(recorder.events.len(), 3, "the first frame's alone");
    }
}
