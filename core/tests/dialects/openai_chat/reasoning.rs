use crate::chat::{calls, delta, finish, outline, text};
use serde_json::{Value, json};

fn inner(frames: &[Value]) -> Vec<String> {
    let all = outline(frames);
    all[1..all.len() - 1].to_vec()
}

/// What is kept for the provider, with whose it is.
fn encrypted(details: Value) -> String {
    let mut sealed = json!({"provider": "openai-chat", "dialect": "openai-chat"});
    sealed["value"] = details;
    format!("encrypted r-reasoning-0: {sealed}")
}

#[test]
fn reasoning_ends_where_something_else_begins() {
    for field in ["reasoning", "reasoning_content"] {
        let think = |text: &str| delta(json!({"role": "assistant", "content": "", field: text}));
        let frames = [
            think(""),
            think("Let"),
            think(" me"),
            text("Well"),
            think("again"),
            calls(json!([{"index": 0, "id": "x", "function": {"name": "f", "arguments": "{}"}}])),
            think("and again"),
            finish("tool_calls"),
        ];
        assert_eq!(
            inner(&frames),
            [
                "span r-reasoning-0",
                "reasoning start r-reasoning-0",
                "reasoning r-reasoning-0: Let",
                "reasoning r-reasoning-0:  me",
                "reasoning end r-reasoning-0",
                "span end r-reasoning-0",
                "text start r-message-0",
                "text r-message-0: Well",
                "span r-reasoning-1",
                "reasoning start r-reasoning-1",
                "reasoning r-reasoning-1: again",
                "reasoning end r-reasoning-1",
                "span end r-reasoning-1",
                "text end r-message-0",
                "call x f",
                "args x: {}",
                "span r-reasoning-2",
                "reasoning start r-reasoning-2",
                "reasoning r-reasoning-2: and again",
                "reasoning end r-reasoning-2",
                "span end r-reasoning-2",
                "call end x",
            ]
        );
    }
}

#[test]
fn what_is_said_in_both_fields_is_said_once() {
    let frames = [
        delta(json!({"reasoning": null, "reasoning_content": "a"})),
        delta(json!({"reasoning": "b", "reasoning_content": "b"})),
        delta(json!({"reasoning": "c"})),
        finish("stop"),
    ];
    let said: Vec<_> = inner(&frames)
        .into_iter()
        .filter(|line| line.starts_with("reasoning r-"))
        .collect();
    assert_eq!(
        said,
        ["reasoning r-reasoning-0: a", "reasoning r-reasoning-0: b"]
    );
}

#[test]
fn details_are_joined_and_kept_with_the_message() {
    let think = |text: Value, details: Value| {
        delta(json!({"content": "", "reasoning": text, "reasoning_details": details}))
    };
    let piece = |text: &str| json!([{"type": "reasoning.text", "text": text, "format": "f", "index": 0, "signature": null}]);
    let frames = [
        think(json!("Let "), piece("Let ")),
        think(json!("me"), piece("me")),
        think(
            Value::Null,
            json!([{"type": "reasoning.text", "index": 0, "signature": "sig"}]),
        ),
        think(
            Value::Null,
            json!([{"type": "reasoning.encrypted", "data": "zzz", "index": 1}, "odd"]),
        ),
        think(Value::Null, json!([])),
        text("Well"),
        finish("stop"),
    ];
    assert_eq!(
        inner(&frames)[2..7],
        [
            "reasoning r-reasoning-0: Let ",
            "reasoning r-reasoning-0: me",
            &encrypted(json!([
                {"type": "reasoning.text", "text": "Let me", "format": "f", "index": 0, "signature": "sig"},
                {"type": "reasoning.encrypted", "data": "zzz", "index": 1}
            ])),
            "reasoning end r-reasoning-0",
            "span end r-reasoning-0",
        ]
    );
}

#[test]
fn encrypted_reasoning_without_text_gets_an_empty_message() {
    let frames = [
        delta(
            json!({"content": "", "reasoning": null, "reasoning_details": [{"type": "reasoning.encrypted", "data": "z"}]}),
        ),
        calls(json!([{"index": 0, "id": "x", "function": {"name": "f", "arguments": "{}"}}])),
        finish("tool_calls"),
    ];
    assert_eq!(
        inner(&frames)[..6],
        [
            "span r-reasoning-0",
            "reasoning start r-reasoning-0",
            &encrypted(json!([{"type": "reasoning.encrypted", "data": "z"}])),
            "reasoning end r-reasoning-0",
            "span end r-reasoning-0",
            "call x f",
        ]
    );
}

#[test]
fn details_that_come_late_belong_to_the_last_reasoning() {
    let detail = |data: &str| json!([{"type": "reasoning.encrypted", "data": data}]);
    let frames = [
        delta(json!({"reasoning": "a", "reasoning_details": detail("1")})),
        text("b"),
        delta(json!({"reasoning_details": detail("2")})),
        finish("stop"),
    ];
    let said: Vec<_> = inner(&frames)
        .into_iter()
        .filter(|line| line.starts_with("encrypted"))
        .collect();
    assert_eq!(
        said,
        [
            encrypted(detail("1")),
            encrypted(json!([detail("1")[0], detail("2")[0]])),
        ]
    );
}
