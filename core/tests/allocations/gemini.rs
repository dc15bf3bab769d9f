use crate::assert_few;
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;

fn part(part: Value) -> Value {
    json!({
        "candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 199,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}], "thoughtsTokenCount": 185
        },
        "modelVersion": "gemini-x", "responseId": "bH6LaZW8Fp"
    })
}

#[test]
fn plain_deltas_allocate_nothing() {
    let few = |name, said: Value, bytes| {
        let opening = part(json!({"text": ""}));
        assert_few(
            Dialect::Gemini,
            name,
            [opening],
            |_| part(said.clone()),
            bytes,
        );
    };
    few("text", json!({"text": " hello"}), 6);
    few("escaped text", json!({"text": "\"\n\t"}), 3);
    few("thoughts", json!({"text": "hm", "thought": true}), 2);
}
