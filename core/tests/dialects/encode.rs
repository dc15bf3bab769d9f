//! Encoding a request and looking at its body.

use serde_json::{Value, json};
use stepwell_core::dialect::{Endpoint, GenerationSettings, HopIds, ModelRequest, Secret};
use stepwell_core::event::{Message, ToolDefinition};
use stepwell_core::provider;

pub(crate) fn endpoint(provider: &str) -> Endpoint {
    provider::find(provider)
        .expect("a known provider")
        .endpoint(None, "m-1", None, Some(Secret::from("k")))
        .expect("complete")
}

/// The request's address and headers, and its body.
pub(crate) fn encode(
    endpoint: &Endpoint,
    instructions: Option<&str>,
    messages: Value,
    tools: Value,
    settings: &GenerationSettings,
) -> (String, Vec<(String, String)>, Value) {
    let messages: Vec<Message> = serde_json::from_value(messages).expect("AG-UI messages");
    let tools: Vec<ToolDefinition> = serde_json::from_value(tools).expect("AG-UI tools");
    let request = endpoint.dialect.encoder().encode(&ModelRequest {
        endpoint,
        ids: &HopIds::default(),
        parent_run_id: None,
        instructions,
        messages: &messages.iter().collect::<Vec<_>>(),
        tools: &tools,
        state: &Value::Null,
        settings,
        resume: &[],
        compact_above: None,
        now: stepwell_core::Timestamp(0),
    });
    let body = serde_json::from_slice(&request.body).expect("JSON");
    (request.url, request.headers, body)
}

/// What becomes of the messages.
pub(crate) fn messages(endpoint: &Endpoint, messages: Value) -> Value {
    let settings = GenerationSettings::default();
    encode(endpoint, None, messages, json!([]), &settings).2["messages"].take()
}

/// The body of a request with these settings and tools.
pub(crate) fn with(endpoint: &Endpoint, settings: &GenerationSettings, tools: Value) -> Value {
    let said = json!([{"id": "1", "role": "user", "content": "Hi"}]);
    encode(endpoint, None, said, tools, settings).2
}

/// An AG-UI tool call.
pub(crate) fn call(id: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}})
}
