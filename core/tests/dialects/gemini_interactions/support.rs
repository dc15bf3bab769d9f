use serde_json::{Value, json};
use stepwell_core::dialect::{
    Dialect, Endpoint, GenerationSettings, HopIds, HttpRequest, ModelRequest, Secret,
};
use stepwell_core::event::{Message, ToolDefinition};
use stepwell_core::pipeline::Pipeline;
use stepwell_core::provider;
use stepwell_core::transcript::Transcript;

pub(crate) fn created() -> Value {
    json!({"event_type": "interaction.created",
        "interaction": {"id": "v1_1", "status": "in_progress", "model": "gemini-x"}})
}

#[expect(clippy::needless_pass_by_value, reason = "tests give literals")]
pub(crate) fn start(index: usize, step: Value) -> Value {
    json!({"event_type": "step.start", "index": index, "step": step})
}

#[expect(clippy::needless_pass_by_value, reason = "tests give literals")]
pub(crate) fn delta(index: usize, delta: Value) -> Value {
    json!({"event_type": "step.delta", "index": index, "delta": delta})
}

pub(crate) fn text(index: usize, text: &str) -> Value {
    delta(index, json!({"type": "text", "text": text}))
}

pub(crate) fn summary(index: usize, text: &str) -> Value {
    let content = json!({"type": "text", "text": text});
    delta(
        index,
        json!({"type": "thought_summary", "content": content}),
    )
}

pub(crate) fn arguments(index: usize, piece: &str) -> Value {
    delta(
        index,
        json!({"type": "arguments_delta", "arguments": piece}),
    )
}

pub(crate) fn stop(index: usize) -> Value {
    json!({"event_type": "step.stop", "index": index})
}

pub(crate) fn call(index: usize, id: &str) -> Value {
    start(
        index,
        json!({"type": "function_call", "id": id, "name": "f", "arguments": {}}),
    )
}

pub(crate) fn completed(status: &str) -> Value {
    let usage = json!({"total_input_tokens": 9, "total_output_tokens": 4, "total_thought_tokens": 2,
        "total_tokens": 15});
    json!({"event_type": "interaction.completed",
        "interaction": {"id": "v1_1", "status": status, "usage": usage}})
}

/// The events of these frames in short.
pub(crate) fn outline(frames: &[Value]) -> Vec<String> {
    crate::decoding::outline(Dialect::GeminiInteractions, frames)
}

/// The conversation after these frames.
pub(crate) fn transcript(frames: &[Value]) -> Vec<Message> {
    let body = crate::decoding::body(Dialect::GeminiInteractions, frames);
    let ids = HopIds {
        provider: "gemini".to_owned(),
        ..crate::decoding::ids(Dialect::GeminiInteractions)
    };
    let mut pipeline = Pipeline::new(Dialect::GeminiInteractions, ids, Default::default());
    let mut transcript = Transcript::default();
    pipeline
        .receive(body.as_bytes(), &mut transcript, &mut ())
        .expect("good frames");
    pipeline.end(&mut transcript, &mut ()).expect("an end");
    transcript.messages().to_vec()
}

pub(crate) fn endpoint(model: &str) -> Endpoint {
    provider::find("gemini")
        .expect("a known provider")
        .endpoint(Some("interactions"), model, None, Some(Secret::from("k")))
        .expect("complete")
}

pub(crate) fn encode(
    endpoint: &Endpoint,
    instructions: Option<&str>,
    messages: &[Message],
    tools: Value,
    settings: &GenerationSettings,
) -> HttpRequest {
    let tools: Vec<ToolDefinition> = serde_json::from_value(tools).expect("AG-UI tools");
    Dialect::GeminiInteractions.encoder().encode(&ModelRequest {
        endpoint,
        ids: &crate::decoding::ids(Dialect::GeminiInteractions),
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

/// The steps of the request for a model.
pub(crate) fn input(model: &str, messages: &[Message]) -> Value {
    let settings = GenerationSettings::default();
    let request = encode(&endpoint(model), None, messages, json!([]), &settings);
    let mut body: Value = serde_json::from_slice(&request.body).expect("JSON");
    body["input"].take()
}
