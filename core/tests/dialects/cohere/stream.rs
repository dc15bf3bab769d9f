use super::frames::*;
use crate::chat::{body, short};
use serde_json::{Value, json};
use stepwell_core::dialect::DecodeError;
use stepwell_core::event::{Event, TokenUsage};

#[test]
fn thinking_then_text_with_a_citation() {
    let citation = json!({"start": 0, "end": 2, "text": "Hi", "sources": []});
    let frames = [
        start(),
        content(
            "content-start",
            0,
            json!({"type": "thinking", "thinking": "H"}),
        ),
        thinking("m"),
        json!({"type": "content-end", "index": 0}),
        content(
            "content-start",
            1,
            json!({"type": "text", "text": "Hi \"you\""}),
        ),
        text("\n\u{1f980}"),
        json!({"type": "citation-start", "index": 0, "delta": {"message": {"citations": citation}}}),
        json!({"type": "citation-end", "index": 0}),
        text("!"),
        json!({"type": "content-end", "index": 1}),
        end("COMPLETE"),
        json!("[DONE]"),
        text("late"),
    ];
    assert_eq!(
        outline(&frames),
        [
            "span r-reasoning-0",
            "reasoning start r-reasoning-0",
            "reasoning r-reasoning-0: H",
            "reasoning r-reasoning-0: m",
            "reasoning end r-reasoning-0",
            "span end r-reasoning-0",
            "text start r-message-0",
            "text r-message-0: Hi \"you\"",
            "text r-message-0: \n\u{1f980}",
            &format!("custom citation: {citation}"),
            "text r-message-0: !",
            "text end r-message-0",
            "finish COMPLETE",
        ]
    );
}

#[test]
fn a_plan_is_reasoning_that_says_so_and_calls_come_by_index() {
    let frames = [
        start(),
        thinking("hm"),
        plan(""),
        plan("I will"),
        plan(" look"),
        call_start(0, "a_1", "f"),
        call_start(1, "b_1", "g"),
        arguments(1, json!("{\"y\"")),
        arguments(0, Value::Null),
        arguments(0, json!("{\"x\": \"ä\"}")),
        arguments(1, json!(": 1}")),
        call_end(1),
        call_end(0),
        call_start(2, "c_1", "h"),
        call_end(2),
        end("TOOL_CALL"),
    ];
    let lines = outline(&frames);
    assert_eq!(
        lines[5..],
        [
            "span r-reasoning-1",
            "reasoning start r-reasoning-1 {\"toolPlan\":true}",
            "reasoning r-reasoning-1: I will",
            "reasoning r-reasoning-1:  look",
            "reasoning end r-reasoning-1",
            "span end r-reasoning-1",
            "call a_1 f",
            "call b_1 g",
            "args b_1: {\"y\"",
            "args a_1: {\"x\": \"ä\"}",
            "args b_1: : 1}",
            "call end b_1",
            "call end a_1",
            "call c_1 h",
            "call end c_1",
            "finish TOOL_CALL",
        ]
    );
}

#[test]
fn usage_is_what_was_counted_and_beside_it_what_was_billed() {
    let (recorder, _) = decode(body(&[start(), text("a"), end("MAX_TOKENS")]).as_bytes());
    let Some(Event::RunFinished(finished)) = recorder.events.last() else {
        panic!("{recorder:?}");
    };
    let mut usage = TokenUsage {
        input_tokens: Some(30),
        output_tokens: Some(5),
        cached_input_tokens: Some(16),
        ..TokenUsage::default()
    };
    usage.extra.insert("billedInputTokens".to_owned(), 3.into());
    usage
        .extra
        .insert("billedOutputTokens".to_owned(), 4.into());
    assert_eq!(finished.usage, Some(vec![usage]));
}

#[test]
fn an_answer_that_failed_is_an_error() {
    let failed = |delta: Value| json!({"type": "message-end", "delta": delta});
    for (frame, said) in [
        (
            failed(
                json!({"finish_reason": "ERROR", "usage": {}, "error": "No", "error_type": "INVALID"}),
            ),
            "error INVALID: No ERROR",
        ),
        (
            failed(json!({"finish_reason": "TIMEOUT"})),
            "error -: the answer ended with TIMEOUT TIMEOUT",
        ),
        (
            json!({"id": "x", "message": "too many"}),
            "error -: too many",
        ),
    ] {
        let lines = outline(&[start(), text("a"), frame, text("late"), end("COMPLETE")]);
        assert_eq!(
            lines[1..],
            ["text r-message-0: a".to_owned(), said.to_owned()]
        );
    }
    let named = format!("{}event: error\ndata: busy\n\n", body(&[start()]));
    let (recorder, _) = decode(named.as_bytes());
    assert_eq!(
        recorder.events.last().map(short).as_deref(),
        Some("error -: busy")
    );
}

#[test]
fn a_body_without_its_end_is_cut_off() {
    let lines = outline(&[start(), text("a"), json!("[DONE]")]);
    assert_eq!(lines, ["text start r-message-0", "text r-message-0: a"]);
}

#[test]
fn other_shapes_of_the_same_are_read_and_strange_ones_passed_over() {
    let frames = [
        json!({"type": "content-start", "delta": {"message": {"content": "A"}}}),
        json!({"type": "content-delta", "delta": {"message": {"content": [{"type": "text", "text": "B"}, 7]}}}),
        json!({"type": "content-delta", "delta": {"message": {"content": {"text": 5}}}}),
        json!({"type": "content-delta", "delta": {"message": null}}),
        json!({"type": "content-delta", "delta": []}),
        json!({"type": "something-new", "delta": {"message": {"content": {"text": "no"}}}}),
        json!({"type": 7}),
        json!([1]),
        json!("17"),
        json!({"type": "tool-call-start", "delta": {"message": {"tool_calls": [
            {"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]}}}),
        json!({"type": "tool-call-start", "delta": {"message": {"tool_calls": {"function": {"name": "g"}}}}}),
        json!({"type": "tool-call-delta", "delta": {"message": {"tool_calls": {"function": {"arguments": "{}"}}}}}),
        json!({"type": "message-end"}),
    ];
    assert_eq!(
        outline(&frames),
        [
            "text start r-message-0",
            "text r-message-0: A",
            "text r-message-0: B",
            "text end r-message-0",
            "call a f",
            "args a: {\"x\":1}",
            "call r-call-1 g",
            "args r-call-1: {}",
            "call end a",
            "call end r-call-1",
            "finish",
        ]
    );
}

#[test]
fn the_events_name_stands_in_for_a_missing_type() {
    let stream = "event: content-delta\ndata: {\"delta\":{\"message\":{\"content\":{\"text\":\"x\"}}}}\n\n\
                  event: message-end\ndata: {\"delta\":{\"finish_reason\":\"COMPLETE\"}}\n\n";
    let (recorder, result) = decode(stream.as_bytes());
    assert_eq!(result, Ok(()));
    let lines: Vec<_> = recorder.events.iter().map(short).collect();
    assert_eq!(lines[2], "text r-message-0: x");
    assert_eq!(lines[4], "finish COMPLETE");
}

#[test]
fn what_belongs_to_no_call_is_a_warning() {
    let frames = [
        start(),
        arguments(3, json!("{}")),
        json!({"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": {"id": "a"}}}}),
        call_end(9),
        end("COMPLETE"),
    ];
    let (recorder, result) = decode(body(&frames).as_bytes());
    assert_eq!((recorder.events.len(), result), (2, Ok(())));
    assert_eq!(recorder.warnings.len(), 2, "{:?}", recorder.warnings);
}

#[test]
fn there_is_an_end_to_the_calls() {
    let frames: Vec<_> = (0..2_000)
        .map(|index| call_start(index, &format!("id{index}"), "f"))
        .collect();
    let (recorder, result) = decode(body(&frames).as_bytes());
    assert!(matches!(result, Err(DecodeError::Answer(_))));
    assert_eq!(recorder.events.len(), 1_025);
}

#[test]
fn what_is_not_json_is_refused_and_gives_no_event() {
    for bad in [
        "{\"type\":\"content-delta\",\"delta\":{\"message\":{\"content\":{\"text\":\"x\"}}}",
        "{\"type\":\"content-delta\",\"delta\":NaN,}",
    ] {
        let stream = format!("{}data: {bad}\n\n", body(&[start()]));
        let (recorder, result) = decode(stream.as_bytes());
        assert_eq!(recorder.events.len(), 1, "{bad}");
        assert!(
            matches!(
                result,
                Err(DecodeError::Json {
                    dialect: "cohere",
                    ..
                })
            ),
            "{bad}: {result:?}"
        );
    }
}
