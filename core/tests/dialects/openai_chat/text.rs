use crate::chat::{Stream, body, delta, events, finish, outline, text};
use serde_json::{Value, json};
use stepwell_core::dialect::{DecodeError, Dialect};
use stepwell_core::event::{Event, TokenUsage};

#[test]
fn text_is_one_message_that_begins_with_its_first_piece() {
    let frames = [
        delta(json!({"role": "assistant", "content": ""})),
        text("Hel"),
        text("lo \"you\"\n\u{1f980}"),
        text(""),
        finish("stop"),
    ];
    assert_eq!(
        outline(&frames),
        [
            "start",
            "text start r-message-0",
            "text r-message-0: Hel",
            "text r-message-0: lo \"you\"\n\u{1f980}",
            "text end r-message-0",
            "finish stop",
        ]
    );
}

#[test]
fn events_carry_the_hops_ids_and_usage_its_model() {
    let usage = json!({
        "model": "m-1", "choices": [],
        "usage": {"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 27,
            "prompt_tokens_details": {"cached_tokens": 5}, "completion_tokens_details": {"reasoning_tokens": 3}}
    });
    let all = events(&body(&[
        text("a"),
        finish("length"),
        usage,
        json!("[DONE]"),
    ]));
    let Some(Event::RunFinished(finished)) = all.last() else {
        panic!("{all:?}");
    };
    assert_eq!(finished.thread_id, "t");
    assert_eq!(finished.run_id, "r");
    assert_eq!(finished.outcome, None);
    assert_eq!(
        finished.usage,
        Some(vec![TokenUsage {
            model: Some("m-1".to_owned()),
            input_tokens: Some(20),
            output_tokens: Some(7),
            total_tokens: Some(27),
            reasoning_tokens: Some(3),
            cached_input_tokens: Some(5),
            ..TokenUsage::default()
        }])
    );
}

fn usage_of(frames: &[Value]) -> Option<(Option<u64>, Option<u64>)> {
    let mut frames = frames.to_vec();
    frames.push(json!("[DONE]"));
    let all = events(&body(&frames));
    let Some(Event::RunFinished(finished)) = all.last() else {
        panic!("{all:?}");
    };
    let usage = finished.usage.as_ref()?;
    assert_eq!(usage.len(), 1);
    Some((usage[0].input_tokens, usage[0].output_tokens))
}

#[test]
fn the_last_usage_wins_wherever_it_stands() {
    let usage = |input: u64| json!({"prompt_tokens": input, "completion_tokens": 1});
    let in_finish =
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage(3)});
    let groq = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "x_groq": {"usage": usage(4)}});
    let late = json!({"choices": [], "usage": usage(5)});
    let floats = json!({"choices": [], "usage": {"prompt_tokens": 6.0, "completion_tokens": 1}});
    assert_eq!(usage_of(&[text("a"), finish("stop")]), None);
    assert_eq!(
        usage_of(&[text("a"), in_finish.clone()]),
        Some((Some(3), Some(1)))
    );
    assert_eq!(
        usage_of(&[text("a"), groq.clone()]),
        Some((Some(4), Some(1)))
    );
    assert_eq!(
        usage_of(&[text("a"), in_finish, groq, late.clone()]),
        Some((Some(5), Some(1)))
    );
    assert_eq!(
        usage_of(&[text("a"), late, floats, finish("stop")]),
        Some((Some(6), Some(1)))
    );
}

#[test]
fn only_the_first_choice_is_read() {
    let other = |index: u64, content: &str, reason: Value| json!({"index": index, "delta": {"content": content}, "finish_reason": reason});
    let chunk = |choices: Vec<Value>| json!({"model": "m", "choices": choices});
    let frames = [
        chunk(vec![other(0, "a", Value::Null), other(1, "x", Value::Null)]),
        chunk(vec![other(1, "y", Value::Null)]),
        chunk(vec![
            other(1, "z", json!("length")),
            other(0, "b", Value::Null),
        ]),
        chunk(vec![other(0, "c", json!("stop"))]),
        chunk(vec![other(1, "", json!("length"))]),
    ];
    assert_eq!(
        outline(&frames),
        [
            "start",
            "text start r-message-0",
            "text r-message-0: a",
            "text r-message-0: b",
            "text r-message-0: c",
            "text end r-message-0",
            "finish stop",
        ]
    );
}

#[test]
fn a_finish_reason_that_comes_twice_finishes_once() {
    let frames = [
        text("a"),
        finish("stop"),
        finish("stop"),
        json!("[DONE]"),
        text("late"),
    ];
    assert_eq!(
        outline(&frames)
            .iter()
            .filter(|line| line.starts_with("finish"))
            .count(),
        1
    );
    assert_eq!(
        outline(&frames).last().map(String::as_str),
        Some("finish stop")
    );
}

#[test]
fn the_end_of_the_body_finishes_only_what_the_provider_finished() {
    let kinds = |frames: &[Value]| -> Vec<String> {
        events(&body(frames))
            .iter()
            .map(|event| event.kind().to_owned())
            .collect()
    };
    assert_eq!(
        kinds(&[text("a"), finish("stop")])
            .last()
            .map(String::as_str),
        Some("RUN_FINISHED")
    );
    assert_eq!(
        kinds(&[text("a")]),
        ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
    );
    assert_eq!(kinds(&[]), Vec::<String>::new());
}

#[test]
fn frames_of_other_shapes_are_passed_over() {
    let frames = [
        json!({"id": "x", "object": "something.else"}),
        json!([1, 2]),
        json!("17"),
        json!({"choices": null}),
        json!({"choices": "none"}),
        text("a"),
        json!({"choices": [null, 7, "x"]}),
        json!({"choices": [{"index": 0, "delta": null}]}),
        json!({"choices": [{"index": 0, "delta": "?"}], "usage": []}),
        json!({"choices": [{"index": "0", "delta": {"content": 5, "tool_calls": {}, "reasoning": {}, "refusal": []}}]}),
        json!({"prompt_filter_results": [{"deep": [[[{}]]]}], "choices": []}),
        finish("stop"),
    ];
    assert_eq!(
        outline(&frames),
        [
            "start",
            "text start r-message-0",
            "text r-message-0: a",
            "text end r-message-0",
            "finish stop",
        ]
    );
}

#[test]
fn content_may_be_a_list_of_parts() {
    let parts = |parts: Value| delta(json!({ "content": parts }));
    let frames = [
        parts(
            json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}, {"type": "image"}]}]),
        ),
        parts(
            json!([{"type": "thinking", "thinking": ".", "closed": true}, {"type": "text", "text": "A"}]),
        ),
        parts(json!(["B", {"type": "something", "text": "no"}, {"type": "text", "text": ""}])),
        text("C"),
        finish("stop"),
    ];
    assert_eq!(
        outline(&frames),
        [
            "start",
            "span r-reasoning-0",
            "reasoning start r-reasoning-0",
            "reasoning r-reasoning-0: Hm",
            "reasoning r-reasoning-0: .",
            "reasoning end r-reasoning-0",
            "span end r-reasoning-0",
            "text start r-message-0",
            "text r-message-0: A",
            "text r-message-0: B",
            "text r-message-0: C",
            "text end r-message-0",
            "finish stop",
        ]
    );
}

#[test]
fn a_refusal_is_a_custom_event_and_stays_with_the_message() {
    let frames = [
        delta(json!({"role": "assistant", "content": null, "refusal": ""})),
        delta(json!({"refusal": "I'm "})),
        delta(json!({"refusal": "sorry"})),
        finish("stop"),
    ];
    assert_eq!(
        outline(&frames),
        [
            "start",
            "custom refusal: \"I'm \"",
            "custom refusal: \"sorry\"",
            "text start r-message-0",
            "text end r-message-0 {\"refusal\":\"I'm sorry\"}",
            "finish stop"
        ]
    );
}

#[test]
fn a_refusal_ends_the_text_before_it() {
    let frames = [
        text("Well"),
        delta(json!({"refusal": "no"})),
        finish("content_filter"),
    ];
    assert_eq!(
        outline(&frames)[3..],
        [
            "custom refusal: \"no\"",
            "text end r-message-0 {\"refusal\":\"no\"}",
            "finish content_filter"
        ]
    );
}

#[test]
fn there_is_an_end_to_a_refusal() {
    let long = "x".repeat(10_000);
    let frames = vec![delta(json!({ "refusal": long })); 10];
    let (recorder, result) =
        Stream::new(Dialect::OpenAiChat).run(body(&frames).as_bytes(), usize::MAX);
    assert!(matches!(result, Err(DecodeError::Answer(_))), "{result:?}");
    assert_eq!(recorder.events.len(), 7);
}

#[test]
fn citations_are_custom_events() {
    let url = json!({"type": "url_citation", "url_citation": {"url": "https://x", "title": "X"}});
    let reference = json!({"type": "reference", "reference_ids": [1]});
    let frames = [
        text("a"),
        delta(json!({"content": "b", "annotations": [url, 7]})),
        delta(json!({"content": [reference]})),
        delta(json!({"content": "c", "annotations": []})),
        finish("stop"),
    ];
    assert_eq!(
        outline(&frames)[3..7],
        [
            "text r-message-0: b".to_owned(),
            format!("custom citation: {url}"),
            format!("custom citation: {reference}"),
            "text r-message-0: c".to_owned(),
        ]
    );
}

#[test]
fn think_tags_stay_text() {
    let frames = [
        text("<think>"),
        text("hm</think><tool_call>{}"),
        finish("stop"),
    ];
    assert_eq!(
        outline(&frames)[2..4],
        [
            "text r-message-0: <think>",
            "text r-message-0: hm</think><tool_call>{}"
        ]
    );
}
