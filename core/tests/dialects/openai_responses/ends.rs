use crate::responses::{
    added, body, call, completed, created, done, events, message, outline, run, text_delta,
};
use serde_json::{Value, json};
use stepwell_core::dialect::{AnswerLimit, DecodeError};
use stepwell_core::event::{Event, TokenUsage};

fn end(kind: &str, response: Value) -> Value {
    let mut event = json!({"type": format!("response.{kind}")});
    event["response"] = response;
    event
}

#[test]
fn the_end_tells_what_it_cost_and_why() {
    let all = events(&[created(), completed(json!([]))]);
    let Some(Event::RunFinished(finished)) = all.last() else {
        panic!("{all:?}");
    };
    let usage = TokenUsage {
        model: Some("m-1".to_owned()),
        input_tokens: Some(10),
        cached_input_tokens: Some(4),
        output_tokens: Some(6),
        reasoning_tokens: Some(2),
        total_tokens: Some(16),
        ..TokenUsage::default()
    };
    assert_eq!(finished.usage, Some(vec![usage]));
    for (last, expected) in [
        (
            end("completed", json!({"status": "completed"})),
            "completed",
        ),
        (end("completed", json!({})), "completed"),
        (end("completed", Value::Null), "completed"),
        (
            end(
                "incomplete",
                json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}),
            ),
            "max_output_tokens",
        ),
        (
            end(
                "incomplete",
                json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}),
            ),
            "content_filter",
        ),
        (
            end(
                "incomplete",
                json!({"status": "incomplete", "incomplete_details": null}),
            ),
            "incomplete",
        ),
    ] {
        assert_eq!(
            outline(&[created(), last.clone()]),
            ["start".to_owned(), format!("finish {expected}")],
            "{last}"
        );
    }
}

#[test]
fn a_cut_call_is_closed_with_what_came_of_it() {
    let mut cut = call(0, "{\"a\":");
    cut["status"] = "incomplete".into();
    let incomplete = end(
        "incomplete",
        json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [cut.clone()]}),
    );
    assert_eq!(
        outline(&[created(), added(0, call(0, "")), done(0, cut), incomplete]),
        [
            "start",
            "call call_0 add",
            "args call_0: {\"a\":",
            "call end call_0",
            "finish max_output_tokens"
        ]
    );
}

#[test]
fn errors_of_every_form_end_the_run() {
    let cases = [
        (
            json!({"type": "error", "code": "server_error", "message": "Oh no", "param": null, "sequence_number": 3}),
            "error server_error: Oh no",
        ),
        (
            json!({"type": "error", "code": null, "message": "Oh no", "param": null}),
            "error -: Oh no",
        ),
        (
            json!({"type": "error", "error": {"type": "insufficient_quota", "code": "quota", "message": "Oh no"}}),
            "error insufficient_quota: Oh no",
        ),
        (
            json!({"error": {"message": "Oh no", "code": 502}}),
            "error 502: Oh no",
        ),
        (
            end(
                "failed",
                json!({"status": "failed", "error": {"code": "server_error", "message": "Oh no"}}),
            ),
            "error server_error: Oh no failed",
        ),
        (
            end(
                "completed",
                json!({"status": "failed", "error": {"code": "x", "message": "Oh no"}}),
            ),
            "error x: Oh no failed",
        ),
        (
            end("failed", json!({"status": "failed", "error": null})),
            "error -: the response was failed failed",
        ),
        (
            end("cancelled", json!({"status": "cancelled"})),
            "error -: the response was cancelled cancelled",
        ),
    ];
    for (error, expected) in cases {
        let frames = [
            created(),
            text_delta(0, "He"),
            error,
            end(
                "failed",
                json!({"error": {"code": "late", "message": "again"}}),
            ),
        ];
        assert_eq!(
            outline(&frames),
            [
                "start",
                "text start r-message-0",
                "text r-message-0: He",
                expected
            ]
        );
    }
    let (recorder, result) = run("event: error\ndata: upstream broke\n\n");
    assert_eq!(result, Ok(()));
    assert!(
        matches!(&recorder.events[..], [Event::RunError(error)] if error.message == "upstream broke"),
        "{:?}",
        recorder.events
    );
}

#[test]
fn usage_of_a_failed_answer_is_told() {
    let failed = end(
        "failed",
        json!({"status": "failed", "error": {"message": "Oh no"}, "usage": {"input_tokens": 3}}),
    );
    let all = events(&[created(), failed]);
    let Some(Event::RunError(error)) = all.last() else {
        panic!("{all:?}");
    };
    assert_eq!(
        error.usage.as_ref().and_then(|usage| usage[0].input_tokens),
        Some(3)
    );
}

#[test]
fn what_a_gateway_adds_at_the_end() {
    let text = [created(), text_delta(0, "Hi")];
    let with = |more: &[Value]| outline(&[&text[..], more].concat());
    assert_eq!(
        with(&[completed(json!([])), json!("[DONE]")])
            .last()
            .map(String::as_str),
        Some("finish completed")
    );
    assert_eq!(
        with(&[]).last().map(String::as_str),
        Some("text r-message-0: Hi"),
        "a stream that was cut is not finished"
    );
}

#[test]
fn an_answer_that_comes_only_at_the_end() {
    assert_eq!(
        outline(&[completed(json!([message(0, "Hi"), call(1, "{}")]))]),
        [
            "start",
            "text start r-message-0",
            "text r-message-0: Hi",
            "text end r-message-0",
            "call call_1 add",
            "args call_1: {}",
            "call end call_1",
            "finish completed"
        ]
    );
}

#[test]
fn the_name_of_the_event_stands_in_for_the_type() {
    let (recorder, result) =
        run("event: response.output_text.delta\ndata: {\"output_index\":0,\"delta\":\"Hi\"}\n\n");
    assert_eq!(result, Ok(()));
    assert_eq!(recorder.events.len(), 3);
}

#[test]
fn broken_json_is_an_error_and_says_nothing() {
    for frame in [
        r#"{"type":"response.output_text.delta""#,
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"\x"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"text":"good"},{"text":"\x"}]}}"#,
        r#"{"type":"response.completed","response":{"output":[{"type":"message","content":[{"text":"good"}]},{"type":"message","content":[{"text":"\x"}]}]}}"#,
        "nonsense",
    ] {
        let (recorder, result) = run(&format!("{}data: {frame}\n\n", body(&[created()])));
        assert!(
            matches!(
                result,
                Err(DecodeError::Json {
                    dialect: "openai-responses",
                    ..
                })
            ),
            "{frame}: {result:?}"
        );
        assert_eq!(recorder.events.len(), 1, "{frame}");
    }
}

#[test]
fn the_items_of_an_answer_are_limited() {
    let frames = |count: u64| -> Vec<Value> {
        (0..count)
            .map(|index| added(index, message(index, "")))
            .collect()
    };
    assert_eq!(run(&body(&frames(4_096))).1, Ok(()));
    let (_, result) = run(&body(&frames(4_097)));
    assert!(
        matches!(
            result,
            Err(DecodeError::Answer(AnswerLimit::Bytes { max: 1_048_576 }))
        ),
        "{result:?}"
    );
    let all: Vec<_> = (0..4_097).map(|index| message(index, "x")).collect();
    let (recorder, result) = run(&body(&[created(), completed(all.into())]));
    assert!(
        matches!(
            result,
            Err(DecodeError::Answer(AnswerLimit::Bytes { max: 1_048_576 }))
        ),
        "{result:?}"
    );
    assert_eq!(recorder.events.len(), 1, "nothing of it is said");
}
