use super::super::encoding::{Fields, function_tool, json_request, tools};
use super::super::{Encode, HttpRequest, ModelRequest, ToolChoice};
use super::messages;
use serde::{Serialize, Serializer};
use serde_json::json;

/// Encodes Chat Completions requests.
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
}

/// The request's body: Stepwell's fields in a fixed order, then the app's own, which win over them.
struct Body<'a>(&'a ModelRequest<'a>);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.0;
        let settings = request.settings;
        let quirks = request.endpoint.quirks;
        let mut fields = Fields::new(serializer.serialize_map(None)?, settings);
        fields.put("model", &request.endpoint.model)?;
        fields.put("stream", &true)?;
        if !quirks.no_stream_options {
            fields.put("stream_options", &json!({"include_usage": true}))?;
        }
        let messages = messages::encode(request.instructions, request.messages, quirks);
        fields.put("messages", &messages)?;
        if let Some(tools) = tools(request) {
            let tools: Vec<_> = tools.iter().map(function_tool).collect();
            fields.put("tools", &tools)?;
            match &settings.tool_choice {
                ToolChoice::Auto => {}
                ToolChoice::None => fields.put("tool_choice", "none")?,
                ToolChoice::Required => fields.put("tool_choice", "required")?,
                ToolChoice::Named(name) => fields.put(
                    "tool_choice",
                    &json!({"type": "function", "function": {"name": name}}),
                )?,
            }
            if let Some(parallel) = settings.parallel_tool_calls {
                fields.put("parallel_tool_calls", &parallel)?;
            }
        }
        if let Some(temperature) = settings.temperature {
            fields.put("temperature", &temperature)?;
        }
        if let Some(limit) = settings.max_output_tokens {
            let name = if quirks.max_completion_tokens {
                "max_completion_tokens"
            } else {
                "max_tokens"
            };
            fields.put(name, &limit)?;
        }
        fields.end()
    }
}
