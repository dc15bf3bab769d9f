use crate::assert_few;
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;

fn delta(delta: Value) -> Value {
    json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m-1",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}],
        "usage": null
    })
}

#[test]
fn plain_deltas_allocate_nothing() {
    let few = |name, said: Value, bytes| {
        let opening = delta(json!({"role": "assistant", "content": ""}));
        assert_few(
            Dialect::OpenAiChat,
            name,
            [opening],
            |_| delta(said.clone()),
            bytes,
        );
    };
    few("text", json!({"content": " hello"}), 6);
    few("escaped text", json!({"content": "\"\n\t"}), 3);
    few(
        "reasoning",
        json!({"content": "", "reasoning": "hm", "reasoning_details": []}),
        2,
    );
    let thought = json!({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]});
    few("thinking in parts", json!({ "content": [thought] }), 2);
}

#[test]
fn arguments_of_calls_side_by_side_allocate_nothing() {
    let four = (0..4).map(|n| {
        json!({"index": n, "id": format!("call_{n}"), "function": {"name": "f", "arguments": ""}})
    });
    let four = delta(json!({ "tool_calls": four.collect::<Value>() }));
    let piece = |n| {
        let call = json!({"index": n % 4, "function": {"arguments": "{\"key\": \"val"}});
        delta(json!({ "tool_calls": [call] }))
    };
    assert_few(Dialect::OpenAiChat, "arguments", [four], piece, 12);
}
