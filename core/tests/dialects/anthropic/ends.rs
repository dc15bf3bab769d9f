//! How streams end: well, badly and not at all.

use super::support::{Stream, body, call, events, short, start, stop, text};
use serde_json::{Value, json};
use stepwell_core::dialect::{DecodeError, Dialect};
use stepwell_core::event::Event;

fn last(wire: &[Value]) -> String {
    let events = events(&body(wire));
    events.last().map(short).expect("an event")
}

fn message_stop() -> Value {
    json!({"type": "message_stop"})
}

#[test]
fn the_stop_reason_is_the_providers_word() {
    for reason in [
        "end_turn",
        "max_tokens",
        "stop_sequence",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
    ] {
        let wire = [
            vec![start()],
            text(0, &["Hi"]),
            vec![stop(reason), message_stop()],
        ]
        .concat();
        assert_eq!(last(&wire), format!("finish {reason}"));
    }
}

#[test]
fn an_answer_that_was_said_to_be_over_may_lack_its_end() {
    let wire = [vec![start()], text(0, &["Hi"]), vec![stop("end_turn")]].concat();
    assert_eq!(last(&wire), "finish end_turn");
    let wire = [wire, vec![json!("[DONE]")]].concat();
    assert_eq!(last(&wire), "finish end_turn");
    assert_eq!(
        last(&[wire, vec![message_stop(), start()]].concat()),
        "finish end_turn"
    );
}

#[test]
fn a_stream_that_breaks_off_does_not_finish() {
    for wire in [
        vec![start()],
        [vec![start()], text(0, &["Hi"])].concat(),
        [
            vec![start()],
            call(0, "a", "f", &["{"]),
            vec![json!("[DONE]")],
        ]
        .concat(),
    ] {
        let events = events(&body(&wire));
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, Event::RunFinished(_) | Event::RunError(_)))
        );
    }
    assert_eq!(events(""), []);
    assert_eq!(events(&body(&[json!({"type": "ping"})])), []);
}

#[test]
fn an_error_ends_the_stream_in_the_providers_words() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"});
    let wire = [
        vec![start()],
        text(0, &["Hi"]),
        vec![overloaded.clone()],
        text(1, &["late"]),
        vec![stop("end_turn"), message_stop()],
    ]
    .concat();
    assert_eq!(last(&wire), "error overloaded_error: Overloaded");
    assert_eq!(events(&body(&wire)).len(), 4);
    let all = events(&body(&[overloaded]));
    assert_eq!(
        all.iter().map(short).collect::<Vec<_>>(),
        ["error overloaded_error: Overloaded"]
    );
}

#[test]
fn an_error_is_one_in_a_gateways_form_too() {
    for (data, said) in [
        (
            r#"data: {"error":{"message":"No credit","code":402}}"#,
            "error 402: No credit",
        ),
        (
            "event: error\ndata: upstream  gone",
            "error -: upstream gone",
        ),
        (
            "event: error\ndata: {\"message\":\"Gone\"}",
            "error -: Gone",
        ),
        (r#"data: {"type":"error"}"#, "error -: {\"type\":\"error\"}"),
    ] {
        let all = events(&format!("{}{data}\n\n", body(&[start()])));
        assert_eq!(all.last().map(short).as_deref(), Some(said));
    }
    let wire = [
        start(),
        json!({"error": null}),
        stop("end_turn"),
        message_stop(),
    ];
    assert_eq!(last(&wire), "finish end_turn");
}

#[test]
fn an_error_keeps_the_usage_that_was_seen() {
    let error = json!({"type": "error", "error": {"type": "api_error", "message": "Sorry"}});
    let events = events(&body(&[start(), error]));
    let Some(Event::RunError(error)) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!(
        error.usage.as_ref().and_then(|usage| usage[0].input_tokens),
        Some(7)
    );
}

#[test]
fn a_refusal_is_explained_to_the_app() {
    let refused = json!({"type": "message_delta", "delta": {"stop_reason": "refusal",
        "stop_details": {"type": "refusal", "explanation": "Not that."}}, "usage": {}});
    let all = events(&body(&[start(), refused, message_stop()]));
    let all: Vec<_> = all.iter().map(short).collect();
    assert_eq!(
        all,
        ["start", "custom refusal: \"Not that.\"", "finish refusal"]
    );
}

#[test]
fn what_is_not_json_is_refused_and_gives_no_event() {
    for bad in [
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x","citations":[1e]}}"#,
        "[DONE",
    ] {
        let stream = format!("{}data: {bad}\n\n", body(&[start()]));
        let (recorder, result) = Stream::new(Dialect::Anthropic).run(stream.as_bytes(), usize::MAX);
        assert_eq!(recorder.events.len(), 1, "{bad}");
        assert!(
            matches!(
                result,
                Err(DecodeError::Json {
                    dialect: "anthropic",
                    ..
                })
            ),
            "{bad}: {result:?}"
        );
    }
    let bad = [
        body(&[start()]).as_bytes(),
        b"data: {\"type\":\"ping\",\"x\":\"\xff\"}\n\n",
    ]
    .concat();
    let (_, result) = Stream::new(Dialect::Anthropic).run(&bad, usize::MAX);
    assert!(
        matches!(result, Err(DecodeError::Json { .. })),
        "{result:?}"
    );
}

#[test]
fn an_answer_that_is_whole_at_its_start_says_why_it_stopped() {
    let mut whole = start();
    whole["message"]["content"] =
        json!([{"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}]);
    whole["message"]["stop_reason"] = "tool_use".into();
    assert_eq!(last(&[whole.clone(), message_stop()]), "finish tool_use");
    assert_eq!(last(&[whole]), "finish tool_use");
    let mut refused = start();
    refused["message"]["stop_reason"] = "refusal".into();
    refused["message"]["stop_details"] = json!({"type": "refusal", "explanation": "No."});
    let all = events(&body(&[refused, message_stop()]));
    let said: Vec<_> = all.iter().map(short).collect();
    assert_eq!(said[1..], ["custom refusal: \"No.\"", "finish refusal"]);
}

#[test]
fn a_call_that_is_announced_must_come() {
    let wire = [
        vec![start()],
        text(0, &["Hi"]),
        vec![stop("tool_use"), message_stop()],
    ]
    .concat();
    assert!(
        last(&wire).starts_with("error no_call: "),
        "{}",
        last(&wire)
    );
}

#[test]
fn usage_has_what_the_cache_keeps_for_an_hour() {
    let mut start = start();
    start["message"]["usage"]["cache_creation"] =
        json!({"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2});
    let wire = [
        vec![start],
        text(0, &["Hi"]),
        vec![stop("end_turn"), message_stop()],
    ]
    .concat();
    let events = events(&body(&wire));
    let Some(Event::RunFinished(finished)) = events.last() else {
        panic!("{events:?}");
    };
    let usage = &finished.usage.as_ref().expect("usage")[0];
    assert_eq!(usage.cache_write_input_tokens, Some(3));
    assert_eq!(usage.extra["cacheWrite1hInputTokens"], 2);
}
