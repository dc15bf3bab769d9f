use serde_json::{Value, json};
use stepwell_core::dialect::{
    Dialect, Endpoint, GenerationSettings, HttpRequest, ModelRequest, Secret,
};
use stepwell_core::event::{Message, ToolDefinition};
use stepwell_core::provider;

/// A chunk of these parts.
pub(crate) fn parts(parts: Value) -> Value {
    json!({
        "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
        "modelVersion": "gemini-x", "responseId": "r1"
    })
}

pub(crate) fn text(text: &str) -> Value {
    parts(json!([{ "text": text }]))
}

pub(crate) fn thought(text: &str) -> Value {
    parts(json!([{"text": text, "thought": true}]))
}

/// The chunk that says why the answer ends.
pub(crate) fn finish(reason: &str) -> Value {
    json!({"candidates": [{"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": reason, "index": 0}]})
}

/// The events of these chunks and a `STOP`, in short, without the first and the last of the run.
pub(crate) fn outline(frames: &[Value]) -> Vec<String> {
    let mut frames = frames.to_vec();
    frames.push(finish("STOP"));
    let mut events = crate::decoding::outline(Dialect::Gemini, &frames);
    assert_eq!(events.remove(0), "start");
    assert_eq!(events.pop().as_deref(), Some("finish STOP"));
    events
}

pub(crate) fn endpoint(model: &str) -> Endpoint {
    provider::find("gemini")
        .expect("a known provider")
        .endpoint(None, model, None, Some(Secret::from("k")))
        .expect("complete")
}

pub(crate) fn encode(
    model: &str,
    instructions: Option<&str>,
    messages: &[Message],
    tools: Value,
    settings: &GenerationSettings,
) -> HttpRequest {
    let tools: Vec<ToolDefinition> = serde_json::from_value(tools).expect("AG-UI tools");
    Dialect::Gemini.encoder().encode(&ModelRequest {
        endpoint: &endpoint(model),
        ids: &crate::decoding::ids(Dialect::Gemini),
        parent_run_id: None,
        instructions,
        messages: &messages.iter().collect::<Vec<_>>(),
        tools: &tools,
        state: &Value::Null,
        settings,
        resume: &[],
        compact_above: None,
        now: stepwell_core::Timestamp(0),
    })
}

pub(crate) fn body(request: &HttpRequest) -> Value {
    serde_json::from_slice(&request.body).expect("JSON")
}

/// What becomes of the messages.
pub(crate) fn contents(model: &str, messages: &[Message]) -> Value {
    let request = encode(
        model,
        None,
        messages,
        json!([]),
        &GenerationSettings::default(),
    );
    body(&request)["contents"].take()
}

pub(crate) fn messages(messages: Value) -> Vec<Message> {
    serde_json::from_value(messages).expect("AG-UI messages")
}
