use crate::assert_few;
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}})
}

fn block(index: usize, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: usize, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

#[test]
fn plain_deltas_allocate_nothing() {
    let few = |name, blocks: Vec<Value>, piece: &dyn Fn(usize) -> Value, bytes| {
        let opening = [start()].into_iter().chain(blocks);
        assert_few(Dialect::Anthropic, name, opening, piece, bytes);
    };
    let text = || vec![block(0, json!({"type": "text", "text": ""}))];
    let say = |text: &str| delta(0, json!({"type": "text_delta", "text": text}));
    few("text", text(), &|_| say(" hello"), 6);
    few("escaped text", text(), &|_| say("\"\n\t"), 3);
    let thinking = block(
        0,
        json!({"type": "thinking", "thinking": "", "signature": ""}),
    );
    let think = |_| delta(0, json!({"type": "thinking_delta", "thinking": "hm\n"}));
    few("thinking", vec![thinking], &think, 3);
    let call =
        |n| json!({"type": "tool_use", "id": format!("toolu_{n}"), "name": "f", "input": {}});
    let four = (0..4).map(|n| block(n, call(n))).collect();
    let input = json!({"type": "input_json_delta", "partial_json": "{\"key\": \"val"});
    few("arguments", four, &|n| delta(n % 4, input.clone()), 12);
}
