use super::super::encoding::{Fields, function_tool, json_request, tools};
use super::super::{Encode, HttpRequest, ModelRequest, ResponseFormat, ToolChoice};
use super::messages;
use crate::event::{ContentPart, ToolMessage};
use crate::provider::ReasoningEffort;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Encodes Cohere's requests.
///
/// Cohere cannot express all settings:
/// - a named tool: only that tool is on offer, and one call is required;
/// - a form of the answer together with tools is refused: the model is asked for the form in the instructions;
/// - the number of parallel calls, and cache markers: Cohere caches prompts by itself.
pub(in super::super) struct Encoder;

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        json_request(
            request,
            "/chat",
            ("authorization", "Bearer "),
            "text/event-stream",
            &Body(request),
        )
    }

    fn takes(&self, part: &ContentPart) -> bool {
        messages::takes(part)
    }

    fn takes_in_result(&self, part: &ContentPart, _: &ToolMessage, _: &str) -> bool {
        matches!(part, ContentPart::Text(_))
    }
}

struct Body<'a>(&'a ModelRequest<'a>);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.0;
        let settings = request.settings;
        let mut fields = Fields::new(serializer.serialize_map(None)?, settings);
        fields.put("model", &request.endpoint.model)?;
        fields.put("stream", &true)?;
        let messages = messages::encode(request.instructions, request.messages);
        fields.put("messages", &messages)?;
        if let Some(tools) = tools(request) {
            let named = match &settings.tool_choice {
                ToolChoice::Named(name) => tools.iter().find(|tool| tool.name == *name),
                _ => None,
            };
            let offered = named.map_or(tools, std::slice::from_ref);
            let offered: Vec<_> = offered.iter().map(function_tool).collect();
            fields.put_tools(&offered)?;
            match &settings.tool_choice {
                ToolChoice::Auto => {}
                ToolChoice::None => fields.put("tool_choice", "NONE")?,
                ToolChoice::Required | ToolChoice::Named(_) => {
                    fields.put("tool_choice", "REQUIRED")?;
                }
            }
        }
        fields.put_some(
            "response_format",
            response_format(&settings.response_format),
        )?;
        fields.put_some("thinking", settings.reasoning.map(thinking))?;
        fields.put_some("max_tokens", settings.max_output_tokens)?;
        fields.put_some("temperature", settings.temperature)?;
        fields.end()
    }
}

/// Source: <https://docs.cohere.com/v2/docs/structured-outputs>.
fn response_format(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::Json => Some(json!({"type": "json_object"})),
        ResponseFormat::Schema { schema, .. } => {
            Some(json!({"type": "json_object", "json_schema": schema}))
        }
    }
}

/// Cohere knows no effort but a budget in tokens, and as much as it likes without one.
///
/// Source: <https://docs.cohere.com/v2/docs/reasoning>.
fn thinking(effort: ReasoningEffort) -> Value {
    let enabled = |budget: u32| json!({"type": "enabled", "token_budget": budget});
    match effort {
        ReasoningEffort::Off => json!({"type": "disabled"}),
        ReasoningEffort::Low => enabled(1_024),
        ReasoningEffort::Medium => enabled(4_096),
        ReasoningEffort::High => json!({"type": "enabled"}),
    }
}
