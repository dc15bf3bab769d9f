use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;

/// A line with this message.
pub(crate) fn message(message: Value) -> Value {
    json!({"model": "qwen3:4b", "created_at": "2026-08-05T08:10:56.372032Z", "message": message, "done": false})
}

pub(crate) fn text(text: &str) -> Value {
    message(json!({"role": "assistant", "content": text}))
}

pub(crate) fn thinking(text: &str) -> Value {
    message(json!({"role": "assistant", "content": "", "thinking": text}))
}

pub(crate) fn calls(calls: Value) -> Value {
    message(json!({"role": "assistant", "content": "", "tool_calls": calls}))
}

/// The last line.
pub(crate) fn done(reason: &str) -> Value {
    json!({
        "model": "qwen3:4b", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "total_duration": 9, "prompt_eval_count": 7, "eval_count": 3
    })
}

/// The events of these lines and the last one, in short, without the first and the last of the run.
pub(crate) fn outline(frames: &[Value]) -> Vec<String> {
    let mut frames = frames.to_vec();
    frames.push(done("stop"));
    let mut events = crate::decoding::outline(Dialect::Ollama, &frames);
    assert_eq!(events.remove(0), "start");
    assert_eq!(events.pop().as_deref(), Some("finish stop"));
    events
}
