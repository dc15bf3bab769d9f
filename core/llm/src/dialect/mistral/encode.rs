use super::super::encoding::{Fields, function_tool, json_request, put_cache, tools};
use super::super::openai_chat::response_format;
use super::super::{Encode, HttpRequest, ModelRequest, ToolChoice};
use super::messages;
use crate::event::{ContentPart, ToolMessage};
use crate::provider::ReasoningEffort;
use serde::{Serialize, Serializer};
use serde_json::json;

/// Encodes Mistral's requests.
///
/// Mistral's ids of calls are nine letters and digits; a history with others must be normalised before.
pub(in super::super) struct Encoder;

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        json_request(
            request,
            "/chat/completions",
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
        let model = request.endpoint.model.as_str();
        let mut fields = Fields::new(serializer.serialize_map(None)?, settings);
        fields.put("model", model)?;
        fields.put("stream", &true)?;
        let messages = messages::encode(request.instructions, request.messages);
        fields.put("messages", &messages)?;
        if let Some(tools) = tools(request) {
            let tools: Vec<_> = tools.iter().map(function_tool).collect();
            fields.put_tools(&tools)?;
            match &settings.tool_choice {
                ToolChoice::Auto => {}
                ToolChoice::None => fields.put("tool_choice", "none")?,
                ToolChoice::Required => fields.put("tool_choice", "any")?,
                ToolChoice::Named(name) => fields.put(
                    "tool_choice",
                    &json!({"type": "function", "function": {"name": name}}),
                )?,
            }
            fields.put_some("parallel_tool_calls", settings.parallel_tool_calls)?;
        }
        fields.put_some(
            "response_format",
            response_format(&settings.response_format),
        )?;
        if let Some(effort) = settings.reasoning {
            // Magistral models always think, and are asked for it by a prompt of Mistral's. The other models think if
            // the request says so, without degrees.
            // Source: <https://docs.mistral.ai/capabilities/reasoning>.
            let is_off = effort == ReasoningEffort::Off;
            if !model.starts_with("magistral") {
                fields.put("reasoning_effort", if is_off { "none" } else { "high" })?;
            } else if is_off {
                // Null turns the prompt off.
                fields.put("prompt_mode", &None::<&str>)?;
            } else {
                fields.put("prompt_mode", "reasoning")?;
            }
        }
        fields.put_some("temperature", settings.temperature)?;
        fields.put_some("max_tokens", settings.max_output_tokens)?;
        put_cache(&mut fields, request)?;
        fields.end()
    }
}
