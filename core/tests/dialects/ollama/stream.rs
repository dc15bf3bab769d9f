use super::support::{calls, done, message, outline, text, thinking};
use crate::decoding::{self, Stream, body, short};
use serde_json::{Value, json};
use stepwell_core::dialect::{DecodeError, Dialect};
use stepwell_core::event::Event;

fn run(bytes: &str) -> (Vec<String>, Result<(), DecodeError>) {
    let (recorder, result) = Stream::new(Dialect::Ollama).run(bytes.as_bytes(), usize::MAX);
    assert_eq!(recorder.warnings, Vec::<String>::new());
    (recorder.events.iter().map(short).collect(), result)
}

#[test]
fn thinking_is_reasoning_and_content_is_a_message() {
    let both = message(json!({"role": "assistant", "content": "He", "thinking": "m"}));
    assert_eq!(
        outline(&[thinking("Hm"), both, text("llo")]),
        [
            "span r-reasoning-0",
            "reasoning start r-reasoning-0",
            "reasoning r-reasoning-0: Hm",
            "reasoning r-reasoning-0: m",
            "reasoning end r-reasoning-0",
            "span end r-reasoning-0",
            "text start r-message-0",
            "text r-message-0: He",
            "text r-message-0: llo",
            "text end r-message-0",
        ]
    );
}

#[test]
fn calls_come_whole_with_and_without_id() {
    let function = |index: u32, name: &str, arguments: Value| json!({"index": index, "name": name, "arguments": arguments});
    assert_eq!(
        outline(&[
            text("Look."),
            calls(
                json!([{"id": "call_1", "function": function(2, "get", json!({"b": 1, "a": "é"}))}])
            ),
            calls(json!([
                {"function": {"name": "get", "arguments": {}}},
                {"function": {"name": "get"}},
                {"id": "", "function": function(2, "get", json!("{\"text\":1}"))},
                {"function": {"arguments": {}}},
                7,
            ])),
        ]),
        [
            "text start r-message-0",
            "text r-message-0: Look.",
            "text end r-message-0",
            "call call_1 get of r-message-0",
            r#"args call_1: {"b":1,"a":"é"}"#,
            "call end call_1",
            "call r-call-1 get of r-message-0",
            "args r-call-1: {}",
            "call end r-call-1",
            "call r-call-2 get of r-message-0",
            "call end r-call-2",
            "call r-call-3 get of r-message-0",
            r#"args r-call-3: {"text":1}"#,
            "call end r-call-3",
        ]
    );
}

#[test]
fn the_last_line_has_the_reason_and_the_usage() {
    for (line, reason) in [
        (done("length"), json!("length")),
        (done("load"), json!("load")),
        (
            json!({"done": true, "prompt_eval_count": 7, "eval_count": 3}),
            Value::Null,
        ),
    ] {
        let bytes = body(Dialect::Ollama, &[text("a"), line, text("late")]);
        let (recorder, result) = Stream::new(Dialect::Ollama).run(bytes.as_bytes(), usize::MAX);
        assert_eq!(result, Ok(()));
        let last = recorder.events.last().expect("an event");
        assert!(matches!(last, Event::RunFinished(_)), "{last:?}");
        let finished = serde_json::to_value(last).unwrap();
        assert_eq!(
            finished["usage"],
            json!([{"model": "qwen3:4b", "inputTokens": 7, "outputTokens": 3}])
        );
        assert_eq!(finished["metadata"]["stopReason"], reason);
    }
    let cached = json!({"done": true, "done_reason": "stop", "eval_count": 3});
    let events = decoding::outline(Dialect::Ollama, &[text("a"), cached]);
    assert_eq!(events.last().unwrap(), "finish stop");
}

#[test]
fn a_last_line_may_say_something_and_lack_its_line_end() {
    let mut last = done("stop");
    last["message"]["content"] = json!("!");
    let bytes = body(Dialect::Ollama, &[text("a"), last]);
    let (events, result) = run(bytes.trim_end());
    assert_eq!(result, Ok(()));
    assert_eq!(
        events[2..],
        [
            "text r-message-0: a",
            "text r-message-0: !",
            "text end r-message-0",
            "finish stop"
        ]
    );
}

#[test]
fn an_error_line_ends_the_stream() {
    let bytes = body(
        Dialect::Ollama,
        &[
            text("a"),
            json!({"error": "model runner has unexpectedly stopped"}),
            text("late"),
        ],
    );
    let (events, result) = run(&bytes);
    assert_eq!(result, Ok(()));
    assert_eq!(
        events[2..],
        [
            "text r-message-0: a",
            "error -: model runner has unexpectedly stopped"
        ]
    );
    let (events, _) = run("{\"error\":\"no\"}\n");
    assert_eq!(events, ["error -: no"]);
}

#[test]
fn a_body_without_its_last_line_was_cut_off() {
    let (events, result) = run(&body(Dialect::Ollama, &[text("a")]));
    assert_eq!(result, Ok(()));
    assert_eq!(events.last().unwrap(), "text r-message-0: a");
}

#[test]
fn broken_json_says_nothing() {
    for line in [
        r#"{"message":{"content":"x"}"#,
        r#"{"message":{"content":"x"},"done":fals}"#,
    ] {
        let (events, result) = run(&format!("{}{line}\n", body(Dialect::Ollama, &[text("a")])));
        assert!(matches!(result, Err(DecodeError::Json { .. })), "{line}");
        assert_eq!(events.len(), 3, "{line}");
    }
}

#[test]
fn what_is_of_another_kind_counts_as_absent() {
    let odd = [
        json!({"message": 7, "done": "no"}),
        json!({"status": "loading"}),
        message(json!({"content": 7, "thinking": [], "tool_calls": {}})),
        json!([1]),
        text("a"),
    ];
    assert_eq!(
        outline(&odd),
        [
            "text start r-message-0",
            "text r-message-0: a",
            "text end r-message-0"
        ]
    );
}

#[test]
fn a_line_with_too_many_calls_says_nothing() {
    let many: Vec<_> = (0..1_025)
        .map(|_| json!({"function": {"name": "f"}}))
        .collect();
    let (events, result) = run(&body(Dialect::Ollama, &[text("a"), calls(json!(many))]));
    assert!(matches!(result, Err(DecodeError::Answer(_))));
    assert_eq!(events.len(), 3);
}
