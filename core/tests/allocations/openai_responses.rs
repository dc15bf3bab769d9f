use crate::assert_few;
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;

fn added(index: usize, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn delta(of: &str, index: usize, piece: &str, number: usize) -> Value {
    json!({
        "type": format!("response.{of}.delta"), "content_index": 0, "delta": piece, "item_id": format!("i_{index}"),
        "logprobs": [], "obfuscation": "abcdef".get(number % 6..), "output_index": index, "summary_index": 0,
        "sequence_number": number,
    })
}

#[test]
fn plain_deltas_allocate_nothing() {
    let few = |name, items: Vec<Value>, piece: &dyn Fn(usize) -> Value, bytes| {
        let created =
            json!({"type": "response.created", "response": {"id": "resp_1", "model": "m-1"}});
        let items = items.into_iter().enumerate();
        let opening = [created]
            .into_iter()
            .chain(items.map(|(index, item)| added(index, item)));
        assert_few(Dialect::OpenAiResponses, name, opening, piece, bytes);
    };
    let message =
        || vec![json!({"type": "message", "id": "i_0", "role": "assistant", "content": []})];
    let say = |text: &'static str| move |n| delta("output_text", 0, text, n);
    few("text", message(), &say(" hello"), 6);
    few("escaped text", message(), &say("\"\n\t"), 3);
    let reasoning = json!({"type": "reasoning", "id": "i_0", "summary": []});
    let think = |n| delta("reasoning_summary_text", 0, "hm", n);
    few("reasoning", vec![reasoning], &think, 2);
    let call = |n| {
        json!({
            "type": "function_call", "id": format!("i_{n}"), "call_id": format!("call_{n}"), "name": "add",
            "arguments": "",
        })
    };
    let arguments = |n| delta("function_call_arguments", n % 4, "{\"key\": \"val", n);
    few("arguments", (0..4).map(call).collect(), &arguments, 12);
}
