use crate::chat::{Stream, body, calls, delta, events, finish, outline, text};
use serde_json::{Value, json};
use stepwell_core::dialect::{AnswerLimit, DecodeError, Dialect};
use stepwell_core::event::Event;

/// The outline without the run's own events.
fn inner(frames: &[Value]) -> Vec<String> {
    let all = outline(frames);
    all[1..all.len() - 1].to_vec()
}

fn fragment(
    index: u64,
    id: impl Into<Value>,
    name: impl Into<Value>,
    arguments: impl Into<Value>,
) -> Value {
    let [id, name, arguments] = [id.into(), name.into(), arguments.into()];
    json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn arguments_come_in_pieces_and_all_calls_end_together() {
    let frames = [
        text("Let me see"),
        calls(json!([fragment(0, json!("a"), json!("add"), json!(""))])),
        calls(json!([{"index": 0, "function": {"arguments": "{\"x\":"}}])),
        calls(json!([{"index": 0, "function": {"arguments": "1}"}}])),
        calls(json!([fragment(1, json!("b"), json!("mul"), json!("{}"))])),
        finish("tool_calls"),
    ];
    assert_eq!(
        inner(&frames),
        [
            "text start r-message-0",
            "text r-message-0: Let me see",
            "text end r-message-0",
            "call a add",
            "args a: {\"x\":",
            "args a: 1}",
            "call b mul",
            "args b: {}",
            "call end a",
            "call end b",
        ]
    );
    let all = events(&body(&frames));
    let parents = all.iter().filter_map(|event| match event {
        Event::ToolCallStart(start) => start.parent_message_id.as_deref(),
        _ => None,
    });
    assert_eq!(parents.collect::<Vec<_>>(), ["r-message-0", "r-message-0"]);
}

#[test]
fn calls_interleave_by_index_which_is_only_a_key() {
    let frames = [
        calls(json!([
            fragment(7, json!("a"), json!("f"), json!("")),
            fragment(1, json!("b"), json!("g"), json!(""))
        ])),
        calls(
            json!([{"index": 1, "function": {"arguments": "1"}}, {"index": 7, "function": {"arguments": "2"}}]),
        ),
        calls(json!([{"index": u64::MAX, "id": "c", "function": {"name": "h", "arguments": "3"}}])),
        calls(json!([{"index": 7, "function": {"arguments": "4"}}])),
        finish("tool_calls"),
    ];
    assert_eq!(
        inner(&frames),
        [
            "call a f",
            "call b g",
            "args b: 1",
            "args a: 2",
            "call c h",
            "args c: 3",
            "args a: 4",
            "call end a",
            "call end b",
            "call end c",
        ]
    );
}

#[test]
fn a_known_id_or_name_is_never_overwritten() {
    let frames = [
        calls(json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "f"}}])),
        calls(json!([fragment(0, json!("a"), json!(""), json!("1"))])),
        calls(json!([fragment(0, json!("a"), json!("f"), json!("2"))])),
        calls(json!([fragment(0, Value::Null, Value::Null, json!("3"))])),
        calls(json!([fragment(0, json!(""), json!(""), json!("4"))])),
        calls(json!([fragment(
            0,
            json!("made-up-anew"),
            Value::Null,
            json!("5")
        )])),
        finish("tool_calls"),
    ];
    assert_eq!(
        inner(&frames),
        [
            "call a f",
            "args a: 1",
            "args a: 2",
            "args a: 3",
            "args a: 4",
            "args a: 5",
            "call end a"
        ]
    );
}

#[test]
fn a_name_may_come_after_the_id_and_even_after_arguments() {
    let frames = [
        calls(json!([{"index": 0, "id": "a", "function": {"name": "", "arguments": ""}}])),
        calls(json!([{"index": 0, "function": {"arguments": "{\"x\""}}])),
        calls(json!([{"index": 0, "function": {"name": "f", "arguments": ":1}"}}])),
        finish("tool_calls"),
    ];
    assert_eq!(
        inner(&frames),
        ["call a f", "args a: {\"x\"", "args a: :1}", "call end a"]
    );
}

#[test]
fn a_call_that_never_gets_a_name_is_left_out_with_a_warning() {
    let frames = [
        calls(json!([{"index": 0, "id": "a", "function": {"arguments": "{}"}}])),
        finish("tool_calls"),
    ];
    let (recorder, result) =
        Stream::new(Dialect::OpenAiChat).run(body(&frames).as_bytes(), usize::MAX);
    assert_eq!(result, Ok(()));
    assert_eq!(recorder.events.len(), 2);
    assert_eq!(recorder.warnings.len(), 1);
}

#[test]
fn ids_that_are_missing_or_taken_are_made() {
    let frames = [
        calls(json!([fragment(
            0,
            json!("r-call-1"),
            json!("f"),
            json!("{}")
        )])),
        calls(json!([fragment(1, Value::Null, json!("g"), json!("{}"))])),
        calls(json!([fragment(
            2,
            json!("r-call-1"),
            json!("h"),
            json!("{}")
        )])),
        finish("tool_calls"),
    ];
    let starts: Vec<_> = inner(&frames)
        .into_iter()
        .filter(|line| line.starts_with("call ") && !line.contains("end"))
        .collect();
    assert_eq!(
        starts,
        ["call r-call-1 f", "call r-call-2 g", "call r-call-3 h"]
    );
}

#[test]
fn without_an_index_a_new_id_is_a_new_call() {
    let whole = |id: Value, name: &str, arguments: &str| json!({"id": id, "function": {"name": name, "arguments": arguments}});
    let frames = [
        calls(json!([whole(json!("a"), "f", "{\"x\":")])),
        calls(json!([whole(json!("a"), "", "1}")])),
        calls(json!([whole(json!("b"), "f", "{")])),
        calls(json!([{"function": {"arguments": "}"}}])),
        finish("tool_calls"),
    ];
    assert_eq!(
        inner(&frames),
        [
            "call a f",
            "args a: {\"x\":",
            "args a: 1}",
            "call b f",
            "args b: {",
            "args b: }",
            "call end a",
            "call end b"
        ]
    );
}

#[test]
fn without_index_and_id_the_position_counts() {
    let named = |name: &str| json!({"function": {"name": name, "arguments": ""}});
    let more = |text: &str| json!({"function": {"arguments": text}});
    let frames = [
        calls(json!([named("f"), named("g")])),
        calls(json!([more("1"), more("2")])),
        calls(json!([more("3"), more("")])),
        calls(json!([named("h")])),
        calls(json!([more("4")])),
        finish("tool_calls"),
    ];
    assert_eq!(
        inner(&frames),
        [
            "call r-call-0 f",
            "args r-call-0: 1",
            "call r-call-1 g",
            "args r-call-1: 2",
            "args r-call-0: 3",
            "call r-call-2 h",
            "args r-call-2: 4",
            "call end r-call-0",
            "call end r-call-1",
            "call end r-call-2",
        ]
    );
}

#[test]
fn whole_calls_that_share_an_index_are_told_apart_by_id() {
    let frames = [
        calls(json!([fragment(
            0,
            json!("a"),
            json!("f"),
            json!("{\"x\":1}")
        )])),
        calls(json!([fragment(
            0,
            json!("b"),
            json!("f"),
            json!("{\"x\":2}")
        )])),
        finish("tool_calls"),
    ];
    assert_eq!(
        inner(&frames),
        [
            "call a f",
            "args a: {\"x\":1}",
            "call b f",
            "args b: {\"x\":2}",
            "call end a",
            "call end b"
        ]
    );
}

#[test]
fn the_ways_of_saying_no_arguments_are_kept_as_they_are() {
    for (arguments, said) in [
        (Value::Null, None),
        (json!(""), None),
        (json!("{}"), Some("{}")),
        (json!("null"), Some("null")),
        (json!(" {}"), Some(" {}")),
        (json!({}), Some("{}")),
        (json!({"a": [1]}), Some("{\"a\":[1]}")),
    ] {
        let frames = [
            calls(json!([fragment(0, json!("0"), json!("f"), arguments)])),
            finish("tool_calls"),
        ];
        let args = said.map(|said| format!("args 0: {said}"));
        let expected: Vec<_> = ["call 0 f".to_owned()]
            .into_iter()
            .chain(args)
            .chain(["call end 0".to_owned()])
            .collect();
        assert_eq!(inner(&frames), expected);
    }
}

#[test]
fn text_after_a_call_goes_on_in_the_same_message() {
    let frames = [
        text("a"),
        calls(json!([fragment(0, json!("x"), json!("f"), json!("{"))])),
        text("b"),
        calls(json!([{"index": 0, "function": {"arguments": "}"}}])),
        calls(json!([fragment(1, json!("y"), json!("g"), json!(""))])),
        finish("tool_calls"),
    ];
    assert_eq!(
        inner(&frames),
        [
            "text start r-message-0",
            "text r-message-0: a",
            "text end r-message-0",
            "call x f",
            "args x: {",
            "text start r-message-0",
            "text r-message-0: b",
            "args x: }",
            "text end r-message-0",
            "call y g",
            "call end x",
            "call end y",
        ]
    );
}

#[test]
fn one_frame_can_say_everything() {
    let frames = [
        json!({"model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls", "delta": {
        "tool_calls": [fragment(0, json!("x"), json!("f"), json!("{}"))], "content": "b", "reasoning": "a",
    }}], "usage": {"prompt_tokens": 1}}),
    ];
    let said = inner(&frames);
    assert_eq!(said[2], "reasoning r-reasoning-0: a");
    assert_eq!(
        said[6..],
        [
            "text r-message-0: b",
            "text end r-message-0",
            "call x f",
            "args x: {}",
            "call end x"
        ]
    );
}

#[test]
fn a_cut_stream_leaves_its_calls_open() {
    let frames = [calls(json!([fragment(
        0,
        json!("x"),
        json!("f"),
        json!("{\"a\"")
    )]))];
    let kinds: Vec<_> = events(&body(&frames))
        .iter()
        .map(|event| event.kind().to_owned())
        .collect();
    assert_eq!(kinds, ["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS"]);
    let cut = [&frames[..], &[finish("length")]].concat();
    assert_eq!(inner(&cut), ["call x f", "args x: {\"a\"", "call end x"]);
}

#[test]
fn calls_and_what_is_held_for_them_are_bounded() {
    let many: Vec<_> = (0..1_025)
        .map(|n| {
            calls(json!([fragment(
                n,
                json!(format!("c{n}")),
                json!("f"),
                json!("")
            )]))
        })
        .collect();
    let (recorder, result) =
        Stream::new(Dialect::OpenAiChat).run(body(&many).as_bytes(), usize::MAX);
    assert_eq!(recorder.events.len(), 1_025);
    let limit = DecodeError::Answer(AnswerLimit::Calls { max: 1_024 });
    assert_eq!(result, Err(limit.clone()));

    let all_at_once: Vec<_> = (0..1_025)
        .map(|n| fragment(n, Value::Null, json!("f"), json!("")))
        .collect();
    let (recorder, result) = Stream::new(Dialect::OpenAiChat)
        .run(body(&[calls(json!(all_at_once))]).as_bytes(), usize::MAX);
    assert_eq!(recorder.events, []);
    assert_eq!(result, Err(limit));

    let piece = "x".repeat(5 << 20);
    let nameless: Vec<_> = (0..7)
        .map(|_| calls(json!([{"index": 0, "function": {"arguments": piece}}])))
        .collect();
    let (_, result) = Stream::new(Dialect::OpenAiChat).run(body(&nameless).as_bytes(), usize::MAX);
    assert!(matches!(result, Err(DecodeError::Answer(_))), "{result:?}");
}

#[test]
fn a_stray_index_in_the_delta_means_nothing() {
    let frames = [
        delta(
            json!({"tool_calls": [fragment(0, json!("x"), json!("f"), json!(""))], "index": 0, "content": ""}),
        ),
        delta(
            json!({"tool_calls": [{"type": "function", "function": {"name": "", "arguments": "{}"}, "index": 0}], "index": 3}),
        ),
        finish("tool_calls"),
    ];
    assert_eq!(inner(&frames), ["call x f", "args x: {}", "call end x"]);
}
