use crate::assert_few;
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;

fn line(key: &str, text: &str, at: usize) -> Value {
    let mut line =
        json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": false});
    line["created_at"] = format!("2026-08-05T08:10:56.{at:06}Z").into();
    line["message"][key] = text.into();
    line
}

#[test]
fn plain_deltas_allocate_nothing() {
    let few = |name, key, text: &str| {
        let opening = line("content", "", 0);
        assert_few(
            Dialect::Ollama,
            name,
            [opening],
            |at| line(key, text, at),
            text.len(),
        );
    };
    few("text", "content", " hello");
    few("escaped text", "content", "\"\n\t");
    few("thinking", "thinking", "hm");
}
