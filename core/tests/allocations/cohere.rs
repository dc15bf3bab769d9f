use crate::assert_few;
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;

fn event(kind: &str, message: Value) -> Value {
    json!({"type": kind, "index": 0, "delta": {"message": message}})
}

fn content(content: Value) -> Value {
    event("content-delta", json!({ "content": content }))
}

#[test]
fn plain_deltas_allocate_nothing() {
    let few = |name, opening, delta: &dyn Fn(usize) -> Value, bytes| {
        assert_few(Dialect::Cohere, name, [opening], delta, bytes);
    };
    let start = || json!({"type": "message-start", "delta": {"message": {"role": "assistant"}}});
    few("text", start(), &|_| content(json!({"text": " hello"})), 6);
    few(
        "escaped text",
        start(),
        &|_| content(json!({"text": "\"\n\t"})),
        3,
    );
    few(
        "thinking",
        start(),
        &|_| content(json!({"thinking": "hm"})),
        2,
    );
    let plan = |_| event("tool-plan-delta", json!({"tool_plan": "hm"}));
    few("tool plan", start(), &plan, 2);
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}});
    let begin = event("tool-call-start", json!({ "tool_calls": call }));
    let piece = json!({"function": {"arguments": "{\"key\": \"val"}});
    let delta = |_| event("tool-call-delta", json!({ "tool_calls": piece }));
    few("arguments", begin, &delta, 12);
}
