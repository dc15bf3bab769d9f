//! The providers that requests are for.

use serde_json::{Value, json};
use stepwell_core::dialect::{
    CacheLifetime, Endpoint, GenerationSettings, HopIds, HttpRequest, ModelRequest,
    ReasoningEffort, ResponseFormat, Secret, ToolChoice,
};
use stepwell_core::event::{Message, ToolDefinition};
use stepwell_core::provider;

/// The providers with an address or a format of their own, by the names in the table.
pub(crate) const PROVIDERS: [&str; 12] = [
    "openai",
    "openrouter",
    "anthropic",
    "gemini",
    "ollama",
    "mistral",
    "cohere",
    "groq",
    "together",
    "fireworks",
    "nvidia",
    "bedrock",
];

/// All of a provider's APIs.
pub(crate) fn endpoints(provider: &str) -> Vec<Endpoint> {
    let model = match provider {
        "gemini" => "gemini-3-pro-preview",
        "anthropic" => "claude-sonnet-4-5",
        "bedrock" => "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "openai" => "gpt-5",
        _ => "a-model",
    };
    let provider = provider::find(provider).expect("a known provider");
    let apis = provider.apis.iter();
    apis.map(|api| {
        let base_url = api.base_url.as_deref().or(Some("http://localhost/run"));
        provider
            .endpoint(Some(&api.name), model, base_url, Some(Secret::from("k")))
            .expect("complete")
    })
    .collect()
}

/// Servers of Kimi, which reads the ids of calls in its prompt.
pub(crate) fn kimis() -> Vec<Endpoint> {
    let provider = provider::find("openai-compatible").expect("a known provider");
    let base_url = Some("http://localhost/v1");
    let models = ["kimi-k2-thinking", "accounts/fireworks/models/kimi-k3"];
    let endpoint = |model| provider.endpoint(None, model, base_url, None);
    models
        .into_iter()
        .map(|model| endpoint(model).expect("complete"))
        .collect()
}

/// The tools on offer.
pub(crate) fn tools() -> Vec<ToolDefinition> {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    serde_json::from_value(json!([
        {"name": "weather", "description": "The weather.", "parameters": schema},
        {"name": "clock", "description": "The time."},
    ]))
    .expect("AG-UI tools")
}

/// Settings of some kind or other.
pub(crate) fn settings(kind: usize) -> GenerationSettings {
    let mut settings = GenerationSettings::default();
    match kind % 8 {
        1 => settings.reasoning = Some(ReasoningEffort::High),
        2 => settings.cache_prompt = Some(CacheLifetime::OneHour),
        3 => settings.tool_choice = ToolChoice::Required,
        4 => settings.tool_choice = ToolChoice::Named("clock".to_owned()),
        5 => {
            settings.reasoning = Some(ReasoningEffort::Low);
            settings.parallel_tool_calls = Some(false);
        }
        6 => {
            settings.response_format = ResponseFormat::Schema {
                name: "answer".to_owned(),
                schema: json!({"type": "object", "properties": {}}),
                strict: true,
            };
        }
        7 => settings.user = Some("user-7".to_owned()),
        _ => {}
    }
    settings
}

/// The request for this history, legalised.
pub(crate) fn encode(
    endpoint: &Endpoint,
    messages: &[Message],
    tools: &[ToolDefinition],
    settings: &GenerationSettings,
) -> HttpRequest {
    let ids = HopIds {
        thread_id: "t".into(),
        run_id: "r".into(),
        provider: endpoint.provider.clone(),
    };
    ModelRequest {
        endpoint,
        ids: &ids,
        parent_run_id: None,
        instructions: Some("Be brief."),
        messages: &messages.iter().collect::<Vec<_>>(),
        tools,
        state: &Value::Null,
        settings,
        resume: &[],
        compact_above: None,
        now: stepwell_core::Timestamp(0),
    }
    .to_http()
}
