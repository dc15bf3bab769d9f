//! What the events that end a part say counts: what its pieces lacked is said then, and what they said otherwise is
//! replaced.

use crate::responses::{
    added, arguments_delta, body, call, completed, created, done, message, reasoning, run, short,
    stream, summary_delta, text_delta,
};
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Event, REPLACED};
use stepwell_core::pipeline::{Pipeline, StreamEnd};
use stepwell_core::transcript::Transcript;

fn arguments_done(index: u64, arguments: &str) -> Value {
    json!({"type": "response.function_call_arguments.done", "output_index": index, "arguments": arguments})
}

fn text_done(index: u64, part: u64, text: &str) -> Value {
    json!({"type": "response.output_text.done", "output_index": index, "content_index": part, "text": text})
}

fn summary_done(index: u64, part: u64, text: &str) -> Value {
    json!({"type": "response.reasoning_summary_text.done", "output_index": index, "summary_index": part, "text": text})
}

/// What comes of an answer with these events: its text, its reasoning, the arguments of its calls, what was replaced, and
/// how many warnings there were.
fn read(frames: &[Value], end: Value) -> (String, String, Vec<String>, Vec<Value>, usize) {
    let mut all = vec![created()];
    all.extend_from_slice(frames);
    all.push(end);
    let body = body(&all);
    let (recorder, result) = run(&body);
    assert_eq!(result, Ok(()), "{body}");
    // The same with a snapshot after each frame, and without templates.
    for (snapshots, without_templates) in [(true, false), (false, true)] {
        let mut other = stream();
        (other.snapshots, other.without_templates) = (snapshots, without_templates);
        assert_eq!(other.run(body.as_bytes(), 7).0, recorder);
    }
    let ids = crate::stream::ids(Dialect::OpenAiResponses);
    let mut pipeline = Pipeline::new(Dialect::OpenAiResponses, ids, Default::default());
    let mut transcript = Transcript::default();
    let received = pipeline.receive(body.as_bytes(), &mut transcript, &mut ());
    assert_eq!(received, Ok(()));
    let ended = pipeline.end(&mut transcript, &mut ());
    assert_eq!(ended, Ok(StreamEnd::Finished));
    let replaced = recorder.events.iter().filter_map(|event| match event {
        Event::Custom(event) if event.name == REPLACED => Some(event.value.clone()),
        _ => None,
    });
    let calls = transcript.tool_calls();
    (
        transcript.text(),
        transcript.reasoning(),
        calls.map(|call| call.function.arguments.clone()).collect(),
        replaced.collect(),
        recorder.warnings.len(),
    )
}

#[test]
fn arguments_are_what_their_end_says() {
    const WHOLE: &str = r#"{"e":"6*7"}"#;
    for pieces in [
        &["{\"e\":"][..],
        &["{\"e\":", "\"6*7"],
        &[],
        &[WHOLE],
        &["{", "\"", "e"],
    ] {
        for ends in [
            vec![arguments_done(0, WHOLE), done(0, call(0, WHOLE))],
            vec![done(0, call(0, WHOLE))],
            vec![arguments_done(0, WHOLE)],
            vec![arguments_done(0, &WHOLE[..9]), done(0, call(0, WHOLE))],
            vec![done(0, call(0, WHOLE)), arguments_done(0, WHOLE)],
            vec![],
        ] {
            let mut frames = vec![added(0, call(0, ""))];
            frames.extend(pieces.iter().map(|piece| arguments_delta(0, piece)));
            let is_shorter = ends.len() == 2
                && ends[0]["arguments"].as_str().is_some_and(|all| {
                    all.len() < WHOLE.len() && pieces.concat().len() > all.len()
                });
            frames.extend(ends);
            let (.., calls, replaced, warnings) = read(&frames, completed(json!([call(0, WHOLE)])));
            assert_eq!(calls, [WHOLE], "{frames:?}");
            assert_eq!(replaced.len(), usize::from(is_shorter), "{frames:?}");
            assert_eq!(warnings, usize::from(is_shorter), "{frames:?}");
        }
    }
}

#[test]
fn arguments_that_end_as_others_are_replaced() {
    let frames = [
        added(0, call(0, "")),
        arguments_delta(0, "{\"e\":\"6*6"),
        arguments_delta(0, "\"}"),
        arguments_done(0, r#"{"e":"6*8"}"#),
        done(0, call(0, r#"{"e":"6*7"}"#)),
        arguments_delta(0, "late"),
    ];
    let (.., calls, replaced, warnings) = read(&frames, completed(json!([])));
    assert_eq!(calls, [r#"{"e":"6*7"}"#]);
    let of = |arguments: &str| json!({"toolCallId": "call_0", "arguments": arguments});
    assert_eq!(replaced, [of(r#"{"e":"6*8"}"#), of(r#"{"e":"6*7"}"#)]);
    assert_eq!(warnings, 3);
}

#[test]
fn the_input_of_a_custom_tool_is_what_its_end_says() {
    let item = |input: &str| json!({"type": "custom_tool_call", "id": "ctc_0", "call_id": "call_0", "name": "sql", "input": input});
    let delta = |delta: &str| json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": delta});
    for (pieces, replaces) in [(&["select \"a"][..], 0), (&[], 0), (&["drop \"a\""], 1)] {
        let mut frames = vec![added(0, item(""))];
        frames.extend(pieces.iter().map(|piece| delta(piece)));
        frames.push(done(0, item("select \"a\"\n")));
        let (.., calls, replaced, _) = read(&frames, completed(json!([])));
        let [arguments] = &calls[..] else {
            panic!("{calls:?}")
        };
        let arguments: Value = serde_json::from_str(arguments).expect("JSON");
        assert_eq!(arguments, json!({"input": "select \"a\"\n"}));
        assert_eq!(replaced.len(), replaces);
    }
}

#[test]
fn text_is_what_its_end_says() {
    for pieces in [&["Hel"][..], &["H", "e"], &[], &["Hello"]] {
        for ends in [
            vec![text_done(0, 0, "Hello"), done(0, message(0, "Hello"))],
            vec![done(0, message(0, "Hello"))],
            vec![text_done(0, 0, "Hell"), done(0, message(0, "Hello"))],
            vec![done(0, message(0, "")), text_done(0, 0, "Hello")],
            vec![done(0, message(0, ""))],
            vec![],
        ] {
            let mut frames = vec![added(0, message(0, ""))];
            frames.extend(pieces.iter().map(|piece| text_delta(0, piece)));
            frames.extend(ends);
            let (text, ..) = read(&frames, completed(json!([message(0, "Hello")])));
            assert_eq!(text, "Hello", "{frames:?}");
        }
    }
}

#[test]
fn text_that_ends_as_another_is_replaced() {
    let mut second = text_delta(0, "no");
    second["content_index"] = 1.into();
    let frames = [
        added(0, message(0, "")),
        text_delta(0, "One, "),
        text_done(0, 0, "One, "),
        second,
        text_done(0, 1, "two."),
        done(
            0,
            json!({"type": "message", "id": "msg_0", "content": [
                {"type": "output_text", "text": "One, "}, {"type": "output_text", "text": "two. Three."},
            ]}),
        ),
    ];
    let (text, _, _, replaced, warnings) = read(&frames, completed(json!([])));
    assert_eq!(text, "One, two. Three.");
    assert_eq!(
        replaced,
        [json!({"messageId": "r-message-0", "from": 5, "text": "two."})]
    );
    assert_eq!(warnings, 1);
}

#[test]
fn reasoning_is_what_its_end_says() {
    for (pieces, ends, warned) in [
        (&["Let "][..], vec![summary_done(0, 0, "Let me.")], 0),
        (&["Let "], vec![], 0),
        (&[], vec![summary_done(0, 0, "Let me.")], 0),
    ] {
        let mut frames = vec![added(0, reasoning(0, &[]))];
        frames.extend(pieces.iter().map(|piece| summary_delta(0, 0, piece)));
        frames.extend(ends);
        frames.push(done(0, reasoning(0, &["Let me."])));
        let (_, thought, .., warnings) = read(&frames, completed(json!([])));
        assert_eq!(thought, "Let me.");
        assert_eq!(warnings, warned);
    }
    let frames = [
        added(0, reasoning(0, &[])),
        summary_delta(0, 0, "Let us"),
        done(0, reasoning(0, &["No."])),
    ];
    let (_, thought, .., warnings) = read(&frames, completed(json!([])));
    assert_eq!((thought.as_str(), warnings), ("Let us", 1));
}

#[test]
fn text_behind_the_end_of_its_item_is_shown() {
    let early = [
        added(0, message(0, "")),
        text_delta(0, "1"),
        text_done(0, 0, "1"),
        done(0, message(0, "1")),
    ];
    for late in [
        vec![text_delta(0, " and"), text_delta(0, " 2")],
        vec![text_delta(0, " and 2"), text_done(0, 0, "1 and 2")],
        vec![text_done(0, 0, "1 and 2"), text_done(0, 0, "1 and 2")],
    ] {
        for end in [
            json!([]),
            json!([message(0, "1")]),
            json!([message(0, "1 and 2")]),
        ] {
            let frames = [&early[..], &late].concat();
            let (text, .., warnings) = read(&frames, completed(end));
            assert_eq!((text.as_str(), warnings), ("1 and 2", 1), "{late:?}");
        }
    }
    let (text, .., warnings) = read(&early, completed(json!([message(0, "1 and 2")])));
    assert_eq!((text.as_str(), warnings), ("1 and 2", 1));
    let thoughts = [
        added(0, reasoning(0, &[])),
        summary_delta(0, 0, "Let "),
        done(0, reasoning(0, &["Let "])),
        summary_delta(0, 0, "me."),
    ];
    let (_, thought, .., warnings) = read(&thoughts, completed(json!([])));
    assert_eq!((thought.as_str(), warnings), ("Let me.", 1));
}

#[test]
fn a_tool_that_the_provider_ran_is_no_call_of_the_apps() {
    let own = |id: &str, call_id: &str, name: &str| json!({"type": "custom_tool_call", "id": id, "call_id": call_id, "name": name, "status": "completed", "input": "{}"});
    // By its ids.
    for (id, call_id) in [
        ("ctc_1_xs_call_1", "xs_call_1"),
        ("ctc_1_xs_call_1", "x"),
        ("x", "xs_call_1"),
    ] {
        let item = own(id, call_id, "x_keyword_search");
        let frames = [
            created(),
            added(0, item.clone()),
            done(0, item),
            completed(json!([])),
        ];
        let all: Vec<_> = crate::responses::events(&frames)
            .iter()
            .map(short)
            .collect();
        assert!(all[1].starts_with("custom provider_item"), "{all:?}");
        assert!(
            !all.iter().any(|event| event.starts_with("call")),
            "{all:?}"
        );
    }
    // By the tools that the request had.
    let item = own("ctc_1", "call_1", "x_semantic_search");
    for (tools, is_own) in [
        (json!([{"type": "x_search"}]), true),
        (
            json!([{"type": "x_search"}, {"type": "custom", "name": "x_semantic_search"}]),
            false,
        ),
        (json!([{"type": "custom", "name": "other"}]), false),
        (json!([]), false),
    ] {
        let mut end = completed(json!([item.clone()]));
        end["response"]["tools"] = tools.clone();
        let frames = [
            created(),
            added(0, item.clone()),
            done(0, item.clone()),
            end,
        ];
        let events = crate::responses::events(&frames);
        let is_answered = events
            .iter()
            .any(|event| matches!(event, Event::ToolCallResult(_)));
        assert_eq!(is_answered, is_own, "{tools}");
    }
}
